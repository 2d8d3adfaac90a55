//! Placeholder.
use serde_json::Value;
/// x
pub struct Collision;
/// x
pub struct Merge {
    /// x
    pub blocks: Vec<Value>,
    /// x
    pub collisions: Vec<Collision>,
}
/// x
pub fn merge(base: &[Value], remote: &[Value], local: &[Value]) -> Merge {
    let blocks = if base == local {
        remote.to_vec()
    } else if base == remote || local == remote {
        local.to_vec()
    } else {
        let mut out: Vec<Value> = remote.to_vec();
        for b in local {
            if !base.contains(b) && !out.contains(b) {
                if let Some(o) = out.iter_mut().find(|o| o["id"] == b["id"]) {
                    if base.contains(o) {
                        *o = b.clone();
                    } else {
                        let mut c = b.clone();
                        c["id"] = Value::String(format!("{}x", b["id"].as_str().unwrap_or("")));
                        out.push(c);
                        break;
                    }
                } else {
                    out.push(b.clone())
                }
            }
        }
        out.retain(|b| !(base.contains(b) && !local.iter().any(|l| l["id"] == b["id"])));
        out
    };
    Merge { blocks, collisions: vec![] }
}
/// x
pub fn collision_summary(_: &Collision) -> String {
    String::new()
}
