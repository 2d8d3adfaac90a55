//! The codec of presentations: one file states the slides and the elements of each. Thin over [`crate::canvas::presentation`].
//!
//! A slide that was not fetched, because it is new or the service does not show it, has an empty group: so the other slides keep
//! their numbers. Nothing is sent to it, and nothing that stands in its group is touched.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::canvas::presentation::{
    Known, KnownSlide, LocalOnly, PresentationFile, Size, SlidePicture, SlideState, SlideTarget, html, read,
    strange_ids, write,
};
use crate::canvas::{self, Aliases, Op, Origins};
use crate::core::content::versions::{self, Compared, MergedItem};
use crate::core::items::{Item, Items};
use crate::core::keys::ItemKey;
use crate::core::plan::policy::Kind;
use crate::core::state::Core;
use crate::model::{ContentHash, ElementId, Elements, Problem, SlideId, Surface, guarded, id_of};
use crate::store::{Store, StoreError};

/// The size of a presentation that was created through the API.
const SIZE: [f64; 2] = [960.0, 540.0];

/// A slide.
struct Slide {
    item: ItemKey,
    id: SlideId,
    /// What the file stated; `None` if it never did.
    base: Option<Elements>,
    /// The service's elements; `None` while they were not fetched.
    remote: Option<Elements>,
    shown: Elements,
    aliases: Aliases,
    /// Whether the presentation has it.
    is_there: bool,
}

/// Whether a file has a group, which becomes a slide.
#[must_use]
pub fn has_content(text: &str) -> bool {
    with_known(&[], SIZE, &Aliases::new(), (None, &Origins::new()), |known| read(text, known))
        .is_ok_and(|file| !file.new_slides.is_empty())
}

/// Reads a new file.
///
/// # Errors
/// One sentence: why nothing can be made of it.
pub fn check(text: &str) -> Result<(), String> {
    with_known(&[], SIZE, &Aliases::new(), (None, &Origins::new()), |known| read(text, known)).map(drop)
}

fn with_known<T>(
    slides: &[Slide],
    [width, height]: [f64; 2],
    groups: &Aliases,
    (written, origins): (Option<&str>, &Origins),
    act: impl FnOnce(&Known<'_>) -> T,
) -> T {
    let slides: Vec<KnownSlide<'_>> = slides
        .iter()
        .map(|Slide { id, base, shown, aliases, is_there, .. }| KnownSlide {
            id,
            base: base.as_deref(),
            shown,
            aliases,
            is_there: *is_there,
        })
        .collect();
    act(&Known { size: Size { width, height }, slides: &slides, written, groups, origins })
}

/// The slides in the order of `listed`, and then those that left the service.
fn slides_of(core: &Core<'_>, item: &Item, listed: &[Value]) -> Result<Vec<Slide>, StoreError> {
    let order = |id: &str| listed.iter().position(|slide| id_of(slide) == id);
    let inner = core.state.items.inner(item.key);
    let mut all: Vec<(Option<usize>, &Item, SlideId)> = inner
        .filter_map(|slide| {
            let id = SlideId::new(&slide.remote.as_ref()?.id).ok()?;
            Some((order(id.as_str()), slide, id))
        })
        .collect();
    all.sort_by_key(|(order, slide, _)| (order.is_none(), *order, slide.key));
    let mut slides = Vec::new();
    for (order, slide, id) in all {
        let versions = versions::versions(core, slide, item.base.is_none())?;
        slides.push(Slide {
            item: slide.key,
            id,
            base: versions.base,
            remote: slide.content().is_some().then_some(versions.remote),
            shown: versions.shown,
            aliases: slide.aliases.clone(),
            is_there: order.is_some(),
        });
    }
    Ok(slides)
}

fn size_of(item: &Item) -> [f64; 2] {
    item.remote.as_ref().and_then(|remote| remote.size).unwrap_or(SIZE)
}

/// Compares a presentation's file with the base and the service, slide by slide.
///
/// # Errors
/// [`StoreError`] when a version cannot be read.
pub fn compare(
    core: &Core<'_>,
    item: &Item,
    text: &str,
    hash: ContentHash,
) -> Result<Result<Compared, Problem>, StoreError> {
    let own = versions::versions(core, item, true)?;
    let (base, remote) = (own.base.unwrap_or_default(), own.remote);
    let slides = slides_of(core, item, &remote)?;
    let (size, groups, permanent) = (size_of(item), &item.aliases, core.settings.boards.permanent_deletes);
    // Where groups stood is known as long as the history has the agreed text.
    let agreed = item.base.as_ref().and_then(|base| base.text).filter(|agreed| *agreed != hash);
    let agreed = agreed.map(|agreed| core.text(agreed)).transpose()?.flatten();
    let agreed = agreed.as_deref();
    let none = Origins::new();
    let ids =
        guarded(|| with_known(&slides, size, groups, (agreed, &none), |known| strange_ids(text, known)));
    let origins = versions::origins(core, item, ids.unwrap_or_default())?;
    let compared = guarded(|| {
        with_known(&slides, size, groups, (agreed, &origins), |known| {
            let file = read(text, known)?;
            let mut merging = Merging::new(item, &file, (base, remote), permanent);
            for (slide, said) in slides.iter().zip(&file.slides) {
                merging.add(slide, &said.state, &said.base);
            }
            let Merging { mut out, own, targets, .. } = merging;
            let ids = slides.iter().filter(|slide| slide.is_there);
            let targets: Vec<SlideTarget<'_>> = ids
                .filter_map(|slide| {
                    let (_, elements) = targets.iter().find(|(key, _)| *key == slide.item)?;
                    Some(SlideTarget { id: &slide.id, elements: elements.as_deref() })
                })
                .collect();
            let id = item.remote.as_ref().map(|remote| remote.id.as_str());
            let next = write(text, known, &targets, id)?;
            out.is_moving = next != text && says_more(&next, known, &targets);
            out.next = (next != *text).then_some(next);
            (out.text, out.hash) = (text.to_owned(), hash);
            out.merged.insert(0, own);
            Ok(out)
        })
    });
    Ok(compared.map_or(Err(Problem::Internal), |compared| compared.map_err(Problem::Canvas)))
}

/// Whether a text says more than these slides: a group that another one covered is a new slide once that one stands elsewhere.
fn says_more(text: &str, known: &Known<'_>, targets: &[SlideTarget<'_>]) -> bool {
    let slides = known.slides.iter().filter_map(|slide| {
        let target = targets.iter().find(|target| target.id == slide.id)?;
        let shown = target.elements.unwrap_or(slide.shown);
        Some(KnownSlide { base: target.elements.or(slide.base), shown, ..*slide })
    });
    let slides: Vec<KnownSlide<'_>> = slides.collect();
    read(text, &Known { slides: &slides, ..*known }).is_ok_and(|file| !file.is_clean())
}

/// A comparison under construction.
struct Merging {
    out: Compared,
    /// The presentation, whose elements are its slides.
    own: MergedItem,
    /// What the file is to say of each slide; `None` if what it says stays.
    targets: Vec<(ItemKey, Option<Elements>)>,
    permanent: bool,
}

impl Merging {
    fn new(
        item: &Item,
        file: &PresentationFile,
        (base, remote): (Elements, Elements),
        permanent: bool,
    ) -> Self {
        let new = file.new_slides.iter().map(|new| new.node.clone());
        // The slide that a presentation has from the beginning becomes the first group's.
        let is_new = item.base.as_ref().is_some_and(|agreed| base.is_empty() && agreed.text.is_none());
        let blank = remote.first().filter(|_| is_new).map(|slide| id_of(slide).to_owned());
        let adopts = new.clone().next().zip(blank);
        let create = |node| Op::Create { node, fields: Default::default(), instead_of: None };
        let ops = new.map(create).collect();
        let is_copy = |what: &LocalOnly| matches!(what, LocalOnly::Copy(_));
        let copies = file.only_here.iter().filter(|only| is_copy(&only.what)).count();
        let out = Compared {
            text: String::new(),
            hash: ContentHash::of(b""),
            next: None,
            merged: Vec::new(),
            collisions: Vec::new(),
            notes: file.put_back.clone(),
            faults: Vec::new(),
            copies,
            strays: file.only_here.len() - copies,
            is_clean: file.is_clean(),
            aliased: file.aliased,
            is_moving: false,
            adopts,
        };
        let agreed = remote.clone();
        let own = MergedItem { item: item.key, base, remote, said: None, gone: 0, ops, agreed };
        Self { out, own, targets: Vec::new(), permanent }
    }

    /// Merges one slide. `base`: the known one, with what else the file has of it.
    fn add(&mut self, slide: &Slide, state: &SlideState, base: &Elements) {
        match (state, &slide.remote) {
            (SlideState::Here(local), _) if !slide.is_there => {
                if !local.is_clean() {
                    let what = "a slide that you edited was removed in the app";
                    self.out.collisions.push(what.to_owned());
                }
            }
            (SlideState::Faulty(why), _) => {
                self.out.faults.push(why.clone());
                self.targets.push((slide.item, None));
            }
            (_, _) if !slide.is_there => {}
            (SlideState::Removed, Some(remote)) if self.may_remove(slide, remote) => {
                self.own.gone += 1;
                let id = ElementId::new(slide.id.as_str()).ok();
                self.own.ops.extend(id.map(|id| Op::Delete { id }));
                self.merged(slide, base, remote, base.clone()).gone = base.len();
            }
            (SlideState::Removed | SlideState::Unwritten, Some(remote)) => {
                self.targets.push((slide.item, Some(remote.clone())));
                self.merged(slide, base, remote, remote.clone());
            }
            (SlideState::Here(local), Some(remote)) => {
                let merged = canvas::merge(Surface::Slide, base, remote, local, self.permanent);
                self.out.aliased |= local.aliased;
                self.out.collisions.extend(merged.collisions);
                self.out.notes.extend(merged.notes);
                self.targets.push((slide.item, Some(merged.target)));
                let of = self.merged(slide, base, remote, merged.base);
                (of.said, of.gone, of.ops) = (Some(local.said(base)), local.gone.len(), merged.ops);
            }
            (SlideState::Here(local), None) => {
                if !local.is_clean() {
                    self.out.faults.push("a slide that the service does not show was edited".to_owned());
                }
                self.targets.push((slide.item, None));
            }
            (SlideState::Removed | SlideState::Unwritten, None) => self.targets.push((slide.item, None)),
        }
    }

    fn merged(
        &mut self,
        slide: &Slide,
        base: &Elements,
        remote: &Elements,
        agreed: Elements,
    ) -> &mut MergedItem {
        let (base, remote) = (base.clone(), remote.clone());
        let (item, ops) = (slide.item, Vec::new());
        self.out.merged.push(MergedItem { item, base, remote, said: None, gone: 0, ops, agreed });
        let last = self.out.merged.len() - 1;
        &mut self.out.merged[last]
    }

    /// Whether a slide whose group and nodes are gone goes, too. It cannot be restored.
    fn may_remove(&mut self, slide: &Slide, remote: &Elements) -> bool {
        let why = match () {
            () if !self.permanent => {
                "a slide cannot be restored once it is removed; it comes back (allow_permanent_deletes in the config allows removing it)"
            }
            () if slide.base.as_ref() != Some(remote) => {
                "a slide was removed here and changed in the app; it comes back"
            }
            () => return true,
        };
        // A slide that the file never had is new.
        if slide.base.is_some() {
            self.out.notes.push(why.to_owned());
        }
        false
    }
}

/// The text of a presentation's first file.
///
/// # Errors
/// [`StoreError`] when a slide cannot be read; [`Problem::Internal`] after a fault.
pub fn first_text(core: &Core<'_>, item: &Item) -> Result<Result<String, Problem>, StoreError> {
    let listed = core.elements(item.content())?;
    Ok(text_of(item, &slides_of(core, item, &listed)?))
}

/// A new text that states the elements of these slides at the service.
fn text_of(item: &Item, slides: &[Slide]) -> Result<String, Problem> {
    let id = item.remote.as_ref().map(|remote| remote.id.as_str());
    let text = guarded(|| {
        with_known(slides, size_of(item), &Aliases::new(), (None, &Origins::new()), |known| {
            let there = slides.iter().filter(|slide| slide.is_there);
            let targets: Vec<SlideTarget<'_>> =
                there.map(|slide| SlideTarget { id: &slide.id, elements: slide.remote.as_deref() }).collect();
            write("", known, &targets, id)
        })
    });
    text.map_or(Err(Problem::Internal), |text| text.map_err(Problem::Canvas))
}

/// The slides as the file and the service last agreed on them, in the order of `listed`.
fn agreed_slides(
    store: &Store,
    items: &Items,
    item: &Item,
    listed: &[Value],
) -> Result<Vec<Slide>, StoreError> {
    let mut slides = Vec::new();
    for id in listed.iter().map(id_of) {
        if let (Some(known), Ok(slide)) = (items.of_id(Kind::Slide, Some(item.key), id), SlideId::new(id)) {
            let base = known.agreed().map(|agreed| store.elements(agreed)).transpose()?;
            slides.push(Slide {
                item: known.key,
                id: slide,
                remote: base.clone(),
                base,
                shown: Elements::new(),
                aliases: known.aliases.clone(),
                is_there: true,
            });
        }
    }
    Ok(slides)
}

/// As [`crate::core::content::compared::agreed_text`], for a presentation with these slides.
///
/// # Errors
/// [`StoreError`] when a slide cannot be read.
pub fn agreed_text(
    store: &Store,
    items: &Items,
    item: &Item,
    listed: &[Value],
) -> Result<Option<String>, StoreError> {
    Ok(text_of(item, &agreed_slides(store, items, item, listed)?).ok())
}

/// As [`crate::core::content::compared::revived`], for an element of a slide.
///
/// # Errors
/// As there.
pub fn revived(
    store: &Store,
    items: &Items,
    (item, slide): (&Item, &str),
    text: &str,
    element: &Value,
) -> Result<Result<String, String>, StoreError> {
    let Ok(slide) = SlideId::new(slide) else { return Ok(Err("it stood on no slide".to_owned())) };
    with_agreed(store, items, item, |known| canvas::presentation::revive(text, known, &slide, element))
}

/// As [`crate::core::content::compared::aligned`], for a presentation.
///
/// # Errors
/// As there.
pub fn aligned(
    store: &Store,
    items: &Items,
    item: &Item,
    copy: &str,
    file: &str,
) -> Result<Result<String, String>, StoreError> {
    with_agreed(store, items, item, |known| canvas::presentation::aligned(copy, file, known))
}

fn with_agreed<T>(
    store: &Store,
    items: &Items,
    item: &Item,
    act: impl FnOnce(&Known<'_>) -> T,
) -> Result<T, StoreError> {
    let listed = item.content().map(|content| store.elements(content)).transpose()?.unwrap_or_default();
    let slides = agreed_slides(store, items, item, &listed)?;
    Ok(with_known(&slides, size_of(item), &item.aliases, (None, &Origins::new()), act))
}

/// The page that shows a presentation with this file; `None` after a fault.
///
/// # Errors
/// [`StoreError`] when a slide cannot be read.
pub fn page(core: &Core<'_>, item: &Item, text: &str) -> Result<Option<String>, StoreError> {
    let listed = core.elements(item.content())?;
    let slides = slides_of(core, item, &listed)?;
    let ([width, height], none) = (size_of(item), Origins::new());
    let drawn = guarded(|| {
        with_known(&slides, [width, height], &item.aliases, (None, &none), |known| {
            let said = read(text, known).map(|file| file.slides).unwrap_or_default();
            let labels = labels_in(text);
            let extras = |id: &str| said.iter().find(|slide| slide.id.as_str() == id);
            let there = slides.iter().filter(|slide| slide.is_there).zip(&listed);
            let pictures: Vec<SlidePicture<'_>> = there
                .map(|(slide, listed)| SlidePicture {
                    elements: slide.remote.as_deref().unwrap_or_default(),
                    extras: extras(slide.id.as_str()).map(|said| said.extras.as_slice()).unwrap_or_default(),
                    background: listed.get("background").unwrap_or(&Value::Null),
                    name: labels.get(slide.id.as_str()).map(String::as_str),
                })
                .collect();
            html(item.name(), Size { width, height }, &pictures)
        })
    });
    Ok(drawn.ok())
}

/// The labels that people gave to groups, by the groups' ids. espejo's are numbers.
fn labels_in(text: &str) -> BTreeMap<String, String> {
    let file: Value = serde_json::from_str(text).unwrap_or_default();
    let nodes = file.get("nodes").and_then(Value::as_array).into_iter().flatten();
    let labels = nodes.filter_map(|node| {
        let label = node.get("label")?.as_str()?.trim();
        let is_name = !label.is_empty() && label.parse::<u32>().is_err();
        is_name.then(|| (id_of(node).to_owned(), label.to_owned()))
    });
    labels.collect()
}
