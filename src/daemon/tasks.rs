//! The tasks that carry effects out, and the answer to one whose edge panics: without one its effect would stay under way.

use tokio::task::{self, AbortHandle, JoinError, JoinSet};

use crate::model::{
    DiskError, DownloadError, Effect, EffectId, Fault, MirrorPath, Outcome, ServiceError, StorageEffect,
};

/// What has been begun. Let go of, requests and downloads end at once, acts on disk when they are done.
#[derive(Default)]
pub(super) struct Tasks {
    pub(super) all: JoinSet<(EffectId, Outcome)>,
    pub(super) downloads: Vec<AbortHandle>,
    /// The answer to each effect whose edge panics, by its task.
    pub(super) failures: Vec<(task::Id, EffectId, Outcome)>,
}

impl Tasks {
    /// The answer of a task; `None` for one that was called back.
    pub(super) fn answer(
        &mut self,
        done: Result<(task::Id, (EffectId, Outcome)), JoinError>,
    ) -> Option<(EffectId, Outcome)> {
        let id = match &done {
            Ok((id, _)) => *id,
            Err(error) => error.id(),
        };
        let at = self.failures.iter().position(|(task, ..)| *task == id);
        let failed = at.map(|at| self.failures.swap_remove(at));
        match done {
            Ok((_, answer)) => Some(answer),
            Err(error) => failed.filter(|_| !error.is_cancelled()).map(|(_, id, outcome)| (id, outcome)),
        }
    }
}

/// The answer to an effect whose edge panicked: whether it was carried out is not known.
pub(super) fn failure_of(effect: &Effect) -> Outcome {
    let why = Fault.to_string();
    match effect {
        Effect::Work(_) => Outcome::Work(Err(Fault)),
        Effect::Storage(StorageEffect::Download { .. }) => {
            Outcome::Download(Err(DownloadError::Broken { why, got: 0 }))
        }
        effect if effect.is_request() => Outcome::Service(Err(ServiceError::Garbled(why))),
        effect => {
            let path = match effect {
                Effect::ReadFile(path) | Effect::WriteFile { path, .. } | Effect::TrashFile { path, .. } => {
                    path.clone()
                }
                Effect::Rename { from, .. } => from.clone(),
                _ => MirrorPath::root(),
            };
            Outcome::Disk(Err(DiskError::Io(path, why)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::PageId;

    #[tokio::test]
    async fn an_edge_that_panics_answers_and_one_that_is_called_back_does_not() {
        let mut tasks = Tasks::default();
        let path = MirrorPath::new("S/Pages/A.md").unwrap();
        let effects = [Effect::ReadFile(path), Effect::FetchPage(PageId::new("p").unwrap())];
        for (id, effect) in (1..).map(EffectId).zip(&effects) {
            let task = tasks.all.spawn(async { panic!("planted") });
            tasks.failures.push((task.id(), id, failure_of(effect)));
        }
        let called_back = tasks.all.spawn(std::future::pending());
        tasks.failures.push((called_back.id(), EffectId(3), failure_of(&effects[0])));
        called_back.abort();
        let mut answers = Vec::new();
        while let Some(done) = tasks.all.join_next_with_id().await {
            answers.extend(tasks.answer(done));
        }
        answers.sort_by_key(|(id, _)| id.0);
        assert!(matches!(
            answers.as_slice(),
            [
                (EffectId(1), Outcome::Disk(Err(DiskError::Io(..)))),
                (EffectId(2), Outcome::Service(Err(ServiceError::Garbled(_))))
            ]
        ));
        assert!(tasks.failures.is_empty());
    }
}
