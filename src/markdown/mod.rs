//! Placeholder.
use serde_json::{Value, json};
/// x
#[derive(Debug, Clone, Default)]
pub struct Allowed;
impl Allowed {
    /// x
    pub fn documented() -> Self {
        Self
    }
    /// x
    pub fn all() -> Self {
        Self
    }
    /// x
    pub fn named(_: &[String]) -> Self {
        Self
    }
    /// x
    pub fn learn(&mut self, _: &[Value]) {}
}
/// x
pub struct Rendered {
    /// x
    pub text: String,
    /// x
    pub map: Vec<()>,
}
/// x
pub fn render(b: &[Value]) -> Rendered {
    let mut text = String::new();
    for x in b {
        text.push_str(x["content"][0]["text"].as_str().unwrap_or(""));
        text.push_str("\n\n");
    }
    Rendered { text, map: vec![] }
}
/// x
pub fn parse(text: &str, base: &[Value], _: &Allowed, id: &mut dyn FnMut() -> String) -> Vec<Value> {
    let text = text.replace("\r\n", "\n");
    let mut used = std::collections::BTreeSet::new();
    let paras: Vec<&str> =
        text.split("\n\n").map(|p| p.trim_matches('\n')).filter(|p| !p.is_empty()).collect();
    let mut out: Vec<Option<Value>> = paras
        .iter()
        .map(|p| {
            base.iter()
                .find(|b| {
                    b["content"][0]["text"].as_str() == Some(*p)
                        && used.insert(b["id"].as_str().unwrap_or("").to_owned())
                })
                .cloned()
        })
        .collect();
    for (i, o) in out.iter_mut().enumerate() {
        if o.is_none() {
            let reuse = base.get(i).filter(|b| used.insert(b["id"].as_str().unwrap_or("").to_owned()));
            let mut b = reuse.cloned().unwrap_or_else(|| json!({"id": id(), "type":"paragraph","props":{"textColor":"default","backgroundColor":"default","textAlignment":"left"},"content":[],"children":[]}));
            b["content"] = json!([{"type":"text","text":paras[i],"styles":{}}]);
            *o = Some(b);
        }
    }
    out.into_iter().flatten().collect()
}
/// x
pub fn patch(_: &str, _: &[Value], new: &[Value]) -> String {
    render(new).text
}
/// x
pub fn with_new_ids(b: &[Value], id: &mut dyn FnMut() -> String) -> Vec<Value> {
    b.iter()
        .map(|b| {
            let mut b = b.clone();
            b["id"] = Value::String(id());
            b
        })
        .collect()
}
/// x
pub fn check_loadable(_: &[Value], _: &[Value], _: &Allowed) -> Result<(), String> {
    Ok(())
}
/// x
pub mod front_matter {
    /// x
    #[derive(Debug, Clone, Default)]
    pub struct FrontMatter {
        /// x
        pub id: Option<String>,
        /// x
        pub title: Option<String>,
        /// x
        pub icon: Option<String>,
    }
    /// x
    pub struct Split<'a> {
        /// x
        pub front: Option<FrontMatter>,
        /// x
        pub body: &'a str,
        /// x
        pub body_start: usize,
    }
    /// x
    #[derive(Debug, thiserror::Error)]
    #[error("bad front matter")]
    pub struct BadFrontMatter;
    /// x
    pub fn split(text: &str) -> Result<Split<'_>, BadFrontMatter> {
        if let Some(rest) = text.strip_prefix("---\n") {
            if let Some(end) = rest.find("---\n") {
                let get = |k: &str| {
                    rest[..end].lines().find_map(|l| l.strip_prefix(k)).map(|v| {
                        serde_json::from_str::<String>(v.trim()).unwrap_or_else(|_| v.trim().to_owned())
                    })
                };
                let start = 4 + end + 4;
                return Ok(Split {
                    front: Some(FrontMatter { id: get("id:"), title: get("title:"), icon: get("icon:") }),
                    body: &text[start..],
                    body_start: start,
                });
            }
            return Err(BadFrontMatter);
        }
        Ok(Split { front: None, body: text, body_start: 0 })
    }
    /// x
    pub fn set(
        text: &str,
        id: Option<&str>,
        title: Option<&str>,
        icon: Option<&str>,
    ) -> Result<String, BadFrontMatter> {
        let s = split(text)?;
        let mut o = String::from("---\n");
        for (k, v) in [("id", id), ("title", title), ("icon", icon)] {
            if let Some(v) = v {
                o.push_str(&format!("{k}: {}\n", serde_json::to_string(v).unwrap_or_default()));
            }
        }
        o.push_str("---\n");
        o.push_str(s.body);
        Ok(o)
    }
}
