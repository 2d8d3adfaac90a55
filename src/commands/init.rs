//! `espejo init`: asks what it needs to know, tries it at once, and writes config and token. Nothing is written before
//! the last question is answered.

mod adopt;
mod args;
mod changes;
mod field;
mod frame;
mod survey;
mod talk;
mod text;

use std::ffi::OsString;
use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use secrecy::{ExposeSecret, SecretString};
use toml_edit::Value;

use crate::cli::files::Readers;
use crate::cli::{self, Call, Exit, WrongUsage, files, output, permits, terminal};
use crate::commands::service;
use crate::config::Config;
use crate::daemon::control;
use crate::engine::PAGES;
use crate::mirror::marker;
use crate::model::{ServiceError, StorageMode};
use crate::service::token;
use crate::store::ReadOnly;
use adopt::Lost;
pub use args::{Args, StorageChoice};
use survey::{Asker, Space};
use talk::Talk;
use text::Text;

/// Folders within folders in which files are counted.
const DEPTH_MOST: usize = 64;

/// What the surroundings say.
pub struct Around<'a> {
    /// The config that `--config` named.
    pub named: Option<&'a Path>,
    /// Environment variables that are text.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// Environment variables.
    pub variable: &'a dyn Fn(&str) -> Option<OsString>,
    /// Whether there is a terminal to ask on.
    pub terminal: bool,
    /// Where `--token-stdin` reads from.
    pub stdin: &'a mut dyn Read,
}

/// The token, and what becomes of it.
enum Token {
    /// It stays where it is.
    Kept(SecretString),
    /// The config names this file.
    In(PathBuf, SecretString),
    /// It goes into a file beside the config.
    New(SecretString),
}

impl Token {
    fn secret(&self) -> &SecretString {
        match self {
            Self::Kept(token) | Self::In(_, token) | Self::New(token) => token,
        }
    }
}

/// Sets espejo up, on this terminal if it is one.
///
/// # Errors
/// As for [`set_up`].
pub async fn run(args: &Args, call: &mut Call<'_>) -> Result<Exit> {
    let around = Around {
        named: call.global.config.as_deref(),
        env: &cli::env,
        variable: &cli::variable,
        terminal: call.screen().terminal && std::io::stdin().is_terminal(),
        stdin: &mut std::io::stdin(),
    };
    set_up(args, around, call.out).await
}

/// Sets espejo up.
///
/// # Errors
/// One sentence; [`WrongUsage`] where the command line has to say more or something else.
pub async fn set_up(said: &Args, mut around: Around<'_>, out: &mut dyn Write) -> Result<Exit> {
    let place = place(&around)?;
    let there = read(&place)?;
    let mut text = Text::of(there.clone())
        .map_err(|error| WrongUsage(format!("{}: {error:#}; fix it or move it away", place.display())))?;
    let before = match there.as_ref().map(|text| Config::check(text, &place, around.env)) {
        Some(Ok(config)) => Some(config),
        Some(Err(error)) if !error.is_about(&["base_url", "root"]) => return Err(error.into()),
        _ => None,
    };
    let asks = around.terminal && !said.yes && !said.token_stdin;
    let mut talk = Talk { asks, out };
    let kept =
        before.as_ref().and_then(|config| token::find(around.variable, config.token_file.as_deref()).ok());
    let kept = kept.or_else(|| token::find(around.variable, None).ok());
    let known_url = there.is_some().then(|| text.word("", "base_url")).flatten();
    let known_root = there.is_some().then(|| text.word("", "root")).flatten();
    if !asks {
        let is_known = [known_url.is_some(), kept.is_some(), known_root.is_some()];
        all_said(said, there.is_some(), is_known)?;
    }
    if asks {
        terminal::give_back_at_the_end().context("the terminal cannot be used")?;
    }
    talk.begin(there.is_some())?;

    // Who is asked, and as whom.
    let limiter = match &before {
        Some(config) => config.clone(),
        None => Config::check(include_str!("../../config.example.toml"), &place, around.env)?,
    };
    let had_state = limiter.state_dir.join("espejo.sqlite3").exists();
    let mut asker = Asker::new(limiter);
    let mut given = given_token(said, &mut around)?.or(kept.map(Token::Kept));
    let mut url = said.base_url.clone().or_else(|| known_url.clone().filter(|_| !asks));
    let (base_url, token, spaces) = loop {
        let default = url.clone().or_else(|| known_url.clone());
        let base_url = match url.take() {
            Some(url) => Config::address(&url).map_err(WrongUsage)?,
            None => {
                // A person who is asked has not seen the key yet.
                let check = |text: &str| {
                    Config::address(text).map(drop).map_err(|why| why.replacen("base_url", "this", 1))
                };
                let told = talk::line(
                    "The service's address, as the app's settings show it",
                    default.as_deref(),
                    check,
                )?;
                Config::address(&told).map_err(WrongUsage)?
            }
        };
        let token = match given.take() {
            Some(token) => token,
            None => Token::New(talk::secret("Your access token (hidden)", |text| {
                token::parse("this", text).map(drop).map_err(|error| error.to_string())
            })?),
        };
        let client = asker.client(&base_url, token.secret())?;
        match asker.workspaces(&client).await? {
            Ok(spaces) => break (base_url, token, spaces),
            Err(error) if !asks => bail!("{base_url}: {error}; {}", mend(&error, &base_url)),
            Err(error) => {
                talk.refuse(&format!("{error}; {}.", mend(&error, &base_url)))?;
                if matches!(error, ServiceError::Unauthorized(_) | ServiceError::Forbidden(_)) {
                    url = Some(base_url);
                } else {
                    // The address, most often; the token is kept for the next try.
                    given = Some(token);
                }
            }
        }
    };
    if spaces.is_empty() {
        bail!(
            "the token is valid, but has access to no workspace: ask a colleague to invite you, then run this again; nothing was written"
        );
    }
    let names: Vec<&str> = spaces.iter().map(|space| space.name.as_str()).collect();
    let found = output::count(spaces.len() as u64, "workspace", "workspaces");
    talk.say(&format!("Token accepted: {found} ({}).", names.join(", ")))?;

    // What is mirrored, and where.
    let named = before.as_ref().and_then(|config| config.token_file.clone());
    let token_file = named.unwrap_or_else(|| token_place(&place));
    let known = text.words("", "workspaces").unwrap_or_default();
    let chosen = choose(said, &spaces, &known, &talk)?;
    text.set("", "base_url", base_url.as_str())?;
    match &token {
        Token::Kept(_) => {}
        Token::In(path, _) => text.set("", "token_file", short(path, around.env))?,
        Token::New(_) => text.set("", "token_file", short(&token_file, around.env))?,
    }
    if chosen.len() < spaces.len() || said.workspaces.iter().any(|name| name != "all") {
        text.set("", "workspaces", Value::from_iter(chosen.iter().map(|space| space.key())))?;
    } else if !known.is_empty() {
        text.set("", "workspaces", Value::from_iter(Vec::<String>::new()))?;
    }
    let (config, lost) = folder(said, known_root, &mut text, &place, &around, &mut talk)?;
    let config = storage(said, there.is_some(), config, &mut text, &place, &around, &talk)?;

    // What it costs, and the last word.
    let pages = changes::mirrored(&config.state_dir)?;
    match (&before, pages) {
        (Some(before), Some(pages)) => {
            let new_token = !matches!(token, Token::Kept(_));
            talk.say(&changes::sentence(pages, before, &config, new_token))?;
        }
        _ => {
            let client = asker.client(&base_url, token.secret())?;
            let mirrored: Vec<Space> = chosen.into_iter().cloned().collect();
            let cost = asker.cost(&client, &mirrored, &config).await?;
            talk.say(&format!("The first sync: {}.", cost.words(config.requests_per_minute)))?;
        }
    }
    let installs = installs(said, there.is_some(), &talk)?;
    if asks && !talk::yes(&format!("Write {}?", place.display()), true)? {
        talk.end("Nothing was written.")?;
        return Ok(Exit::Done);
    }
    if let Token::New(token) = &token {
        files::write(&token_file, &format!("{}\n", token.expose_secret()), Readers::Owner)?;
    }
    let is_new = there.as_deref() != Some(text.as_str());
    if is_new {
        files::write(&place, text.as_str(), Readers::AsBefore)?;
    }
    if let Some(lost) = &lost {
        lost.adopt(&config.root)?;
        talk.say(&format!("The marker of {} is back.", config.root.display()))?;
    }
    if !had_state {
        // So that the first run counts them. Without the note, the service may refuse one request more.
        if let Err(error) = permits::note(&config, asker.made) {
            tracing::debug!(%error, "init's requests are not noted");
        }
    }
    let own = place.display();
    talk.say(&match (is_new, &token) {
        (true, Token::New(_)) => {
            format!("Written: {own}, and the token: {} (only you can read it)", token_file.display())
        }
        (true, _) => format!("Written: {own}"),
        (false, Token::New(_)) => format!("Written: the token: {}", token_file.display()),
        (false, _) => format!("Config unchanged: {own}"),
    })?;
    finish(&config, installs, &around, &mut talk)
}

/// What a person can do about a refusal of the first request.
fn mend(error: &ServiceError, base_url: &str) -> String {
    match error {
        ServiceError::Unreachable(_) | ServiceError::Lost(_) => {
            "check the network connection and the address, then try again".to_owned()
        }
        ServiceError::Unauthorized(_) => "copy the access token from the app's settings again".to_owned(),
        ServiceError::Forbidden(_) => {
            "create an access token with permission to read pages in the app's settings".to_owned()
        }
        ServiceError::Server { .. } | ServiceError::RateLimited { .. } => {
            "try again in a few minutes".to_owned()
        }
        // Something answers there, but not the API.
        ServiceError::NotFound(_)
        | ServiceError::Rejected { .. }
        | ServiceError::NotEditable(_)
        | ServiceError::Garbled(_) => match base_url.split_once("/api/v1") {
            Some((site, rest)) if !rest.is_empty() => format!("try {site}/api/v1"),
            Some(_) => "copy the address from the app's settings".to_owned(),
            None => {
                let site = base_url.strip_suffix("/api").unwrap_or(base_url);
                format!("try {site}/api/v1")
            }
        },
    }
}

/// The last words: what comes next.
fn finish(config: &Config, installs: bool, around: &Around<'_>, talk: &mut Talk<'_>) -> Result<Exit> {
    let named = match around.named {
        Some(path) => format!(" --config {}", output::shell_word(&path.display().to_string())),
        None => String::new(),
    };
    let limit = config.requests_per_minute;
    talk.say(&format!(
        "espejo uses at most {limit} requests a minute, and a third of them where nothing changed for an hour; requests_per_minute in the config sets the limit."
    ))?;
    if installs {
        talk.end(&format!("Watch it with:  espejo status --watch{named}"))?;
        let around = service::Around { variable: around.variable, named: around.named.map(Path::to_owned) };
        return service::install(config, &around, false, talk.out);
    }
    if control::is_daemon(&config.state_dir) {
        talk.end("espejo is already running; load the new config with:  systemctl --user reload espejo  (or send SIGHUP)")?;
    } else {
        talk.end(&format!(
            "Start syncing with:  espejo run{named}  ·  watch it with:  espejo status --watch{named}"
        ))?;
    }
    Ok(Exit::Done)
}

/// Where the config is, or belongs.
fn place(around: &Around<'_>) -> Result<PathBuf> {
    match around.named {
        Some(path) => Ok(std::path::absolute(path)?),
        None => {
            let there = Config::find(None, around.env).ok();
            let place = there.or_else(|| Config::usual_place(around.env));
            Ok(place.ok_or_else(|| WrongUsage("HOME is not set; name a config with --config".to_owned()))?)
        }
    }
}

fn read(place: &Path) -> Result<Option<String>> {
    match place.metadata() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        _ => Ok(Some(Config::text_of(place)?)),
    }
}

/// Refuses when options are missing and there is no terminal to ask on.
fn all_said(said: &Args, has_config: bool, [url, token, root]: [bool; 3]) -> Result<(), WrongUsage> {
    let defaults = said.yes || has_config;
    let mut missing = Vec::new();
    for (is_there, flag) in [
        (said.base_url.is_some() || url, "--base-url URL"),
        (said.token_file.is_some() || said.token_stdin || token, "--token-file FILE or --token-stdin"),
        (!said.workspaces.is_empty() || defaults, "--workspaces all"),
        (said.root.is_some() || root || said.yes, "--root DIR"),
        (said.storage.is_some() || defaults, "--storage off|backup|two-way"),
        (said.service || said.no_service || defaults, "--service or --no-service"),
    ] {
        if !is_there {
            missing.push(flag);
        }
    }
    let has_defaults = missing.iter().any(|flag| !flag.starts_with("--base") && !flag.starts_with("--token"));
    let defaults =
        if has_defaults { " (--yes uses the defaults for all except address and token)" } else { "" };
    match missing.is_empty() {
        true => Ok(()),
        false => Err(WrongUsage(format!(
            "init has no terminal for its questions, so it needs these options: {}{defaults}",
            missing.join(", ")
        ))),
    }
}

fn given_token(said: &Args, around: &mut Around<'_>) -> Result<Option<Token>> {
    if let Some(path) = &said.token_file {
        let path = std::path::absolute(path)?;
        let token = token::find(&|_| None, Some(&path)).map_err(|error| WrongUsage(error.to_string()))?;
        return Ok(Some(Token::In(path, token)));
    }
    if !said.token_stdin {
        return Ok(None);
    }
    let mut text = String::new();
    around.stdin.take(64 << 10).read_to_string(&mut text).context("the token cannot be read from stdin")?;
    let token =
        token::parse("the token from stdin", text.trim()).map_err(|error| WrongUsage(error.to_string()))?;
    Ok(Some(Token::New(token)))
}

fn choose<'s>(said: &Args, spaces: &'s [Space], known: &[String], talk: &Talk<'_>) -> Result<Vec<&'s Space>> {
    let all = || spaces.iter().collect();
    if said.workspaces.iter().any(|name| name == "all") {
        return Ok(all());
    }
    let named = if said.workspaces.is_empty() { known } else { &said.workspaces };
    if talk.asks && said.workspaces.is_empty() && spaces.len() > 1 {
        let ids = talk::spaces(spaces, known)?;
        return Ok(spaces.iter().filter(|space| ids.contains(&space.id)).collect());
    }
    if let Some(odd) = named.iter().find(|name| !spaces.iter().any(|space| space.is_called(name))) {
        let slugs: Vec<&str> = spaces.iter().map(Space::key).collect();
        bail!(WrongUsage(format!(
            "the token has no access to a workspace {odd:?}; it has access to {}",
            slugs.join(", ")
        )));
    }
    if named.is_empty() {
        return Ok(all());
    }
    Ok(spaces.iter().filter(|space| named.iter().any(|name| space.is_called(name))).collect())
}

/// The folder, checked with the whole config; gives the config as it will be, and what of the folder's mirror is to be put back.
fn folder(
    said: &Args,
    known: Option<String>,
    text: &mut Text,
    place: &Path,
    around: &Around<'_>,
    talk: &mut Talk<'_>,
) -> Result<(Config, Option<Lost>)> {
    let default = known.unwrap_or_else(|| "~/Workspace".to_owned());
    let mut named = match &said.root {
        Some(root) => {
            let root =
                root.to_str().ok_or_else(|| WrongUsage("the folder's path is not UTF-8".to_owned()))?;
            Some(whole(root, around.env)?)
        }
        None => (!talk.asks).then(|| default.clone()),
    };
    loop {
        let root = match named.take() {
            Some(root) => root,
            None => whole(&talk::line("Folder to mirror into", Some(&default), |_| Ok(()))?, around.env)?,
        };
        text.set("", "root", root.as_str())?;
        let config = match Config::check(text.as_str(), place, around.env) {
            Ok(config) => config,
            Err(error) if talk.asks && said.root.is_none() => {
                talk.refuse(&error.to_string())?;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        if let Some(why) = belongs_elsewhere(&config)? {
            if talk.asks && said.root.is_none() {
                talk.refuse(&format!("{why}."))?;
                continue;
            }
            bail!(WrongUsage(why));
        }
        let lost = match adopt::look(&config) {
            Err(error) if error.is::<WrongUsage>() && talk.asks && said.root.is_none() => {
                talk.refuse(&format!("{error}."))?;
                continue;
            }
            looked => looked?,
        };
        let happens = match &lost {
            Some(lost) => Some(lost.sentence(&config.root)),
            None => what_happens(&config.root, config.requests_per_minute)?,
        };
        if let Some(words) = happens {
            talk.warn(&words)?;
            if talk.asks && !talk::yes("Mirror into it?", true)? {
                if said.root.is_some() {
                    bail!("init was cancelled; nothing was written");
                }
                continue;
            }
        }
        return Ok((config, lost));
    }
}

/// Why this state cannot be used with this root, if so: it is another folder's.
fn belongs_elsewhere(config: &Config) -> Result<Option<String>> {
    let Some(state) = ReadOnly::open(&config.state_dir)? else { return Ok(None) };
    let (Some(id), Some(before)) = (state.meta("mirror_id")?, state.meta("root")?) else { return Ok(None) };
    let found = std::fs::read_to_string(config.root.join(marker::FOLDER).join(marker::FILE));
    // Where a disk is only not mounted, the root is the same. A folder that was moved has its marker with it.
    let is_its_own = found.is_ok_and(|text| marker::id(&text) == Some(id.as_str()));
    if is_its_own || Path::new(&before) == config.root {
        return Ok(None);
    }
    let (root, state) = (config.root.display(), config.state_dir.display());
    Ok(Some(format!(
        "{root} cannot be the root, because the state in {state} belongs to {before}: move that folder to {root} first, or, to start again, move {state} away"
    )))
}

/// What becomes of the Markdown files in the folder.
fn new_pages(root: &Path, per_minute: u32) -> String {
    let spaces = std::fs::read_dir(root).into_iter().flatten().flatten();
    let notes: u64 = spaces.map(|space| notes_beneath(&space.path().join(PAGES), 0)).sum();
    if notes == 0 {
        return "Markdown files in a workspace's Pages folder become new pages.".to_owned();
    }
    // One request makes a page, and one fills it.
    let minutes = (2 * notes).div_ceil(u64::from(per_minute.max(1)));
    format!(
        "{} in Pages folders become new pages where they equal none, which takes up to {}.",
        output::count(notes, "Markdown file", "Markdown files"),
        output::count(minutes, "minute", "minutes")
    )
}

/// The number of Markdown files in a folder and beneath it. What cannot be read counts when it can.
fn notes_beneath(folder: &Path, depth: usize) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let shown = entries.filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."));
    shown
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth < DEPTH_MOST => notes_beneath(&entry.path(), depth + 1),
            Ok(kind) if kind.is_file() => u64::from(entry.path().extension().is_some_and(|end| end == "md")),
            _ => 0,
        })
        .sum()
}

/// What happens to a folder that has something in it.
fn what_happens(root: &Path, per_minute: u32) -> Result<Option<String>> {
    let entries = match std::fs::read_dir(root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => bail!(WrongUsage(format!("{} cannot be used as the folder: {error}", root.display()))),
    };
    let number = entries.count() as u64;
    let place = root.display();
    if root.join(marker::FOLDER).join(marker::FILE).exists() {
        return Ok(Some(format!(
            "{place} was mirrored before. espejo uses it again: a file that equals its page is kept, both versions of a file that differs are kept, and nothing is deleted."
        )));
    }
    Ok((number > 0).then(|| {
        let new = new_pages(root, per_minute);
        format!(
            "{place} is not empty ({} in it). espejo overwrites and deletes nothing: a file that equals its page becomes that page's file, a file that differs is kept beside it. {new} Files outside the workspaces' folders are not touched.",
            output::count(number, "entry", "entries")
        )
    }))
}

fn storage(
    said: &Args,
    has_config: bool,
    config: Config,
    text: &mut Text,
    place: &Path,
    around: &Around<'_>,
    talk: &Talk<'_>,
) -> Result<Config> {
    let now = match (config.storage.enabled, config.storage.mode) {
        (false, _) | (true, StorageMode::Off) => StorageChoice::Off,
        (true, StorageMode::Backup) => StorageChoice::Backup,
        (true, StorageMode::TwoWay) => StorageChoice::TwoWay,
    };
    let choice = match said.storage {
        Some(choice) => choice,
        None if talk.asks => talk::storage(now)?,
        None => now,
    };
    if choice == now && (has_config || choice == StorageChoice::Backup) {
        return Ok(config);
    }
    if text.flag("storage", "enabled").unwrap_or(true) != (choice != StorageChoice::Off) {
        text.set("storage", "enabled", choice != StorageChoice::Off)?;
    }
    match choice {
        StorageChoice::Off => {}
        StorageChoice::Backup => text.set("storage", "mode", "backup")?,
        StorageChoice::TwoWay => text.set("storage", "mode", "two-way")?,
    }
    Ok(Config::check(text.as_str(), place, around.env)?)
}

/// Whether the user service is to be installed.
fn installs(said: &Args, has_config: bool, talk: &Talk<'_>) -> Result<bool> {
    if said.service || said.no_service || !talk.asks {
        return Ok(said.service);
    }
    if !service::is_available() {
        return Ok(false);
    }
    talk::yes("Start espejo at login (with systemd)?", !has_config)
}

/// The file for a token, beside the config.
fn token_place(config: &Path) -> PathBuf {
    match config.file_stem() {
        Some(stem) if stem != "config" => config.with_file_name(format!("{}.token", stem.to_string_lossy())),
        _ => config.with_file_name("token"),
    }
}

/// A path that was typed, which is meant from here and knows `~`, as in a shell.
fn whole(typed: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<String> {
    let typed = typed.trim();
    if typed == "~" || typed.starts_with("~/") {
        return Ok(typed.to_owned());
    }
    Ok(short(&std::path::absolute(typed)?, env))
}

/// A path as the config shows it: from `~` where it lies in the home directory.
fn short(path: &Path, env: &dyn Fn(&str) -> Option<String>) -> String {
    let home = env("HOME").filter(|home| home.len() > 1);
    match home.and_then(|home| path.strip_prefix(home).ok().map(Path::to_owned)) {
        Some(rest) => Path::new("~").join(rest).display().to_string(),
        None => path.display().to_string(),
    }
}
