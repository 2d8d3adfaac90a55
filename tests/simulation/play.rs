//! A script from its first step to the peace after the last.

use espejo::model::{Code, Event};

use crate::agreement::nothing_doubled;
use crate::canvas;
use crate::checks::{Failure, broken};
use crate::quiet;
use crate::run::{Due, Run};
use crate::script::{Act, Script};
use crate::stored::StoredFault;
use crate::tally::Tally;
use crate::users::is_page_file;

/// A run that ended well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Played {
    /// A number over everything that happened, and how many lines that was.
    pub(crate) digest: (u64, u64),
    /// Words lost between a look and the write that rested on it.
    pub(crate) slipped_between: u32,
    /// How many words, titles and bodies are there twice as no evidence was left.
    pub(crate) in_doubt: usize,
    /// How often each stated rule was used.
    pub(crate) allowed: canvas::Allowed,
    /// How long it took until both sides agreed, in seconds of the run's own time.
    pub(crate) settled_s: i64,
    /// Requests that asked for a change.
    pub(crate) writes: u32,
    /// How often each act and fault came by.
    pub(crate) tally: Tally,
}

/// A run that broke a promise.
#[derive(Debug, Clone)]
pub(crate) struct Broken {
    pub(crate) failure: Failure,
    pub(crate) tail: Vec<String>,
    /// How many lines there were in all.
    pub(crate) lines: u64,
    /// How many steps of the script had been taken.
    pub(crate) step: usize,
}

/// Plays a script.
pub(crate) fn play(script: &Script, loud: bool) -> Result<Played, Box<Broken>> {
    quiet::listening(|| {
        let mut run = Run::new(script.scene, loud)
            .map_err(|failure| Box::new(Broken { failure, tail: Vec::new(), lines: 1, step: 0 }))?;
        whole(&mut run, script).map_err(|failure| {
            Box::new(Broken { failure, tail: run.trace.tail(), lines: run.trace.digest().1, step: run.steps })
        })
    })
}

fn whole(run: &mut Run, script: &Script) -> Result<Played, Failure> {
    let puts_back = Act::StoredFault(StoredFault::OldFolder);
    run.stored.copies.are_kept = script.steps.iter().any(|step| step.act == puts_back);
    run.each(Run::pump)?;
    run.pass_until(run.now_ms + i64::from(script.scene.rest_ms))?;
    for step in &script.steps {
        run.change_rules();
        run.steps += 1;
        run.step(step)?;
        run.service.keep_state(run.now_ms);
        run.tally.note(step.act, run.now_ms);
    }
    run.turn_to(0);
    let settled_s = come_to_rest(run)?;
    stay_at_rest(run)?;
    let mut in_doubt = 0;
    run.each(|run| {
        in_doubt += is_whole(run)?;
        Ok(())
    })?;
    let most = run.service.world.log().most_in_any_minute();
    if most > run.scene.limit() as usize && !run.some_clock_jumped() {
        return broken("budget", format!("{most} requests in a minute"));
    }
    Ok(Played {
        digest: run.trace.digest(),
        slipped_between: run.checks.slipped_between,
        in_doubt,
        allowed: std::mem::take(&mut run.checks.canvas.allowed),
        settled_s,
        writes: run.checks.writes,
        tally: std::mem::take(&mut run.tally),
    })
}

/// Whether nothing is lost, and nothing doubled. Returns how much is there twice since no evidence was left.
fn is_whole(run: &mut Run) -> Result<usize, Failure> {
    run.nothing_lost(true)?;
    run.no_body_lost()?;
    for page in std::mem::take(&mut run.remade) {
        run.service.words_of(&page).to_vec().into_iter().for_each(|word| run.ledger.copy(word));
    }
    let bodies = run.no_body_doubled()?;
    // What disappears while it is ignored is let go and mirrored anew.
    if run.scene.ignores == 1 {
        return Ok(bodies);
    }
    let pages = nothing_doubled(&run.folder, &run.service, &run.ledger)?;
    Ok(bodies + pages + canvas::nothing_doubled(&run.folder, &run.service, &run.ledger)?)
}

/// Nobody does anything any more, and nothing goes wrong: both sides must come to say the same.
fn come_to_rest(run: &mut Run) -> Result<i64, Failure> {
    run.note(format_args!("= the end: people stop, bad luck ends"));
    let mut ends_ms = run.now_ms + 70_000;
    run.each(|run| {
        run.heal_all()?;
        run.end_rules();
        run.end_down();
        let last = run.queue.iter().rev().find(|(_, due)| matches!(due, Due::Deed(_)));
        ends_ms = ends_ms.max(last.map_or(0, |((at, _), _)| at + 1_000));
        Ok(())
    })?;
    // What people began they finish; a process that is down starts again.
    run.pass_until(ends_ms)?;
    // A person reads every file: what waits for a program that saved its old text three times goes on.
    run.each(|run| {
        let paths: Vec<_> = run.folder.things.keys().filter(|path| is_page_file(path)).cloned().collect();
        paths.into_iter().try_for_each(|path| run.tell(Event::Opened(path)))?;
        run.pump()
    })?;
    let begun_ms = run.now_ms;
    let asks = run.scene.pass == 1;
    let mut most_ms = if asks { 3_600_000 } else { 12 * 3_600_000 };
    if asks {
        run.each(|run| {
            run.ask_for_pass()?;
            run.pump()
        })?;
    }
    let mut approved_ms = run.now_ms;
    let (mut is_approved, mut has_waited) = (false, false);
    loop {
        let mut is_settled = true;
        let mut told = String::new();
        run.each(|run| {
            let summary = run.summary()?;
            is_settled &= summary.as_ref().is_some_and(|summary| summary.is_settled) && !run.passing;
            told = format!("{told}{summary:?}");
            Ok(())
        })?;
        // Comparing both sides takes long; before the engine rests it would be for nothing.
        let agrees = is_settled && run.each(|run| agreed(run)).is_ok();
        if agrees && !has_waited && awaits_upload(run)? {
            has_waited = true;
            most_ms += UPLOAD_MOST_MS;
            run.pass_until(run.now_ms + UPLOAD_MOST_MS)?;
            continue;
        }
        if agrees && (is_approved || !holds(run)?) {
            return Ok((run.now_ms - begun_ms) / 1_000);
        }
        if run.now_ms - begun_ms > most_ms {
            run.each(|run| agreed(run))?;
            return broken("agreement", format!("both sides agree, and the engine does not rest: {told}"));
        }
        if agrees || run.now_ms - approved_ms > 300_000 {
            is_approved = true;
            let_go(run)?;
            approved_ms = run.now_ms;
        }
        let step_ms = if asks || run.now_ms - begun_ms < 1_800_000 { 10_000 } else { 600_000 };
        run.pass_until(run.now_ms + step_ms)?;
    }
}

/// An upload that the service refused is tried again so late at the latest.
const UPLOAD_MOST_MS: i64 = 3_660_000;

/// Whether an upload that was refused is to be tried again.
fn awaits_upload(run: &mut Run) -> Result<bool, Failure> {
    let mut awaits = false;
    run.each(|run| {
        let summary = run.summary()?;
        let mut told = summary.iter().flat_map(|summary| &summary.attention);
        awaits |= told.any(|told| told.code == Code::NotUploaded && told.action.contains("retries at"));
        Ok(())
    })?;
    Ok(awaits)
}

/// Whether a guard holds something.
fn holds(run: &mut Run) -> Result<bool, Failure> {
    let mut holds = false;
    run.each(|run| {
        let summary = run.summary()?;
        let mut told = summary.iter().flat_map(|summary| &summary.attention);
        holds |= told.any(|told| matches!(told.code, Code::DeletionsHeld | Code::RemovalsHeld));
        Ok(())
    })?;
    Ok(holds)
}

/// People let go whatever is held.
fn let_go(run: &mut Run) -> Result<(), Failure> {
    run.each(|run| {
        run.approve()?;
        run.approve_by_path()?;
        run.pump()
    })
}

/// At rest nothing is written, whatever the watcher says and however often everything is looked at.
fn stay_at_rest(run: &mut Run) -> Result<(), Failure> {
    // Whatever nobody has looked at yet is seen first.
    run.each(|run| {
        run.ask_for_pass()?;
        run.pump()
    })?;
    // That takes as long as the requests for it do, of which each of two machines has half.
    let pass_ms = i64::from(1 + run.scene.two) * 180_000 * 60 / i64::from(run.scene.budget);
    run.pass_until(run.now_ms + pass_ms)?;
    if holds(run)? {
        let_go(run)?;
        run.pass_until(run.now_ms + pass_ms)?;
    }
    run.note(format_args!("= at rest"));
    let before = acts(run)?;
    run.each(|run| {
        let paths: Vec<_> = run.folder.things.keys().cloned().collect();
        for path in paths.iter().chain(&paths) {
            run.tell(Event::Hint(path.clone()))?;
        }
        run.pump()
    })?;
    run.pass_until(run.now_ms + 120_000)?;
    run.each(|run| {
        run.tell(Event::HintAll)?;
        run.ask_for_pass()?;
        run.pump()
    })?;
    run.pass_until(run.now_ms + 480_000)?;
    if acts(run)? != before {
        return broken("rest", "something was written although nothing had changed");
    }
    run.each(|run| {
        agreed(run)?;
        run.summary()?.map_or(Ok(()), |summary| run.status_is_true(&summary))
    })
}

/// How many requests changed something, and how many acts on disk there were.
fn acts(run: &mut Run) -> Result<(u32, u32), Failure> {
    let mut sum = (0, 0);
    run.each(|run| {
        sum = (sum.0 + run.checks.writes, sum.1 + run.checks.disk_acts);
        Ok(())
    })?;
    Ok(sum)
}

/// Whether both sides agree, of whatever kind.
fn agreed(run: &Run) -> Result<(), Failure> {
    run.agree()?;
    run.stored_agree(run.summary()?.as_ref().map_or(&[][..], |summary| &summary.attention))
}
