//! The codec of canvases: reads a file, merges three versions into operations and a text, and says what an operation makes of
//! the base. Thin over [`crate::canvas`].

use serde_json::Value;

use crate::canvas::{self, Aliases, Op, Origins};
use crate::core::content::versions::{self, Compared, MergedItem, Versions};
use crate::core::items::{Act, ActState, Deed, Item, Part};
use crate::core::keys::Seq;
use crate::core::plan::confirm::{Shows, Verdict};
use crate::core::state::Core;
use crate::model::{ContentHash, ElementId, Elements, Fields, Problem, Surface, Timestamp, guarded, id_of};
use crate::store::StoreError;

/// Whether a file has something that an item can be made of.
#[must_use]
pub fn has_content(text: &str) -> bool {
    !canvas::ids_in(text).is_empty()
}

/// Reads a new file.
///
/// # Errors
/// One sentence: why nothing can be made of it.
pub fn check(text: &str) -> Result<(), String> {
    canvas::read(text, Surface::Board, &[], &Aliases::new(), &Origins::new()).map(drop)
}

/// Compares a whiteboard's file with its base and the service.
///
/// # Errors
/// [`StoreError`] when a version cannot be read.
pub fn compare(
    core: &Core<'_>,
    item: &Item,
    text: &str,
    hash: ContentHash,
) -> Result<Result<Compared, Problem>, StoreError> {
    let Versions { base, remote, shown } = versions::versions(core, item, true)?;
    let base = base.unwrap_or_default();
    let origins = versions::origins(core, item, canvas::strange_ids(text, &base, &item.aliases))?;
    let permanent = core.settings.boards.permanent_deletes;
    let id = item.remote.as_ref().map_or("", |remote| &remote.id);
    let compared = guarded(|| {
        let base = canvas::known(text, &base, &item.aliases, &shown);
        let local = canvas::read(text, Surface::Board, &base, &item.aliases, &origins)?;
        let merged = canvas::merge(Surface::Board, &base, &remote, &local, permanent);
        let next = canvas::patch(text, &base, &merged.target, &item.aliases)?;
        let (said, gone, copies) = (Some(local.said(&base)), local.gone.len(), local.copies.len());
        Ok(Compared {
            text: text.to_owned(),
            hash,
            next: (next != *text).then(|| canvas::with_claim(&next, id)),
            merged: vec![MergedItem {
                item: item.key,
                base,
                remote,
                said,
                gone,
                ops: merged.ops,
                agreed: merged.base,
            }],
            collisions: merged.collisions,
            notes: merged.notes,
            faults: Vec::new(),
            copies,
            strays: local.strays,
            is_clean: local.is_clean(),
            aliased: local.aliased,
            is_moving: false,
            adopts: None,
        })
    });
    Ok(compared.map_or(Err(Problem::Internal), |compared| compared.map_err(Problem::Canvas)))
}

/// The text of a whiteboard's first file.
///
/// # Errors
/// [`Problem::Internal`] after a fault.
pub fn first_text(item: &Item, elements: &[Value]) -> Result<String, Problem> {
    let id = item.remote.as_ref().map_or("", |remote| &remote.id);
    guarded(|| canvas::with_claim(&canvas::render(elements), id)).map_err(|_| Problem::Internal)
}

/// The row of the journal for an operation.
#[must_use]
pub fn act_of(item: &Item, op: &Op, remote: &[Value]) -> Act {
    let before = |id: &ElementId| {
        let found = remote.iter().find(|element| id_of(element) == id.as_str());
        found.cloned().unwrap_or(Value::Null)
    };
    let deed = match op {
        Op::Update { id, fields } => Deed::Change { before: before(id), after: fields.clone() },
        Op::Delete { id } => Deed::Remove { before: before(id) },
        Op::Create { fields, instead_of, .. } => Deed::Create {
            fields: fields.clone(),
            known: remote.iter().map(|element| id_of(element).to_owned()).collect(),
            instead_of: instead_of.clone(),
            made: None,
        },
    };
    let part = Part::Element(op.about().to_owned());
    Act {
        sent: Seq::default(),
        item: item.key,
        part,
        deed,
        state: ActState::Sent,
        failing: Default::default(),
    }
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
