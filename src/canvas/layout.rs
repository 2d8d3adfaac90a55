//! Text set into a box: how wide it is, where its lines break, how it is anchored. The widths are those of Helvetica,
//! which the fonts that viewers fall back to resemble; a little is added for those that run wider.

use unicode_normalization::UnicodeNormalization;

/// Widths of ASCII from the space on, in thousandths of the font size.
const WIDTHS: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556,
    556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278,
    500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469,
    556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500,
    278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];

/// For fonts that run wider than Helvetica.
const ALLOWANCE: f64 = 1.12;

/// How a text is set.
#[derive(Debug, Clone, Copy)]
pub(super) struct Font {
    pub(super) size: f64,
    pub(super) bold: bool,
    pub(super) spacing: f64,
}

impl Font {
    /// The width of a text on one line.
    pub(super) fn width(&self, text: &str) -> f64 {
        text.chars().map(|c| self.advance(c)).sum()
    }

    fn advance(&self, c: char) -> f64 {
        let thousandths = thousandths(c);
        if thousandths == 0 {
            return 0.0;
        }
        let weight = if self.bold { 1.07 } else { 1.0 };
        f64::from(thousandths) / 1000.0 * self.size * weight * ALLOWANCE + self.spacing
    }

    /// The text in lines no wider than `room`: broken at spaces, within a word only where it alone is wider.
    pub(super) fn wrap(&self, text: &str, room: f64) -> Vec<String> {
        let mut lines = Vec::new();
        for paragraph in text.split('\n') {
            let paragraph = paragraph.trim_end_matches('\r').replace('\t', "    ");
            self.wrap_paragraph(&paragraph, room, &mut lines);
        }
        lines
    }

    fn wrap_paragraph(&self, paragraph: &str, room: f64, lines: &mut Vec<String>) {
        let mut line = String::new();
        let mut width = 0.0;
        for word in pieces(paragraph) {
            let own = self.width(word.trim_end());
            if !line.is_empty() && width + own > room {
                lines.push(std::mem::take(&mut line).trim_end().to_owned());
                width = 0.0;
            }
            if own <= room {
                line.push_str(word);
                width += self.width(word);
                continue;
            }
            for c in word.chars() {
                let own = self.advance(c);
                // What has no width of its own belongs to the character before it.
                if own > 0.0 && !line.is_empty() && width + own > room && !c.is_whitespace() && !joined(&line)
                {
                    lines.push(std::mem::take(&mut line));
                    width = 0.0;
                }
                line.push(c);
                width += own;
            }
        }
        lines.push(line.trim_end().to_owned());
    }
}

/// The words of a line, each with the blanks after it; scripts without blanks may break anywhere.
fn pieces(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut before: Option<char> = None;
    for (at, c) in text.char_indices() {
        let breaks = before.is_some_and(|b| {
            (b == ' ' && c != ' ')
                || b == '-' && c.is_alphanumeric() && at - start > 2
                || (is_wide(b) && is_wide(c))
        });
        if breaks && at > start {
            found.push(&text[start..at]);
            start = at;
        }
        before = Some(c);
    }
    if start < text.len() {
        found.push(&text[start..]);
    }
    found
}

fn joined(line: &str) -> bool {
    line.ends_with('\u{200d}')
}

/// Ideographs, kana and hangul: a line may break between any two.
fn is_wide(c: char) -> bool {
    matches!(c, '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}'
        | '\u{ff00}'..='\u{ff60}' | '\u{20000}'..='\u{3fffd}')
}

fn thousandths(c: char) -> u16 {
    let plain = |c: char| WIDTHS.get((c as usize).wrapping_sub(32)).copied();
    match c {
        ' '..='~' => plain(c).unwrap_or(556),
        c if c.is_control() => 0,
        '\u{300}'..='\u{36f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2060}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' => 0,
        '\u{1f3fb}'..='\u{1f3ff}' => 0,
        '\u{1f000}'..='\u{1faff}' | '\u{2600}'..='\u{27bf}' | '\u{2b50}'..='\u{2b55}' => 1250,
        c if is_wide(c) => 1000,
        '—' | '…' | '→' | '←' => 1000,
        c => std::iter::once(c).nfd().next().filter(|base| *base != c).and_then(plain).unwrap_or(600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_words_and_no_line_is_too_wide() {
        let font = Font { size: 10.0, bold: false, spacing: 0.0 };
        let check = |text: &str, room: f64, expected: &[&str]| {
            assert_eq!(font.wrap(text, room), expected, "{text:?}");
        };
        check("", 50.0, &[""]);
        check("one", 50.0, &["one"]);
        check("one two three", 40.0, &["one two", "three"]);
        check("one\ntwo\n", 50.0, &["one", "two", ""]);
        check("  indented", 80.0, &["  indented"]);
        check("日本語日本語", 34.0, &["日本語", "日本語"]);
        check("well-known", 36.0, &["well-", "known"]);
        let long = "x".repeat(100);
        let lines = font.wrap(&long, 60.0);
        assert!(lines.len() > 1 && lines.iter().all(|line| font.width(line) <= 60.0));
        assert_eq!(lines.concat(), long);
    }

    #[test]
    fn what_is_drawn_in_one_place_stays_together() {
        let font = Font { size: 10.0, bold: false, spacing: 0.0 };
        let family = "👩\u{200d}👩\u{200d}👧\u{200d}👦";
        assert_eq!(font.wrap(family, 5.0), [family]);
        assert_eq!(font.wrap("e\u{301}e\u{301}", 6.0), ["e\u{301}", "e\u{301}"]);
    }
}
