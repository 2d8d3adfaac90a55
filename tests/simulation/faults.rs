//! Bad luck of a run: what strikes the service, the folder, the process and the machine, and how it ends.

use espejo::model::{Event, MirrorPath, PageId, RootState, ServiceError};

use crate::checks::Failure;
use crate::news::News;
use crate::run::{Due, Heal, Run};
use crate::script::Fault;
use crate::service::{Strike, Weather};
use crate::users::Deed;
use crate::words::Word;

impl Run {
    pub(crate) fn strike(&mut self, fault: Fault, (a, b): (u32, u32)) -> Result<(), Failure> {
        let few = 1 + b % 4;
        let while_ms = [800, 5_000, 20_000, 90_000, 400_000][usize::try_from(b % 5).unwrap_or(0)];
        match fault {
            Fault::Crash => self.dies_in = Some(a % 40),
            Fault::CrashAfterChange => self.dies_after = Some(a % 4),
            Fault::LostBefore => self.service.strike(&Strike::LostBefore, few),
            Fault::LostAfter => self.service.strike(&Strike::LostAfter, few),
            Fault::Failing => self.service.strike(&Strike::Failing, few),
            Fault::FailingAfter => self.service.strike(&Strike::FailingAfter, few),
            Fault::Limited => self.service.strike(&Strike::Limited, few),
            Fault::Garbled => self.service.strike(&Strike::Garbled, few),
            Fault::Unreachable => self.weather(Weather::Unreachable, while_ms),
            Fault::Slow => self.weather(Weather::Slow, while_ms),
            Fault::Unauthorized => self.weather(Weather::Unauthorized, while_ms),
            Fault::Forbidden => self.weather(Weather::Forbidden, while_ms),
            Fault::EmptyList => self.weather(Weather::EmptyList, while_ms),
            Fault::ShortList => self.weather(Weather::ShortList, while_ms),
            Fault::Hidden => {
                let ids: Vec<PageId> = self.service.active().iter().map(|page| page.id.clone()).collect();
                if let Some(id) = ids.get(a as usize % ids.len().max(1)) {
                    // Who goes on writing in its file, or in a subpage's, has a page of his own when this one comes back.
                    let family = self.service.family(id);
                    for page in &family {
                        self.service.words_of(page).iter().for_each(|word| self.ledger.copy(*word));
                    }
                    self.service.world.app_hide(id, true);
                    self.tell_other(News::Hidden(family.clone()));
                    self.checks.fates.was_gone.extend(family);
                    self.later(while_ms, Due::Heal(Heal::Show(id.clone())));
                }
            }
            Fault::DiskFull => {
                self.folder.full = true;
                self.later(while_ms, Due::Heal(Heal::Full));
            }
            Fault::ReadOnly => {
                self.folder.read_only = true;
                self.later(while_ms, Due::Heal(Heal::ReadOnly));
            }
            Fault::Sealed => {
                let inner = self.folder.things.iter().filter(|(path, _)| path.components().count() > 2);
                let inodes: Vec<u64> = inner.map(|(_, thing)| thing.stamp.inode).collect();
                if let Some(inode) = inodes.get(a as usize % inodes.len().max(1)) {
                    self.folder.sealed.insert(*inode);
                    self.later(while_ms, Due::Heal(Heal::Unseal(*inode)));
                }
            }
            Fault::NoMarker | Fault::RootGone => {
                self.folder.root =
                    if fault == Fault::NoMarker { RootState::NoMarker } else { RootState::Missing };
                self.returning.away_until_ms = self.now_ms + while_ms;
                self.later(while_ms, Due::Heal(Heal::Root));
            }
            Fault::Suspend if self.other.is_some() => self.switch_off(60_000 * i64::from(1 + a % 600)),
            Fault::Suspend => self.suspend(60_000 * i64::from(1 + a % 600)),
            Fault::ClockStep => {
                // Forward or back by up to two hours; a running espejo counts on from where it was.
                let before = std::mem::replace(&mut self.clock_ms, 14_400 * (i64::from(a) - 500));
                self.clock_jumped |= self.clock_ms > before;
                self.folder.step_clock(self.now_ms + self.clock_ms);
            }
            Fault::Overflow => self.tell(Event::HintAll)?,
            Fault::FullPass => {
                self.checks.canvas.forget_failures();
                self.stored.checks.forget_failures();
                self.ask_for_pass()?;
            }
        }
        Ok(())
    }

    fn weather(&mut self, weather: Weather, while_ms: i64) {
        self.service.set_weather(weather, true);
        self.later(while_ms, Due::Heal(Heal::Weather(weather)));
    }

    /// The machine sleeps: nothing happens for a long time, and what was on its way has timed out.
    fn suspend(&mut self, asleep_ms: i64) {
        self.checks.hands.slept(asleep_ms);
        self.checks.canvas.hands.slept(asleep_ms);
        self.service.canvas.slept(asleep_ms);
        for ((at, order), due) in std::mem::take(&mut self.queue) {
            let due = match due {
                // Another process sends what it was lent in the same moment: not after the machine has slept.
                Due::Borrowed => continue,
                Due::Arrive { life, id, .. } => {
                    let error = ServiceError::Lost("the connection was reset".to_owned());
                    Due::Answer {
                        life,
                        id,
                        outcome: espejo::model::Outcome::Service(Err(error)),
                        looked: None,
                        asked: None,
                    }
                }
                Due::Beside { life, id, beside } => self.beside_slept(life, id, beside),
                other => other,
            };
            self.queue.insert((at + asleep_ms, order), due);
        }
        self.now_ms += asleep_ms;
        self.folder.set_clock(self.now_ms + self.clock_ms);
    }

    /// Bad luck ends.
    pub(crate) fn heal(&mut self, heal: &Heal) -> Result<(), Failure> {
        self.note(format_args!("= heals: {heal:?}"));
        match heal {
            Heal::Weather(weather) => self.service.set_weather(*weather, false),
            Heal::Show(page) => {
                self.service.world.app_hide(page, false);
            }
            Heal::Root => self.bring_root_back(),
            Heal::Full => self.folder.full = false,
            Heal::ReadOnly => self.folder.read_only = false,
            Heal::Unseal(inode) => self.unseal(&[*inode]),
            Heal::Name(inode, path) => self.name_back(*inode, path),
            Heal::Pause => self.end_pause()?,
        }
        self.service.keep_state(self.now_ms);
        Ok(())
    }

    fn unseal(&mut self, inodes: &[u64]) {
        let sealed = self.folder.things.iter().filter(|(_, thing)| inodes.contains(&thing.stamp.inode));
        let sealed: Vec<MirrorPath> = sealed.map(|(path, _)| path.clone()).collect();
        let inside = sealed.iter().flat_map(|path| self.folder.within(path));
        let words: Vec<Word> = inside
            .filter_map(|path| self.folder.file(&path))
            .flat_map(|file| file.words.iter().copied())
            .collect();
        self.checks.hands.unsealed(words, self.now_ms);
        self.folder.sealed.retain(|inode| !inodes.contains(inode));
    }

    fn bring_root_back(&mut self) {
        self.folder.root = RootState::Ready;
        // Before whatever was to come after them: a save is not cut off by its own beginning.
        for (since_ms, mut act) in std::mem::take(&mut self.postponed) {
            // The text in hand has grown older meanwhile.
            if let Deed::WriteStale { age_ms, .. } = &mut act {
                *age_ms += self.now_ms - since_ms;
            }
            self.later(0, Due::Deed(act));
        }
    }

    /// All bad luck ends, and every person finishes what they began.
    pub(crate) fn heal_all(&mut self) -> Result<(), Failure> {
        self.service.heal();
        let shown = self.service.heal_canvases();
        self.back(&shown);
        self.bring_root_back();
        self.folder.full = false;
        self.folder.read_only = false;
        let sealed: Vec<u64> = self.folder.sealed.iter().copied().collect();
        self.unseal(&sealed);
        self.dies_in = None;
        self.dies_after = None;
        if self.other.is_some() {
            self.switch_on();
        }
        let names: Vec<(u64, MirrorPath)> = self
            .queue
            .values()
            .filter_map(|due| match due {
                Due::Heal(Heal::Name(inode, path)) => Some((*inode, path.clone())),
                _ => None,
            })
            .collect();
        names.iter().for_each(|(inode, path)| self.name_back(*inode, path));
        self.queue.retain(|_, due| !matches!(due, Due::Heal(_)));
        self.end_pause()
    }
}
