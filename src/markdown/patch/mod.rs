//! Changes of blocks into a text that a person formatted: only the lines of changed blocks are rewritten (law 4).
//!
//! The text is taken apart into the lines of its blocks and what stands between them. What belongs to unchanged
//! blocks is put together again byte for byte; the rest is written anew in the style of its surroundings. The result
//! is read back, and a coarser splice is tried until it says exactly what it should; the last one is a new rendering.

mod layout;
mod splice;

use serde_json::Value;

use super::certain::{says, written, written_alone};
use super::front_matter;
use super::lower::{Alone, id_of, lower};
use super::parse::stands_for;
use super::write::Mode;
use layout::Layout;
use splice::{Grain, Page, Splice};

/// See [`super::patch`].
pub(super) fn patch(text: &str, old: &[Value], new: &[Value]) -> String {
    if old == new || stands_for(text, new) {
        return text.to_owned();
    }
    if let Some(layout) = Layout::of(text, old) {
        let lowered = lower(new);
        let page = Page {
            nodes: &lowered.nodes,
            id: &|index| id_of(lowered.values[index]),
            is: &|index, was| lowered.values[index] == was,
        };
        if let Some(result) = spliced(&layout, &page, |result| stands_for(result, new)) {
            return result;
        }
    }
    as_before(text, &written(&mut lower(new), &mut |_, _| {}))
}

const TRIES: [(Grain, Mode); 4] = [
    (Grain::Line, Mode::Minimal),
    (Grain::Line, Mode::Strict),
    (Grain::Plain, Mode::Strict),
    (Grain::Root, Mode::Strict),
];

/// As [`patch`], for a page whose blocks were let go: it is right when its tree is. `None` when they are needed.
pub(super) fn patch_alone(text: &str, old: &[Value], new: &Alone) -> Option<String> {
    if says(text, new) {
        return Some(text.to_owned());
    }
    if let Some(layout) = Layout::of(text, old) {
        // What is beneath a block at the top cannot be compared.
        let page = Page { nodes: &new.nodes, id: &|index| new.ids[index].as_deref(), is: &|_, _| false };
        if let Some(result) = spliced(&layout, &page, |result| says(result, new)) {
            return Some(result);
        }
    }
    Some(as_before(text, &written_alone(new)?))
}

/// The finest splice that is right.
fn spliced<'a>(
    layout: &'a Layout<'a>,
    page: &'a Page<'a>,
    is_right: impl Fn(&str) -> bool,
) -> Option<String> {
    let mut tries = TRIES.into_iter().map(|(grain, mode)| Splice::new(layout, page, grain, mode).run());
    tries.find_map(|result| Some(unmistaken(layout.text, result)).filter(|result| is_right(result)))
}

/// A page that is written anew, with the line ends of the text before.
fn as_before(text: &str, whole: &str) -> String {
    let ended = text.is_empty() || text.ends_with(['\n', '\r']);
    let whole = if ended { whole } else { whole.trim_end_matches('\n') };
    let crlf = text.contains("\r\n");
    let bom = if text.starts_with('\u{feff}') { "\u{feff}" } else { "" };
    bom.to_owned() + &if crlf { whole.replace('\n', "\r\n") } else { whole.to_owned() }
}

/// A divider that has come to stand at the top, above another, is taken for the beginning of front matter: by espejo or by
/// other programs. Asterisks are a divider as well. Where it looked like that before it stays as it was written.
fn unmistaken(before: &str, after: String) -> String {
    const RULE: &str = "---";
    let top = after.len() - after.trim_start_matches('\u{feff}').len();
    if !front_matter::looks_so(&after) || front_matter::looks_so(before) {
        return after;
    }
    [&after[..top], "***", &after[top + RULE.len()..]].concat()
}
