//! `espejo man`: the manual page, one for all commands, from the command line's own definition.

use std::io::{self, Write};

use clap::{Arg, Command, CommandFactory};
use clap_mangen::Man;

use super::Cli;

use crate::cli::Exit;

/// What the definition does not say.
const CLOSING: &str = r"
.SH EXIT STATUS
.TP
0
Done.
.TP
1
Failed.
.TP
2
Wrong usage or config.
.TP
3
Done, but something needs attention; \fBespejo status\fR says what.
.SH FILES
.TP
$XDG_CONFIG_HOME/espejo/config.toml
The config, most often ~/.config/espejo/config.toml.
.TP
$XDG_STATE_HOME/espejo
What espejo remembers, most often ~/.local/state/espejo.
.SH ENVIRONMENT
.TP
ESPEJO_TOKEN
The access token, where neither token_file nor a systemd credential holds it.
.TP
HTTPS_PROXY, NO_PROXY
The proxy to the service, where the config names none, and the hosts that are reached without it.
.TP
SSL_CERT_FILE, SSL_CERT_DIR
Certificate authorities in place of the system's; ca_file in the config adds some.
.TP
RUST_LOG
Which log lines appear, as in espejo=debug; \fB\-q\fR and \fB\-v\fR win over it.
.TP
NO_COLOR
No colour, if set.
";

/// Print the manual page
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::Args)]
#[command(hide = true, after_help = "Example:  espejo man > ~/.local/share/man/man1/espejo.1")]
pub struct Args {}

/// Prints the page.
///
/// # Errors
/// When stdout cannot be written to.
pub fn run() -> anyhow::Result<Exit> {
    write(&mut io::stdout().lock())?;
    Ok(Exit::Done)
}

/// Writes the page as roff, for `man -l -` or a `man1` folder.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write(out: &mut dyn Write) -> io::Result<()> {
    let mut command = Cli::command();
    command.build();
    let options = command.clone();
    let man = Man::new(command.clone());
    man.render_title(out)?;
    man.render_name_section(out)?;
    man.render_synopsis_section(out)?;
    man.render_description_section(out)?;
    Man::new(options).render_options_section(out)?;
    writeln!(out, ".SH COMMANDS")?;
    write_commands(&command, "espejo", out)?;
    out.write_all(CLOSING.trim_start().as_bytes())?;
    out.flush()
}

fn write_commands(command: &Command, above: &str, out: &mut dyn Write) -> io::Result<()> {
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        let name = format!("{above} {}", sub.get_name());
        if sub.has_subcommands() {
            write_commands(sub, &name, out)?;
            continue;
        }
        let usage = sub.clone().render_usage().to_string();
        writeln!(out, ".SS {}", roff(usage.trim_start_matches("Usage:").trim()))?;
        let about = sub.get_long_about().or(sub.get_about()).map(ToString::to_string).unwrap_or_default();
        for paragraph in about.split("\n\n") {
            writeln!(out, "{}\n.PP", roff(paragraph))?;
        }
        for arg in sub.get_arguments().filter(|arg| !arg.is_global_set() && arg.get_id() != "help") {
            writeln!(out, ".TP\n\\fB{}\\fR", roff(&shape(arg)))?;
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            writeln!(out, "{}", roff(&help))?;
        }
        if let Some(examples) = sub.get_after_help() {
            writeln!(out, ".PP\n.nf\n{}\n.fi", roff(&examples.to_string()))?;
        }
    }
    Ok(())
}

/// An argument as it is typed.
fn shape(arg: &Arg) -> String {
    let value = arg.get_value_names().unwrap_or_default().join(" ");
    match (arg.get_long(), arg.get_action().takes_values()) {
        (Some(long), true) => format!("--{long} {value}"),
        (Some(long), false) => format!("--{long}"),
        (None, _) => value,
    }
}

/// Text that roff shows as it is.
fn roff(text: &str) -> String {
    let escaped = text.replace('\\', r"\\").replace('-', r"\-");
    let lines = escaped
        .lines()
        .map(|line| if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line.to_owned() });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> String {
        let mut page = Vec::new();
        write(&mut page).unwrap();
        String::from_utf8(page).unwrap()
    }

    #[test]
    fn every_command_and_option_is_on_the_page() {
        fn check(command: &Command, page: &str) {
            for arg in
                command.get_arguments().filter(|arg| arg.get_id() != "help" && arg.get_id() != "version")
            {
                let shape = shape(arg);
                let word = shape.split(' ').next().unwrap_or_default();
                assert!(page.contains(&roff(word)), "{} {word}", command.get_name());
            }
            for sub in command.get_subcommands() {
                assert!(page.contains(&roff(sub.get_name())), "{}", sub.get_name());
                check(sub, page);
            }
        }
        check(&Cli::command(), &page());
    }

    #[test]
    fn no_text_is_taken_for_a_request() {
        let known =
            [".SH", ".SS", ".TP", ".PP", ".TH", ".nf", ".fi", ".ie", ".el", ".br", ".RS", ".RE", ".IP"];
        for line in page().lines().filter(|line| line.starts_with(['.', '\''])) {
            assert!(known.iter().any(|request| line.starts_with(request)), "{line}");
        }
        assert_eq!(roff(".a-b\n'c\\d"), "\\&.a\\-b\n\\&'c\\\\d");
    }
}
