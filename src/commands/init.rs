//! `espejo init`: asks what it needs to know, tries it at once, and writes config and token. Nothing is written before
//! the last question is answered.

mod adopt;
mod args;
mod changes;
mod choices;
mod field;
mod folder;
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
use crate::model::ServiceError;
use crate::service::token;
pub use args::{Args, StorageChoice};
use choices::{all_said, choose, installs, storage};
use folder::{folder, short};
use survey::{Asker, Space};
use talk::Talk;
use text::Text;

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

/// The file for a token, beside the config.
fn token_place(config: &Path) -> PathBuf {
    match config.file_stem() {
        Some(stem) if stem != "config" => config.with_file_name(format!("{}.token", stem.to_string_lossy())),
        _ => config.with_file_name("token"),
    }
}
