//! A presentation's file, compared with what it was written from: what a person changed on each slide.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::area::Area;
use super::extras::extras;
use super::names::{Named, own_name};
use super::survey::{Group, GroupState, Node, Role, Survey, survey};
use super::written::number_of;
use super::{
    Destination, Known, LocalOnly, Move, NewSlide, OnlyHere, PresentationFile, SlideFile, SlideState,
};
use crate::canvas::check::shown;
use crate::canvas::node::{View, has_text, relative, type_of};
use crate::canvas::read::{Change, Local, Twins, compare, new_element};
use crate::model::{Fields, Surface, id_of, planted_fault};

/// Reads a file, slide by slide. A fault in one slide concerns that slide only.
///
/// # Errors
/// One sentence: why nothing of this file can be sent.
pub fn read(text: &str, known: &Known<'_>) -> Result<PresentationFile, String> {
    planted_fault("reading", &|| text.to_owned());
    let survey = survey(text, known)?;
    let sources = Sources::new(&survey, known);
    let copies: BTreeMap<usize, String> = (survey.nodes.iter().enumerate())
        .filter_map(|(index, node)| Some((index, sources.copied_type(node)?.to_owned())))
        .collect();
    let mut file = PresentationFile {
        only_here: only_here(&survey, &copies),
        moves: moves(&survey, known),
        new_slides: new_slides(&survey),
        put_back: put_back(&survey, known),
        aliased: survey.nodes.iter().any(|node| match node.role {
            Role::Group(slide) => id_in(known, slide).is_none_or(|id| id != id_of(&node.value)),
            _ => false,
        }),
        slides: Vec::new(),
    };
    for (index, (group, slide)) in survey.slides.iter().zip(known.slides).enumerate() {
        let state = match group.state {
            GroupState::Removed => SlideState::Removed,
            GroupState::Unwritten => SlideState::Unwritten,
            GroupState::Here | GroupState::Ungrouped => local(&survey, index, group, &sources, &copies)
                .map_or_else(SlideState::Faulty, SlideState::Here),
        };
        file.slides.push(SlideFile {
            id: slide.id.clone(),
            state,
            base: group.elements.iter().map(|element| (*element).clone()).collect(),
            extras: extras(&survey, index, &copies),
        });
    }
    Ok(file)
}

/// The id of a slide by its index.
fn id_in<'a>(known: &Known<'a>, slide: usize) -> Option<&'a str> {
    known.slides.get(slide).map(|slide| slide.id.as_str())
}

/// What new nodes may be copies of.
struct Sources<'s> {
    own: BTreeMap<&'s str, &'s Value>,
    twins: Twins<'s>,
    known: &'s Known<'s>,
}

impl<'s> Sources<'s> {
    fn new(survey: &'s Survey<'s>, known: &'s Known<'s>) -> Self {
        let elements =
            || survey.nodes.iter().filter_map(|node| Some((&node.value, element_of(&node.role)?.1)));
        let own = elements().map(|(node, element)| (id_of(node), element)).collect();
        Self { own, twins: Twins::among(elements()), known }
    }

    /// The element that a new node is a copy of: the one whose id it has, here or elsewhere, or the one that it looks like.
    fn of(&self, node: &'s Value) -> Option<&'s Value> {
        let raw = id_of(node);
        let elsewhere = || self.known.origins.get(raw).or_else(|| self.known.origins.get(own_name(raw)));
        self.own.get(raw).copied().or_else(elsewhere).or_else(|| self.twins.of(node))
    }

    /// The type of the element that a new node is a copy of, if the API cannot create it.
    fn copied_type(&self, node: &'s Node<'_>) -> Option<&'s str> {
        let is_new = matches!(node.role, Role::New(_) | Role::InNewSlide(_));
        self.of(&node.value).filter(|_| is_new).map(type_of).filter(|kind| !has_text(kind))
    }
}

fn element_of<'a>(role: &Role<'a>) -> Option<Named<'a>> {
    match role {
        Role::Element(named) | Role::Moved(named, _) | Role::MovedToNew(named, _) | Role::Stuck(named) => {
            Some(*named)
        }
        _ => None,
    }
}

/// What a person changed on one slide.
fn local(
    survey: &Survey<'_>,
    slide: usize,
    group: &Group<'_>,
    sources: &Sources<'_>,
    copies: &BTreeMap<usize, String>,
) -> Result<Local, String> {
    let mut local = Local::default();
    let mut seen = BTreeSet::new();
    let origin = group.origin.unwrap_or_default();
    for (index, node) in survey.nodes.iter().enumerate() {
        let (value, key) = (&node.value, &node.key);
        if let Some((_, element)) = element_of(&node.role).filter(|(of, _)| *of == slide) {
            seen.insert(id_of(element));
            local.order.push(id_of(element).to_owned());
            local.aliased |= own_name(id_of(value)) != id_of(element);
            let mut own = in_group(value, origin, Some(element));
            if !matches!(node.role, Role::Element(_)) {
                // Its place is that of a new element of the other slide. What else changed is merged where it still is.
                stand_still(&mut own, element);
            }
            if matches!(node.role, Role::Stuck(_)) {
                local.put_back.push(format!(
                    "the node {} cannot be moved into another slide, because the API cannot create everything of it there; it is moved back",
                    shown(key)
                ));
            }
            let mut change = Change { node: key.clone(), fields: Fields::new() };
            compare(&own, element, key, &mut change.fields, &mut local.put_back)?;
            if !change.fields.is_empty() {
                local.changed.insert(id_of(element).to_owned(), change);
            }
        }
        match &node.role {
            Role::Moved((_, element), to) if *to == slide => {
                let own = in_group(value, origin, None);
                local.new.push((key.clone(), new_element(&own, key, Surface::Slide, Some(element))?));
            }
            Role::New(to) if *to == slide => match copies.get(&index) {
                Some(kind) => local.copies.push(kind.clone()),
                None => {
                    let own = in_group(value, origin, None);
                    let fields = new_element(&own, key, Surface::Slide, sources.of(value))?;
                    local.new.push((key.clone(), fields));
                }
            },
            Role::Local(_, Some(of)) if *of == slide => local.strays += 1,
            _ => {}
        }
    }
    let all = group.elements.iter().map(|element| id_of(element));
    local.gone = all.filter(|id| !seen.contains(id)).map(str::to_owned).collect();
    Ok(local)
}

/// A node with its place in its group; `element`: what it stands for.
fn in_group(node: &Value, origin: [f64; 2], element: Option<&Value>) -> Value {
    let mut own = node.clone();
    let said = element.map(|element| View::of(element).place);
    for ((key, origin), index) in ["x", "y"].into_iter().zip(origin).zip(0..) {
        if let Some(value) = own.get_mut(key) {
            let said = said.and_then(|place| place.get::<usize>(index).copied());
            *value = relative(value, origin, said);
        }
    }
    own
}

/// Gives a node the place that its element says.
fn stand_still(node: &mut Value, element: &Value) {
    for (key, place) in ["x", "y"].into_iter().zip(View::of(element).place) {
        if let Some(value) = node.get_mut(key) {
            *value = Value::from(place);
        }
    }
}

fn only_here(survey: &Survey<'_>, copies: &BTreeMap<usize, String>) -> Vec<OnlyHere> {
    let nodes = survey.nodes.iter().enumerate().filter_map(|(index, node)| {
        let what = match (&node.role, copies.get(&index)) {
            (_, Some(kind)) => LocalOnly::Copy(kind.clone()),
            (Role::Local(what, _), None) => what.clone(),
            _ => return None,
        };
        Some(OnlyHere { node: node.key.clone(), what })
    });
    let edges = survey.edges.iter();
    nodes.chain(edges.map(|edge| OnlyHere { node: id_of(edge).to_owned(), what: LocalOnly::Edge })).collect()
}

fn moves(survey: &Survey<'_>, known: &Known<'_>) -> Vec<Move> {
    let id = |slide: usize| known.slides.get(slide).map(|slide| slide.id.clone());
    let moved = survey.nodes.iter().filter_map(|node| {
        let ((from, element), to) = match &node.role {
            Role::Moved(named, to) => (*named, Destination::Slide(id(*to)?)),
            Role::MovedToNew(named, to) => {
                (*named, Destination::NewSlide(survey.nodes.get(*to)?.key.clone()))
            }
            _ => return None,
        };
        Some(Move { node: node.key.clone(), element: id_of(element).to_owned(), from: id(from)?, to })
    });
    moved.collect()
}

/// New slides go by the numbers of their labels; those without go by their places.
fn new_slides(survey: &Survey<'_>) -> Vec<NewSlide> {
    let new = survey.nodes.iter().enumerate().filter(|(_, node)| node.role == Role::NewSlide);
    let mut new: Vec<_> = new
        .map(|(index, node)| {
            let [x, y] = Area::of(&node.value).map(|area| area.origin).unwrap_or_default();
            let inside = survey.nodes.iter().filter(|node| match node.role {
                Role::InNewSlide(group) | Role::MovedToNew(_, group) => group == index,
                _ => false,
            });
            let new = NewSlide { node: node.key.clone(), nodes: inside.count() };
            (number_of(&node.value).unwrap_or(usize::MAX), [y, x], new)
        })
        .collect();
    new.sort_by(|a, b| {
        let places = a.1.iter().zip(&b.1).map(|(a, b)| a.total_cmp(b));
        places.fold(a.0.cmp(&b.0), std::cmp::Ordering::then)
    });
    new.into_iter().map(|(.., new)| new).collect()
}

/// What people did to groups that the API cannot do.
fn put_back(survey: &Survey<'_>, known: &Known<'_>) -> Vec<String> {
    let mut all = Vec::new();
    let node_of = |group: &Group<'_>| group.node.and_then(|node| survey.nodes.get(node));
    let size_of = |node: &Node<'_>| Area::of(&node.value).map(|area| area.size);
    let any_right =
        survey.slides.iter().filter_map(node_of).any(|node| size_of(node) == Some(known.size.whole()));
    for (index, group) in survey.slides.iter().enumerate() {
        let was = survey.written.groups.get(&index);
        let number = was.map_or(index, |was| was.number).saturating_add(1);
        if group.state == GroupState::Ungrouped {
            all.push(format!("the group of slide {number} was removed without its nodes; it is restored"));
        }
        let Some(node) = node_of(group) else { continue };
        if type_of(&node.value) != "group" {
            all.push(format!("the node of slide {number} must stay a group; it is changed back"));
        }
        // Another size or number may also come from the app. The file as it was written tells them apart, and so does a
        // group that still has the right size.
        let was = was.filter(|_| survey.written.is_kept);
        let size = size_of(node);
        let before = was.map_or(any_right.then_some(known.size.whole()), |was| Some(was.area.size));
        if before.is_some() && size != before && size != Some(known.size.whole()) {
            all.push(format!("slide {number} has the size of its presentation; its group is changed back"));
        }
        let Some(was) = was else { continue };
        let label = number_of(&node.value);
        if label.is_some() && was.label.is_some() && label != was.label {
            all.push(format!(
                "slides cannot be reordered through the API; the label of slide {number} is changed back"
            ));
        }
    }
    all
}
