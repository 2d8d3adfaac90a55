//! The unit's text: the packaged one with this program in it, and a mark by which an edited one is known.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::Around;
use crate::model::ContentHash;

const PACKAGED: &str = include_str!("../../../packaging/systemd/espejo.service");
const HEAD: &str = "# Written by `espejo service install`. Put changes in `systemctl --user edit espejo`.\n";
const MARK: &str = "# As written: ";

/// What stands where the unit belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    None,
    /// One that espejo wrote or its package brought, as it was.
    Ours,
    /// One that a user has changed or written.
    Edited,
}

impl Found {
    /// Looks.
    ///
    /// # Errors
    /// One sentence, when it cannot be read.
    pub fn at(path: &Path) -> Result<Self> {
        match fs::read_to_string(path) {
            Ok(text) if text == PACKAGED || is_as_written(&text) => Ok(Self::Ours),
            Ok(_) => Ok(Self::Edited),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::None),
            Err(error) => bail!("{} cannot be read: {error}", path.display()),
        }
    }
}

/// The name of the unit for this config (`--config`, or none), without `.service`: `espejo`, or `espejo-NAME` for `NAME.toml`.
#[must_use]
pub fn name(named: Option<&Path>) -> String {
    let stem = named.and_then(Path::file_stem).unwrap_or_default().to_string_lossy();
    match stem.as_ref() {
        "" | "config" => "espejo".to_owned(),
        stem => format!("espejo-{}", escaped(stem)),
    }
}

/// As systemd-escape(1) does it.
fn escaped(stem: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b":_.".contains(&byte);
    let byte = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("\\x{byte:02x}") };
    stem.bytes().map(byte).collect()
}

/// Where the unit of this name belongs.
///
/// # Errors
/// One sentence, without a home.
pub fn place(name: &str, variable: &dyn Fn(&str) -> Option<OsString>) -> Result<PathBuf> {
    let folder = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let configs = folder("XDG_CONFIG_HOME").or_else(|| folder("HOME").map(|home| home.join(".config")));
    Ok(configs
        .context("HOME is not set, so there is no folder for a user unit")?
        .join("systemd/user")
        .join(format!("{name}.service")))
}

/// The name of the user's unit that runs espejo with this config (`--config`, or none), if one is installed.
#[must_use]
pub fn installed_for(named: Option<&Path>, variable: &dyn Fn(&str) -> Option<OsString>) -> Option<String> {
    let name = name(named);
    let text = fs::read_to_string(place(&name, variable).ok()?).ok()?;
    runs_with(&text, named)?.then_some(name)
}

/// Whether a unit runs espejo with this config; `None` if it does not say what it runs.
#[must_use]
pub fn runs_with(unit: &str, named: Option<&Path>) -> Option<bool> {
    let start = unit.lines().find(|line| line.starts_with("ExecStart="))?;
    Some(match (start.split_once(" --config "), named) {
        (None, None) => true,
        (Some((_, said)), Some(named)) => {
            let named = std::path::absolute(named).unwrap_or_else(|_| named.to_owned());
            said == word(&named.display().to_string())
        }
        _ => false,
    })
}

/// This program by the path that outlives an upgrade: as the shell finds it, if that is this one.
///
/// # Errors
/// One sentence, when the program is not where it was started from.
pub fn program() -> Result<PathBuf> {
    let own = std::env::current_exe().context("this program's path is unknown")?;
    let real =
        own.canonicalize().with_context(|| format!("this program is no longer at {}", own.display()))?;
    let found = std::env::var_os("PATH").into_iter().flat_map(|path| {
        std::env::split_paths(&path).map(|folder| folder.join("espejo")).collect::<Vec<_>>()
    });
    let mut same =
        found.filter(|path| path.is_absolute() && path.canonicalize().is_ok_and(|found| found == real));
    Ok(same.next().unwrap_or(real))
}

/// The program that a unit starts, where its path is plain to read.
#[must_use]
pub fn program_of(unit: &str) -> Option<PathBuf> {
    let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart="))?;
    let program = match start.strip_prefix('"') {
        Some(rest) => rest.split('"').next()?,
        None => start.split_whitespace().next()?,
    };
    let program = PathBuf::from(program.replace("%%", "%").replace("$$", "$"));
    program.is_absolute().then_some(program)
}

/// The unit that runs `program`.
#[must_use]
pub fn text(program: &Path, around: &Around<'_>) -> String {
    let mut start = format!("ExecStart={} run", word(&program.display().to_string()));
    if let Some(config) = &around.named {
        let config = std::path::absolute(config).unwrap_or_else(|_| config.clone());
        start.push_str(&format!(" --config {}", word(&config.display().to_string())));
    }
    // The user's systemd does not see what a shell sets.
    for name in CARRIED {
        if is_secret(name, around) {
            continue;
        }
        if let Some(value) = (around.variable)(name).and_then(|value| value.into_string().ok()) {
            let pair = format!("{name}={value}").replace('%', "%%");
            start.push_str(&format!("\nEnvironment={}", quoted(&pair)));
        }
    }
    let mut text = HEAD.to_owned();
    let mut lines = PACKAGED.lines().skip_while(|line| line.starts_with('#')).peekable();
    while let Some(line) = lines.next() {
        if line.starts_with("ExecStart=") {
            text.push_str(&start);
        } else if line.starts_with('#') && lines.peek().is_some_and(|next| next.starts_with("ExecStart=")) {
            continue;
        } else {
            text.push_str(line);
        }
        text.push('\n');
    }
    let mark = ContentHash::of(text.as_bytes()).to_hex();
    format!("{text}\n{MARK}{mark}\n")
}

/// What the unit gets of this shell's environment: the places of config and state, and the way to the service.
const CARRIED: [&str; 10] = [
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
    "HTTPS_PROXY",
    "https_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// The variables of this shell that the unit would need and does not get, because they hold a password and others can read a unit.
pub fn not_carried<'a>(around: &'a Around<'_>) -> impl Iterator<Item = &'static str> + 'a {
    CARRIED.into_iter().filter(|name| is_secret(name, around))
}

/// Whether a proxy's address has a name and a password in it.
fn is_secret(name: &str, around: &Around<'_>) -> bool {
    let is_proxy = matches!(name, "HTTPS_PROXY" | "https_proxy" | "ALL_PROXY" | "all_proxy");
    is_proxy && (around.variable)(name).is_some_and(|value| value.to_string_lossy().contains('@'))
}

fn is_as_written(text: &str) -> bool {
    text.rsplit_once(&format!("\n{MARK}")).is_some_and(|(body, mark)| {
        ContentHash::from_hex(mark.trim()) == Some(ContentHash::of(body.as_bytes()))
    })
}

/// A word of a command line as systemd.service(5) wants it quoted.
fn word(text: &str) -> String {
    quoted(&text.replace('%', "%%").replace('$', "$$"))
}

/// In quotes where it needs them.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+:@,%=$".contains(c);
    if text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
    }
}

/// Renames an edited unit to the first free name that systemd does not read.
///
/// # Errors
/// One sentence, when it cannot be renamed.
pub fn set_aside(path: &Path) -> Result<PathBuf> {
    let own = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let name =
        |n: u32| path.with_file_name(if n == 1 { format!("{own}.old") } else { format!("{own}.old-{n}") });
    let aside = (1..1_000).map(name).find(|path| !path.exists()).context("there are too many old units")?;
    fs::rename(path, &aside).with_context(|| format!("{} cannot be renamed", path.display()))?;
    Ok(aside)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(program: &str, named: Option<&str>, variables: &[(&str, &str)]) -> String {
        let variable = |name: &str| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(*value))
        };
        text(Path::new(program), &Around { variable: &variable, named: named.map(PathBuf::from) })
    }

    #[test]
    fn the_unit_runs_this_program_whatever_its_path() {
        for (program, named, line) in [
            ("/usr/bin/espejo", None, "ExecStart=/usr/bin/espejo run"),
            ("/a b/espejo", None, "ExecStart=\"/a b/espejo\" run"),
            ("/50%$/espejo", None, "ExecStart=/50%%$$/espejo run"),
            (
                "/b/espejo",
                Some("/etc/my \"c\".toml"),
                r#"ExecStart=/b/espejo run --config "/etc/my \"c\".toml""#,
            ),
        ] {
            let unit = unit(program, named, &[]);
            assert!(unit.lines().any(|found| found == line), "{unit}");
            assert_eq!(unit.matches("ExecStart=").count(), 1, "{unit}");
            assert_eq!(program_of(&unit).unwrap(), Path::new(program));
            assert!(unit.contains("Type=notify") && unit.contains("WantedBy=default.target"), "{unit}");
        }
        let around: &[(&str, &str)] = &[
            ("HTTPS_PROXY", "http://proxy:3128"),
            ("all_proxy", "http://a:s3cret@p"),
            ("NO_PROXY", "intra"),
        ];
        let network = unit("/e", None, around);
        assert!(network.contains("\nEnvironment=HTTPS_PROXY=http://proxy:3128\n"), "{network}");
        assert!(
            network.contains("\nEnvironment=NO_PROXY=intra\n") && !network.contains("s3cret"),
            "{network}"
        );
        let unit = unit("/e", None, &[("XDG_STATE_HOME", "/s t"), ("HOME", "/h")]);
        assert!(
            unit.contains("\nEnvironment=\"XDG_STATE_HOME=/s t\"\n") && !unit.contains("HOME=/h"),
            "{unit}"
        );
    }

    #[test]
    fn each_config_has_a_unit_of_its_own() {
        for (config, expected) in [
            (None, "espejo"),
            (Some("/home/ana/.config/espejo/config.toml"), "espejo"),
            (Some("work.toml"), "espejo-work"),
            (Some("/etc/espejo/mi trabajo-2.toml"), r"espejo-mi\x20trabajo\x2d2"),
        ] {
            assert_eq!(name(config.map(Path::new)), expected);
        }
        let unit = unit("/e", Some("/c/work.toml"), &[]);
        let runs = |config| runs_with(&unit, config).unwrap();
        assert!(
            runs(Some(Path::new("/c/work.toml"))) && !runs(Some(Path::new("/d/work.toml"))) && !runs(None)
        );
    }

    #[test]
    fn an_edited_unit_is_told_from_a_written_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("espejo.service");
        let check = |text: Option<&str>, expected| {
            if let Some(text) = text {
                crate::cli::files::write(&path, text, crate::cli::files::Readers::AsBefore).unwrap();
            }
            assert_eq!(Found::at(&path).unwrap(), expected, "{text:?}");
        };
        let written = unit("/usr/bin/espejo", None, &[]);
        check(None, Found::None);
        check(Some(&written), Found::Ours);
        check(Some(&unit("/older/espejo", None, &[])), Found::Ours);
        check(Some(PACKAGED), Found::Ours);
        check(Some(&written.replace("Restart=on-failure", "Restart=always")), Found::Edited);
        check(Some(&format!("{written}[Service]\nNice=5\n")), Found::Edited);
        check(Some(""), Found::Edited);
        let aside = set_aside(&path).unwrap();
        assert_eq!(aside.file_name().unwrap(), "espejo.service.old");
        check(Some("mine"), Found::Edited);
        assert_eq!(set_aside(&path).unwrap().file_name().unwrap(), "espejo.service.old-2");
    }
}
