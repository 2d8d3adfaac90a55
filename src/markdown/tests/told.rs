//! What a file says and its page does not: told line by line, and settled with either side's word.

use serde_json::Value;

use super::super::{Allowed, parse, parse_literally, render, settled, told};
use super::typed::outline;
use super::{ids, read};

/// A page as espejo wrote it, its file as a person left it, what is sent, and what `status` says.
#[track_caller]
fn is_told(page: &str, file: &str, sent: &str, says: &[&str]) {
    let base = parse(page, &[], &Allowed::documented(), &mut ids());
    assert_eq!(render(&base).text, page, "espejo's own bytes");
    let after = read(file, &base);
    assert_eq!(outline(&after), sent, "{file:?}");
    let found: Vec<String> = told(file, &after).iter().map(ToString::to_string).collect();
    assert_eq!(found, says, "{file:?}");
    // Other formatting says the same, and what is undone is told no more.
    let crlf: Vec<String> =
        told(&file.replace('\n', "\r\n"), &after).iter().map(ToString::to_string).collect();
    assert_eq!(crlf, says, "{file:?}");
    let lasting = |text: &str| told(text, &after).into_iter().filter(|told| told.what.lasts()).count();
    assert_eq!(lasting(&render(&after).text), 0);
    // The page's word put into the file.
    let settled = settled(file, &after, &Allowed::documented());
    assert_eq!(lasting(&settled), 0, "{settled:?}");
    assert_eq!(read(&settled, &after), after, "{settled:?}");
    if lasting(file) == 0 {
        assert_eq!(settled, file);
    }
}

#[test]
fn what_was_taken_for_formatting_is_sent_or_put_back_where_a_person_says_so() {
    // The page, its file, what the file says at its word, and the file once it has the page's word.
    for (page, file, word, back) in [
        (
            "A\n\n+ b\n",
            "A\n\n<!-- mine -->\n\n- b\n",
            "paragraph \"A\"\nbullet \"b\"",
            "A\n\n<!-- mine -->\n\n+ b\n",
        ),
        ("+ a\n  - b\n", "* a\n  * b\n", "bullet \"a\"\n bullet \"b\"", "+ a\n  * b\n"),
        ("A\n\n\nB __c__\n", "A\n\nB __c__\n", "paragraph \"A\"\nparagraph \"B c\"", "A\n\n\nB __c__\n"),
        ("a  b\n\n- c\n", "a b\n\n* c\n", "paragraph \"a b\"\nbullet \"c\"", "a  b\n\n* c\n"),
        // It cannot be sent: the page's word is all there is.
        ("1. a\n2. b\n", "3. a\n4. b\n", "numbered \"a\"\nnumbered \"b\"", "1. a\n2. b\n"),
        // All lines of its list, in the way they count; a list that begins anew behind it is one of its own.
        (
            "1. a\n2. b\n3. c\n",
            "8. a\n9. b\n10. c\n",
            "numbered \"a\"\nnumbered \"b\"\nnumbered \"c\"",
            "1. a\n2. b\n3. c\n",
        ),
        ("1. a\n2. b\n", "7) a\n7) b\n", "numbered \"a\"\nnumbered \"b\"", "1) a\n1) b\n"),
        ("1. a\n2. b\n", "7. a\n2. b\n", "numbered \"a\"\nnumbered \"b\"", "1. a\n2. b\n"),
        (
            "1. a\n2. b\n   - c\n3. d\n",
            "9. a\n10. b\n    - c\n\n    <!-- mine -->\n11. d\n",
            "numbered \"a\"\nnumbered \"b\"\n bullet \"c\"\nnumbered \"d\"",
            "1. a\n2. b\n   - c\n\n   <!-- mine -->\n\n3. d\n",
        ),
    ] {
        let documented = Allowed::documented();
        let base = parse(page, &[], &documented, &mut ids());
        assert_eq!(read(file, &base), base, "{file:?} is no edit");
        let said = parse_literally(file, &base, &documented, &mut ids());
        assert_eq!(outline(&said), word, "{file:?}");
        // Each block that it keeps is the same one.
        let id = |blocks: &[Value]| blocks.first().map(|block| block["id"].clone());
        assert_eq!(id(&said), id(&base), "{file:?}");
        assert_eq!(
            told(file, &said).iter().filter(|told| told.what.lasts()).count(),
            usize::from(word.starts_with("numbered"))
        );
        assert_eq!(settled(file, &base, &documented), back, "{file:?}");
    }
}

#[test]
fn no_difference_is_silent() {
    let toggle = "is taken for formatting: it is still a toggle at the service";
    let blank = "is taken for formatting: the service still has an empty paragraph before it";
    is_told("A\n\n+ b\n", "A\n\n- b\n", "paragraph \"A\"\ntoggle \"b\"", &[&format!("line 3 {toggle}")]);
    is_told("+ a\n+ b\n", "+ a\n- b\n", "toggle \"a\"\nbullet \"b\"", &[]);
    is_told(
        "+ a\n+ b\n",
        "* a\n* b\n",
        "toggle \"a\"\ntoggle \"b\"",
        &[&format!("line 1 {toggle}"), &format!("line 2 {toggle}")],
    );
    is_told("+ a\n  - b\n", "- a\n  - b\n", "toggle \"a\"\n bullet \"b\"", &[&format!("line 1 {toggle}")]);
    is_told("+ a\n\nb\n", "b\n", "paragraph \"b\"", &[]);
    is_told("+ a\n", "# a\n", "heading \"a\"", &[]);
    is_told(
        "A\n\n\nB\n",
        "A\n\nB\n",
        "paragraph \"A\"\nparagraph \"\"\nparagraph \"B\"",
        &[&format!("line 3 {blank}")],
    );
    is_told(
        "A\n\n\nB\n\n\nC\n",
        "A\n\nB\n\n\nC\n",
        "paragraph \"A\"\nparagraph \"B\"\nparagraph \"\"\nparagraph \"C\"",
        &[],
    );
    is_told(
        "",
        "3. a\n4. b\n",
        "numbered \"a\"\nnumbered \"b\"",
        &["line 1 is taken for formatting: its list begins with 3 here and with 1 at the service"],
    );
    is_told(
        "a `b`\n",
        "a **`b`**\n",
        "paragraph \"a b\"",
        &["line 1 has code with another style: at the service it is only code"],
    );
    is_told(
        "a<u>  </u>b\n",
        "a<u> </u>b\n",
        "paragraph \"a  b\"",
        &["line 1 is taken for formatting: its white space is unchanged at the service"],
    );
    is_told("1. a\n2. b\n", "1. a\n7. b\n", "numbered \"a\"\nnumbered \"b\"", &[]);
    is_told(
        "",
        "A\n\n<!-- block: database nowhere -->\n",
        "paragraph \"A\"",
        &["line 3 stands for a block that does not exist in this workspace: it stays in this file"],
    );
    // White space that a person takes away is an edit; where other lines changed as well, it is a formatter's work
    // and told.
    is_told("a  b\n\nc\n", "a b\n\nc\n", "paragraph \"a b\"\nparagraph \"c\"", &[]);
    let space = "line 1 is taken for formatting: its white space is unchanged at the service";
    is_told("a  b\n\n- c\n", "a b\n\n* c\n", "paragraph \"a  b\"\nbullet \"c\"", &[space]);
    is_told("a|  é\n\nc\n", "a| é\n\nc\n", "paragraph \"a| é\"\nparagraph \"c\"", &[]);
}
