//! Which local files that belong to nothing are the files of items that have none, after the state was lost: in one
//! folder, by what the files hold and by what their names say.

use std::collections::{BTreeMap, BTreeSet};

use unicode_normalization::UnicodeNormalization;

use super::{filenames, naming};

/// How the names of one kind of item say their titles.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// The title that an item made from a file of this name has.
    stated: fn(&str) -> String,
    /// The name that espejo gives to the only item of this title.
    chosen: fn(&str) -> String,
    /// Whether espejo may have given this name to an item of this title.
    says: fn(&str, &str) -> bool,
}

/// Pages, canvases and presentations, by the names without their endings.
pub const TITLED: Rule = Rule {
    stated: naming::title_of,
    chosen: |title| naming::choose(title, &|_| false, 252).stem,
    says: naming::still_says,
};

/// Stored files, by their whole names.
pub const STORED: Rule = Rule {
    stated: filenames::as_stored,
    chosen: |name| filenames::choose(name, false, &|_| false),
    says: |stem, name| filenames::still_says(stem, name, false),
};

/// The folders of stored files.
pub const STORED_FOLDERS: Rule = Rule {
    stated: filenames::as_stored,
    chosen: |name| filenames::choose(name, true, &|_| false),
    says: |stem, name| filenames::still_says(stem, name, true),
};

/// Items without files, and files of nobody, in one folder.
#[derive(Debug)]
pub struct Adoption<I, F> {
    /// Each item with its title, in the service's order.
    pub items: Vec<(I, String)>,
    /// Each file with its name, in the order of the paths.
    pub files: Vec<(F, String)>,
    /// The pairs that the content of the files shows, the best first.
    pub shown: Vec<(I, F)>,
}

impl<I: Clone + Ord, F: Clone + Ord> Adoption<I, F> {
    /// The file of each item: the one whose content shows it; of the others first the one that states its title, then
    /// the one with the name that espejo would choose, and then one whose name may have been chosen beside others.
    /// Each file is one item's at most. `may` tells which pairs are possible at all.
    #[must_use]
    pub fn pairs(self, rule: Rule, may: &dyn Fn(&I, &F) -> bool) -> BTreeMap<I, F> {
        let Self { mut items, mut files, shown } = self;
        let mut pairs: BTreeMap<I, F> = BTreeMap::new();
        let mut taken: BTreeSet<F> = BTreeSet::new();
        for (item, file) in shown {
            if !pairs.contains_key(&item) && taken.insert(file.clone()) {
                pairs.insert(item, file);
            }
        }
        let nfc = |name: &str| name.nfc().collect::<String>();
        type Key<'k> = &'k dyn Fn(&str) -> String;
        let keys: [(Key<'_>, Key<'_>); 4] = [
            (&str::to_owned, &str::to_owned),
            (&str::to_owned, &rule.stated),
            (&nfc, &|name: &str| nfc(&(rule.stated)(name))),
            (&rule.chosen, &nfc),
        ];
        for (of_title, of_name) in keys {
            items.retain(|(item, _)| !pairs.contains_key(item));
            files.retain(|(file, _)| !taken.contains(file));
            if items.is_empty() || files.is_empty() {
                return pairs;
            }
            let mut by_key: BTreeMap<String, Vec<&F>> = BTreeMap::new();
            for (file, name) in &files {
                by_key.entry(of_name(name)).or_default().push(file);
            }
            for (item, title) in &items {
                let its = by_key.get_mut(&of_title(title));
                let at = its.as_ref().and_then(|its| its.iter().position(|file| may(item, file)));
                if let Some(file) = its.zip(at).map(|(its, at)| its.remove(at)) {
                    taken.insert(file.clone());
                    pairs.insert(item.clone(), file.clone());
                }
            }
        }
        for (item, title) in items.iter().filter(|(item, _)| !pairs.contains_key(item)).collect::<Vec<_>>() {
            let is_its = |(file, name): &&(F, String)| {
                !taken.contains(file) && may(item, file) && (rule.says)(name, title)
            };
            if let Some((file, _)) = files.iter().find(is_its) {
                taken.insert(file.clone());
                pairs.insert(item.clone(), file.clone());
            }
        }
        pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(rule: Rule, titles: &[&str], names: &[&str], shown: &[(usize, usize)]) -> Vec<(usize, usize)> {
        let numbered = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).enumerate().collect();
        let adoption = Adoption { items: numbered(titles), files: numbered(names), shown: shown.to_vec() };
        adoption.pairs(rule, &|_, _| true).into_iter().collect()
    }

    #[test]
    fn a_name_that_says_the_title_is_the_items_and_the_exact_one_comes_first() {
        let check = |titles: &[&str], names: &[&str], expected: &[(usize, usize)]| {
            assert_eq!(pairs(TITLED, titles, names, &[]), expected, "{titles:?} {names:?}");
        };
        check(&["Plan 10:30"], &["Plan 10:30"], &[(0, 0)]);
        check(&["Plan 10:30"], &["Plan 10：30"], &[(0, 0)]);
        check(&["Plan 10:30", "Plan 10：30"], &["Plan 10:30", "Plan 10：30"], &[(0, 0), (1, 1)]);
        check(&["Plan 10：30", "Plan 10:30"], &["Plan 10:30", "Plan 10：30"], &[(0, 1), (1, 0)]);
        check(&["ma\u{f1}ana"], &["man\u{303}ana"], &[(0, 0)]);
        check(
            &["NUL", "con punto.", "back\\slash", "end "],
            &["NUL", "back\\slash", "con punto.", "end "],
            &[(0, 0), (1, 2), (2, 1), (3, 3)],
        );
        check(&["Twin", "Twin"], &["Twin", "Twin (2)"], &[(0, 0), (1, 1)]);
        check(&["Twin", "Twin (2)"], &["Twin (2)"], &[(1, 0)]);
        check(&["Twin"], &["Twin (3)", "Other"], &[(0, 0)]);
        check(&["Twin"], &["Twins", "Other"], &[]);
    }

    #[test]
    fn what_a_file_holds_says_more_than_its_name() {
        let found = pairs(TITLED, &["Twin", "Twin"], &["Twin", "Twin (2)"], &[(0, 1)]);
        assert_eq!(found, [(0, 1), (1, 0)]);
        let found = pairs(TITLED, &["Twin", "Other"], &["Twin"], &[(1, 0), (0, 0)]);
        assert_eq!(found, [(1, 0)]);
    }

    #[test]
    fn a_stored_file_is_known_by_the_name_that_its_upload_has() {
        let check = |rule: Rule, titles: &[&str], names: &[&str], expected: &[(usize, usize)]| {
            assert_eq!(pairs(rule, titles, names, &[]), expected, "{titles:?} {names:?}");
        };
        check(STORED, &["foto 10:30.txt"], &["foto 10:30.txt"], &[(0, 0)]);
        check(STORED, &["back_slash.txt"], &["back\\slash.txt"], &[(0, 0)]);
        check(STORED, &["man\u{303}ana.txt"], &["man\u{303}ana.txt"], &[(0, 0)]);
        check(STORED, &["x.pdf", "x.pdf"], &["x (2).pdf", "x.pdf"], &[(0, 1), (1, 0)]);
        check(STORED, &["x.pdf"], &["x (2).txt", "x.pdf (2)"], &[]);
        check(STORED_FOLDERS, &["v1.2", "v1.2"], &["v1.2", "v1.2 (2)"], &[(0, 0), (1, 1)]);
    }

    #[test]
    fn a_pair_that_cannot_be_is_none() {
        let items = vec![(0, "x".to_owned()), (1, "x".to_owned())];
        let adoption = Adoption { items, files: vec![(0, "x".to_owned())], shown: Vec::new() };
        assert_eq!(adoption.pairs(TITLED, &|item, _| *item == 1), BTreeMap::from([(1, 0)]));
    }
}
