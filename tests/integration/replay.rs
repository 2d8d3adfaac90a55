//! The corpus of the fuzz targets, text by text: what once broke a reader breaks it no more.

#[path = "../../fuzz/src/laws.rs"]
mod laws;

use std::fs;
use std::path::Path;

#[test]
fn every_text_of_the_corpus_is_read_or_refused_in_one_line() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/fuzz");
    for (reader, law) in laws::READERS {
        let entries = fs::read_dir(corpus.join(reader)).unwrap().map(Result::unwrap);
        let mut texts = 0;
        for entry in entries {
            let text = fs::read_to_string(entry.path()).unwrap();
            texts += 1;
            // Cut anywhere, it is a text, too.
            let cuts = text.char_indices().map(|(at, _)| &text[..at]);
            for text in cuts.chain([text.as_str()]) {
                let wrong = law(text);
                assert_eq!(wrong, None, "{}: {text:?}", entry.path().display());
            }
        }
        assert!(texts > 2, "{reader} has no corpus");
    }
}
