//! The codec of canvases: reads a file, merges three versions into operations and a text, and says what an operation makes of
//! the base. Thin over [`crate::canvas`].

use serde_json::Value;

use crate::canvas::{self, Aliases, Local, Merged, Op, Origins};
use crate::core::items::{Act, ActState, Deed, Item, Part};
use crate::core::plan::confirm::{Shows, Verdict};
use crate::core::plan::policy::Kind;
use crate::core::state::{Core, State};
use crate::core::{ItemKey, Seq};
use crate::model::{
    BoardId, CanvasId, ContentHash, ElementId, Elements, Fields, Problem, Surface, Timestamp, guarded, id_of,
};
use crate::store::StoreError;

/// The three versions of a canvas, merged.
#[derive(Debug)]
pub struct Compared {
    /// The file's text.
    pub text: String,
    /// Its hash.
    pub hash: ContentHash,
    /// The base, with what the last write brought if its end is unknown.
    pub base: Elements,
    /// The service's elements.
    pub remote: Elements,
    /// What the file changed.
    pub local: Local,
    /// What is to be sent and written.
    pub merged: Merged,
}

/// The id of an item in requests.
#[must_use]
pub fn id(item: &Item) -> Option<CanvasId> {
    BoardId::new(&item.remote.as_ref()?.id).ok().map(CanvasId::Board)
}

/// The kind of canvas that an item is.
fn surface(kind: Kind) -> Surface {
    if kind == Kind::Presentation { Surface::Slide } else { Surface::Board }
}

/// Whether a file has something that an item can be made of.
#[must_use]
pub fn has_content(text: &str) -> bool {
    !canvas::ids_in(text).is_empty()
}

/// Why nothing can be made of a new file.
#[must_use]
pub fn problem(kind: Kind, text: &str) -> Option<Problem> {
    match guarded(|| canvas::read(text, surface(kind), &[], &Aliases::new(), &Origins::new())) {
        Ok(read) => read.err().map(Problem::Canvas),
        Err(_) => Some(Problem::Internal),
    }
}

/// The item of a kind that a file claims to be by its id.
#[must_use]
pub fn claimed(state: &State, kind: Kind, text: Option<&str>) -> Option<ItemKey> {
    state.items.of_id(kind, &canvas::claim(text?)?).map(|item| item.key)
}

/// The item that a file names: by its id, or by half of the elements of one of the `candidates`.
pub fn named<'a, K>(
    text: &str,
    candidates: impl Iterator<Item = (K, Option<&'a str>, &'a [Value], &'a Aliases)>,
) -> Option<K> {
    let claim = canvas::claim(text);
    let ids = canvas::ids_in(text);
    let mut best: Option<(usize, K)> = None;
    for (key, id, elements, aliases) in candidates {
        if id.is_some() && id == claim.as_deref() {
            return Some(key);
        }
        let own = |element: &Value| {
            let own = id_of(element);
            ids.contains(own) || aliases.iter().any(|(node, id)| id == own && ids.contains(node))
        };
        let count = elements.iter().filter(|element| own(element)).count();
        let is_half = count >= elements.len().div_ceil(2).max(1);
        if is_half && best.as_ref().is_none_or(|(most, _)| count > *most) {
            best = Some((count, key));
        }
    }
    best.map(|(_, key)| key)
}

/// Compares an item's file with its base and the service.
///
/// # Errors
/// [`StoreError`] when a version cannot be read.
pub fn compare(
    core: &Core<'_>,
    item: &Item,
    text: &str,
    hash: ContentHash,
) -> Result<Result<Compared, Problem>, StoreError> {
    let remote = core.elements(item.content())?;
    // Without a base both sides are compared as they are.
    let base = core.elements(item.base.as_ref().map(|base| base.content).or_else(|| item.content()))?;
    let making = core.state.journal.of(item.key).any(|act| {
        act.is_in_doubt() && matches!(act.part, Part::Element(_)) && matches!(act.deed, Deed::Create { .. })
    });
    if canvas::is_blank(text) && !item.approved && (!base.is_empty() || making) {
        return Ok(Err(Problem::Emptied));
    }
    let writing = core.state.journal.of_part(item.key, &Part::File);
    let written = writing.and_then(|act| match act.deed {
        Deed::Write { content, .. } => Some(content),
        _ => None,
    });
    let written = core.elements(written)?;
    let origins = origins_of(core, item, text, &base)?;
    let permanent = core.settings.boards.permanent_deletes;
    let surface = surface(item.kind);
    let compared = guarded(|| {
        let base = canvas::known(text, &base, &item.aliases, written.iter().chain(&remote));
        let local = canvas::read(text, surface, &base, &item.aliases, &origins).map_err(Problem::Canvas)?;
        let merged = canvas::merge(surface, &base, &remote, &local, permanent);
        let text = text.to_owned();
        Ok(Compared { text, hash, base, remote: remote.clone(), local, merged })
    });
    Ok(compared.unwrap_or(Err(Problem::Internal)))
}

/// The elements of other items whose ids the nodes of a file have: what these are copies of.
fn origins_of(core: &Core<'_>, item: &Item, text: &str, base: &Elements) -> Result<Origins, StoreError> {
    let ids = canvas::strange_ids(text, base, &item.aliases);
    let mut found = Origins::new();
    if ids.is_empty() {
        return Ok(found);
    }
    for other in core.state.items.all().filter(|other| other.key != item.key) {
        let agreed = other.base.as_ref().map(|base| base.content);
        for content in [agreed, other.content().filter(|seen| Some(*seen) != agreed)].into_iter().flatten() {
            let theirs = core.store.elements(content)?.into_iter();
            let theirs = theirs.map(|element| (id_of(&element).to_owned(), element));
            found.extend(theirs.filter(|(id, _)| ids.contains(id)));
        }
    }
    for id in ids {
        // The element of a node that was cut out of another file, or of a file that comes back, is gone already.
        if !found.contains_key(&id)
            && let Some((_, element)) = core.store.buried(&id)?
        {
            found.insert(id, element);
        }
    }
    Ok(found)
}

/// The text of an item's first file.
///
/// # Errors
/// [`Problem::Internal`] after a fault.
pub fn first_text(item: &Item, elements: &[Value]) -> Result<String, Problem> {
    let id = item.remote.as_ref().map_or("", |remote| &remote.id);
    guarded(|| canvas::with_claim(&canvas::render(elements), id)).map_err(|_| Problem::Internal)
}

/// The text that an item's file is to have; `None` if it is as it should be.
///
/// # Errors
/// The problem that prevents it.
pub fn next_text(item: &Item, compared: &Compared) -> Result<Option<String>, Problem> {
    let Compared { text, base, merged, .. } = compared;
    let id = item.remote.as_ref().map_or("", |remote| &remote.id);
    let patched = guarded(|| canvas::patch(text, base, &merged.target, &item.aliases));
    let out = patched.map_err(|_| Problem::Internal)?.map_err(Problem::Canvas)?;
    Ok((out != *text).then(|| canvas::with_claim(&out, id)))
}

/// The row of the journal for an operation.
#[must_use]
pub fn act_of(sent: Seq, item: &Item, op: &Op, compared: &Compared) -> Act {
    let before = |id: &ElementId| {
        let found = compared.remote.iter().find(|element| id_of(element) == id.as_str());
        found.cloned().unwrap_or(Value::Null)
    };
    let deed = match op {
        Op::Update { id, fields } => Deed::Change { before: before(id), after: fields.clone() },
        Op::Delete { id } => Deed::Remove { before: before(id) },
        Op::Create { fields, instead_of, .. } => Deed::Create {
            fields: fields.clone(),
            known: compared.remote.iter().map(|element| id_of(element).to_owned()).collect(),
            instead_of: instead_of.clone(),
            made: None,
        },
    };
    let part = Part::Element(op.about().to_owned());
    Act { sent, item: item.key, part, deed, state: ActState::Sent, failing: Default::default() }
}

/// Whether a row of the journal is about this operation.
#[must_use]
pub fn is_of(act: &Act, op: &Op) -> bool {
    let is_part = matches!(&act.part, Part::Element(about) if about == op.about());
    is_part
        && match (&act.deed, op) {
            (Deed::Change { after, .. }, Op::Update { fields, .. }) => after == fields,
            (Deed::Create { fields: asked, .. }, Op::Create { fields, .. }) => asked == fields,
            (Deed::Remove { .. }, Op::Delete { .. }) => true,
            _ => false,
        }
}

/// What an act makes of an item once it was carried out.
#[derive(Debug, Clone, PartialEq)]
pub enum ElementChange {
    /// An element was made.
    Made {
        /// The id that the file has for it.
        node: String,
        /// What was asked for, as an element.
        agreed: Value,
        /// The element as the service has it.
        made: Value,
        /// The element that it takes the place of.
        instead_of: Option<String>,
    },
    /// Fields of an element were changed.
    Changed {
        /// The element.
        id: String,
        /// The fields.
        fields: Fields,
    },
    /// An element was removed.
    Removed {
        /// The element.
        id: String,
    },
}

impl ElementChange {
    /// What the answer to an act says that it made.
    #[must_use]
    pub fn answered(act: &Act, element: Option<&Value>) -> Option<Self> {
        let Part::Element(about) = &act.part else { return None };
        Some(match (&act.deed, element) {
            (Deed::Change { after, .. }, Some(_)) => {
                Self::Changed { id: about.clone(), fields: after.clone() }
            }
            (Deed::Remove { .. }, None) => Self::Removed { id: about.clone() },
            (Deed::Create { fields, instead_of, .. }, Some(made)) => {
                let mut asked = fields.clone();
                asked.shift_remove("type");
                let (agreed, made) = (canvas::changed(made, &asked), made.clone());
                Self::Made { node: about.clone(), agreed, made, instead_of: instead_of.clone() }
            }
            _ => return None,
        })
    }

    /// Moves the base.
    pub fn move_base(&self, base: &mut Elements) {
        match self {
            Self::Made { agreed, instead_of, .. } => {
                base.retain(|element| {
                    id_of(element) != id_of(agreed) && Some(id_of(element)) != instead_of.as_deref()
                });
                base.push(agreed.clone());
            }
            Self::Changed { id, fields } => {
                for element in base.iter_mut().filter(|element| id_of(element) == id) {
                    *element = canvas::changed(element, fields);
                }
            }
            Self::Removed { id } => base.retain(|element| id_of(element) != id),
        }
    }

    /// Lays it over a read that is older. `element`: the element as it was answered.
    pub fn lay_over(&self, read: &mut Elements, element: Option<&Value>) {
        match self {
            Self::Made { made, .. } => insert(read, made),
            Self::Changed { id, fields } => {
                for old in read.iter_mut().filter(|old| id_of(old) == id) {
                    *old = element.cloned().unwrap_or_else(|| canvas::changed(old, fields));
                }
            }
            Self::Removed { id } => read.retain(|element| id_of(element) != id),
        }
    }
}

/// Adds an element where the service shows a new one: in front of those with its index.
fn insert(elements: &mut Elements, made: &Value) {
    if elements.iter().all(|element| id_of(element) != id_of(made)) {
        let z = |element: &Value| element.get("z_index").and_then(Value::as_f64).unwrap_or(0.0);
        let at = elements.iter().rposition(|element| z(element) <= z(made)).map_or(0, |at| at + 1);
        elements.insert(at, made.clone());
    }
}

/// Takes in what a fetch shows of an act, and lays the act over it if the fetch is older. Returns what the act made, if the
/// fetch is the first that tells it.
pub fn confirm(
    act: &mut Act,
    read: &mut Elements,
    aliases: &Aliases,
    asked_at: Timestamp,
) -> Option<ElementChange> {
    let Part::Element(about) = act.part.clone() else { return None };
    let at = |id: &str| read.iter().find(|element| id_of(element) == id);
    let was_in_doubt = act.is_in_doubt();
    let (shows, outcome) = match &act.deed {
        Deed::Change { before, after } => {
            let arrived = at(&about).map(|element| canvas::arrived(element, after)).unwrap_or_default();
            let is_before = at(&about).is_some_and(|element| has_as(element, before, after));
            let shows = match () {
                () if !arrived.is_empty() => Shows::After,
                () if is_before => Shows::Before,
                () => Shows::Other,
            };
            let fields = if was_in_doubt { arrived } else { after.clone() };
            (shows, Some(ElementChange::Changed { id: about.clone(), fields }))
        }
        Deed::Remove { before } => {
            let shows = match at(&about) {
                None => Shows::After,
                Some(element) if element == before => Shows::Before,
                Some(_) => Shows::Other,
            };
            (shows, Some(ElementChange::Removed { id: about.clone() }))
        }
        Deed::Create { fields, known, instead_of, made } => {
            let is_new = |element: &&Value| {
                let id = id_of(element);
                !known.contains(id) && !aliases.values().any(|other| other == id)
            };
            let own = made.as_ref().map(id_of);
            let found = match own {
                Some(own) => at(own),
                None => read.iter().filter(is_new).find(|element| canvas::was_made_of(element, fields)),
            };
            let shows = if found.is_some() { Shows::After } else { Shows::Before };
            let made = made.clone().or_else(|| found.cloned());
            let outcome = made.map(|made| ElementChange::Made {
                node: about.clone(),
                agreed: canvas::as_asked(&made, fields),
                made,
                instead_of: instead_of.clone(),
            });
            (shows, outcome)
        }
        Deed::Write { .. } => return None,
    };
    match act.confirm(shows, asked_at) {
        Verdict::Confirmed(_) if was_in_doubt => {
            if let (Some(ElementChange::Made { made, .. }), Deed::Create { made: result, .. }) =
                (&outcome, &mut act.deed)
            {
                *result = Some(made.clone());
            }
            outcome
        }
        Verdict::Lags => {
            outcome.iter().for_each(|outcome| outcome.lay_over(read, None));
            None
        }
        _ => None,
    }
}

/// Whether an element has these fields as they were before.
fn has_as(element: &Value, before: &Value, fields: &Fields) -> bool {
    let was: Fields = fields.keys().filter_map(|key| Some((key.clone(), before.get(key)?.clone()))).collect();
    was.len() == fields.len() && canvas::was_made_of(element, &was)
        || fields.keys().all(|key| element.get(key) == before.get(key))
}
