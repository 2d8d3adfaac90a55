//! `espejo completions`: the completion script of a shell, from the command line's own definition.

use std::io::{self, Write};

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;

/// Writes the script for `shell`.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write(shell: Shell, out: &mut dyn Write) -> io::Result<()> {
    // Through memory, because the generator panics where a writer fails.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "espejo", &mut script);
    out.write_all(&script)?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn every_shell_knows_every_command() {
        for shell in Shell::value_variants() {
            let mut script = Vec::new();
            write(*shell, &mut script).unwrap();
            let script = String::from_utf8(script).unwrap();
            for command in Cli::command().get_subcommands() {
                assert!(script.contains(command.get_name()), "{shell}: {}", command.get_name());
            }
        }
    }
}
