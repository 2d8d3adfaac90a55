//! What formatters do to a whole file, modelled as their rules: over the documents, none of it is an edit.

use serde_json::Value;

use super::super::{patch, render, told};
use super::corpus::documents;
use super::read;
use super::typed::with_tabs;

/// What a formatter makes of lines that are not in a fence.
struct Formatter {
    name: &'static str,
    /// The bullet of every list.
    bullet: &'static str,
    /// Every item of an ordered list has this number; else they count on.
    number: Option<&'static str>,
    /// The sign of emphasis.
    emphasis: char,
    /// More than one blank line becomes one.
    joins_blank: bool,
    /// Headings of the first two levels are underlined.
    underlines: bool,
    /// Indentation is by tabs.
    tabs: bool,
    /// Lists that follow each other are kept apart by a comment.
    comments: bool,
    /// A backslash at a line's end becomes two spaces.
    spaces: bool,
}

const FORMATTERS: [Formatter; 5] = [
    Formatter {
        name: "prettier",
        bullet: "-",
        number: None,
        emphasis: '_',
        joins_blank: true,
        underlines: false,
        tabs: false,
        comments: false,
        spaces: false,
    },
    Formatter {
        name: "mdformat",
        bullet: "-",
        number: Some("1."),
        emphasis: '*',
        joins_blank: true,
        underlines: false,
        tabs: false,
        comments: false,
        spaces: false,
    },
    Formatter {
        name: "dprint",
        bullet: "-",
        number: None,
        emphasis: '_',
        joins_blank: true,
        underlines: false,
        tabs: false,
        comments: false,
        spaces: false,
    },
    Formatter {
        name: "cmark-gfm",
        bullet: "-",
        number: None,
        emphasis: '*',
        joins_blank: true,
        underlines: false,
        tabs: false,
        comments: true,
        spaces: true,
    },
    Formatter {
        name: "Obsidian's linter",
        bullet: "*",
        number: Some("1."),
        emphasis: '*',
        joins_blank: true,
        underlines: true,
        tabs: true,
        comments: false,
        spaces: false,
    },
];

impl Formatter {
    fn run(&self, text: &str) -> String {
        let mut out: Vec<String> = Vec::new();
        let mut fence: Option<String> = None;
        let mut last = "";
        for line in text.lines() {
            let rest = line.trim_start_matches([' ', '>']);
            let lead = &line[..line.len() - rest.len()];
            let ticks: String = rest.chars().take_while(|c| *c == '`').collect();
            if let Some(end) = &fence {
                if rest == end {
                    fence = None;
                }
                out.push(line.to_owned());
                continue;
            }
            if ticks.len() > 2 {
                fence = Some(ticks);
                out.push(line.to_owned());
                continue;
            }
            if line.is_empty() && self.joins_blank && out.last().is_none_or(String::is_empty) {
                continue;
            }
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let rest = if rest == "+" { self.bullet } else { rest };
            let (sign, body) = match rest.split_at_checked(2) {
                Some(("- " | "+ ", body)) => (format!("{} ", self.bullet), body),
                _ if digits > 0 && rest[digits..].starts_with(". ") => {
                    let number = self.number.unwrap_or(&rest[..=digits]);
                    // What is beneath it keeps its indentation.
                    (format!("{number:width$} ", width = digits + 1), &rest[digits + 2..])
                }
                _ => (String::new(), rest),
            };
            let kind = if sign.starts_with(|c: char| c.is_ascii_digit()) {
                "1"
            } else if sign.is_empty() {
                ""
            } else {
                rest.get(..1).unwrap_or("")
            };
            if self.comments
                && lead.is_empty()
                && !kind.is_empty()
                && !last.is_empty()
                && kind != last
                && out.last().is_some_and(String::is_empty)
            {
                out.extend(["<!-- end list -->".to_owned(), String::new()]);
            }
            if !line.is_empty() && lead.is_empty() {
                last = if kind.is_empty() { "" } else { kind };
            }
            let mut body = if self.emphasis == '_'
                && body.matches('*').count() == 2
                && !body.contains(['\\', '_', '`', '<'])
                && body
                    .split('*')
                    .nth(1)
                    .is_some_and(|inner| !inner.is_empty() && inner.trim() == inner && !inner.contains('&'))
                && body.split('*').next().is_some_and(|before| before.is_empty() || before.ends_with(' '))
                && body
                    .split('*')
                    .nth(2)
                    .is_some_and(|after| after.is_empty() || after.starts_with([' ', '.', ',']))
            {
                body.replace('*', "_")
            } else {
                body.to_owned()
            };
            if self.spaces && body.len() > 1 && body.ends_with('\\') && !body.ends_with("\\\\") {
                body = format!("{}  ", &body[..body.len() - 1]);
            }
            match body.split_once(' ') {
                Some(("#", title))
                    if self.underlines
                        && lead.is_empty()
                        && sign.is_empty()
                        && title.starts_with(|c: char| c.is_alphabetic())
                        && !title.contains("<br>") =>
                {
                    out.extend([title.to_owned(), "===".to_owned()]);
                }
                Some(("##", title))
                    if self.underlines
                        && lead.is_empty()
                        && sign.is_empty()
                        && title.starts_with(|c: char| c.is_alphabetic())
                        && !title.contains("<br>") =>
                {
                    out.extend([title.to_owned(), "---".to_owned()]);
                }
                _ => out.push(format!("{lead}{sign}{body}")),
            }
        }
        let text = out.join("\n") + "\n";
        if self.tabs { with_tabs(&text) } else { text }
    }
}

#[test]
fn what_formatters_do_to_a_whole_file_is_no_edit() {
    let mut wrong = Vec::new();
    for formatter in &FORMATTERS {
        let mut changed = 0;
        for (name, blocks) in
            documents().into_iter().filter(|(_, blocks): &(String, Vec<Value>)| blocks.len() < 400)
        {
            // A list that begins above 1 keeps its first number.
            if formatter.number.is_some() && name == "o041-numbers-start" {
                continue;
            }
            let own = render(&blocks).text;
            let text = formatter.run(&own);
            changed += usize::from(text != own);
            let back = read(&text, &blocks);
            if back != blocks {
                wrong.push(format!(
                    "{} {name}:\n{text}\n{}\n{}",
                    formatter.name,
                    serde_json::json!(back),
                    serde_json::json!(blocks)
                ));
            }
            // What it wiped out is told, and nothing of it is lost when the page changes.
            let _ = told(&text, &blocks);
            assert_eq!(patch(&text, &blocks, &blocks), text, "{name}");
        }
        assert!(changed > 10, "{}: {changed}", formatter.name);
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong[..wrong.len().min(3)].join("\n========\n"));
}
