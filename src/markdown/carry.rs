//! An edit inside a block: new text, with everything that Markdown cannot say left on the characters it was on.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::lower::documented_bits;
use super::plain::{CODE, ITEM, Inline, Link, STYLES, What};
use crate::model::edits;

/// Fresh runs for text without a past.
pub(super) fn fresh(inline: &Inline, items: &BTreeMap<String, &Value>) -> Vec<Value> {
    let mut out = Out::default();
    for (text, mark) in inline.stretches() {
        if let What::Item(label) = &mark.what {
            if let Some(item) = items.get(&**label) {
                out.item((*item).clone());
            }
            continue;
        }
        let link = match &mark.what {
            What::Link(link) => Some(&**link),
            _ => None,
        };
        out.text(text, exclusive(restyled(None, mark.style), link.is_some()), None, link);
    }
    out.finish()
}

/// Runs that say `new`, made from the runs that say `old`.
pub(super) fn runs(
    before: &[Value],
    old: &Inline,
    new: &Inline,
    items: &BTreeMap<String, &Value>,
) -> Vec<Value> {
    let sources = sources(before);
    let old_chars: Vec<char> = old.text.chars().collect();
    let new_chars: Vec<char> = new.text.chars().collect();
    // Where the runs do not spell the text (they always should), nothing is carried.
    let fits = sources.len() == old_chars.len();
    let origin = if fits { origins(&old_chars, &new_chars) } else { vec![None; new_chars.len()] };
    let old_styles = styles(old);
    let (before, after) = nearest(&origin);
    let mut out = Out::default();
    let mut at = 0;
    for (text, mark) in new.stretches() {
        for c in text.chars() {
            if let What::Item(label) = &mark.what {
                if let Some(item) = items.get(&**label) {
                    out.item((*item).clone());
                }
                at += 1;
                continue;
            }
            let source = match origin[at] {
                Some(from) => Some(&sources[from]),
                None => inherited(&sources, before[at], after[at]),
            };
            // A break that stands alone shows its style, which it may not have shown before.
            let shows = is_lone_break(&new_chars, at);
            let is_right = |source: &&Source| {
                !shows || documented_bits(&source.styles.cloned().unwrap_or_default()) == mark.style
            };
            let kept = origin[at].is_some_and(|from| old_styles[from] == mark.style);
            let kept = kept && source.as_ref().is_some_and(is_right);
            let styles = match source {
                Some(source) if kept => source.styles.cloned().unwrap_or_default(),
                source => restyled(source.and_then(|source| source.styles), mark.style),
            };
            let link = match &mark.what {
                What::Link(link) => Some(&**link),
                _ => None,
            };
            out.text(
                c.encode_utf8(&mut [0; 4]),
                exclusive(styles, link.is_some()),
                source.filter(|_| c != ITEM),
                link,
            );
            at += 1;
        }
    }
    out.finish()
}

/// Whether a character is a line break between two others.
fn is_lone_break(chars: &[char], at: usize) -> bool {
    let is_text = |at: Option<usize>| at.and_then(|at| chars.get(at)).is_some_and(|c| *c != '\n');
    chars[at] == '\n' && is_text(at.checked_sub(1)) && is_text(Some(at + 1))
}

/// Where a character of the old text comes from.
#[derive(Clone, Copy)]
struct Source<'a> {
    run: &'a Value,
    styles: Option<&'a Map<String, Value>>,
    link: Option<&'a Value>,
    place: usize,
}

impl Source<'_> {
    /// Whether the two runs stood side by side with equal styles, which only a border kept apart.
    fn borders_on(&self, other: &Self) -> bool {
        self.place + 1 == other.place && self.styles == other.styles
    }

    /// Whether the two runs differ in text and styles only.
    fn says_as_much_as(&self, other: &Self) -> bool {
        let (Some(a), Some(b)) = (self.run.as_object(), other.run.as_object()) else { return false };
        let is_own = |key: &str| matches!(key, "text" | "styles");
        self.link == other.link
            && a.len() == b.len()
            && a.iter().all(|(key, value)| is_own(key) && b.contains_key(key) || b.get(key) == Some(value))
    }
}

fn sources(runs: &[Value]) -> Vec<Source<'_>> {
    fn text<'a>(run: &'a Value, link: Option<&'a Value>, place: &mut usize, out: &mut Vec<Source<'a>>) {
        let (text, styles) = match run {
            Value::String(text) => (text.as_str(), None),
            run => (
                run.get("text").and_then(Value::as_str).unwrap_or(""),
                run.get("styles").and_then(Value::as_object),
            ),
        };
        out.extend(text.chars().map(|_| Source { run, styles, link, place: *place }));
        *place += 1;
    }
    let mut out = Vec::new();
    let mut place = 0;
    for run in runs {
        match run.get("type").and_then(Value::as_str) {
            Some("text") | None => text(run, None, &mut place, &mut out),
            Some("link") => {
                let from = out.len();
                match run.get("content") {
                    Some(Value::Array(inner)) => {
                        inner.iter().for_each(|inner| text(inner, Some(run), &mut place, &mut out));
                    }
                    Some(inner @ Value::String(_)) => text(inner, Some(run), &mut place, &mut out),
                    _ => {}
                }
                if out.len() == from {
                    out.push(Source { run, styles: None, link: None, place });
                    place += 1;
                }
            }
            Some(_) => {
                out.push(Source { run, styles: None, link: None, place });
                place += 1;
            }
        }
    }
    out
}

/// For each new character, the old ones that the next character with a past before it and after it are. Worked out once:
/// a long line that is all new would be walked over for each of its characters.
fn nearest(origin: &[Option<usize>]) -> (Vec<Option<usize>>, Vec<Option<usize>>) {
    let keep = |last: &mut Option<usize>, now: &Option<usize>| {
        *last = now.or(*last);
        Some(*last)
    };
    let before = origin.iter().scan(None, keep).collect();
    let mut after: Vec<Option<usize>> = origin.iter().rev().scan(None, keep).collect();
    after.reverse();
    (before, after)
}

/// The run that typed text joins: the one it was typed into, the only one there is, or a neighbour without anything Markdown cannot say.
fn inherited<'a, 'v>(
    sources: &'a [Source<'v>],
    before: Option<usize>,
    after: Option<usize>,
) -> Option<&'a Source<'v>> {
    let is_text = |source: &&Source| source.run.is_string() || source.run.get("text").is_some();
    let is_alone = sources.first().map(|source| source.place) == sources.last().map(|source| source.place);
    let before = before.map(|from| &sources[from]).filter(is_text);
    let after = after.map(|from| &sources[from]).filter(is_text);
    match (before, after) {
        (Some(a), Some(b)) if a.place == b.place => Some(a),
        (Some(a), None) | (None, Some(a)) if is_alone => Some(a),
        (Some(a), _) if is_simple(a) => Some(a),
        (_, Some(b)) if is_simple(b) => Some(b),
        _ => None,
    }
}

fn is_simple(source: &Source) -> bool {
    let known = |key: &String| STYLES.iter().any(|(name, _)| name == key);
    source.styles.is_none_or(|styles| styles.keys().all(known))
        && source.run.as_object().is_none_or(|run| run.len() <= 3)
}

fn styles(inline: &Inline) -> Vec<u8> {
    inline.stretches().flat_map(|(text, mark)| text.chars().map(|_| mark.style)).collect()
}

/// A run's styles with the documented ones as wanted.
fn restyled(before: Option<&Map<String, Value>>, wanted: u8) -> Map<String, Value> {
    let mut styles = before.cloned().unwrap_or_default();
    let have = documented_bits(&styles);
    for (key, bit) in STYLES {
        if wanted & bit != 0 && have & bit == 0 {
            styles.insert(key.to_owned(), Value::Bool(true));
        } else if wanted & bit == 0 && have & bit != 0 {
            styles.shift_remove(key);
        }
    }
    styles
}

/// The editor refuses `code` beside any other style, and within a link.
fn exclusive(mut styles: Map<String, Value>, in_link: bool) -> Map<String, Value> {
    if documented_bits(&styles) & CODE != 0 {
        if in_link {
            styles.shift_remove("code");
        } else if styles.len() > 1 {
            styles.retain(|key, _| key == "code");
        }
    }
    styles
}

/// For each new character, the old one that it is: by words, and inside a changed word by its ends.
pub(super) fn origins(old: &[char], new: &[char]) -> Vec<Option<usize>> {
    let mut origin = vec![None; new.len()];
    // Both ends stop between words: half a word that happens to begin alike is not the same word.
    let splits = |text: &[char], at: usize| {
        at.checked_sub(1)
            .and_then(|before| text.get(before))
            .zip(text.get(at))
            .is_some_and(|(a, b)| joined(*a, *b))
    };
    let mut head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    while splits(old, head) || splits(new, head) {
        head -= 1;
    }
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let mut tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    while splits(old, old.len() - tail) || splits(new, new.len() - tail) {
        tail -= 1;
    }
    for (at, place) in origin.iter_mut().enumerate().take(head) {
        *place = Some(at);
    }
    for back in 1..=tail {
        origin[new.len() - back] = Some(old.len() - back);
    }
    let (old_middle, new_middle) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    if old_middle.is_empty() || new_middle.is_empty() {
        return origin;
    }
    let (a, b) = (words(old_middle), words(new_middle));
    if a.len().saturating_mul(b.len()) > 4_000_000 {
        return origin;
    }
    for op in edits(&a, &b) {
        let (tag, from, to) = op.as_tag_tuple();
        let start = |words: &[&[char]], at: usize| words[..at].iter().map(|word| word.len()).sum::<usize>();
        let (o, n) = (head + start(&a, from.start), head + start(&b, to.start));
        match tag {
            similar::DiffTag::Equal => {
                let len: usize = b[to].iter().map(|word| word.len()).sum();
                for at in 0..len {
                    origin[n + at] = Some(o + at);
                }
            }
            similar::DiffTag::Replace => {
                let x: Vec<char> = a[from].iter().flat_map(|word| word.iter().copied()).collect();
                let y: Vec<char> = b[to].iter().flat_map(|word| word.iter().copied()).collect();
                let head = x.iter().zip(&y).take_while(|(a, b)| a == b).count();
                let rest = x[head..].iter().rev().zip(y[head..].iter().rev());
                let tail = rest.take_while(|(a, b)| a == b).count();
                for at in 0..head {
                    origin[n + at] = Some(o + at);
                }
                for back in 1..=tail {
                    origin[n + y.len() - back] = Some(o + x.len() - back);
                }
            }
            similar::DiffTag::Delete | similar::DiffTag::Insert => {}
        }
    }
    origin
}

/// Runs of letters and digits, and every other character by itself.
fn words(chars: &[char]) -> Vec<&[char]> {
    chars.chunk_by(|a, b| joined(*a, *b)).collect()
}

/// Whether no word ends between the two.
fn joined(a: char, b: char) -> bool {
    a.is_alphanumeric() && b.is_alphanumeric()
}

/// Runs under construction.
#[derive(Default)]
struct Out<'a> {
    done: Vec<Value>,
    /// The link that is open: where it goes, the object it comes from, and its runs so far.
    link: Option<(&'a Link, Option<&'a Value>, Vec<Value>)>,
    text: String,
    styles: Map<String, Value>,
    from: Option<Source<'a>>,
}

impl<'a> Out<'a> {
    fn text(
        &mut self,
        text: &str,
        styles: Map<String, Value>,
        from: Option<&Source<'a>>,
        link: Option<&'a Link>,
    ) {
        let same_link = self.link.as_ref().map(|open| open.0) == link;
        let same_run = match (&self.from, from) {
            (Some(a), Some(b)) => a.place == b.place || !a.borders_on(b) && a.says_as_much_as(b),
            (a, b) => a.is_none() && b.is_none() || a.as_ref().or(b).is_some_and(is_simple),
        };
        if !same_link || !same_run || self.styles != styles {
            self.close_run();
        }
        if !same_link {
            self.close_link();
            self.link = link.map(|link| (link, from.and_then(|from| from.link), Vec::new()));
        }
        if self.text.is_empty() || self.from.is_none() {
            self.from = from.copied().or(self.from);
        }
        self.styles = styles;
        self.text.push_str(text);
    }

    fn item(&mut self, item: Value) {
        self.close_run();
        self.close_link();
        self.done.push(item);
    }

    fn close_run(&mut self) {
        if self.text.is_empty() {
            return;
        }
        let text = Value::String(std::mem::take(&mut self.text));
        let styles = Value::Object(std::mem::take(&mut self.styles));
        let mut run = match self.from.take().and_then(|from| from.run.as_object()) {
            Some(run) if run.get("text").is_some() => run.clone(),
            _ => {
                let mut run = Map::with_capacity(3);
                run.insert("type".to_owned(), Value::from("text"));
                run
            }
        };
        run.insert("text".to_owned(), text);
        run.insert("styles".to_owned(), styles);
        let run = Value::Object(run);
        match &mut self.link {
            Some((_, _, runs)) => runs.push(run),
            None => self.done.push(run),
        }
    }

    fn close_link(&mut self) {
        let Some((link, from, runs)) = self.link.take() else { return };
        let mut object = match from.and_then(Value::as_object) {
            Some(object) => object.clone(),
            None => Map::from_iter([("type".to_owned(), Value::from("link"))]),
        };
        object.insert("href".to_owned(), Value::from(link.href.as_str()));
        object.insert("content".to_owned(), Value::Array(runs));
        self.done.push(Value::Object(object));
    }

    fn finish(mut self) -> Vec<Value> {
        self.close_run();
        self.close_link();
        self.done
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::render;
    use super::super::tests::read;

    /// One paragraph of these runs, its line changed from `from` to `to`, reads as `want`.
    #[track_caller]
    fn check(runs: &Value, from: &str, to: &str, want: &Value) {
        let block = json!({"id": "a", "type": "paragraph", "props": {}, "content": runs, "children": []});
        let text = render(std::slice::from_ref(&block)).text;
        assert!(text.contains(from), "{text:?} has no {from:?}");
        let back = read(&text.replacen(from, to, 1), &[block]);
        assert_eq!(&back[0]["content"], want);
    }

    fn run(text: &str, styles: Value) -> Value {
        json!({"type": "text", "text": text, "styles": styles})
    }

    #[test]
    fn what_is_carried_stays_on_whole_words() {
        let red = || json!({"textColor": "red"});
        let bold = || json!({"bold": true});
        // The word that stays is not cut where the word before it begins alike.
        check(
            &json!([run("w7x ", json!({})), run("w2x", bold()), run(" on.", json!({}))]),
            "w7x ",
            "",
            &json!([run("w2x", bold()), run(" on.", json!({}))]),
        );
        check(
            &json!([run("above ", red()), run("about it", json!({}))]),
            "above ",
            "",
            &json!([run("about it", json!({}))]),
        );
        check(
            &json!([run("it rains ", json!({})), run("it trains", red())]),
            " it trains",
            "",
            &json!([run("it rains", json!({}))]),
        );
        // What was changed inside keeps its colour at both ends.
        check(
            &json!([run("so ", json!({})), run("colour", red())]),
            "colour",
            "color",
            &json!([run("so ", json!({})), run("color", red())]),
        );
        // Runs that an edit brings together and that say the same become one.
        check(
            &json!([run("one", bold()), run(" two ", json!({})), run("three", bold())]),
            "** two **",
            " ",
            &json!([run("one three", bold())]),
        );
    }
}
