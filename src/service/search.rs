//! Search on the wire: the query of `GET /search`, and the results in an answer's `data`. A result that cannot be read is
//! left out with a sentence; the others stand.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::entry::{Why, kind, list, object, optional, text};
use super::text::words;
use super::wire::WireRequest;
use crate::model::{Found, HITS_MAX, Hit, PageId, Search, ServiceError, ServiceReply};

pub(super) fn request(search: &Search) -> WireRequest {
    let mut query = format!("workspace_id={}&q=", search.workspace);
    for byte in search.words.bytes() {
        if byte.is_ascii_alphanumeric() {
            query.push(char::from(byte));
        } else {
            query.push_str(&format!("%{byte:02X}"));
        }
    }
    let limit = search.limit.clamp(1, HITS_MAX);
    WireRequest {
        method: "GET",
        path: "/search".to_owned(),
        query: format!("{query}&limit={limit}"),
        body: None,
    }
}

pub(super) fn read(search: &Search, data: &[u8]) -> Result<ServiceReply, ServiceError> {
    let mut found = Found::default();
    let mut seen = BTreeSet::new();
    // A service that sends more than was asked for is not followed for ever.
    for (index, part) in list(data)?.into_iter().enumerate().take(usize::from(search.limit)) {
        let hit = object(part).and_then(|map| hit(&map)).and_then(|hit| {
            if seen.insert((hit.kind.clone(), hit.id.clone())) {
                Ok(hit)
            } else {
                Err(format!("has the id of a result before it ({})", hit.id))
            }
        });
        match hit {
            Ok(hit) => found.hits.push(hit),
            Err(why) => found.skipped.push(format!("result {} of the search {why}", index + 1)),
        }
    }
    Ok(ServiceReply::Found(found))
}

fn hit(map: &Map<String, Value>) -> Result<Hit, Why> {
    let name = text(map, "kind")?;
    if name.is_empty()
        || name.len() > 40
        || !name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    {
        return Err(format!("has a kind that cannot be used: {:?}", words(name)));
    }
    let id = |text: &str| {
        PageId::new(text)
            .map(|id| id.to_string())
            .map_err(|bad| format!("has an id that cannot be used: {:?}", bad.0))
    };
    let title = match map.get("title") {
        Some(Value::Null) => String::new(),
        _ => text(map, "title")?.to_owned(),
    };
    let rank = match map.get("rank") {
        Some(Value::Number(number)) => number.as_f64().filter(|rank| rank.is_finite()),
        Some(other) => return Err(format!("has {} as its rank", kind(other))),
        None => None,
    };
    Ok(Hit {
        kind: name.to_owned(),
        id: id(text(map, "id")?)?,
        title,
        snippet: optional(map, "snippet")?.map(str::to_owned),
        parent: optional(map, "parent_id")?.map(id).transpose()?,
        rank: rank.ok_or_else(|| "has no rank".to_owned())?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Effect, WorkspaceId};
    use crate::service::wire::{WireAnswer, read_answer, request_of};

    fn search(words: &str, limit: u8) -> Effect {
        let workspace = WorkspaceId::new("w-1").unwrap();
        Effect::Search(Box::new(Search { workspace, words: words.to_owned(), limit }))
    }

    #[test]
    fn a_query_is_one_parameter_whatever_it_holds() {
        for (words, limit, query) in [
            ("plan", 20, "workspace_id=w-1&q=plan&limit=20"),
            ("a&limit=9 +b%", 1, "workspace_id=w-1&q=a%26limit%3D9%20%2Bb%25&limit=1"),
            ("ñ\u{0}#", 50, "workspace_id=w-1&q=%C3%B1%00%23&limit=50"),
            ("x", 0, "workspace_id=w-1&q=x&limit=1"),
            ("x", 255, "workspace_id=w-1&q=x&limit=50"),
        ] {
            let request = request_of(&search(words, limit)).unwrap();
            assert_eq!((request.method, request.path.as_str()), ("GET", "/search"));
            assert_eq!((request.query.as_str(), request.body), (query, None), "{words:?}");
        }
    }

    #[test]
    fn no_log_holds_what_is_searched_for() {
        let said = format!("{:?}", search("zanahoria", 3));
        assert!(said.contains("w-1") && !said.contains("zanahoria"), "{said}");
    }

    const GOOD: &str = r#"{"kind":"page","id":"a","title":"Plan","snippet":"El plan","parent_id":null,"rank":1.25,"new":[]}"#;

    /// How many results are read of these entries, and what is said of the others.
    #[track_caller]
    fn check(entries: &str, good: usize, complaint: &str) {
        let body = format!(r#"{{"data":[{entries}]}}"#).into_bytes();
        let answer = WireAnswer { status: 200, body, ..WireAnswer::default() };
        let reply = read_answer(&search("plan", 3), &answer).unwrap();
        let ServiceReply::Found(found) = reply else { panic!("{reply:?}") };
        assert_eq!(found.hits.len(), good, "{found:?}");
        assert!(found.skipped.join("; ").contains(complaint), "{found:?}");
    }

    #[test]
    fn each_result_is_read_by_itself() {
        check("", 0, "");
        check(GOOD, 1, "");
        check(
            r#"{"kind":"message","id":"m","title":"Chat","snippet":"hola","parent_id":"c","rank":6e-2}"#,
            1,
            "",
        );
        check(r#"{"kind":"kanban_card","id":"m","title":null,"rank":0}"#, 1, "");
        check(&format!("{GOOD},5,{GOOD}"), 1, "result 2 of the search is a number");
        check(&format!("{GOOD},{GOOD}"), 1, "has the id of a result before it (a)");
        let spoilt = |from: &str, to: &str| GOOD.replace(from, to);
        for (entry, complaint) in [
            (spoilt(r#""page""#, "null"), "has null as its kind"),
            (spoilt("page", ""), "kind that cannot be used"),
            (spoilt("page", r"\u001b[2J"), "kind that cannot be used"),
            (spoilt(r#""a""#, r#""../x""#), "id that cannot be used"),
            (spoilt(r#""id":"a","#, ""), "has no id"),
            (spoilt(r#""Plan""#, "[]"), "has an array as its title"),
            (spoilt(r#""El plan""#, "7"), "has a number as its snippet"),
            (spoilt("1.25", r#""1""#), "has a text as its rank"),
            (spoilt(r#","rank":1.25"#, ""), "has no rank"),
            (spoilt("1.25", "1e999"), "has no rank"),
            (spoilt(r#""parent_id":null"#, r#""parent_id":{}"#), "has an object as its parent_id"),
        ] {
            check(&entry, 0, complaint);
        }
        let many = ["1", "2", "3", "4", "5"].map(|id| spoilt(r#""a""#, &format!("\"{id}\""))).join(",");
        check(&many, 3, "");
    }

    #[test]
    fn an_answer_that_is_no_list_is_an_error() {
        for (status, body) in
            [(200, r#"{"data":{}}"#), (200, "[]"), (200, "<html>"), (200, ""), (403, r#"{"error":"scope"}"#)]
        {
            let answer = WireAnswer { status, body: body.as_bytes().to_vec(), ..WireAnswer::default() };
            let error = read_answer(&search("plan", 3), &answer).unwrap_err();
            let expected = status == 403;
            assert_eq!(matches!(error, ServiceError::Forbidden(_)), expected, "{error}");
        }
    }
}
