//! What `POST /storage` takes (API document, "Personal file storage"): names, types, sizes. Not where the file goes.
//!
//! The document names the refused types by kind and not by ending; the endings here are the usual ones of each kind.

use base64::Engine;

use super::http::{Refusal, refuse};
use super::storage::Checked;

/// 3 MB.
pub(super) const MOST: usize = 3 * 1024 * 1024;

const NAME_MOST: usize = 255;

/// HTML, SVG, JavaScript, executables and scripts.
const REFUSED: [&str; 46] = [
    "html", "htm", "xhtml", "shtml", "mhtml", "hta", "svg", "svgz", "js", "mjs", "cjs", "jse", "exe", "dll",
    "com", "bat", "cmd", "msi", "msp", "scr", "pif", "cpl", "jar", "app", "deb", "rpm", "apk", "dmg", "pkg",
    "bin", "run", "elf", "so", "sh", "bash", "zsh", "csh", "ps1", "psm1", "vbs", "vbe", "wsf", "wsh", "php",
    "py", "pl",
];

const KNOWN: [(&str, &str); 14] = [
    ("pdf", "application/pdf"),
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("txt", "text/plain"),
    ("md", "text/markdown"),
    ("csv", "text/csv"),
    ("zip", "application/zip"),
    ("mp4", "video/mp4"),
    ("mp3", "audio/mpeg"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
];

fn ending(name: &str) -> String {
    name.rsplit_once('.').map_or_else(String::new, |(_, ending)| ending.to_lowercase())
}

/// The name as it is stored: slashes become underscores, what cannot be seen goes.
pub(super) fn cleaned(name: &str) -> String {
    name.chars()
        .map(|c| if c == '/' || c == '\\' { '_' } else { c })
        .filter(|c| {
            !c.is_control()
                && !matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
                    | '\u{2060}'..='\u{206f}' | '\u{feff}')
        })
        .collect()
}

/// Refuses a name that may not be stored.
pub(super) fn check_name(name: &str) -> Checked {
    if name.is_empty() {
        return refuse(400, "filename is required");
    }
    if name.chars().count() > NAME_MOST {
        return refuse(400, "filename is too long");
    }
    if REFUSED.contains(&ending(name).as_str()) {
        return refuse(400, "This type of file may not be uploaded");
    }
    Ok(())
}

/// The type: by the ending where that is known, else as declared.
pub(super) fn mime_type(name: &str, declared: Option<&str>) -> String {
    let ending = ending(name);
    let known = KNOWN.iter().find(|(known, _)| *known == ending).map(|(_, mime)| *mime);
    known.or(declared.filter(|text| !text.is_empty())).unwrap_or("application/octet-stream").to_owned()
}

/// The bytes of a base64 text.
pub(super) fn decoded(text: &str) -> Result<Vec<u8>, Refusal> {
    base64::engine::general_purpose::STANDARD
        .decode(text)
        .map_err(|_| Refusal(400, "content_base64 is not valid base64".to_owned()))
}
