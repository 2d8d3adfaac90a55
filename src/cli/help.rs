//! The overview that `espejo --help` shows: the commands in groups, in the order in which a user meets them. The help of a
//! single command is clap's own.

use clap::Subcommand;

/// Which commands stand together. A command that is in no group comes last.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Start", &["demo", "init", "service", "run", "doctor"]),
    ("Every day", &["status", "diff", "log", "history", "search", "pull", "list", "why", "pause", "resume"]),
    ("Put right", &["approve", "conflicts", "resolve", "undo", "restore", "dismiss", "verify"]),
    ("Scripts", &["sync", "export", "convert", "completions", "man"]),
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
    fn the_overview_shows_each_command_once_in_a_line() {
        let mut command = Cli::command();
        let help = command.render_help().to_string();
        for sub in Cli::command().get_subcommands().filter(|sub| !sub.is_hide_set()) {
            let begins = format!("  {:11}  ", sub.get_name());
            let lines: Vec<&str> = help.lines().filter(|line| line.starts_with(&begins)).collect();
            assert_eq!(lines.len(), 1, "{help}");
            assert!(lines[0].chars().count() <= 80, "longer than 80: {}", lines[0]);
        }
    }
}
