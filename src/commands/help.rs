//! The overview that `espejo --help` shows: the commands in groups, in the order in which a user meets them. The help of a
//! single command is clap's own.

use clap::Subcommand;

/// What stands below the overview.
pub(super) const CLOSING: &str = "\
Try it without an account:  espejo demo
More about a command:       espejo help COMMAND
Exit codes: 0 done, 1 failed, 2 wrong usage or config, 3 done but something needs attention.";

/// Which commands stand together. A command that is in no group comes last.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Start", &["demo", "init", "service", "run", "doctor"]),
    ("Every day", &["status", "diff", "log", "search", "list", "sync", "pause", "resume"]),
    ("Put right", &["approve", "resolve", "undo", "restore"]),
    ("Scripts", &["export", "convert", "completions"]),
];

/// Words that people type for a command, and what they mean here.
pub(super) const SYNONYMS: &[(&str, &str)] = &[
    ("pull", "espejo sync, or espejo sync PATH for one file"),
    ("fetch", "espejo sync"),
    ("push", "espejo sync"),
    ("update", "espejo sync"),
    ("refresh", "espejo sync"),
    ("verify", "espejo sync --deep"),
    ("check", "espejo sync --deep, or espejo doctor for the set-up"),
    ("why", "espejo status PATH"),
    ("info", "espejo status PATH"),
    ("conflicts", "espejo resolve"),
    ("merge", "espejo resolve"),
    ("dismiss", "espejo resolve PATH --theirs for a line; notes go by themselves after a day"),
    ("history", "espejo log PATH"),
    ("versions", "espejo log PATH"),
    ("revert", "espejo undo, or espejo restore PATH --at NUMBER"),
    ("ls", "espejo list"),
    ("find", "espejo search"),
    ("grep", "espejo search"),
    ("backup", "espejo export DIR"),
    ("start", "espejo run, or espejo service install"),
    ("daemon", "espejo run, or espejo service install"),
    ("watch", "espejo status --watch"),
    ("stop", "espejo pause, or Ctrl-C where it runs"),
    ("continue", "espejo resume"),
    ("login", "espejo init"),
    ("setup", "espejo init"),
    ("config", "espejo init; espejo doctor names its file"),
    ("install", "espejo service install"),
    ("uninstall", "espejo service uninstall"),
    ("version", "espejo --version"),
];

/// The template of `espejo --help`, for clap.
pub(super) fn template() -> String {
    let all = super::Command::augment_subcommands(clap::Command::default());
    let line = |command: &clap::Command| {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        format!("  {:11}  {about}\n", command.get_name())
    };
    let mut text = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for (heading, names) in GROUPS {
        text.push_str(&format!("\n{heading}:\n"));
        let commands = names.iter().filter_map(|name| all.find_subcommand(name));
        text.extend(commands.map(line));
    }
    let is_grouped = |name: &str| GROUPS.iter().any(|(_, names)| names.contains(&name));
    let others = all.get_subcommands().filter(|other| !other.is_hide_set() && !is_grouped(other.get_name()));
    text.extend(others.map(line));
    text.push_str("\nOptions:\n{options}{after-help}");
    text
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::super::Cli;

    #[test]
    fn the_overview_shows_each_of_twenty_commands_once_in_a_line() {
        let mut command = Cli::command();
        let help = command.render_help().to_string();
        let mut seen = 0;
        for sub in Cli::command().get_subcommands().filter(|sub| !sub.is_hide_set()) {
            let begins = format!("  {:11}  ", sub.get_name());
            let lines: Vec<&str> = help.lines().filter(|line| line.starts_with(&begins)).collect();
            assert_eq!(lines.len(), 1, "{help}");
            assert!(lines[0].chars().count() <= 80, "longer than 80: {}", lines[0]);
            seen += 1;
        }
        assert_eq!(seen, 20, "{help}");
    }

    #[test]
    fn no_synonym_is_a_command_of_its_own() {
        for (word, _) in super::SYNONYMS {
            assert!(Cli::command().find_subcommand(word).is_none(), "{word}");
        }
    }
}
