//! People: one who works on files, one who works in the app. An act is a list of deeds with pauses between them, made
//! from what can be seen at its beginning; the run carries the deeds out and notes which words they took away.

use espejo::markdown::front_matter;
use espejo::model::{Blocks, EntryKind, MirrorPath, PageId, Stamp};

use crate::blocks;
use crate::folder::Folder;
use crate::luck::Luck;
use crate::script::{App, Edit, Save, Tree};
use crate::service::Service;
use crate::stored::people::StoredDeed;
use crate::text;
use crate::words::{Ledger, words_in};

/// One thing that happens at once.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Deed {
    /// A write to where the file was when it was read, wherever it is by now.
    Write(MirrorPath, Vec<u8>),
    /// A write by a program that has the file with this stamp open: it gets it wherever the file is by now.
    WriteOn(Stamp, MirrorPath, Vec<u8>),
    /// A write to a place that was there when the program began: no folder is made for it.
    WriteBack(MirrorPath, Vec<u8>),
    /// A save by a program that read the file so long before, when it held this, and has not looked since.
    WriteStale {
        path: MirrorPath,
        bytes: Vec<u8>,
        read: Vec<u8>,
        age_ms: i64,
    },
    /// A file comes back when everybody may have given it up: its page may have gone, or have its file again.
    WriteLate(MirrorPath, Vec<u8>),
    /// A write that leaves the modification time as it was.
    WriteQuietly(MirrorPath, Vec<u8>),
    Replace(MirrorPath, Vec<u8>),
    Unlink(MirrorPath),
    RemoveTree(MirrorPath),
    Rename(MirrorPath, MirrorPath),
    MakeFolder(MirrorPath),
    Link(MirrorPath),
    SaveInApp(PageId, Blocks),
    /// An editor that was open before a push saves what it has: of the pages where that can be, the one of this number.
    PutBackInApp(usize),
    RenameInApp(PageId, String),
    MoveInApp(PageId, Option<PageId>),
    CreateInApp(Option<PageId>, String, Blocks),
    TrashInApp(PageId),
    RestoreInApp(PageId),
    IconInApp(PageId, Option<&'static str>),
    Stored(StoredDeed),
    /// Something at canvas files.
    Canvas(crate::canvas::Deed),
}

impl Deed {
    /// The text that the person holds in hand until this happens.
    pub(crate) fn held(&self) -> &[u8] {
        match self {
            Self::Write(_, bytes)
            | Self::WriteOn(_, _, bytes)
            | Self::WriteBack(_, bytes)
            | Self::WriteStale { bytes, .. }
            | Self::WriteLate(_, bytes)
            | Self::WriteQuietly(_, bytes)
            | Self::Replace(_, bytes) => bytes,
            Self::Canvas(deed) => deed.held(),
            _ => &[],
        }
    }

    /// What it is done to among page files.
    pub(crate) fn paths(&self) -> Vec<&MirrorPath> {
        match self {
            Self::Write(path, _)
            | Self::WriteOn(_, path, _)
            | Self::WriteBack(path, _)
            | Self::WriteStale { path, .. }
            | Self::WriteLate(path, _)
            | Self::WriteQuietly(path, _)
            | Self::Replace(path, _)
            | Self::Unlink(path)
            | Self::RemoveTree(path) => vec![path],
            Self::Rename(from, to) => vec![from, to],
            _ => Vec::new(),
        }
    }

    /// Whether it is done to the folder, and not in the app.
    pub(crate) fn is_on_disk(&self) -> bool {
        if let Self::Stored(deed) = self {
            return deed.is_on_disk();
        }
        matches!(
            self,
            Self::Write(..)
                | Self::WriteOn(..)
                | Self::WriteBack(..)
                | Self::WriteStale { .. }
                | Self::WriteLate(..)
                | Self::WriteQuietly(..)
                | Self::Replace(..)
                | Self::Unlink(_)
                | Self::RemoveTree(_)
                | Self::Rename(..)
                | Self::MakeFolder(_)
                | Self::Link(_)
                | Self::Canvas(_)
        )
    }
}

/// Deeds, each with the pause before it in milliseconds.
pub(crate) type Plan = Vec<(i64, Deed)>;

/// Where a file lies while another takes its place.
const SWAP: &str = "swap.tmp";

/// Whether it is a file that lies aside while it changes places with another.
pub(crate) fn in_swap(path: &MirrorPath) -> bool {
    path.name() == SWAP
}

/// Whether a person would take this file for a page.
pub(crate) fn is_page_file(path: &MirrorPath) -> bool {
    let mut parts = path.components();
    let in_pages = parts.nth(1) == Some("Pages") && path.components().count() > 2;
    let hidden = path.components().any(|part| part.starts_with('.'));
    let is_other_tools = path.name().contains(".sync-conflict-");
    in_pages && !hidden && path.page_stem().is_some() && !is_conflict_copy(path) && !is_other_tools
}

/// Whether this is a version that espejo put beside a page.
pub(crate) fn is_conflict_copy(path: &MirrorPath) -> bool {
    path.name().contains(".conflict-")
}

pub(crate) fn page_files(folder: &Folder) -> Vec<MirrorPath> {
    folder
        .things
        .iter()
        .filter(|(path, thing)| thing.kind == EntryKind::File && is_page_file(path))
        .map(|(path, _)| path.clone())
        .collect()
}

fn page_folders(folder: &Folder) -> Vec<MirrorPath> {
    folder
        .things
        .iter()
        .filter(|(path, thing)| {
            thing.kind == EntryKind::Folder
                && path.components().nth(1) == Some("Pages")
                && !path.components().any(|part| part.starts_with('.'))
        })
        .map(|(path, _)| path.clone())
        .collect()
}

pub(crate) fn nth<T: Clone>(items: &[T], number: u32) -> Option<T> {
    let count = u32::try_from(items.len()).ok().filter(|count| *count > 0)?;
    items.get(usize::try_from(number % count).ok()?).cloned()
}

/// The folder of a page file's subpages.
fn beside(file: &MirrorPath) -> Option<MirrorPath> {
    file.parent()?.join(file.page_stem()?).ok()
}

fn bytes_of(folder: &Folder, path: &MirrorPath) -> Option<Vec<u8>> {
    folder.file(path).map(|thing| thing.bytes.clone())
}

/// How old the text is that a program or an editor has: a second, half a minute, some minutes, a quarter of an hour.
fn some_age(luck: &mut Luck) -> i64 {
    let (from, to) = *luck.pick(&[(200, 2_000), (2_000, 30_000), (30_000, 300_000), (300_000, 900_000)]);
    luck.between(from, to)
}

/// Somebody edits a file and saves it.
pub(crate) fn edit(
    (edit, save): (Edit, Save),
    (a, b): (u32, u32),
    folder: &Folder,
    ledger: &mut Ledger,
) -> Option<Plan> {
    let mut luck = Luck::new(u64::from(b), 5);
    let path = nth(&page_files(folder), a)?;
    // What a program has half written is no text to edit.
    let open = folder.file(&path).filter(|thing| !folder.is_open(thing.stamp.inode))?.stamp;
    let before = bytes_of(folder, &path)?;
    let word = ledger.text().to_string();
    let after = text::edited(std::str::from_utf8(&before).ok()?, edit, &word, &mut luck)?.into_bytes();
    // Where the app changes what was joined to another text meanwhile, both stay.
    text::joined(&before, &after).into_iter().for_each(|word| ledger.copy(word));
    let near = |name: String| path.parent().and_then(|up| up.join(&name).ok());
    let pause = [0, 1, 5, 12, 80, 900][usize::try_from(luck.below(6)).ok()?];
    Some(match save {
        Save::InPlace => vec![(0, Deed::Write(path, after))],
        Save::Stale => vec![(luck.between(500, 30_000), Deed::WriteBack(path, after))],
        Save::FromMemory => {
            let age_ms = some_age(&mut luck);
            vec![(age_ms, Deed::WriteStale { path, bytes: after, read: before, age_ms })]
        }
        Save::Autosave => {
            let mut texts = vec![after];
            for _ in 0..luck.between(1, 4) {
                let (text, word) = (texts.last()?, ledger.text().to_string());
                let text = std::str::from_utf8(text).ok()?;
                texts.push(text::edited(text, Edit::InsertWord, &word, &mut luck)?.into_bytes());
            }
            let (age_ms, bytes) = (luck.between(0, 20_000), texts.remove(0));
            let first = Deed::WriteStale { path: path.clone(), bytes, read: before, age_ms };
            let next = texts
                .into_iter()
                .map(|bytes| (luck.between(500, 3_000), Deed::WriteBack(path.clone(), bytes)));
            std::iter::once((age_ms, first)).chain(next).collect()
        }
        Save::TwoPrograms => {
            let other = ledger.text().to_string();
            let other =
                text::edited(std::str::from_utf8(&before).ok()?, Edit::InsertWord, &other, &mut luck)?;
            let (first, second) = (luck.between(0, 3_000), luck.between(100, 60_000));
            vec![
                (first, Deed::WriteBack(path.clone(), after)),
                (second, Deed::WriteBack(path, other.into_bytes())),
            ]
        }
        Save::Truncate => {
            vec![(0, Deed::Write(path.clone(), Vec::new())), (pause, Deed::WriteOn(open, path, after))]
        }
        Save::Half => {
            // Behind the front matter: a copy of half of that is a file that its person has to mend.
            let text = std::str::from_utf8(&after).ok()?;
            let front = front_matter::split(text).map_or(0, |split| split.body_start);
            let half = after[..text.floor_char_boundary(front.max(text.len() / 2))].to_vec();
            let pause = luck.between(400, 9_000);
            vec![(0, Deed::Write(path.clone(), half)), (pause, Deed::WriteOn(open, path, after))]
        }
        Save::Replace => vec![(0, Deed::Replace(path, after))],
        Save::OldTime => vec![(0, Deed::WriteQuietly(path, after))],
        Save::Sed => {
            let other = near(format!("sed{}", &format!("{:06}", luck.below(1_000_000))))?;
            vec![(0, Deed::Write(other.clone(), after)), (pause, Deed::Rename(other, path))]
        }
        Save::Vim => {
            let backup = near(format!("{}~", path.name()))?;
            let probe = near("4913".to_owned())?;
            vec![
                (0, Deed::Write(probe.clone(), Vec::new())),
                (0, Deed::Unlink(probe)),
                (0, Deed::Rename(path.clone(), backup.clone())),
                (pause, Deed::Write(path, after)),
                (pause, Deed::Unlink(backup)),
            ]
        }
        Save::Emacs => {
            let backup = near(format!("{}~", path.name()))?;
            let lock = near(format!(".#{}", path.name()))?;
            vec![
                (0, Deed::Link(lock.clone())),
                (0, Deed::Rename(path.clone(), backup)),
                (pause, Deed::Write(path, after)),
                (0, Deed::Unlink(lock)),
            ]
        }
    })
}

/// Somebody changes the tree of files.
pub(crate) fn tree(
    act: Tree,
    (a, b): (u32, u32),
    grace_ms: u32,
    folder: &Folder,
    ledger: &mut Ledger,
) -> Option<Plan> {
    let mut luck = Luck::new(u64::from(b), 6);
    let (files, folders) = (page_files(folder), page_folders(folder));
    let file = nth(&files, a);
    let place = nth(&folders, b);
    let gap = [0, 0, 3, 60, 700][usize::try_from(luck.below(5)).ok()?];
    let fresh = |ledger: &mut Ledger, before: &str| format!("{before} {}", ledger.title());
    match act {
        Tree::NewFile => {
            let path = place?.join(&format!("{}.md", fresh(ledger, "Nota"))).ok()?;
            let bytes = new_text(ledger, &mut luck);
            Some(match luck.below(3) {
                0 => vec![(0, Deed::Replace(path, bytes))],
                1 => vec![(0, Deed::Write(path.clone(), Vec::new())), (gap, Deed::Write(path, bytes))],
                _ => vec![(0, Deed::Write(path, bytes))],
            })
        }
        Tree::NewOddFile => {
            let word = ledger.title();
            let name = match luck.below(9) {
                0 => format!("CON {word}"),
                1 => format!("  {word} spaced"),
                2 => format!("a: {word}?"),
                3 => format!("{word}."),
                4 => format!("Cafe\u{301} {word} 🎉"),
                5 => format!("{word} {}", "largo ".repeat(38)).trim_end().to_owned(),
                6 => format!("# {word} [x] *b*"),
                7 => format!("{word} (2)"),
                _ => format!("-{word}: 'quoted' \"too\""),
            };
            let path = place?.join(&format!("{name}.md")).ok()?;
            Some(vec![(0, Deed::Write(path, new_text(ledger, &mut luck)))])
        }
        Tree::NewFolder => {
            let mut at = place?.join(&fresh(ledger, "Carpeta")).ok()?;
            let mut plan = vec![(0, Deed::MakeFolder(at.clone()))];
            for _ in 0..luck.between(1, 3) {
                if luck.chance(30) {
                    at = at.join(&fresh(ledger, "Sub")).ok()?;
                }
                let path = at.join(&format!("{}.md", fresh(ledger, "Hoja"))).ok()?;
                plan.push((gap, Deed::Write(path, new_text(ledger, &mut luck))));
            }
            Some(plan)
        }
        Tree::CopyFile => {
            let from = file?;
            let up = if luck.chance(60) { from.parent()? } else { place? };
            let to = up.join(&format!("{} {}.md", from.page_stem()?, ledger.title())).ok()?;
            Some(vec![(0, copied(&from, to, folder, ledger)?)])
        }
        Tree::CopyAll => {
            let from = place.filter(|place| place.components().count() > 2)?;
            let to = from.parent()?.join(&fresh(ledger, "Copia")).ok()?;
            let inside: Vec<MirrorPath> = folder.within(&from).into_iter().filter(is_page_file).collect();
            let moves =
                inside.iter().filter_map(|path| copied(path, path.rebase(&from, &to)?, folder, ledger));
            Some(moves.map(|copy| (0, copy)).collect())
        }
        Tree::RenameFile => {
            let from = file?;
            let to = from.parent()?.join(&format!("{}.md", fresh(ledger, "Otra"))).ok()?;
            Some(vec![(0, Deed::Rename(from, to))])
        }
        Tree::RenameBoth => {
            let from = file?;
            let to = from.parent()?.join(&format!("{}.md", fresh(ledger, "Ambas"))).ok()?;
            let folders = Deed::Rename(beside(&from)?, beside(&to)?);
            let files = Deed::Rename(from, to);
            Some(if luck.chance(50) {
                vec![(0, files), (gap, folders)]
            } else {
                vec![(0, folders), (gap, files)]
            })
        }
        Tree::RenameFolder => {
            let from = place.filter(|place| place.components().count() > 2)?;
            let to = from.parent()?.join(&fresh(ledger, "Sola")).ok()?;
            Some(vec![(0, Deed::Rename(from, to))])
        }
        Tree::MoveFile | Tree::MoveAll => {
            let from = file?;
            let to = place?.join(from.name()).ok()?;
            let free =
                !folder.things.contains_key(&to) && !beside(&from).is_some_and(|own| to.is_within(&own));
            if !free {
                return None;
            }
            let mut plan = vec![(0, Deed::Rename(from.clone(), to.clone()))];
            if act == Tree::MoveAll {
                plan.push((gap, Deed::Rename(beside(&from)?, beside(&to)?)));
            }
            Some(plan)
        }
        Tree::DeleteFile => Some(vec![(0, Deed::Unlink(file?))]),
        Tree::DeleteAll => {
            let file = file?;
            Some(vec![(0, Deed::RemoveTree(beside(&file)?)), (gap, Deed::Unlink(file))])
        }
        Tree::DeleteAndReturn | Tree::DeleteAndReturnLate => {
            let path = file?;
            let bytes = bytes_of(folder, &path)?;
            let grace = i64::from(grace_ms);
            let away = if act == Tree::DeleteAndReturn {
                luck.between(0, grace / 2)
            } else {
                luck.between(2 * grace, 60_000)
            };
            let back = match act {
                Tree::DeleteAndReturn => Deed::WriteBack(path.clone(), bytes),
                _ => Deed::WriteLate(path.clone(), bytes),
            };
            Some(vec![(0, Deed::Unlink(path)), (away, back)])
        }
        Tree::Swap => {
            let (one, two) = (file?, nth(&files, b)?);
            let aside = one.parent()?.join(SWAP).ok()?;
            (one != two).then(|| {
                vec![
                    (0, Deed::Rename(one.clone(), aside.clone())),
                    (gap, Deed::Rename(two.clone(), one)),
                    (gap, Deed::Rename(aside, two)),
                ]
            })
        }
        Tree::Stray => {
            let place = place?;
            let (name, bytes): (&str, &[u8]) = match luck.below(6) {
                0 => ("picture.png", b"\x89PNG\r\n"),
                1 => ("notes.txt", b"not a page"),
                2 => (".DS_Store", b"\0\0\0\x01Bud1"),
                3 => (".note.md.swp", b"b0VIM 9.0"),
                4 => return Some(vec![(0, Deed::Link(place.join("Elsewhere.md").ok()?))]),
                _ => {
                    let git = place.join(".git").ok()?.join("HEAD.md").ok()?;
                    return Some(vec![(0, Deed::Write(git, b"ref: refs/heads/main\n".to_vec()))]);
                }
            };
            Some(vec![(0, Deed::Write(place.join(name).ok()?, bytes.to_vec()))])
        }
        Tree::Checkout => {
            let chosen = files.iter().cycle().skip(usize::try_from(a).ok()?).take(files.len().min(6));
            let old: Vec<(MirrorPath, Vec<u8>)> =
                chosen.filter_map(|path| Some((path.clone(), bytes_of(folder, path)?))).collect();
            let mut pause = luck.between(200, 20_000);
            let mut plan = Vec::new();
            for (path, bytes) in old {
                plan.push((std::mem::take(&mut pause), Deed::Unlink(path.clone())));
                plan.push((luck.between(0, 4), Deed::WriteBack(path, bytes)));
            }
            Some(plan)
        }
        Tree::FormatAll => {
            let formatted = |path: &MirrorPath| {
                let before = bytes_of(folder, path)?;
                let mut luck = Luck::new(u64::from(b), 8);
                let after = text::edited(std::str::from_utf8(&before).ok()?, Edit::Reformat, "", &mut luck)?;
                Some((gap.min(60), Deed::Write(path.clone(), after.into_bytes())))
            };
            Some(files.iter().filter_map(formatted).collect())
        }
        // It needs the page as well: `returning.rs`.
        Tree::CutAndPaste => None,
        Tree::OtherTool => {
            let from = file?;
            let name =
                format!("{}.sync-conflict-20250615-{:06}-ABCDEFG.md", from.page_stem()?, luck.below(240_000));
            Some(vec![(0, copied(&from, from.parent()?.join(&name).ok()?, folder, ledger)?)])
        }
        Tree::SettleConflict => {
            let copies: Vec<MirrorPath> =
                folder.things.keys().filter(|path| is_conflict_copy(path)).cloned().collect();
            Some(vec![(0, Deed::Unlink(nth(&copies, a)?))])
        }
    }
}

/// The text of a new file.
fn new_text(ledger: &mut Ledger, luck: &mut Luck) -> Vec<u8> {
    let mut sentence = || text::sentence(&ledger.text().to_string(), luck);
    let parts = [sentence(), sentence()];
    match parts[0].len() % 3 {
        0 => format!("{}\n", parts[0]),
        1 => format!("# {}\n\n{}\n", parts[0], parts[1]),
        _ => format!("{}\n\n- [ ] {}\n", parts[0], parts[1]),
    }
    .into_bytes()
}

/// A copy of a file, id and all: its words, and those of its name and of its folders' names, stand twice from now on.
fn copied(from: &MirrorPath, to: MirrorPath, folder: &Folder, ledger: &mut Ledger) -> Option<Deed> {
    let bytes = bytes_of(folder, from)?;
    let parts = |path: &MirrorPath| path.components().map(str::to_owned).collect::<Vec<_>>();
    let same = parts(from).into_iter().rev().zip(parts(&to).into_iter().rev()).take_while(|(a, b)| a == b);
    let names: Vec<String> = same.map(|(name, _)| name).chain([from.name().to_owned()]).collect();
    let named = names.iter().flat_map(|name| words_in(name.as_bytes()));
    for word in words_in(&bytes).into_iter().chain(named) {
        ledger.copy(word);
    }
    Some(Deed::Write(to, bytes))
}

/// Somebody works in the app.
pub(crate) fn app(act: App, (a, b): (u32, u32), service: &Service, ledger: &mut Ledger) -> Option<Plan> {
    let mut luck = Luck::new(u64::from(b), 7);
    let active = service.active();
    let ids: Vec<PageId> = active.iter().map(|page| page.id.clone()).collect();
    let page = nth(&ids, a);
    let title = |ledger: &mut Ledger, before: &str| format!("{before} {}", ledger.title());
    let only = |one: Deed| Some(vec![(0, one)]);
    match act {
        App::PutBack => only(Deed::PutBackInApp(usize::try_from(a).ok()?)),
        App::Rename => {
            let title = match luck.below(5) {
                0 => title(ledger, "Q3/Q4:"),
                1 => title(ledger, "🎯"),
                _ => title(ledger, "Plan"),
            };
            only(Deed::RenameInApp(page?, title))
        }
        App::Move => {
            let parent = nth(&ids, b).filter(|_| luck.chance(75));
            only(Deed::MoveInApp(page?, parent))
        }
        App::NewPage | App::NewSubpage | App::NewOddPage => {
            let parent = if act == App::NewSubpage { Some(page?) } else { None };
            let title = match (act, luck.below(6)) {
                (App::NewOddPage, 0) => String::new(),
                (App::NewOddPage, 1) => "../../etc/passwd".to_owned(),
                (App::NewOddPage, 2) => "CON".to_owned(),
                (App::NewOddPage, 3) => "  ".to_owned(),
                (App::NewOddPage, 4) => active.first()?.title.to_uppercase(),
                (App::NewOddPage, _) => format!("{} {}", "Ñandú ".repeat(60), ledger.title()),
                _ => title(ledger, "Page"),
            };
            let content = blocks::first_content(&mut luck, ledger);
            only(Deed::CreateInApp(parent, title, content))
        }
        App::Trash => only(Deed::TrashInApp(page?)),
        App::Restore => only(Deed::RestoreInApp(nth(&service.trashed(), a)?)),
        App::Icon => only(Deed::IconInApp(page?, *luck.pick(&[Some("🎯"), Some("📎"), None]))),
        _ => {
            let id = page?;
            let content = &service.world.page(&id)?.content;
            let after = blocks::edited(content, act, &mut luck, ledger)?;
            let pause = match act {
                App::StaleEditor => luck.between(1_000, 60_000),
                App::OpenEditor => some_age(&mut luck),
                _ => 0,
            };
            let mut plan = vec![(pause, Deed::SaveInApp(id.clone(), after.clone()))];
            if act == App::OpenEditor {
                let mut after = after;
                for _ in 0..luck.below(4) {
                    after = blocks::edited(&after, App::InsertWord, &mut luck, ledger)?;
                    plan.push((luck.between(1_000, 5_000), Deed::SaveInApp(id.clone(), after.clone())));
                }
            }
            Some(plan)
        }
    }
}
