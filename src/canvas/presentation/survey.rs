//! Which node of a presentation's file is what: a slide's group, an element, a new node, or nothing of the presentation.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::area::{Area, has_stayed};
use super::names::{Named, Names, own_name};
use super::written::{Written, group_ids, slot};
use super::{Known, LocalOnly};
use crate::canvas::check;
use crate::canvas::node::{GEOMETRY, View, rounded, type_of};
use crate::canvas::read::parse;
use crate::model::{Surface, id_of, is_creatable};

/// Groups further out count as groups without a place: the distances to their nodes are no exact numbers.
const FAR: f64 = 4_503_599_627_370_496.0;

/// The keys of an element that the API document names. What has others cannot be created whole.
const ELEMENT_KEYS: [&str; 10] =
    ["id", "slide_id", "type", "x", "y", "width", "height", "content", "style", "z_index"];

/// A file, taken apart. All indexes of slides are those of [`Known::slides`].
#[derive(Debug)]
pub(super) struct Survey<'a> {
    pub(super) slides: Vec<Group<'a>>,
    /// The nodes in the order of the file.
    pub(super) nodes: Vec<Node<'a>>,
    pub(super) edges: Vec<Value>,
    pub(super) written: Written,
}

/// A slide in the file.
#[derive(Debug)]
pub(super) struct Group<'a> {
    pub(super) state: GroupState,
    /// Where its elements are counted from, unless nothing of it is in the file.
    pub(super) origin: Option<[f64; 2]>,
    /// What lies in it: the group as it is drawn, or as it would be around nodes without one.
    pub(super) area: Option<Area>,
    /// The index of its node.
    pub(super) node: Option<usize>,
    /// The elements that its nodes may be.
    pub(super) elements: Vec<&'a Value>,
    /// Whether the service still has the slide.
    pub(super) is_there: bool,
}

/// Whether a slide's group is in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GroupState {
    Here,
    /// Nodes of it are, but the group is not.
    Ungrouped,
    Removed,
    Unwritten,
}

/// A node and what it is.
#[derive(Debug)]
pub(super) struct Node<'a> {
    pub(super) value: Value,
    /// The node's id, with a number where it is not the first one with that id.
    pub(super) key: String,
    pub(super) role: Role<'a>,
}

/// What a node is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Role<'a> {
    /// A slide's group.
    Group(usize),
    /// An element, in its slide.
    Element(Named<'a>),
    /// An element that moved into another slide, where it can be made.
    Moved(Named<'a>, usize),
    /// An element that moved into the group that is to be a new slide, which is the node with this index.
    MovedToNew(Named<'a>, usize),
    /// An element that moved into another slide and cannot be made there.
    Stuck(Named<'a>),
    /// A text node that is no element yet.
    New(usize),
    /// A group that is to be a new slide.
    NewSlide,
    /// A text node in such a group: the index of the group's node.
    InNewSlide(usize),
    /// What stays in the file only, and the slide that it lies in.
    Local(LocalOnly, Option<usize>),
}

impl Survey<'_> {
    /// The slide with whose group a node goes along.
    pub(super) fn slide_of(&self, node: &Node<'_>) -> Option<usize> {
        match &node.role {
            Role::Group(slide) | Role::New(slide) | Role::Moved(_, slide) => Some(*slide),
            Role::Element((slide, _)) | Role::Stuck((slide, _)) => Some(*slide),
            Role::Local(_, slide) => *slide,
            Role::MovedToNew(..) | Role::NewSlide | Role::InNewSlide(_) => None,
        }
    }
}

/// The ids of a file's new text nodes: what they are copies of, if they are, has such an id.
#[must_use]
pub fn strange_ids(text: &str, known: &Known<'_>) -> BTreeSet<String> {
    let Ok(survey) = survey(text, known) else { return BTreeSet::new() };
    let strange = survey.nodes.iter().filter(|node| {
        let is_text = type_of(&node.value) == "text";
        is_text && matches!(node.role, Role::New(_) | Role::InNewSlide(_) | Role::Local(..))
    });
    strange.map(|node| own_name(id_of(&node.value)).to_owned()).collect()
}

/// Takes a file apart.
///
/// # Errors
/// One sentence: why nothing of the file can be used.
pub(super) fn survey<'a>(text: &str, known: &Known<'a>) -> Result<Survey<'a>, String> {
    let (values, edges) = parse(text)?;
    if let Some(node) = values.iter().find(|node| id_of(node).is_empty()) {
        let what = if type_of(node) == "group" { "group" } else { "node" };
        return Err(format!("a {what} has no id; give it a unique id"));
    }
    // A file that was written and cannot be read any more says nothing; the base of each slide does.
    let kept = known.written.and_then(|text| parse(text).ok());
    let written = match &kept {
        Some((nodes, _)) => Written::new(nodes, known, true),
        None => Written::new(&values, known, false),
    };
    let names = Names::new(known, &written, &values);
    let mut owners = Owners::new(values.len());
    owners.find_groups(&values, known, &written);
    let drawn = owners.drawn(&values);
    owners.find_elements(&values, &names, &drawn);
    let mut slides: Vec<Group<'a>> = Vec::new();
    for index in 0..known.slides.len() {
        slides.push(group_of(index, known, &written, &values, &owners));
    }
    owners.settle_copies(&values, &slides, &names);
    for (slide, element) in owners.elements.iter().flatten() {
        if let Some(group) = slides.get_mut(*slide) {
            push_new(&mut group.elements, element);
        }
    }
    let keys = owners.keys.clone();
    let roles = roles(&values, &owners, &slides);
    let nodes = values.into_iter().zip(keys).zip(roles);
    let nodes = nodes.map(|((value, key), role)| Node { value, key, role }).collect();
    Ok(Survey { slides, nodes, edges, written })
}

/// What each node is, by its id.
#[derive(Debug)]
struct Owners<'a> {
    groups: Vec<Option<usize>>,
    elements: Vec<Option<Named<'a>>>,
    /// The nodes that are a slide or an element as copies of another one: the file has no id of their own for them yet.
    copies: BTreeSet<usize>,
    keys: Vec<String>,
}

impl<'a> Owners<'a> {
    fn new(count: usize) -> Self {
        let (groups, elements) = (vec![None; count], vec![None; count]);
        Self { groups, elements, copies: BTreeSet::new(), keys: Vec::new() }
    }

    /// The nodes' ids. Of several nodes with one id, the original has it, and the others have it with a number.
    fn number(&mut self, nodes: &[Value]) {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let mut keys = vec![String::new(); nodes.len()];
        for is_original in [true, false] {
            let owned = self.elements.iter().zip(&self.groups).enumerate();
            for ((node, key), (index, (element, group))) in nodes.iter().zip(&mut keys).zip(owned) {
                let is_owned = element.is_some() || group.is_some();
                if is_original == (is_owned && !self.copies.contains(&index)) {
                    let raw = id_of(node);
                    let count = counts.entry(raw).or_default();
                    *count += 1;
                    *key = if *count == 1 { raw.to_owned() } else { format!("{raw} #{count}") };
                }
            }
        }
        self.keys = keys;
    }

    /// Of several groups with a slide's id, the one that stands where it was written is the slide, or else the first.
    fn find_groups(&mut self, nodes: &[Value], known: &Known<'_>, written: &Written) {
        let ids = group_ids(nodes, known);
        let mut found: BTreeMap<usize, usize> = BTreeMap::new();
        for (index, node) in nodes.iter().enumerate() {
            let Some(slide) = ids.get(id_of(node)).copied() else { continue };
            let place = written.groups.get(&slide).map(|group| group.area.origin);
            let is_original = place.is_some() && Area::of(node).map(|area| area.origin) == place;
            let earlier = found.get(&slide).and_then(|earlier| nodes.get(*earlier));
            let is_earlier = earlier.and_then(Area::of).map(|area| area.origin) == place;
            if earlier.is_none() || (is_original && !is_earlier) {
                found.insert(slide, index);
            }
        }
        for (slide, index) in found {
            if let Some(owner) = self.groups.get_mut(index) {
                *owner = Some(slide);
            }
        }
        self.number(nodes);
        for (index, (key, node)) in self.keys.iter().zip(nodes).enumerate() {
            let slide = ids.get(key.as_str()).copied().filter(|_| key != id_of(node));
            let slide = slide.filter(|slide| !self.groups.contains(&Some(*slide)));
            if let (Some(owner @ None), Some(slide)) = (self.groups.get_mut(index), slide) {
                *owner = Some(slide);
                self.copies.insert(index);
            }
        }
    }

    /// The groups as they are drawn.
    fn drawn(&self, nodes: &[Value]) -> BTreeMap<usize, Area> {
        let groups = nodes.iter().zip(&self.groups);
        groups.filter_map(|(node, slide)| Some(((*slide)?, Area::of(node)?))).collect()
    }

    fn find_elements(&mut self, nodes: &[Value], names: &Names<'a>, drawn: &BTreeMap<usize, Area>) {
        for ((node, owner), group) in nodes.iter().zip(&mut self.elements).zip(&self.groups) {
            if group.is_none() {
                *owner = names.find(id_of(node), node, drawn);
            }
        }
    }

    /// Leaves one node for each element, and gives each node a key. Of several, an element's node is the one with its own id
    /// that did not move, or else the first; the others are copies.
    fn settle_copies(&mut self, nodes: &[Value], slides: &[Group<'_>], names: &Names<'a>) {
        let rank = |index: usize, (slide, element): Named<'a>| {
            let node = nodes.get(index);
            let origin = slides.get(slide).and_then(|group| group.origin);
            let is_named_so = node.is_some_and(|node| own_name(id_of(node)) == id_of(element));
            let is_still = node.zip(origin).is_some_and(|(node, origin)| has_stayed(node, element, origin));
            (is_named_so, is_still)
        };
        let mut originals: BTreeMap<(usize, &str), usize> = BTreeMap::new();
        for (index, owner) in self.elements.iter().enumerate() {
            let Some(named) = *owner else { continue };
            let best = originals.entry((named.0, id_of(named.1))).or_insert(index);
            if *best != index && rank(index, named) > rank(*best, named) {
                *best = index;
            }
        }
        let originals: BTreeSet<usize> = originals.into_values().collect();
        for (index, owner) in self.elements.iter_mut().enumerate() {
            *owner = owner.filter(|_| originals.contains(&index));
        }
        self.number(nodes);
        for (index, (key, node)) in self.keys.iter().zip(nodes).enumerate() {
            let is_free = self.groups.get(index).is_some_and(Option::is_none) && key != id_of(node);
            let Some(named) = names.aliased(key).filter(|_| is_free) else { continue };
            let is_taken = self.elements.iter().flatten().any(|other| is_same(*other, named));
            if let (Some(owner @ None), false) = (self.elements.get_mut(index), is_taken) {
                *owner = Some(named);
                self.copies.insert(index);
            }
        }
    }
}

fn is_same(one: Named<'_>, other: Named<'_>) -> bool {
    one.0 == other.0 && id_of(one.1) == id_of(other.1)
}

fn push_new<'a>(elements: &mut Vec<&'a Value>, element: &'a Value) {
    if elements.iter().all(|other| id_of(other) != id_of(element)) {
        elements.push(element);
    }
}

fn group_of<'a>(
    slide: usize,
    known: &Known<'a>,
    written: &Written,
    nodes: &[Value],
    owners: &Owners<'a>,
) -> Group<'a> {
    let base = known.slides.get(slide).and_then(|slide| slide.base);
    let node = owners.groups.iter().position(|owner| *owner == Some(slide));
    let own: Vec<(&Value, &Value)> = nodes
        .iter()
        .zip(&owners.elements)
        .filter_map(|(node, owner)| owner.filter(|(of, _)| *of == slide).map(|(_, element)| (node, element)))
        .collect();
    let was = written.groups.get(&slide);
    let state = match (node, own.is_empty()) {
        (Some(_), _) => GroupState::Here,
        (None, false) => GroupState::Ungrouped,
        (None, true) if base.is_none() || (written.is_kept && was.is_none()) => GroupState::Unwritten,
        (None, true) => GroupState::Removed,
    };
    let area = node.and_then(|node| nodes.get(node)).and_then(Area::of);
    let area = area.filter(|area| area.origin.iter().all(|number| number.abs() <= FAR));
    let others =
        owners.groups.iter().zip(nodes).filter(|(owner, _)| owner.is_some_and(|other| other != slide));
    let others: Vec<Area> = others.filter_map(|(_, node)| Area::of(node)).collect();
    let origin = match (state, area) {
        (GroupState::Removed | GroupState::Unwritten, _) => None,
        (_, Some(area)) if fits(area, known, was.map(|was| was.area).filter(|_| written.is_kept)) => {
            Some(area.origin)
        }
        (_, area) => {
            let stands = area.map(|area| area.origin);
            let stood = was.map(|was| was.area.origin);
            let laid_out = Some(slot(known.size, slide, 0));
            voted(&own, &others, [stands, stood, laid_out])
                // An empty slide comes back where it stood, or else where its user made it.
                .or(stood)
                .or(stands)
                .or_else(|| voted(&own, &[], [stands, stood, laid_out]))
        }
    };
    let area = area.or_else(|| origin.map(|origin| Area { origin, size: known.size.whole() }));
    let is_there = known.slides.get(slide).is_none_or(|slide| slide.is_there);
    Group { state, origin, area, node, elements: base.unwrap_or_default().iter().collect(), is_there }
}

/// Whether a group has the size of a slide: as it is now, or as it was when the file was written.
fn fits(area: Area, known: &Known<'_>, was: Option<Area>) -> bool {
    area.size == known.size.whole() || was.is_some_and(|was| area.size == was.size)
}

/// The place of a group that is gone or was resized: that of which most of its nodes say that they did not move. Nodes in
/// other slides say nothing.
fn voted(own: &[(&Value, &Value)], others: &[Area], familiar: [Option<[f64; 2]>; 3]) -> Option<[f64; 2]> {
    let mut votes: BTreeMap<[i64; 2], usize> = BTreeMap::new();
    let elsewhere = |node: &Value| {
        Area::of(node).is_some_and(|area| others.iter().any(|other| other.contains(area.centre())))
    };
    let own: Vec<_> = own.iter().filter(|(node, _)| !elsewhere(node)).collect();
    for (node, element) in &own {
        let [x, y, ..] = View::of(element).place;
        let at = |key: &str| node.get(key).and_then(rounded);
        if let (Some(left), Some(top)) = (at("x"), at("y")) {
            *votes.entry([left.saturating_sub(x), top.saturating_sub(y)]).or_default() += 1;
        }
    }
    let most = votes.values().copied().max()?;
    let agree =
        |origin: &[f64; 2]| own.iter().filter(|(node, element)| has_stayed(node, element, *origin)).count();
    // Of equals, a place where the group stands or stood comes first, or where espejo puts it.
    let familiar = familiar.into_iter().flatten().find(|origin| agree(origin) >= most);
    #[expect(clippy::cast_precision_loss, reason = "a group so far out has no exact place")]
    familiar.or_else(|| {
        votes
            .into_iter()
            .find(|(_, count)| *count == most)
            .map(|(origin, _)| origin.map(|number| number as f64))
    })
}

/// Where the slides and the new slides of a file are.
struct Ground<'s> {
    /// From back to front.
    slides: Vec<(usize, &'s Area)>,
    new: Vec<(usize, Area)>,
}

impl Ground<'_> {
    /// The slide that is seen at a point.
    fn slide_at(&self, point: [f64; 2]) -> Option<usize> {
        self.slides.iter().rev().find(|(_, area)| area.contains(point)).map(|(slide, _)| *slide)
    }

    fn new_at(&self, point: [f64; 2]) -> Option<usize> {
        self.new.iter().rev().find(|(_, area)| area.contains(point)).map(|(node, _)| *node)
    }
}

fn roles<'a>(nodes: &[Value], owners: &Owners<'a>, slides: &[Group<'a>]) -> Vec<Role<'a>> {
    let mut there: Vec<(usize, &Group<'a>)> = slides.iter().enumerate().collect();
    // A group that is gone lies behind all others.
    there.sort_by_key(|(_, group)| group.node);
    let there = there.into_iter().filter_map(|(slide, group)| Some((slide, group.area.as_ref()?)));
    let mut ground = Ground { slides: there.collect(), new: Vec::new() };
    let free = nodes.iter().enumerate().zip(owners.groups.iter().zip(&owners.elements));
    let free = free.filter(|((_, node), owner)| type_of(node) == "group" && *owner == (&None, &None));
    for ((index, node), _) in free.rev() {
        let Some(area) = Area::of(node) else { continue };
        let is_apart = ground.slides.iter().all(|(_, slide)| !slide.touches(&area));
        if is_apart && ground.new.iter().all(|(_, new)| !new.overlaps(&area)) {
            ground.new.push((index, area));
        }
    }
    ground.new.reverse();
    let owned = owners.groups.iter().zip(&owners.elements);
    let roles = nodes.iter().enumerate().zip(owned).map(|((index, node), owner)| match owner {
        (Some(slide), _) => Role::Group(*slide),
        (None, Some(named)) => element_role(node, *named, slides, &ground),
        (None, None) => free_role(index, node, &ground),
    });
    roles.collect()
}

/// An element is in its slide unless its node moved, and its centre moved into another one.
fn element_role<'a>(node: &Value, named: Named<'a>, slides: &[Group<'a>], ground: &Ground<'_>) -> Role<'a> {
    let (slide, element) = named;
    let group = slides.get(slide);
    let origin = group.and_then(|group| group.origin);
    let (Some(origin), Some(area)) = (origin, Area::of(node)) else { return Role::Element(named) };
    let is_inside = group.and_then(|group| group.area).is_some_and(|own| own.contains(area.centre()));
    if is_inside || has_stayed(node, element, origin) {
        return Role::Element(named);
    }
    let [x, y, width, height] = View::of(element).place;
    #[expect(clippy::cast_precision_loss, reason = "compared with what a person sees")]
    let was =
        Area { origin: [x as f64 + origin[0], y as f64 + origin[1]], size: [width as f64, height as f64] };
    if let Some(to) = ground.slide_at(area.centre()) {
        // What sticks out into the other slide and is only moved a little stays what it is. So does what moved into a slide
        // that left the service: nothing can be made there.
        let to_group = slides.get(to).filter(|group| group.is_there);
        let stays = to_group.is_none_or(|group| group.area.is_some_and(|area| area.contains(was.centre())));
        return match (stays, is_whole(element)) {
            (true, _) => Role::Element(named),
            (false, true) => Role::Moved(named, to),
            (false, false) => Role::Stuck(named),
        };
    }
    match ground.new_at(area.centre()) {
        Some(to) if is_whole(element) => Role::MovedToNew(named, to),
        Some(_) => Role::Stuck(named),
        None => Role::Element(named),
    }
}

/// Whether the API describes an element wholly and can create it, so that it can be made anew as it is.
fn is_whole(element: &Value) -> bool {
    let Some(fields) = element.as_object() else { return false };
    let is_described =
        fields.iter().all(|(key, value)| value.is_null() || ELEMENT_KEYS.contains(&key.as_str()));
    let style = element.get("style").filter(|style| !style.is_null());
    let has_style = style.is_none_or(|style| {
        style
            .as_object()
            .is_some_and(|all| all.iter().all(|(key, value)| check::style("", key, value).is_ok()))
    });
    let has_words = element.get("content").is_none_or(|content| content.is_string() || content.is_null());
    let place = GEOMETRY.into_iter().map(|key| (key, element.get(key)));
    let has_place = place
        .into_iter()
        .all(|(key, value)| value.is_some_and(|value| check::number("", key, value).is_ok()));
    is_creatable(Surface::Slide, type_of(element)) && is_described && has_style && has_words && has_place
}

fn free_role<'a>(index: usize, node: &Value, ground: &Ground<'_>) -> Role<'a> {
    let area = Area::of(node);
    let slide = area.and_then(|area| ground.slide_at(area.centre()));
    let what = match type_of(node) {
        "text" => {
            let new = area.and_then(|area| ground.new_at(area.centre()));
            return match (slide, new) {
                (Some(slide), _) => Role::New(slide),
                (None, Some(group)) => Role::InNewSlide(group),
                (None, None) => Role::Local(LocalOnly::Outside, None),
            };
        }
        "group" if ground.new.iter().any(|(new, _)| *new == index) => return Role::NewSlide,
        "group" => {
            // A group around several slides is in none of them.
            let inside = area.and_then(|area| {
                ground.slides.iter().rev().find(|(_, slide)| slide.encloses(&area)).map(|(slide, _)| *slide)
            });
            return Role::Local(LocalOnly::Group, inside);
        }
        "link" => LocalOnly::Link,
        "file" => LocalOnly::File,
        _ => LocalOnly::Other,
    };
    Role::Local(what, slide)
}
