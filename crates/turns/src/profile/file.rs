//! The format of a profile file, and its validation.

use super::dialogs::{DialogFile, check_keys};
use super::{Patterns, Profile, ProgramKind, Prompt, Says, View, patterns};
use crate::limits;
use crate::pattern::compile;
use crate::transcript::TranscriptFormat;
use regex::Regex;
use serde::Deserialize;
use std::time::Duration;

/// What commands of an unknown program are likely to begin with.
pub(super) const COMMAND_PREFIXES: [&str; 11] = ["!", "/", "#", "@", "?", ":", "\\", "%", "$", "&", "."];

/// Rows that name the keys for something else than the input box: a list of keys, or a question for yes or no.
const OVERLAY: [&str; 2] = [
    r"(?i)^[\s│┃║|]*(?:[^\s/@$][^·•]{0,60}?(?: [·•] |  +))*\(?(?:(?:press|use) )?(?:enter|return|esc|escape)(?: to)? \p{L}",
    r"(?i)[\[(]y(?:es)?/n(?:o)?[\])]\s*[:?]?\s*$",
];

/// Keys that empty nearly every input line, and end nothing as long as something is typed.
const CLEAR_KEYS: &str = "C-c";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) name: String,
    #[serde(default)]
    pub(super) commands: Vec<String>,
    pub(super) kind: ProgramKind,
    #[serde(default)]
    greeting: Vec<String>,
    #[serde(default)]
    escape_presses: u8,
    clear_keys: Option<String>,
    command_prefixes: Option<Vec<String>>,
    transcript: Option<TranscriptFormat>,
    #[serde(default)]
    title: SaysFile,
    #[serde(default)]
    notify: SaysFile,
    #[serde(default)]
    prompt: PromptFile,
    #[serde(default)]
    screen: ScreenFile,
    #[serde(default)]
    dialog: DialogFile,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct SaysFile {
    working: Vec<String>,
    ready: Vec<String>,
    asking: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct PromptFile {
    ready: Vec<String>,
    continuation: Vec<String>,
    asking: Vec<String>,
    raw: Option<String>,
    unfinished: Option<String>,
    quiet_ms: Option<u64>,
    header: Option<String>,
    steady: bool,
    any_while_pasting: bool,
    empty_turns: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ScreenFile {
    anchor: Option<String>,
    anchor_above: Option<String>,
    body: Option<String>,
    busy_above: Vec<String>,
    busy_below: Vec<String>,
    asking: Vec<String>,
    menu: Vec<String>,
    overlay: Option<Vec<String>>,
    windows: bool,
    done_above: Vec<String>,
    counter_below: Option<String>,
    echo: Option<String>,
    chrome: Vec<String>,
    footer: Vec<String>,
    notes: Vec<String>,
    unstable: Vec<String>,
    undrawn: Vec<String>,
    live_lines: Option<usize>,
    bullets: String,
    indent: usize,
    quiet_ms: Option<u64>,
}

pub(super) type Checked<T> = Result<T, (String, String)>;

impl File {
    /// Parses the text without looking at the values; errors name the line.
    pub(super) fn read(text: &str) -> Checked<Self> {
        toml::from_str(text).map_err(|cause| {
            let before = cause.span().map_or("", |span| text.get(..span.start).unwrap_or(text));
            (format!("line {}", before.matches('\n').count() + 1), cause.message().to_owned())
        })
    }

    pub(super) fn check(self) -> Checked<Profile> {
        let missing = |key: &str, reason: &str| Err((key.to_owned(), reason.to_owned()));
        if self.name.is_empty() || !self.name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        {
            return missing("name", "must be letters, digits, `-`, `_` or `.`");
        }
        let clear_keys = self.clear_keys.unwrap_or_else(|| CLEAR_KEYS.to_owned());
        check_keys("clear_keys", &clear_keys)?;
        let usual = || COMMAND_PREFIXES.iter().map(|prefix| (*prefix).to_owned()).collect();
        let command_prefixes: Vec<String> = self.command_prefixes.unwrap_or_else(usual);
        if command_prefixes.iter().any(|prefix| prefix.trim().is_empty()) {
            return missing("command_prefixes", "must not contain an empty text");
        }
        let view = self.screen.check()?;
        let prompt = self.prompt.check()?;
        if self.kind == ProgramKind::Screen && view.anchor.is_none() {
            return missing("screen.anchor", "missing; a profile of kind `screen` must find the input box");
        }
        if self.kind == ProgramKind::Line && prompt.ready.is_empty() && !prompt.any_while_pasting {
            return missing("prompt.ready", "missing; a profile of kind `line` must know its prompt");
        }
        Ok(Profile {
            title: self.title.check("title")?,
            notify: self.notify.check("notify")?,
            greeting: patterns("greeting", &self.greeting)?,
            name: self.name,
            commands: self.commands,
            kind: self.kind,
            escape_presses: self.escape_presses,
            clear_keys,
            command_prefixes,
            transcript: self.transcript,
            prompt,
            view,
            dialogs: self.dialog.check()?,
        })
    }
}

impl SaysFile {
    fn check(&self, table: &str) -> Checked<Says> {
        let list = |key: &str, list: &[String]| patterns(&format!("{table}.{key}"), list);
        Ok(Says {
            working: list("working", &self.working)?,
            ready: list("ready", &self.ready)?,
            asking: list("asking", &self.asking)?,
        })
    }
}

impl PromptFile {
    fn check(&self) -> Checked<Prompt> {
        Ok(Prompt {
            ready: patterns("prompt.ready", &self.ready)?,
            continuation: patterns("prompt.continuation", &self.continuation)?,
            asking: patterns("prompt.asking", &self.asking)?,
            header: one("prompt.header", self.header.as_deref())?,
            raw: raw("prompt.raw", self.raw.as_deref())?,
            unfinished: raw("prompt.unfinished", self.unfinished.as_deref())?,
            quiet: quiet("prompt.quiet_ms", self.quiet_ms, limits::PROMPT_QUIET, limits::PROMPT_QUIET)?,
            steady: self.steady,
            any_while_pasting: self.any_while_pasting,
            empty_turns: self.empty_turns.unwrap_or(true),
        })
    }
}

impl ScreenFile {
    fn check(self) -> Checked<View> {
        let list =
            |key: &str, list: &[String]| -> Checked<Patterns> { patterns(&format!("screen.{key}"), list) };
        Ok(View {
            anchor: one("screen.anchor", self.anchor.as_deref())?,
            anchor_above: one("screen.anchor_above", self.anchor_above.as_deref())?,
            body: one("screen.body", self.body.as_deref())?,
            busy_above: list("busy_above", &self.busy_above)?,
            busy_below: list("busy_below", &self.busy_below)?,
            asking: list("asking", &self.asking)?,
            menu: list("menu", &self.menu)?,
            overlay: match &self.overlay {
                Some(own) => list("overlay", own)?,
                None => list("overlay", &OVERLAY.map(str::to_owned))?,
            },
            windows: self.windows,
            done_above: list("done_above", &self.done_above)?,
            counter_below: one("screen.counter_below", self.counter_below.as_deref())?,
            echo: one("screen.echo", self.echo.as_deref())?,
            chrome: list("chrome", &self.chrome)?,
            footer: list("footer", &self.footer)?,
            notes: list("notes", &self.notes)?,
            unstable: list("unstable", &self.unstable)?,
            undrawn: list("undrawn", &self.undrawn)?,
            live_lines: self.live_lines,
            quiet: quiet("screen.quiet_ms", self.quiet_ms, limits::SCREEN_QUIET, limits::REPORT_QUIET)?,
            bullets: self.bullets,
            indent: self.indent,
        })
    }
}

/// At least what the evidence needs in any case, and at most what needs no other evidence.
fn quiet(key: &str, millis: Option<u64>, default: Duration, least: Duration) -> Checked<Duration> {
    let quiet = millis.map_or(default, Duration::from_millis);
    if (least..=limits::LINGER).contains(&quiet) {
        return Ok(quiet);
    }
    let (from, to) = (least.as_millis(), limits::LINGER.as_millis());
    Err((key.to_owned(), format!("must be from {from} to {to}")))
}

/// A pattern for bytes as they were written.
fn raw(key: &str, text: Option<&str>) -> Checked<Option<regex::bytes::Regex>> {
    text.map(regex::bytes::Regex::new).transpose().map_err(|why| (key.to_owned(), why.to_string()))
}

pub(super) fn one(key: &str, text: Option<&str>) -> Checked<Option<Regex>> {
    text.map(compile).transpose().map_err(|why| (key.to_owned(), why))
}
