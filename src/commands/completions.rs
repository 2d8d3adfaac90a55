//! `espejo completions`: the completion script of a shell, from the command line's own definition.

use std::io::{self, Write};

use clap::CommandFactory;
use clap_complete::Shell;

use super::Cli;

use crate::cli::Exit;

/// Print shell completions
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::Args)]
#[command(
    after_help = "Examples:\n  espejo completions bash > ~/.local/share/bash-completion/completions/espejo\n  espejo completions fish > ~/.config/fish/completions/espejo.fish"
)]
pub struct Args {
    /// The shell
    pub shell: Shell,
}

/// Writes the script for a shell.
///
/// # Errors
/// When `out` cannot be written to.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    write(args.shell, &mut io::stdout().lock())?;
    Ok(Exit::Done)
}

fn write(shell: Shell, out: &mut dyn Write) -> io::Result<()> {
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
