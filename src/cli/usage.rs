//! What was typed wrongly, as one sentence with the nearest right word. `clap` finds out what is wrong; its own texts take
//! several lines and name no mend.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// One sentence about wrong usage; `None` for what is no error to be told in a sentence (help, the version). `synonyms` are other
/// words for commands, each with the right one: they come before what is spelt alike.
#[must_use]
pub fn sentence(error: &clap::Error, synonyms: &[(&str, &str)]) -> Option<String> {
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
            let meant = synonyms.iter().find(|(word, _)| *word == typed.to_lowercase());
            let near = meant.map(|(_, right)| format!("; use {right}"));
            let near = near.or_else(|| nearest(error, ContextKind::SuggestedSubcommand, &typed));
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
