//! The doctor's looks at the service: one cheap GET for each area, within the limiter, and each in seconds.

use std::time::Duration;

use secrecy::SecretString;

use super::Findings;
use crate::cli::{output, permits, session};
use crate::config::Config;
use crate::daemon;
use crate::daemon::control::Loan;
use crate::model::{ServiceError, StorageMode, Timestamp};
use crate::service::{Client, Glimpse, Timeouts};

/// A service that does not answer within this time is told of, and not waited for.
const PATIENCE: Timeouts =
    Timeouts { connect: Duration::from_secs(4), read: Duration::from_secs(8), total: Duration::from_secs(8) };
/// How long a free request is waited for.
const QUEUE: Duration = Duration::from_secs(3);
/// Further apart, times in conflict names and in the log mislead.
const CLOCK_OFF_MS: i64 = 60_000;
/// The list of workspaces, and an area each.
const LOOKS: u32 = 6;

/// Asks every area that the config has.
pub(super) async fn look(config: &Config, token: SecretString, is_damaged: bool, findings: &mut Findings) {
    let client = match Client::by(&session::way(config), &config.base_url, token, PATIENCE) {
        Ok(client) => client,
        Err(error) => return findings.fail("service", error.to_string(), "correct it in the config"),
    };
    // A state that is damaged has no log that could be counted in.
    let looks = LOOKS.min(permits::most(config));
    let loan = if is_damaged { Ok(Loan::Given(None)) } else { permits::wait_for(config, looks, QUEUE).await };
    match loan {
        Ok(Loan::Given(lent)) => {
            ask(config, &client, looks, findings).await;
            permits::give_back(config, lent, client.sent()).await;
        }
        Ok(Loan::Later(wait)) => {
            let what = "it was not checked: this minute's requests are used up";
            findings.warn("service", what, format!("try again {}", output::until(wait)));
        }
        Err(error) => {
            findings.warn("service", format!("it was not checked: {error:#}"), "try again in a moment");
        }
    }
}

/// Asks `looks` times at most.
async fn ask(config: &Config, client: &Client, looks: u32, findings: &mut Findings) {
    let sent = daemon::wall_now();
    let first = client.glimpse("/workspaces", "").await;
    let answered = daemon::wall_now();
    let workspaces = match &first.data {
        Ok(data) => data.as_array().cloned().unwrap_or_default(),
        Err(error) => {
            let mend = match client.obstacle() {
                Some(obstacle) => obstacle.mend().to_owned(),
                None => mend(error, "GET /workspaces"),
            };
            return findings.fail("service", format!("{}: {error}", config.base_url), mend);
        }
    };
    let took = output::duration(answered.since_ms(sent));
    findings.ok("service", format!("{} answers in {took} and accepts the token", config.base_url));
    clock(first.time, sent, answered, findings);
    let text = |value: &serde_json::Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let chosen = |value: &&serde_json::Value| {
        config.workspaces.is_empty()
            || config
                .workspaces
                .iter()
                .any(|name| ["id", "slug", "name"].iter().any(|key| text(value, key) == *name))
    };
    let mine: Vec<_> = workspaces.iter().filter(chosen).collect();
    for name in &config.workspaces {
        if !workspaces.iter().any(|value| ["id", "slug", "name"].iter().any(|key| text(value, key) == *name))
        {
            findings.warn(
                "workspaces",
                format!("the service lists no workspace {name:?}, which the config names"),
                "correct workspaces in the config, or ask for access",
            );
        }
    }
    let Some(one) = mine.first() else {
        let what = "the token sees no workspace that the config chooses";
        return findings.fail("workspaces", what, "correct workspaces in the config, or ask for access");
    };
    let frozen = mine.iter().filter(|value| value["frozen"] == true).count();
    let names = output::count(mine.len() as u64, "workspace", "workspaces");
    match frozen {
        0 => findings.ok("workspaces", format!("{names} of {} mirrored", workspaces.len())),
        // Nothing at this machine changes it, and nothing is wrong here.
        _ => findings.ok(
            "workspaces",
            format!(
                "{names} of {} mirrored, {frozen} of them frozen by the service: their pages are downloaded, edits stay pending",
                workspaces.len()
            ),
        ),
    }
    areas(config, client, &text(one, "id"), looks - 1, findings).await;
}

/// Asks `left` areas at most.
async fn areas(config: &Config, client: &Client, workspace: &str, left: u32, findings: &mut Findings) {
    // Ids come from the service, and only what has no meaning in an address goes back into one.
    let safe = workspace.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    let here = if safe { format!("workspace_id={workspace}") } else { String::new() };
    let search = format!("{here}&q=espejo&limit=1");
    let ask = |wanted: bool, path: &'static str, query: String| async move {
        if wanted { Some(client.glimpse(path, &query).await) } else { None }
    };
    let stores = config.storage.enabled && config.storage.mode != StorageMode::Off;
    let mut left = left;
    let mut unasked = Vec::new();
    let [pages, boards, decks, finds, stores] = [
        ("pages", true),
        ("whiteboards", config.whiteboards.enabled),
        ("presentations", config.presentations.enabled),
        ("search", true),
        ("storage", stores),
    ]
    .map(|(area, wanted)| {
        if wanted && left == 0 {
            unasked.push(area);
        }
        let asks = wanted && left > 0;
        left -= u32::from(asks);
        asks
    });
    let (pages, boards, decks, found, stored) = tokio::join!(
        ask(pages, "/pages", here.clone()),
        ask(boards, "/whiteboards", here.clone()),
        ask(decks, "/presentations", String::new()),
        ask(finds, "/search", search),
        ask(stores, "/storage", String::new()),
    );
    let mut answering = Vec::new();
    for (area, glimpse, switch) in [
        ("pages", pages, None),
        ("whiteboards", boards, Some("[whiteboards] enabled = false")),
        ("presentations", decks, Some("[presentations] enabled = false")),
        ("search", found, None),
        ("storage", stored, Some("[storage] enabled = false")),
    ] {
        let Some(Glimpse { data, .. }) = glimpse else { continue };
        let Err(error) = data else {
            answering.push(area);
            continue;
        };
        let mut mend = mend(&error, &format!("scope {area}:read"));
        if let (ServiceError::Forbidden(_), Some(switch)) = (&error, switch) {
            mend.push_str(&format!(", or {switch} in the config"));
        }
        let what = format!("{area}: {error}");
        match (area, &error) {
            // Everything but `espejo search --remote` goes on without it, and a busy minute passes.
            ("search", _) | (_, ServiceError::RateLimited { .. }) => findings.warn("areas", what, mend),
            _ => findings.fail("areas", what, mend),
        }
    }
    if !answering.is_empty() {
        let what = format!(
            "{} can be read; write permission is only known after the first edit",
            answering.join(", ")
        );
        findings.ok("areas", what);
    }
    if !unasked.is_empty() {
        let limit = config.requests_per_minute;
        let what = format!("{} not checked: {limit} requests a minute are too few", unasked.join(", "));
        findings.warn("areas", what, "raise requests_per_minute, if no other program uses this token");
    }
}

fn clock(there: Option<Timestamp>, sent: Timestamp, answered: Timestamp, findings: &mut Findings) {
    let Some(there) = there else {
        return findings.ok("clock", "the service does not say what time it is");
    };
    // Seconds on one side, and somewhere between sending and answering on the other.
    let off = if there < sent.plus_ms(-1_000) {
        sent.since_ms(there)
    } else if there > answered {
        -there.since_ms(answered)
    } else {
        0
    };
    let side = if off > 0 { "ahead of" } else { "behind" };
    if off.abs() >= CLOCK_OFF_MS {
        findings.warn(
            "clock",
            format!("this machine's clock is {} {side} the service's", output::duration(off.abs())),
            "timedatectl set-ntp true",
        );
    } else {
        findings.ok("clock", "this machine and the service agree on the time");
    }
}

/// What a person can do about a refusal.
fn mend(error: &ServiceError, needs: &str) -> String {
    match error {
        ServiceError::Unreachable(_) | ServiceError::Lost(_) => {
            "check the network, a proxy (see the line network above), and base_url; edits are pending meanwhile"
                .to_owned()
        }
        ServiceError::Unauthorized(_) => {
            "create a new access token in the app's settings and run espejo init".to_owned()
        }
        ServiceError::Forbidden(_) => {
            format!("use a token that may do this ({needs}); personal tokens need the Pro plan")
        }
        ServiceError::RateLimited { .. } => {
            "other programs use this token too; wait a minute, or lower requests_per_minute".to_owned()
        }
        ServiceError::NotFound(_) => {
            "nothing to do if this service has no such area; otherwise correct base_url".to_owned()
        }
        _ => {
            let elsewhere = error.mend_of_address();
            elsewhere.unwrap_or("wait; tell the service's operator if this continues").to_owned()
        }
    }
}
