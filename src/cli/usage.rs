//! What was typed wrongly, as one sentence with the nearest right word. `clap` finds out what is wrong; its own texts take
//! several lines and name no mend.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// One sentence about wrong usage; `None` for what is no error to be told in a sentence (help, the version).
#[must_use]
pub fn sentence(error: &clap::Error) -> Option<String> {
    let word = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => Some(texts.join(" and ")),
        _ => None,
    };
    let argument = || word(ContextKind::InvalidArg).unwrap_or_default();
    let value = || word(ContextKind::InvalidValue).unwrap_or_default();
    let told = match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => return None,
        ErrorKind::InvalidSubcommand => {
            let typed = word(ContextKind::InvalidSubcommand).unwrap_or_default();
            let near = nearest(error, ContextKind::SuggestedSubcommand, &typed);
            format!("there is no command {typed:?}{}", near.unwrap_or_else(|| format!("; {HELP}")))
        }
        ErrorKind::UnknownArgument => {
            let typed = argument();
            let near = nearest(error, ContextKind::SuggestedArg, &typed);
            let what = if typed.starts_with('-') { "there is no option" } else { "unexpected argument" };
            let help = help_of(error);
            let mend = match near {
                Some(near) => near,
                None if help.contains(" search --help") && typed.starts_with('-') => {
                    "; words to leave out come after --, as in espejo search -- plan -draft".to_owned()
                }
                None => format!("; {help}"),
            };
            format!("{what} {typed:?}{mend}")
        }
        ErrorKind::InvalidValue if value().is_empty() => {
            format!("{} needs a value; {}", argument(), help_of(error))
        }
        ErrorKind::InvalidValue => {
            let typed = value();
            let near = nearest(error, ContextKind::SuggestedValue, &typed).unwrap_or_else(|| {
                let all = word(ContextKind::ValidValue).unwrap_or_default().replace(" and ", ", ");
                if all.is_empty() { format!("; {}", help_of(error)) } else { format!("; it takes {all}") }
            });
            format!("{} cannot be {typed:?}{near}", argument())
        }
        ErrorKind::ValueValidation => {
            let takes = match std::error::Error::source(error) {
                Some(takes) => takes.to_string(),
                None => help_of(error),
            };
            format!("{} cannot be {:?}; {takes}", argument(), value())
        }
        ErrorKind::MissingRequiredArgument => format!("{} is missing; {}", argument(), help_of(error)),
        ErrorKind::ArgumentConflict => {
            let other = word(ContextKind::PriorArg).unwrap_or_default();
            if other.is_empty() || other == argument() {
                format!("{} is given twice", argument())
            } else {
                format!("{} and {other} cannot be combined", argument())
            }
        }
        ErrorKind::InvalidUtf8 => "an argument is not UTF-8 text; write it in UTF-8".to_owned(),
        _ => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            format!("{}; {}", first.trim_start_matches("error: "), help_of(error))
        }
    };
    Some(told)
}

const HELP: &str = "espejo --help lists the commands";

/// Where the right words stand. The usage that `clap` gives along begins with the command.
fn help_of(error: &clap::Error) -> String {
    let usage = error.get(ContextKind::Usage).map(|usage| usage.to_string()).unwrap_or_default();
    let words = usage.split_whitespace().skip_while(|word| *word == "Usage:");
    let command: Vec<&str> = words
        .take_while(|word| word.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !word.starts_with('-'))
        .collect();
    match command.as_slice() {
        [] => "see espejo --help".to_owned(),
        command => format!("see {} --help", command.join(" ")),
    }
}

/// Of what `clap` finds alike, the one that is most alike.
fn nearest(error: &clap::Error, kind: ContextKind, typed: &str) -> Option<String> {
    let all = match error.get(kind)? {
        ContextValue::String(text) => vec![text.clone()],
        ContextValue::Strings(texts) => texts.clone(),
        _ => return None,
    };
    all.into_iter()
        .max_by(|a, b| strsim::jaro_winkler(a, typed).total_cmp(&strsim::jaro_winkler(b, typed)))
        .map(|near| format!("; did you mean {near:?}?"))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::Cli;
    use super::*;

    #[test]
    fn wrong_usage_is_one_sentence_with_the_mend() {
        for (line, told) in [
            ("stauts", r#"there is no command "stauts"; did you mean "status"?"#),
            ("xyzzy", r#"there is no command "xyzzy"; espejo --help lists the commands"#),
            ("convert to-mrkdown", r#"there is no command "to-mrkdown"; did you mean "to-markdown"?"#),
            ("status --jsn", r#"there is no option "--jsn"; did you mean "--json"?"#),
            ("status --xyzzy", r#"there is no option "--xyzzy"; see espejo status --help"#),
            ("run now", r#"unexpected argument "now"; see espejo run --help"#),
            ("why", "<PATH> is missing; see espejo why --help"),
            ("-q -v status", "--quiet and --verbose... cannot be combined"),
            ("demo --dir", "--dir <DIR> needs a value; see espejo --help"),
            ("completions bsh", r#"<SHELL> cannot be "bsh"; did you mean "bash"?"#),
            (
                "completions cmd.exe",
                r#"<SHELL> cannot be "cmd.exe"; it takes bash, elvish, fish, powershell, zsh"#,
            ),
            ("search --limit 0 x", r#"--limit <N> cannot be "0"; it takes a number from 1 to 1000"#),
            ("search --limit ten x", r#"--limit <N> cannot be "ten"; it takes a number from 1 to 1000"#),
            ("search --jsn x", r#"there is no option "--jsn"; did you mean "--json"?"#),
            (
                "search -draft plan",
                r#"there is no option "-d"; words to leave out come after --, as in espejo search -- plan -draft"#,
            ),
            ("--log-format xml run", r#"--log-format <FORMAT> cannot be "xml"; it takes text, json"#),
        ] {
            let words = std::iter::once("espejo").chain(line.split_whitespace());
            let error = Cli::try_parse_from(words).unwrap_err();
            assert_eq!(sentence(&error).as_deref(), Some(told), "{line}");
        }
        for line in ["", "--help", "convert", "--version"] {
            let words = std::iter::once("espejo").chain(line.split_whitespace());
            assert_eq!(sentence(&Cli::try_parse_from(words).unwrap_err()), None, "{line}");
        }
    }
}
