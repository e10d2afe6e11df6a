//! How a program's dialogs are read and answered: `[dialog]` of its profile.

use super::file::{Checked, one};
use super::{Patterns, patterns};
use crate::dialog::Meaning;
use regex::Regex;
use serde::Deserialize;
use swb_vt::Key;

/// Patterns that classify options where the profile has none of its own.
const ALLOW: [&str; 1] = [r"(?i)^(?:yes|y|allow|approve|accept|confirm|proceed|ok|trust)\b"];
const ALWAYS: [&str; 1] = [
    r"(?i)\b(?:always|don.t ask again|(?:for|during) (?:this|the) session|all edits|auto mode|from now on)\b",
];
const DENY: [&str; 1] = [
    r"(?i)^(?:no|n|not now|reject|deny|decline|cancel|skip|exit|quit|abort|back|go back|(?:don.t|do not) (?:trust|allow|run|proceed|accept|enable))\b",
];
/// The option of a dialog that asks again whether the decision was meant.
const CONFIRM: [&str; 1] = [r"(?i)^confirm\b"];

/// How dialogs are read and answered.
#[derive(Debug, Clone, Default)]
pub(crate) struct Dialogs {
    /// An option, with the groups `label` and, if it has one, `key`.
    pub(crate) option: Option<Regex>,
    /// An option without number, with the group `label`; the marked one is chosen with Enter.
    pub(crate) menu: Option<Regex>,
    /// The key named in a label (`key`), which is not part of it.
    pub(crate) shortcut: Option<Regex>,
    /// The row above the dialog.
    pub(crate) top: Option<Regex>,
    /// The question (`text`), where it is not the last row with a question mark.
    pub(crate) question: Option<Regex>,
    /// The tool to be used (`tool`).
    pub(crate) tool: Option<Regex>,
    /// What the question is about (`text`): the command to be run.
    pub(crate) subject: Option<Regex>,
    /// The rows above and below it, where it has a frame.
    pub(crate) block: Option<Regex>,
    /// The keys that choose an option.
    pub(crate) keys: String,
    /// The keys that deny, where that is safer than the option itself.
    pub(crate) deny_keys: Option<String>,
    /// The keys that move the mark back and forth among options in one row.
    pub(crate) select: Option<[String; 2]>,
    /// Labels are spelled with their key: `(Y)es`.
    pub(crate) spelled: bool,
    allow: Patterns,
    always: Patterns,
    deny: Patterns,
    never: Patterns,
    confirm: Patterns,
}

impl Dialogs {
    /// Whether an option confirms the decision that was made in the dialog before.
    pub(crate) fn confirms(&self, label: &str) -> bool {
        self.confirm.any(label)
    }

    /// The meaning of an option, by its label.
    pub(crate) fn meaning(&self, label: &str) -> Meaning {
        let (allow, deny) = (self.allow.any(label), self.deny.any(label));
        match (self.never.any(label), self.always.any(label)) {
            (true, _) => Meaning::RejectAlways,
            _ if deny => Meaning::RejectOnce,
            (_, true) if allow => Meaning::AllowAlways,
            _ if allow => Meaning::AllowOnce,
            _ => Meaning::Other,
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct DialogFile {
    option: Option<String>,
    menu: Option<String>,
    shortcut: Option<String>,
    top: Option<String>,
    question: Option<String>,
    tool: Option<String>,
    subject: Option<String>,
    block: Option<String>,
    keys: Option<String>,
    deny_keys: Option<String>,
    select: Option<[String; 2]>,
    spelled: bool,
    allow: Option<Vec<String>>,
    always: Option<Vec<String>>,
    deny: Option<Vec<String>>,
    never: Option<Vec<String>>,
    confirm: Option<Vec<String>>,
}

impl DialogFile {
    pub(super) fn check(self) -> Checked<Dialogs> {
        let words = |key: &str, own: &Option<Vec<String>>, usual: &[&str]| {
            let usual = || usual.iter().map(|word| (*word).to_owned()).collect();
            patterns(&format!("dialog.{key}"), &own.clone().unwrap_or_else(usual))
        };
        let keys = self.keys.clone().unwrap_or_else(|| "{key}".to_owned());
        check_keys("dialog.keys", &keys)?;
        check_keys("dialog.deny_keys", self.deny_keys.as_deref().unwrap_or_default())?;
        for key in self.select.iter().flatten() {
            check_keys("dialog.select", key)?;
        }
        Ok(Dialogs {
            option: with_group("option", self.option.as_deref(), "label")?,
            menu: with_group("menu", self.menu.as_deref(), "label")?,
            shortcut: with_group("shortcut", self.shortcut.as_deref(), "key")?,
            top: one("dialog.top", self.top.as_deref())?,
            question: with_group("question", self.question.as_deref(), "text")?,
            tool: with_group("tool", self.tool.as_deref(), "tool")?,
            subject: with_group("subject", self.subject.as_deref(), "text")?,
            block: one("dialog.block", self.block.as_deref())?,
            allow: words("allow", &self.allow, &ALLOW)?,
            always: words("always", &self.always, &ALWAYS)?,
            deny: words("deny", &self.deny, &DENY)?,
            never: words("never", &self.never, &[])?,
            confirm: words("confirm", &self.confirm, &CONFIRM)?,
            keys,
            deny_keys: self.deny_keys,
            select: self.select,
            spelled: self.spelled,
        })
    }
}

/// A pattern that must have a named group.
fn with_group(key: &str, text: Option<&str>, group: &str) -> Checked<Option<Regex>> {
    let key = format!("dialog.{key}");
    let regex = one(&key, text)?;
    match &regex {
        Some(found) if !found.capture_names().flatten().any(|name| name == group) => {
            Err((key, format!("must have a group `(?P<{group}>…)`")))
        }
        _ => Ok(regex),
    }
}

/// Names of keys, or `{key}` for the one the option has.
pub(super) fn check_keys(key: &str, names: &str) -> Checked<()> {
    match names.split_whitespace().find(|name| *name != "{key}" && Key::parse(name).is_none()) {
        Some(name) => Err((key.to_owned(), format!("unknown key `{name}`"))),
        None => Ok(()),
    }
}
