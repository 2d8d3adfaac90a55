//! Carries what came of the slides into a presentation's file: only what must change does.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::names::full_name;
use super::place::places;
use super::survey::{Node, Role, Survey, survey};
use super::written::number_of;
use super::{Known, SlideTarget};
use crate::canvas::check::shown;
use crate::canvas::claim::with_claim;
use crate::canvas::node::{Kind, View, absolute, file_of, rounded};
use crate::canvas::patch::{Drawn, Order, Says, splice};
use crate::canvas::read::{MARK, is_blank};
use crate::model::{SlideId, Surface, id_of, planted_fault};

/// A file becomes one that says `targets`, the slides in their order. Groups and nodes of other known slides go; what
/// the API cannot make, and what waits to be sent, stays, and goes along with the group that it is in. The text comes back
/// as it was if nothing but the order of its nodes, or the `id` of the presentation, is to change.
///
/// `known` is what the file was read with for the merges that led to the targets: an element that was made since then is in
/// no target, and its node would go.
///
/// # Errors
/// One sentence: why the text cannot be read.
pub fn write(
    text: &str,
    known: &Known<'_>,
    targets: &[SlideTarget<'_>],
    id: Option<&str>,
) -> Result<String, String> {
    planted_fault("splicing", &|| format!("{targets:?}"));
    if let Some(unmarked) = text.strip_prefix(MARK).filter(|text| !is_blank(text)) {
        return Ok(format!("{MARK}{}", write(unmarked, known, targets, id)?));
    }
    let survey = survey(text, known)?;
    let places = places(&survey, known, targets);
    let sheet = Sheet::new(&survey, known, targets, &places);
    let says: Vec<Says> = survey.nodes.iter().map(|node| sheet.says(&survey, known, node)).collect();
    let empty = file_of(std::iter::empty());
    let from = if is_blank(text) { empty.as_str() } else { text };
    let out = splice(from, &sheet.drawn, Order::IsNoReason, |index, _| {
        says.get(index).copied().unwrap_or(Says::Stray([0; 2]))
    });
    Ok(match id {
        Some(id) if out != text => with_claim(&out, id),
        _ => out,
    })
}

/// The nodes that the file is to have.
struct Sheet<'a> {
    drawn: Vec<Drawn<'a>>,
    /// The index in `drawn` of each element, by its slide and id; of groups the id is empty.
    at: BTreeMap<(&'a str, &'a str), usize>,
    /// The slides whose elements stay as the file has them.
    untouched: BTreeSet<&'a str>,
    /// How far each slide's group goes.
    distances: BTreeMap<&'a str, [i64; 2]>,
}

impl<'a> Sheet<'a> {
    fn new(survey: &Survey<'a>, known: &Known<'a>, targets: &[SlideTarget<'a>], places: &[[f64; 2]]) -> Self {
        let [width, height] = known.size.whole().map(whole);
        let ids = Ids::new(survey, known, targets);
        let mut sheet = Self {
            drawn: Vec::new(),
            at: BTreeMap::new(),
            untouched: BTreeSet::new(),
            distances: BTreeMap::new(),
        };
        let moved = moved_elements(survey, known, targets);
        for (number, (target, origin)) in targets.iter().zip(places).enumerate() {
            let slide = target.id.as_str();
            let group = known.slides.iter().zip(&survey.slides).find(|(known, _)| known.id == target.id);
            let group = group.map(|(_, group)| group);
            if let Some([left, top]) = group.and_then(|group| group.origin) {
                let [to_left, to_top] = *origin;
                sheet.distances.insert(slide, [whole(to_left - left), whole(to_top - top)]);
            }
            let node = group.and_then(|group| survey.nodes.get(group.node?));
            let kind = Kind::Group(label_of(node.map(|node| &node.value), number.saturating_add(1)));
            let view = View { kind, place: [0, 0, width, height], colour: None, locked: false };
            sheet.at.insert((slide, ""), sheet.drawn.len());
            sheet.drawn.push(Drawn { id: slide.into(), view, origin: *origin, element: None });
            if target.elements.is_none() {
                sheet.untouched.insert(slide);
            }
            for element in target.elements.unwrap_or_default() {
                let key = (slide, id_of(element));
                if !ids.moved.contains(&key) {
                    let id = ids.names.get(&key).cloned().unwrap_or_else(|| full_name(key.0, key.1));
                    sheet.at.insert(key, sheet.drawn.len());
                    sheet.drawn.push(Drawn { id: id.into(), origin: *origin, ..Drawn::new(element) });
                }
            }
            sheet.draw_moved(&moved, Some(slide));
        }
        sheet.draw_moved(&moved, None);
        sheet
    }

    /// Draws the elements on their way to a slide where their nodes are, with what is new in them: they are made there of
    /// what their nodes say.
    fn draw_moved(&mut self, moved: &[MovedElement<'a>], to: Option<&'a str>) {
        let [right, down] = to.and_then(|to| self.distances.get(to)).copied().unwrap_or_default();
        for element in moved.iter().filter(|element| element.to == to) {
            let mut drawn = Drawn { id: element.node.clone().into(), ..Drawn::new(element.element) };
            let [left, top] = element.place;
            let [x, y, ..] = &mut drawn.view.place;
            (*x, *y) = (left.saturating_add(right), top.saturating_add(down));
            self.at.insert((element.from, id_of(element.element)), self.drawn.len());
            self.drawn.push(drawn);
        }
    }

    /// What a node of the file is in the file to be.
    fn says(&self, survey: &Survey<'_>, known: &Known<'_>, node: &Node<'_>) -> Says {
        let id = |slide: usize| known.slides.get(slide).map_or("", |slide| slide.id.as_str());
        let leads_edges = node.key == id_of(&node.value);
        let distance = survey.slide_of(node).and_then(|slide| self.distances.get(id(slide)));
        let stray = Says::Stray(distance.copied().unwrap_or_default());
        let key = match &node.role {
            Role::Group(slide) => (id(*slide), ""),
            Role::Element((slide, element)) | Role::Stuck((slide, element)) => {
                if self.untouched.contains(id(*slide)) {
                    return stray;
                }
                (id(*slide), id_of(element))
            }
            Role::Moved((slide, element), _) | Role::MovedToNew((slide, element), _) => {
                let key = (id(*slide), id_of(element));
                return self.at.get(&key).map_or(stray, |at| Says::Target { at: *at, leads_edges });
            }
            _ => return stray,
        };
        self.at.get(&key).map_or(Says::Gone, |at| Says::Target { at: *at, leads_edges })
    }
}

/// An element on its way to another slide.
struct MovedElement<'a> {
    /// As it is to be in its own slide.
    element: &'a Value,
    from: &'a str,
    /// The slide that its node is in; `None` for a group that is to be a slide.
    to: Option<&'a str>,
    /// Its node's id and place.
    node: String,
    place: [i64; 2],
}

fn moved_elements<'a>(
    survey: &Survey<'a>,
    known: &Known<'a>,
    targets: &[SlideTarget<'a>],
) -> Vec<MovedElement<'a>> {
    let id = |slide: usize| known.slides.get(slide).map(|slide| slide.id.as_str());
    let moved = survey.nodes.iter().filter_map(|node| {
        let (from, element, to) = match &node.role {
            Role::Moved((from, element), to) => (*from, *element, id(*to)),
            Role::MovedToNew((from, element), _) => (*from, *element, None),
            _ => return None,
        };
        let from = id(from)?;
        let target = targets.iter().find(|target| target.id.as_str() == from)?;
        let element = target.elements?.iter().find(|other| id_of(other) == id_of(element))?;
        let to = to.filter(|to| targets.iter().any(|target| target.id.as_str() == *to));
        let at = |key: &str| node.value.get(key).and_then(rounded);
        Some(MovedElement {
            element,
            from,
            to,
            node: id_of(&node.value).to_owned(),
            place: [at("x")?, at("y")?],
        })
    });
    moved.collect()
}

/// The ids that nodes are to have, each once in the file.
struct Ids<'a> {
    names: BTreeMap<(&'a str, &'a str), String>,
    /// Elements whose nodes are on their way to another slide.
    moved: BTreeSet<(&'a str, &'a str)>,
}

impl<'a> Ids<'a> {
    fn new(survey: &Survey<'a>, known: &Known<'a>, targets: &[SlideTarget<'a>]) -> Self {
        let id = |slide: usize| known.slides.get(slide).map_or("", |slide| slide.id.as_str());
        let mut ids = Self { names: BTreeMap::new(), moved: BTreeSet::new() };
        let mut used: BTreeSet<String> = targets.iter().map(|target| target.id.as_str().to_owned()).collect();
        let elements: BTreeMap<&str, Option<&[Value]>> =
            targets.iter().map(|target| (target.id.as_str(), target.elements)).collect();
        let mut strays = BTreeSet::new();
        for node in &survey.nodes {
            let raw = id_of(&node.value);
            match &node.role {
                Role::Group(_) => {}
                Role::Element((slide, element)) | Role::Stuck((slide, element)) => {
                    let key = (id(*slide), id_of(element));
                    let is_own = raw == key.1 || raw == full_name(key.0, key.1);
                    if elements.contains_key(key.0) && is_own && used.insert(raw.to_owned()) {
                        ids.names.insert(key, raw.to_owned());
                    }
                }
                Role::Moved((slide, element), _) | Role::MovedToNew((slide, element), _) => {
                    ids.moved.insert((id(*slide), id_of(element)));
                    strays.insert(raw.to_owned());
                }
                _ => drop(strays.insert(raw.to_owned())),
            }
        }
        used.extend(strays);
        for (slide, elements) in elements {
            for element in elements.unwrap_or_default() {
                let key = (slide, id_of(element));
                if ids.names.contains_key(&key) {
                    continue;
                }
                let is_free = used.insert(key.1.to_owned());
                let name = if is_free { key.1.to_owned() } else { full_name(key.0, key.1) };
                used.insert(name.clone());
                ids.names.insert(key, name);
            }
        }
        ids
    }
}

/// A slide's label: its number, unless a person gave it a name.
fn label_of(group: Option<&Value>, number: usize) -> String {
    let label = group.and_then(|group| group.get("label")).and_then(Value::as_str);
    let kept = label.filter(|label| !label.trim().is_empty());
    let kept = kept.filter(|_| group.and_then(number_of).is_none_or(|said| said == number));
    kept.map_or_else(|| number.to_string(), str::to_owned)
}

/// A file with each slide's group, and all that goes along with it, where `like` has the group: then the nodes of both can
/// be put together one by one, as [`crate::canvas::resolve()`] does.
///
/// # Errors
/// One sentence: why one of them cannot be read.
pub fn aligned(text: &str, like: &str, known: &Known<'_>) -> Result<String, String> {
    if let Some(unmarked) = text.strip_prefix(MARK) {
        return Ok(format!("{MARK}{}", aligned(unmarked, like, known)?));
    }
    let (own, other) = (survey(text, known)?, survey(like, known)?);
    let distances: Vec<[i64; 2]> = (own.slides.iter().zip(&other.slides))
        .map(|(own, other)| match (own.origin, other.origin) {
            (Some([x, y]), Some([to_x, to_y])) => [whole(to_x - x), whole(to_y - y)],
            _ => [0; 2],
        })
        .collect();
    let far: Vec<[i64; 2]> = (own.nodes.iter())
        .map(|node| own.slide_of(node).and_then(|slide| distances.get(slide)).copied().unwrap_or_default())
        .collect();
    Ok(splice(text, &[], Order::IsNoReason, |index, _| {
        Says::Stray(far.get(index).copied().unwrap_or_default())
    }))
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "what is further out saturates, and is no place of a group"
)]
fn whole(number: f64) -> i64 {
    number.round() as i64
}

/// The file with a node for a deleted element of a slide, like [`crate::canvas::revive()`]. An element that stuck out by more
/// than its half is moved to the slide's edge, so that its node is the slide's.
///
/// # Errors
/// One sentence: why the file cannot be read, that the slide is not in it, or that the element is there.
pub fn revive(text: &str, known: &Known<'_>, slide: &SlideId, element: &Value) -> Result<String, String> {
    let survey = survey(text, known)?;
    let own = known.slides.iter().zip(&survey.slides).find(|(known, _)| known.id == slide);
    let group = own.map(|(_, group)| group);
    let (Some(group), Some(origin)) = (group, group.and_then(|group| group.origin)) else {
        return Err("its slide is not in the file".to_owned());
    };
    let id = id_of(element);
    if group.elements.iter().any(|other| id_of(other) == id) {
        return Err(format!("the node {} is in the file", shown(id)));
    }
    let mut node = element.clone();
    let size = group.area.map_or(known.size.whole(), |area| area.size).map(whole);
    let keys = [("x", "width"), ("y", "height")];
    for ((key, side), (origin, room)) in keys.into_iter().zip(origin.into_iter().zip(size)) {
        let at = |key: &str| element.get(key).and_then(rounded).unwrap_or(0);
        let half = at(side) / 2;
        let inside =
            at(key).clamp(half.saturating_neg(), room.saturating_sub(half).max(half.saturating_neg()));
        if let Some(fields) = node.as_object_mut() {
            fields.insert(key.to_owned(), json!(absolute(inside, origin)));
        }
    }
    let is_used = survey.nodes.iter().any(|other| id_of(&other.value) == id)
        || survey.slides.iter().flat_map(|group| &group.elements).any(|other| id_of(other) == id);
    if let (true, Some(fields)) = (is_used, node.as_object_mut()) {
        fields.insert("id".to_owned(), json!(full_name(slide.as_str(), id)));
    }
    crate::canvas::revive(text, Surface::Slide, &node)
}
