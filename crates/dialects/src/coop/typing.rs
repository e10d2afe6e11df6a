//! Text for programs: typed so that it presses no keys, and submitted once the program has taken it.

use super::connection::{Answer, Connection, Next, invalid, ok, refused};
use super::errors;
use super::turns::turn_text;
use crate::limits;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use swb_engine::{Pty, Session};
use swb_types::PtyId;
use swb_vt::Key;
use swb_wire::coop::{ErrorReply, Relay, RelayReply};
use tokio::time::{Instant, sleep};

/// What begins and ends a paste.
const PASTE: (&[u8], &[u8]) = (b"\x1b[200~", b"\x1b[201~");

/// What to tell when several lines were typed where each may be a submission.
const LINES: &str = "the target takes no pastes, so each line break may have been a submission";

/// What was typed.
pub(super) struct Typed {
    pub(super) bytes: u64,
    pub(super) warning: Option<String>,
}

/// Whoever types and submits into a session has it alone until it is done.
#[derive(Debug, Default)]
pub(super) struct Typists(Mutex<BTreeMap<String, Weak<tokio::sync::Mutex<()>>>>);

impl Typists {
    pub(super) fn of(&self, session: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.retain(|_, typist| typist.strong_count() > 0);
        if let Some(typist) = table.get(session).and_then(Weak::upgrade) {
            return typist;
        }
        let typist = Arc::default();
        table.insert(session.to_owned(), Arc::downgrade(&typist));
        typist
    }
}

/// What is to be typed.
pub(super) enum Material {
    /// Text; it cannot press keys.
    Text(String),
    /// Bytes as they are.
    Raw(Vec<u8>),
}

impl Connection {
    pub(super) async fn relay_turn(&self, relay: Relay) -> Answer {
        if relay.raw && (relay.template.is_some() || relay.prefix.is_some()) {
            return Err(invalid("raw goes with neither template nor prefix"));
        }
        let turn = match self.latest_turn(&relay.from) {
            Err(unknown) => self.turn_named(&relay.from).map_err(|no_turn| {
                // Of a name without a number, that there is no such session says more.
                if relay.from.contains(':') { no_turn } else { unknown }
            })?,
            Ok(turn) => turn,
        };
        let id = turn.info.id.to_string();
        let material = if relay.raw {
            Material::Raw(turn.content.to_vec())
        } else {
            let text = turn_text(&turn);
            let filled = match &relay.template {
                Some(template) => fill(template, &text, &id, turn.info.id.session()),
                None => text,
            };
            Material::Text(relay.prefix.unwrap_or_default() + &filled)
        };
        let typed = match self.resolve_live(&relay.to) {
            Ok(session) => self.type_into(&session, material, relay.submit).await?,
            Err(unknown) => self.type_elsewhere(&relay.to, material, relay.submit, unknown).await?,
        };
        let reply = RelayReply { ok: true, turn_id: id, bytes: typed.bytes, warning: typed.warning };
        Ok((ok(&reply)?, Next::Request))
    }

    /// Types into a session of ours; with `submit`, presses Enter when its program has taken the text.
    pub(super) async fn type_into(
        &self,
        session: &Session,
        material: Material,
        submit: bool,
    ) -> Result<Typed, ErrorReply> {
        session.start(None).await.ok();
        let pty = session.pty(PtyId::AGENT).map_err(refused)?.pty;
        let typist = self.coop.typists.of(session.name().as_str());
        let _alone = typist.lock().await;
        let (bracketed, enter) = pty
            .look(false, |sight| {
                let modes = sight.screen().modes();
                let mut enter = Vec::new();
                if let Some(key) = Key::parse("Enter") {
                    key.encode(&modes, &mut enter);
                }
                (modes.bracketed_paste, enter)
            })
            .await
            .map_err(refused)?;
        let (bytes, warning) = encode(material, bracketed);
        let before = pty.head();
        pty.input(&bytes).await.map_err(errors::input)?;
        if submit {
            taken(&pty, before).await;
            pty.input(&enter).await.map_err(errors::input)?;
        }
        Ok(Typed { bytes: bytes.len() as u64, warning: warning.map(str::to_owned) })
    }

    /// Types into a session that somebody else runs, of whose screen nothing is known.
    async fn type_elsewhere(
        &self,
        to: &str,
        material: Material,
        submit: bool,
        unknown: ErrorReply,
    ) -> Result<Typed, ErrorReply> {
        let relay = self.relay();
        if !relay.sessions().iter().any(|listed| listed.id == to) {
            return Err(unknown);
        }
        let (bytes, warning) = encode(material, false);
        let length = bytes.len() as u64;
        relay.inject(to, bytes).map_err(|error| errors::relay(&error, to))?;
        if submit {
            sleep(limits::TAKE_SILENT).await;
            relay.inject(to, b"\r".to_vec()).map_err(|error| errors::relay(&error, to))?;
        }
        Ok(Typed { bytes: length, warning: warning.map(str::to_owned) })
    }
}

/// Waits until a program has taken what was typed: until its output has moved and come to rest, or for a short time.
async fn taken(pty: &Pty, before: u64) {
    let start = Instant::now();
    let (mut head, mut moved) = (before, None);
    loop {
        sleep(limits::TAKE_LOOK).await;
        if pty.head() != head {
            head = pty.head();
            moved = Some(Instant::now());
        }
        let rests = moved.is_some_and(|at: Instant| at.elapsed() >= limits::TAKE_QUIET);
        let longest = if moved.is_some() { limits::TAKE_LONGEST } else { limits::TAKE_SILENT };
        if rests || start.elapsed() >= longest {
            return;
        }
    }
}

/// The bytes to type, and what the user should know about them.
fn encode(material: Material, bracketed: bool) -> (Vec<u8>, Option<&'static str>) {
    match material {
        Material::Raw(bytes) => (bytes, None),
        Material::Text(text) => {
            let text = harmless(&text);
            if bracketed {
                return ([PASTE.0, text.as_bytes(), PASTE.1].concat(), None);
            }
            let warning = text.contains('\n').then_some(LINES);
            (text.into_bytes(), warning)
        }
    }
}

/// Text that presses no keys: of control characters only line breaks and tabs are left, and no line break at the end.
/// Without escapes it cannot end a paste, either.
fn harmless(text: &str) -> String {
    let lines = text.replace("\r\n", "\n").replace('\r', "\n");
    let kept: String = lines.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
    kept.trim_end_matches('\n').to_owned()
}

/// Fills in a template, in one pass: what is filled in is not looked at again.
fn fill(template: &str, text: &str, turn_id: &str, session: &str) -> String {
    let fields = [("{text}", text), ("{turn_id}", turn_id), ("{session}", session)];
    let mut filled = String::new();
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        filled.push_str(&rest[..at]);
        rest = &rest[at..];
        match fields.iter().find(|(name, _)| rest.starts_with(name)) {
            Some((name, value)) => {
                filled.push_str(value);
                rest = &rest[name.len()..];
            }
            None => {
                filled.push('{');
                rest = &rest[1..];
            }
        }
    }
    filled + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(text: &str, bracketed: bool) -> (String, bool) {
        let (bytes, warning) = encode(Material::Text(text.to_owned()), bracketed);
        (String::from_utf8(bytes).unwrap(), warning.is_some())
    }

    #[test]
    fn text_presses_no_keys() {
        let hostile = "a\x03\x1b[201~\x1b[A\u{9b}201~b\r\nc\td\x7f\r\n";
        assert_eq!(typed(hostile, false), ("a[201~[A201~b\nc\td".to_owned(), true));
        assert_eq!(typed(hostile, true), ("\x1b[200~a[201~[A201~b\nc\td\x1b[201~".to_owned(), false));
        assert_eq!(typed("one line\n", false), ("one line".to_owned(), false));
        let (raw, _) = encode(Material::Raw(b"\x1b[A\r".to_vec()), true);
        assert_eq!(raw, b"\x1b[A\r");
    }

    #[test]
    fn templates_are_filled_once() {
        let filled = fill("{session}/{turn_id}: {text} {other} {", "see {text} and {session}", "a:1", "a");
        assert_eq!(filled, "a/a:1: see {text} and {session} {other} {");
    }

    #[test]
    fn typists_of_a_session_share_one_lock() {
        let typists = Typists::default();
        let one = typists.of("a");
        assert!(Arc::ptr_eq(&one, &typists.of("a")));
        assert!(!Arc::ptr_eq(&one, &typists.of("b")));
        assert_eq!(typists.0.lock().unwrap().len(), 2);
        drop(one);
        let _last = typists.of("c");
        assert_eq!(typists.0.lock().unwrap().len(), 1, "nobody types into the others any more");
    }
}
