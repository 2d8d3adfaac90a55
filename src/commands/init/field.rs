//! A line that a person types as an answer, with the keys that a shell has for editing. cliclack draws the frame; its own
//! fields drop Ctrl-U, and their hidden ones Ctrl-W.

use std::io;

use cliclack::{StringCursor, Theme, ThemeState};
use console::{Key, Term, measure_text_width};

use super::frame::Frame;

/// What is asked for.
pub(super) struct Field<'a> {
    pub(super) question: &'a str,
    /// The answer of an empty line.
    pub(super) default: Option<&'a str>,
    /// Whether the text is shown as dots.
    pub(super) is_hidden: bool,
}

impl Field<'_> {
    /// Asks until `check` accepts the line; `check` gives what is wrong with it.
    ///
    /// # Errors
    /// [`io::ErrorKind::Interrupted`] when the person breaks off; else what the terminal says.
    pub(super) fn ask(&self, check: impl Fn(&str) -> Result<(), String>) -> io::Result<String> {
        let term = Term::stderr();
        if !term.is_term() {
            return Err(io::ErrorKind::NotConnected.into());
        }
        term.hide_cursor()?;
        let told = self.ask_on(&term, check);
        term.show_cursor()?;
        told
    }

    fn ask_on(&self, term: &Term, check: impl Fn(&str) -> Result<(), String>) -> io::Result<String> {
        let mut line = Line::default();
        let mut state = ThemeState::Active;
        let mut shown = String::new();
        loop {
            let columns = usize::from(term.size().1).max(1);
            let frame = self.frame(&line, &state, columns);
            if frame != shown {
                let rows = |line: &str| measure_text_width(line).max(1).div_ceil(columns);
                term.clear_last_lines(shown.lines().map(rows).sum())?;
                term.write_str(&frame)?;
                shown = frame;
            }
            match state {
                ThemeState::Submit => return Ok(self.answer(&line)),
                ThemeState::Cancel => return Err(io::ErrorKind::Interrupted.into()),
                ThemeState::Active | ThemeState::Error(_) => {}
            }
            state = match line.press(key(|| term.read_key_raw())?) {
                Pressed::Goes => ThemeState::Active,
                Pressed::BreaksOff => ThemeState::Cancel,
                Pressed::Enters => match self.answer(&line) {
                    answer if answer.is_empty() => ThemeState::Error("type an answer".to_owned()),
                    answer => check(&answer).map_or_else(ThemeState::Error, |()| ThemeState::Submit),
                },
            };
        }
    }

    fn answer(&self, line: &Line) -> String {
        match self.default {
            Some(default) if line.0.is_empty() => default.to_owned(),
            _ => line.0.iter().collect(),
        }
    }

    fn frame(&self, line: &Line, state: &ThemeState, columns: usize) -> String {
        let header = Frame.format_header(state, self.question);
        let middle = match self.default {
            Some(default) if line.0.is_empty() => {
                Frame.format_placeholder(state, &cursor(default.chars(), default.chars().count()))
            }
            _ => {
                // A long line scrolls: the bar and two spaces stand before it, and the cursor behind it.
                let room = columns.saturating_sub(4).max(1);
                let from = line.cursor().saturating_sub(room);
                let part = line.0.iter().skip(from).take(room);
                let part = part.map(|&sign| if self.is_hidden { '•' } else { sign });
                let after = (line.0.len() - from).min(room) - (line.cursor() - from);
                Frame.format_input(state, &cursor(part, after))
            }
        };
        header + &middle + &Frame.format_footer(state)
    }
}

/// The text with a cursor `after` characters before its end.
fn cursor(text: impl Iterator<Item = char>, after: usize) -> StringCursor {
    let mut cursor = StringCursor::default();
    text.for_each(|sign| cursor.insert(sign));
    (0..after).for_each(|_| cursor.move_left());
    cursor
}

/// What a key does to the question.
#[derive(Debug, PartialEq, Eq)]
enum Pressed {
    Goes,
    Enters,
    BreaksOff,
}

/// The text, and the number of characters behind the cursor.
#[derive(Default)]
struct Line(Vec<char>, usize);

impl Line {
    fn cursor(&self) -> usize {
        self.0.len() - self.1
    }

    /// Where the word before the cursor begins.
    fn word_before(&self) -> usize {
        let before = &self.0[..self.cursor()];
        let end = before.iter().rposition(|sign| !sign.is_whitespace()).map_or(0, |at| at + 1);
        before[..end].iter().rposition(|sign| sign.is_whitespace()).map_or(0, |at| at + 1)
    }

    /// Where the word behind the cursor ends.
    fn word_after(&self) -> usize {
        let word = self.0.iter().skip(self.cursor()).skip_while(|sign| sign.is_whitespace());
        let spaces = self.0.iter().skip(self.cursor()).take_while(|sign| sign.is_whitespace());
        self.cursor() + spaces.count() + word.take_while(|sign| !sign.is_whitespace()).count()
    }

    fn to(&mut self, cursor: usize) {
        self.1 = self.0.len() - cursor;
    }

    /// Removes what stands between `from` and the cursor.
    fn cut_back(&mut self, from: usize) {
        self.0.drain(from..self.cursor());
    }

    fn cut_right(&mut self, number: usize) {
        let cursor = self.cursor();
        self.0.drain(cursor..cursor + number);
        self.1 -= number;
    }

    fn press(&mut self, key: Key) -> Pressed {
        match key {
            Key::Enter => return Pressed::Enters,
            Key::CtrlC | Key::Escape => return Pressed::BreaksOff,
            // Ctrl-D: the end of what is typed, or the character at the cursor.
            Key::Char('\x04') if self.0.is_empty() => return Pressed::BreaksOff,
            Key::Char('\x04') | Key::Del => self.cut_right(self.1.min(1)),
            Key::Char('\x15') => self.cut_back(0),
            Key::Char('\x0b') => self.cut_right(self.1),
            Key::Char('\x17') => self.cut_back(self.word_before()),
            Key::Backspace => self.cut_back(self.cursor().saturating_sub(1)),
            Key::Home | Key::Char('\x01') => self.to(0),
            Key::End | Key::Char('\x05') => self.to(self.0.len()),
            Key::ArrowLeft | Key::Char('\x02') => self.to(self.cursor().saturating_sub(1)),
            Key::ArrowRight | Key::Char('\x06') => self.1 = self.1.saturating_sub(1),
            Key::Char(sign) if !sign.is_control() => self.0.insert(self.cursor(), sign),
            Key::UnknownEscSeq(signs) => match signs.iter().collect::<String>().as_str() {
                // With Alt or Ctrl.
                "\x7f" => self.cut_back(self.word_before()),
                "b" | "[1;3D" | "[1;5D" => self.to(self.word_before()),
                "f" | "[1;3C" | "[1;5C" => self.to(self.word_after()),
                "OH" => self.to(0),
                "OF" => self.to(self.0.len()),
                _ => {}
            },
            _ => {}
        }
        Pressed::Goes
    }
}

/// The next key. `console` ends an escape sequence that it does not know before its end, so that the rest would be text.
fn key(mut next: impl FnMut() -> io::Result<Key>) -> io::Result<Key> {
    let mut signs = match next()? {
        Key::UnknownEscSeq(signs) => signs,
        key => return Ok(key),
    };
    let is_whole = |signs: &[char]| match signs {
        ['O'] => false,
        ['[', rest @ ..] => rest.last().is_some_and(|last| ('@'..='~').contains(last)),
        _ => true,
    };
    while !is_whole(&signs) {
        match next()? {
            Key::Char(sign) if !sign.is_control() => signs.push(sign),
            key => return Ok(key),
        }
    }
    Ok(Key::UnknownEscSeq(signs))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line after these keys, `|` where the cursor is, and what the last key does.
    fn typed(keys: &[Key]) -> (String, Pressed) {
        let mut line = Line::default();
        let mut last = Pressed::Goes;
        for key in keys {
            last = line.press(key.clone());
        }
        let mut text = line.0.clone();
        text.insert(line.cursor(), '|');
        (text.into_iter().collect(), last)
    }

    #[test]
    fn keys_edit_a_line_as_they_do_in_a_shell() {
        let words = || "one two  three".chars().map(Key::Char).collect::<Vec<_>>();
        let ctrl = |sign: char| Key::Char(char::from(sign as u8 & 0x1f));
        let sequence = |signs: &str| Key::UnknownEscSeq(signs.chars().collect());
        for (keys, expected) in [
            (vec![], "one two  three|"),
            (vec![ctrl('u')], "|"),
            (vec![ctrl('u'), Key::Char('x')], "x|"),
            (vec![ctrl('w')], "one two  |"),
            (vec![ctrl('w'), ctrl('w')], "one |"),
            (vec![sequence("\x7f"), sequence("\x7f"), ctrl('w'), ctrl('w')], "|"),
            (vec![ctrl('a'), Key::Char('x')], "x|one two  three"),
            (vec![ctrl('a'), ctrl('e'), Key::Char('x')], "one two  threex|"),
            (vec![sequence("OH"), ctrl('f'), ctrl('k')], "o|"),
            (vec![sequence("b"), ctrl('u')], "|three"),
            (vec![Key::Home, Key::Backspace, Key::Del, ctrl('d')], "|e two  three"),
            (vec![Key::End, Key::Del, ctrl('d'), Key::ArrowRight, Key::Backspace], "one two  thre|"),
            (vec![sequence("[1;5D"), sequence("[1;5D"), ctrl('k')], "one |"),
            (vec![ctrl('a'), sequence("f"), sequence("[1;5C"), ctrl('u')], "|  three"),
            (vec![ctrl('b'), ctrl('b'), Key::ArrowLeft, Key::ArrowRight, Key::Char('ñ')], "one two  thrñ|ee"),
            (vec![Key::Tab, Key::PageUp, ctrl('z'), sequence("[15~"), Key::Unknown], "one two  three|"),
        ] {
            let (line, last) = typed(&[words(), keys.clone()].concat());
            assert_eq!((line.as_str(), last), (expected, Pressed::Goes), "{keys:?}");
        }
        assert_eq!(typed(&[ctrl('d')]).1, Pressed::BreaksOff, "nothing is typed: the end");
        assert_eq!(typed(&[Key::Char('x'), ctrl('u'), ctrl('d')]).1, Pressed::BreaksOff);
        assert_eq!(typed(&[Key::CtrlC]).1, Pressed::BreaksOff);
        assert_eq!(typed(&[Key::Char('x'), Key::Enter]), ("x|".to_owned(), Pressed::Enters));
    }

    #[test]
    fn an_escape_sequence_is_read_to_its_end() {
        let read = |keys: Vec<Key>| {
            let mut keys = keys.into_iter();
            let first = key(|| keys.next().ok_or(io::ErrorKind::UnexpectedEof.into())).unwrap();
            (first, keys.collect::<Vec<_>>())
        };
        let sequence = |signs: &str| Key::UnknownEscSeq(signs.chars().collect());
        let signs = |text: &str| text.chars().map(Key::Char).collect::<Vec<_>>();
        for (begun, rest, whole) in
            [("[1;", "5D", "[1;5D"), ("[15", "~", "[15~"), ("O", "H", "OH"), ("b", "", "b"), ("[", "E", "[E")]
        {
            let keys = [vec![sequence(begun)], signs(rest), signs("x")].concat();
            assert_eq!(read(keys), (sequence(whole), signs("x")), "{begun}");
        }
        assert_eq!(read(vec![sequence("["), Key::CtrlC]), (Key::CtrlC, vec![]), "not swallowed");
        assert_eq!(read(signs("ab")), (Key::Char('a'), signs("b")));
    }

    #[test]
    fn a_long_line_scrolls_and_a_hidden_one_shows_dots() {
        let frame = |text: &str, back: usize, is_hidden: bool| {
            let mut line = Line(text.chars().collect(), 0);
            (0..back).for_each(|_| assert_eq!(line.press(Key::ArrowLeft), Pressed::Goes));
            let field = Field { question: "Q", default: Some("none"), is_hidden };
            let frame = field.frame(&line, &ThemeState::Active, 12);
            let frame = console::strip_ansi_codes(&frame).into_owned();
            frame.lines().nth(1).unwrap().trim_start_matches(['│', '|', ' ']).trim_end().to_owned()
        };
        for (text, back, is_hidden, expected) in [
            ("", 0, false, "none"),
            ("abc", 0, false, "abc"),
            ("abcdefghijkl", 0, false, "efghijkl"),
            ("abcdefghijkl", 12, false, "abcdefgh"),
            ("abcdefghijkl", 2, false, "cdefghij"),
            ("secret", 0, true, "••••••"),
            ("a-long-secret", 3, true, "••••••••"),
        ] {
            assert_eq!(frame(text, back, is_hidden), expected, "{text} {back}");
        }
    }
}
