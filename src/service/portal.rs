//! Answers of something in between: a network that asks for a login before it lets anything through, as in hotels and trains, or a
//! proxy's page. They say nothing about the item that was asked for, so they are one outage and no trouble of each item.

use super::wire::WireAnswer;
use crate::model::{ASKS_FOR_LOGIN, ServiceError};

/// "Network Authentication Required", which no service sends.
const LOGIN: u16 = 511;

/// What an answer of something in between means; `None` for one that may be the service's. `host` is the service's own;
/// `was_there`: it has answered before, so that the address is right.
pub(super) fn in_between(answer: &WireAnswer, host: &str, was_there: bool) -> Option<ServiceError> {
    let why = match answer.status {
        LOGIN => return Some(ServiceError::Unreachable(sentence("it says so", true))),
        300..=399 => {
            let other = target_host(answer).filter(|other| !other.eq_ignore_ascii_case(host))?;
            format!("it redirects to {other}")
        }
        200..=299 if is_page(answer) => "a web page came instead of an answer".to_owned(),
        _ => return None,
    };
    Some(ServiceError::Lost(sentence(&why, was_there)))
}

fn sentence(why: &str, is_sure: bool) -> String {
    let login = ASKS_FOR_LOGIN;
    let mend = "open a web page in a browser and sign in";
    if is_sure {
        format!("{login} ({why}); {mend}")
    } else {
        format!("{login}, or base_url is not the API's address ({why}); {mend}, or correct base_url")
    }
}

/// Whether it is a page for a browser.
fn is_page(answer: &WireAnswer) -> bool {
    let kind = answer.content_type.as_deref().unwrap_or_default().trim_start().to_ascii_lowercase();
    let begins = answer.body.trim_ascii_start().first();
    begins == Some(&b'<') || (kind.starts_with("text/html") && begins != Some(&b'{'))
}

/// The host that a redirect leads to, without its port; only the host, because the rest of the address may contain a secret.
fn target_host(answer: &WireAnswer) -> Option<String> {
    let url = reqwest::Url::parse(answer.location.as_deref()?).ok()?;
    url.host_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_something_in_between_says_is_no_answer_of_the_service() {
        let answer = |status, kind: &str, location: &str, body: &str| WireAnswer {
            status,
            content_type: Some(kind.to_owned()).filter(|kind| !kind.is_empty()),
            location: Some(location.to_owned()).filter(|location| !location.is_empty()),
            body: body.as_bytes().to_vec(),
            ..WireAnswer::default()
        };
        let check = |answer: WireAnswer, expected: Option<&str>| {
            let found = in_between(&answer, "api.example", true).map(|error| error.to_string());
            assert_eq!(found.is_some(), expected.is_some(), "{answer:?}: {found:?}");
            let words = found.unwrap_or_default();
            assert!(words.contains(expected.unwrap_or_default()), "{words}");
            assert!(expected.is_none() || words.contains("this network asks for a login ("), "{words}");
            assert!(!words.contains("s3cret") && !words.contains("base_url"), "{words}");
        };
        check(answer(511, "text/html", "", "<html>"), Some("it says so"));
        check(
            answer(302, "", "https://login.example:8080/?to=s3cret", ""),
            Some("redirects to login.example"),
        );
        check(answer(200, "text/html; charset=utf-8", "", "hello"), Some("a web page came"));
        check(answer(200, "", "", "\n<!DOCTYPE html>"), Some("a web page came"));
        check(answer(200, "text/html", "", "{\"data\":[]}"), None);
        check(answer(200, "application/json", "", "{\"data\":[]}"), None);
        check(answer(302, "", "https://API.example/elsewhere", ""), None);
        check(answer(302, "", "/elsewhere", ""), None);
        check(answer(302, "", "", ""), None);
        check(answer(404, "text/html", "", "<html>"), None);
        check(answer(502, "text/html", "", "<html>"), None);
        let unsure =
            in_between(&answer(200, "text/html", "", "<"), "api.example", false).unwrap().to_string();
        assert!(unsure.contains("or base_url is not the API's address"), "{unsure}");
    }
}
