//! What each reader of text from outside must hold for every text: it ends, does not panic, and refuses with one tame line. Shared
//! by `readers`, which mutates texts without end, and by the test that reads each text of the corpus.

use std::path::Path;

use espejo::canvas::{self, Aliases, Origins};
use espejo::config::Config;
use espejo::daemon::control;
use espejo::markdown::front_matter;
use espejo::model::Surface;

/// A reader: its folder in `tests/fixtures/fuzz`, and what is wrong with how it reads a text, if anything is.
pub(super) type Reader = (&'static str, fn(&str) -> Option<String>);

/// All of them.
pub(super) const READERS: [Reader; 4] =
    [("canvas", canvas), ("front-matter", front), ("control", control_line), ("config", config)];

fn canvas(text: &str) -> Option<String> {
    let (aliases, origins) = (Aliases::new(), Origins::new());
    for surface in [Surface::Board, Surface::Slide] {
        let read = canvas::read(text, surface, &[], &aliases, &origins);
        if read != canvas::read(text, surface, &[], &aliases, &origins) {
            return Some("two readings differ".to_owned());
        }
        match read {
            Err(why) if !is_tame(&why) => return Some(format!("no tame line: {why:?}")),
            Ok(local) if !local.changed.is_empty() => {
                return Some("a change of an element that there is not".to_owned());
            }
            _ => {}
        }
    }
    None
}

fn front(text: &str) -> Option<String> {
    match front_matter::split(text) {
        Ok(split) if text.get(split.body_start..) != Some(split.body) => {
            Some("the body does not begin where it is said to".to_owned())
        }
        Ok(split) if split.front.is_none() && split.body.len() > text.len() => {
            Some("a longer body".to_owned())
        }
        Err(bad) if bad.line == 0 || bad.line > text.split('\n').count() + 1 => {
            Some(format!("line {} of {}", bad.line, text.split('\n').count()))
        }
        Err(bad) if !is_tame(&bad.why) => Some(format!("no tame line: {:?}", bad.why)),
        _ => None,
    }
}

fn control_line(text: &str) -> Option<String> {
    let Ok((ask, request)) = control::read_ask(text) else { return None };
    let Ok(written) = serde_json::to_string(&ask) else { return Some("it cannot be written".to_owned()) };
    match control::read_ask(&written) {
        Ok(again) if again == (ask, request) => None,
        _ => Some(format!("written and read it is another: {written}")),
    }
}

fn config(text: &str) -> Option<String> {
    let env = |name: &str| (name == "HOME").then(|| "/home/ana".to_owned());
    let why = Config::check(text, Path::new("/c/config.toml"), &env).err()?.to_string();
    (!is_tame(&why)).then(|| format!("no tame line: {why:?}"))
}

/// One line that no terminal takes for more than text.
fn is_tame(line: &str) -> bool {
    !line.is_empty() && !line.contains(char::is_control)
}
