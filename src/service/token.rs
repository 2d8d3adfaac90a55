//! Where the token comes from: `ESPEJO_TOKEN`, then the config's `token_file`, then the systemd credential
//! `espejo-token`. No error here holds any of it.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use secrecy::SecretString;

/// The environment variable.
pub const VARIABLE: &str = "ESPEJO_TOKEN";

/// The name of the systemd credential.
const CREDENTIAL: &str = "espejo-token";

/// More than any token has.
const MOST: u64 = 16 << 10;

/// A token that cannot be had or used: one sentence with the mend.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// There is none.
    #[error(
        "no token: set ESPEJO_TOKEN, or token_file in the config, or the systemd credential espejo-token"
    )]
    Missing,
    /// Its file cannot be read.
    #[error("the token in {path} cannot be read: {1}; put the access token from the app's settings there", path = .0.display())]
    Unreadable(PathBuf, String),
    /// Others on this computer can read its file.
    #[error("others can read the token in {path}: run chmod 600 {path}", path = .0.display())]
    Exposed(PathBuf),
    /// It is empty.
    #[error("{0} is empty: put the access token from the app's settings there")]
    Empty(String),
    /// It has something in it that no token has.
    #[error("{0} has {1} in it: put only the access token there, as the app shows it")]
    Unusable(String, &'static str),
}

/// Finds the token.
///
/// `variable` tells an environment variable's value; `token_file` is what the config names.
///
/// # Errors
/// [`TokenError`]. The first place that has something decides: what is wrong there is not covered up by the next.
pub fn find(
    variable: &dyn Fn(&str) -> Option<OsString>,
    token_file: Option<&Path>,
) -> Result<SecretString, TokenError> {
    if let Some(value) = variable(VARIABLE) {
        let value = value.into_encoded_bytes();
        return usable(VARIABLE, &value);
    }
    if let Some(path) = token_file {
        return from_file(path, Privacy::Required);
    }
    if let Some(folder) = variable("CREDENTIALS_DIRECTORY") {
        let path = Path::new(&folder).join(CREDENTIAL);
        // systemd keeps its folder to the unit itself; a unit may have other credentials and not this one.
        if !matches!(path.try_exists(), Ok(false)) {
            return from_file(&path, Privacy::Given);
        }
    }
    Err(TokenError::Missing)
}

/// A token that a user typed or handed over; `place` is what refusals call it.
///
/// # Errors
/// [`TokenError::Empty`] or [`TokenError::Unusable`].
pub fn parse(place: &str, text: &str) -> Result<SecretString, TokenError> {
    check(place, text)?;
    Ok(SecretString::from(text))
}

/// Whether a token can stand in a header: not empty, printable ASCII, no space.
///
/// # Errors
/// [`TokenError::Empty`] or [`TokenError::Unusable`], about `place`.
pub(super) fn check(place: &str, token: &str) -> Result<(), TokenError> {
    let unusable = |what| Err(TokenError::Unusable(place.to_owned(), what));
    if token.trim().is_empty() {
        return Err(TokenError::Empty(place.to_owned()));
    }
    if token.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("bearer ")) {
        return unusable("the word Bearer");
    }
    if token.contains(['\n', '\r']) {
        return unusable("more than one line");
    }
    if token.contains(|c: char| c.is_whitespace()) {
        return unusable("a space");
    }
    if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return unusable("an invalid character");
    }
    Ok(())
}

/// Whether a file has to be closed to others.
#[derive(PartialEq)]
enum Privacy {
    Required,
    Given,
}

fn from_file(path: &Path, privacy: Privacy) -> Result<SecretString, TokenError> {
    let unreadable = |error: std::io::Error| TokenError::Unreadable(path.to_owned(), error.to_string());
    let file = File::open(path).map_err(unreadable)?;
    // Of what was opened, not of what stands at that path a moment later.
    let mode = file.metadata().map_err(unreadable)?.mode();
    if privacy == Privacy::Required && mode & 0o077 != 0 {
        return Err(TokenError::Exposed(path.to_owned()));
    }
    let mut bytes = Vec::new();
    file.take(MOST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    let place = format!("the token in {}", path.display());
    if bytes.len() as u64 > MOST {
        return Err(TokenError::Unusable(place, "much more than a token"));
    }
    usable(&place, &bytes)
}

/// The token without the line end that an editor or `echo` puts after it.
fn usable(place: &str, bytes: &[u8]) -> Result<SecretString, TokenError> {
    let line = bytes.strip_suffix(b"\n").map(|rest| rest.strip_suffix(b"\r").unwrap_or(rest));
    let Ok(token) = std::str::from_utf8(line.unwrap_or(bytes)) else {
        return Err(TokenError::Unusable(place.to_owned(), "an invalid character"));
    };
    check(place, token)?;
    Ok(SecretString::from(token))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    use secrecy::ExposeSecret;

    use super::*;

    type Env<'a> = &'a [(&'a str, &'a str)];

    fn found(env: Env<'_>, token_file: Option<&Path>) -> Result<String, TokenError> {
        let variable =
            |name: &str| env.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(*value));
        find(&variable, token_file).map(|token| token.expose_secret().to_owned())
    }

    fn file(folder: &Path, name: &str, bytes: &[u8], mode: u32) -> PathBuf {
        let path = folder.join(name);
        let mut file = File::create(&path).unwrap();
        file.write_all(bytes).unwrap();
        file.set_permissions(std::fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    #[test]
    fn the_first_place_decides() {
        let folder = tempfile::tempdir().unwrap();
        let from_file = file(folder.path(), "t", b"from-file\n", 0o600);
        let credential = folder.path().join("creds");
        std::fs::create_dir(&credential).unwrap();
        let creds = credential.to_str().unwrap();
        file(&credential, CREDENTIAL, b"from-systemd", 0o440);
        let check = |env: Env<'_>, path: Option<&Path>, expected: Result<&str, TokenError>| {
            assert_eq!(found(env, path), expected.map(str::to_owned));
        };
        let all = [(VARIABLE, "from-env"), ("CREDENTIALS_DIRECTORY", creds)];
        check(&all, Some(&from_file), Ok("from-env"));
        check(&all[1..], Some(&from_file), Ok("from-file"));
        check(&all[1..], None, Ok("from-systemd"));
        check(&[(VARIABLE, "from-env\n")], None, Ok("from-env"));
        check(&[], None, Err(TokenError::Missing));
        check(&[("CREDENTIALS_DIRECTORY", folder.path().to_str().unwrap())], None, Err(TokenError::Missing));
        check(&[(VARIABLE, "")], Some(&from_file), Err(TokenError::Empty(VARIABLE.to_owned())));
        let nowhere = folder.path().join("nowhere");
        let error = found(&all[1..], Some(&nowhere)).unwrap_err();
        assert!(matches!(error, TokenError::Unreadable(ref path, _) if *path == nowhere), "{error}");
    }

    #[test]
    fn a_file_that_others_can_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for mode in [0o600, 0o400, 0o700] {
            assert_eq!(found(&[], Some(&file(folder.path(), "ok", b"abc", mode))).as_deref(), Ok("abc"));
            std::fs::remove_file(folder.path().join("ok")).unwrap();
        }
        for mode in [0o644, 0o640, 0o604, 0o620, 0o602, 0o610] {
            let path = file(folder.path(), "open", b"abc", mode);
            let error = found(&[], Some(&path)).unwrap_err();
            assert_eq!(error, TokenError::Exposed(path.clone()), "{mode:o}");
            assert!(error.to_string().ends_with(&format!("run chmod 600 {}", path.display())));
            std::fs::remove_file(path).unwrap();
        }
    }

    #[test]
    fn only_what_a_header_can_carry_is_a_token() {
        let folder = tempfile::tempdir().unwrap();
        let check = |bytes: &[u8], expected: Result<&str, &str>| {
            let path = file(folder.path(), "t", bytes, 0o600);
            let got = found(&[], Some(&path)).map_err(|error| error.to_string());
            match expected {
                Ok(token) => assert_eq!(got.as_deref(), Ok(token)),
                Err(words) => {
                    let why = got.unwrap_err();
                    assert!(why.contains(words) && !why.contains("s3cret"), "{bytes:?}: {why}");
                }
            }
        };
        check(b"s3cret", Ok("s3cret"));
        check(b"s3cret\n", Ok("s3cret"));
        check(b"s3cret\r\n", Ok("s3cret"));
        check(b"eyJ.s3cret_-/+=~", Ok("eyJ.s3cret_-/+=~"));
        check(b"s3cret\n\n", Err("more than one line"));
        check(b"s3cret\nmore", Err("more than one line"));
        check(b"", Err("is empty"));
        check(b"\n", Err("is empty"));
        check(b" \t\n", Err("is empty"));
        check(b" s3cret", Err("a space"));
        check(b"s3cret ", Err("a space"));
        check(b"Bearer s3cret", Err("the word Bearer"));
        check("s3cret\u{e9}".as_bytes(), Err("an invalid character"));
        check(b"s3cret\0", Err("an invalid character"));
        check(b"s3cret\xff", Err("an invalid character"));
        check(&[b'a'; 20_000], Err("much more than a token"));
    }
}
