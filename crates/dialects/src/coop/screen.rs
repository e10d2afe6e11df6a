//! Looking at a terminal without attaching to it: its screen as data, waiting for something on it, keys.

use super::connection::{Answer, Connection, Next, invalid, ok, refused};
use super::errors;
use crate::conn::next_look;
use crate::limits;
use crate::peer;
use regex::{Regex, RegexBuilder};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;
use swb_engine::{Cursor, Mark, Pty, ScreenView, Session, Step};
use swb_types::{ExitStatus, Offset, PtyId, Size};
use swb_vt::{Contents, Key};
use swb_wire::control::{
    Base64, ErrorReply, Keys, KeysReply, Met, Screen, ScreenFormat, ScreenReply, Wait, WaitReply, WaitUntil,
};
use tokio::time::Instant;

impl Connection {
    /// A session by name, also one that has ended, and one of its PTYs.
    fn resolve_screen(&self, text: &str, pty: PtyId) -> Result<(Session, Arc<Pty>), ErrorReply> {
        let session = self.resolve_remembered(text)?;
        let view = session.pty(pty).map_err(refused)?;
        Ok((session, view.pty))
    }

    pub(super) async fn screen(&self, screen: Screen) -> Answer {
        let (session, pty) = self.resolve_screen(&screen.session, screen.pty())?;
        let mut lines = usize::try_from(screen.scrollback()).unwrap_or(usize::MAX);
        let format = screen.format();
        loop {
            let (shown, offset, size, there) =
                pty.look(true, move |sight| render(sight, format, lines)).await.map_err(refused)?;
            let mut reply = ScreenReply {
                ok: true,
                session: session.name().to_string(),
                pty: pty.id(),
                offset: Offset(offset),
                cols: None,
                rows: None,
                data: None,
                screen: None,
            };
            match shown {
                Shown::Contents(contents) => reply.screen = Some(*contents),
                Shown::Bytes(bytes) => {
                    reply.data = Some(Base64(bytes));
                    (reply.cols, reply.rows) = (Some(size.cols()), Some(size.rows()));
                }
            }
            match ok(&reply) {
                Ok(bytes) => return Ok((bytes, Next::Request)),
                Err(error) if there == 0 => return Err(error),
                // It has to fit one frame; the newest lines matter most.
                Err(_) => lines = there / 2,
            }
        }
    }

    pub(super) async fn wait(&self, wait: Wait) -> Answer {
        let (session, pty) = self.resolve_screen(&wait.session, wait.pty())?;
        let condition = Condition::new(&wait)?;
        let timeout = async {
            match wait.timeout_ms {
                Some(timeout) => tokio::time::sleep(Duration::from_millis(timeout)).await,
                None => std::future::pending().await,
            }
        };
        let reply = tokio::select! {
            biased;
            reply = condition.holds(&pty), if condition.looks() => reply?,
            reply = self.until(&session, &wait), if waits_for_agent(&wait) => Some(reply?),
            () = timeout => {
                let offset = Offset(pty.head());
                Some(WaitReply { ok: true, met: Met::Timeout, text: None, code: None, turn_id: None, offset })
            }
            () = self.client_leaves() => return Ok((Vec::new(), Next::Close)),
        };
        let ended = || refused(swb_engine::Error::Ended(session.name().clone()));
        Ok((ok(&reply.ok_or_else(ended)?)?, Next::Request))
    }

    /// Waits until the client has closed its connection. One that has only stopped sending still gets its reply.
    pub(super) async fn client_leaves(&self) {
        peer::closes(&self.stream).await;
    }

    pub(super) async fn keys(&self, keys: Keys) -> Answer {
        let session = self.resolve_live(&keys.session)?;
        let pty = session.pty(keys.pty()).map_err(refused)?.pty;
        session.start(None).await.ok();
        let typed = pty.look(false, move |sight| encode(&keys, sight)).await.map_err(refused)?;
        pty.input(&typed).await.map_err(errors::input)?;
        Ok((ok(&KeysReply { ok: true, bytes: typed.len() as u64 })?, Next::Request))
    }
}

/// A screen in the form that was asked for.
enum Shown {
    Contents(Box<Contents>),
    Bytes(Vec<u8>),
}

/// Renders a screen with at most `lines` of scrollback; says how many there were.
fn render(sight: &ScreenView<'_>, format: ScreenFormat, lines: usize) -> (Shown, u64, Size, usize) {
    let screen = sight.screen();
    let lines = lines.min(screen.scrollback_len());
    let shown = match format {
        ScreenFormat::Json => Shown::Contents(Box::new(screen.contents(lines))),
        ScreenFormat::Text => Shown::Bytes(text_since(screen, lines).into_bytes()),
        ScreenFormat::Ansi => Shown::Bytes(screen.to_ansi(lines)),
        ScreenFormat::Svg => Shown::Bytes(screen.to_svg().into_bytes()),
        ScreenFormat::Snapshot => Shown::Bytes(screen.snapshot_limited(lines)),
    };
    (shown, sight.offset(), screen.size(), lines)
}

/// The text of the screen behind that of so many lines of scrollback.
fn text_since(screen: &swb_vt::Screen, lines: usize) -> String {
    let mut text = String::new();
    for line in screen.scrollback(lines) {
        text.push_str(line.text().trim_end());
        text.push('\n');
    }
    text.push_str(&screen.text());
    text
}

fn encode(keys: &Keys, sight: &ScreenView<'_>) -> Vec<u8> {
    let modes = sight.screen().modes();
    let mut typed = Vec::new();
    for item in &keys.keys {
        match Key::parse(item).filter(|_| !keys.literal) {
            Some(key) => key.encode(&modes, &mut typed),
            None => typed.extend_from_slice(item.as_bytes()),
        }
    }
    typed
}

/// What a wait is for.
struct Condition {
    text: Option<Arc<Regex>>,
    stable: Option<Duration>,
    exit: bool,
}

/// Whether a wait is for something the agent does.
fn waits_for_agent(wait: &Wait) -> bool {
    wait.until.is_some_and(|until| until != WaitUntil::Exit)
}

/// What one look at the screen told.
struct Glance {
    found: Option<String>,
    /// Tells screens apart that look different.
    fingerprint: u64,
    scrolled: u64,
    offset: u64,
}

impl Condition {
    fn new(wait: &Wait) -> Result<Self, ErrorReply> {
        let compile = |text: &String| {
            let regex = RegexBuilder::new(text).multi_line(true).size_limit(limits::REGEX).build();
            regex.map(Arc::new).map_err(|error| invalid(format!("text: {error}")))
        };
        Ok(Self {
            text: wait.text.as_ref().map(compile).transpose()?,
            stable: wait.stable_ms.map(Duration::from_millis),
            exit: wait.exit || wait.until == Some(WaitUntil::Exit),
        })
    }

    /// Whether it takes a look at the terminal to tell.
    fn looks(&self) -> bool {
        self.text.is_some() || self.stable.is_some() || self.exit
    }

    /// Waits until it holds; nothing if the process ends before.
    async fn holds(&self, pty: &Arc<Pty>) -> Result<Option<WaitReply>, ErrorReply> {
        let mut cursor = pty.cursor(pty.head());
        let mut since = None;
        let mut last = (0, Instant::now());
        loop {
            // The end is looked for first: what it finds then is on the screen.
            let end = pass_over(&mut cursor);
            let glance = self.look(pty, since).await?;
            since.get_or_insert(glance.scrolled);
            let met = |met| WaitReply {
                ok: true,
                met,
                text: None,
                code: None,
                turn_id: None,
                offset: Offset(glance.offset),
            };
            if glance.found.is_some() {
                return Ok(Some(WaitReply { text: glance.found, ..met(Met::Text) }));
            }
            if last.0 != glance.fingerprint {
                last = (glance.fingerprint, Instant::now());
            }
            if let Some(status) = end {
                let exit = WaitReply { code: Some(status.code()), ..met(Met::Exit) };
                let stable = self.stable.map(|_| met(Met::Stable));
                return Ok(if self.exit { Some(exit) } else { stable });
            }
            let stable_at = self.stable.map(|stable| last.1 + stable);
            if stable_at.is_some_and(|at| at <= Instant::now()) {
                return Ok(Some(met(Met::Stable)));
            }
            next_change(&cursor, stable_at).await;
        }
    }

    async fn look(&self, pty: &Pty, since: Option<u64>) -> Result<Glance, ErrorReply> {
        let text = self.text.clone();
        let glance = pty.look(true, move |sight| {
            let screen = sight.screen();
            let new = screen.scrolled().saturating_sub(since.unwrap_or(screen.scrolled()));
            let visible = text_since(screen, usize::try_from(new).unwrap_or(usize::MAX));
            let found = text.and_then(|text| text.find(&visible).map(|found| found.as_str().to_owned()));
            let mut hasher = DefaultHasher::new();
            (screen.text(), screen.cursor().row, screen.cursor().col).hash(&mut hasher);
            Glance {
                found,
                fingerprint: hasher.finish(),
                scrolled: screen.scrolled(),
                offset: sight.offset(),
            }
        });
        glance.await.map_err(refused)
    }
}

/// Passes over everything there is; gives the end if that is part of it.
fn pass_over(cursor: &mut Cursor) -> Option<ExitStatus> {
    loop {
        match cursor.step(u64::MAX) {
            Step::Output { to } => cursor.advance(to - cursor.offset()),
            Step::Lost { oldest } => cursor.skip(oldest),
            Step::Mark(Mark::Exited(status)) => return Some(status),
            Step::Mark(_) => {}
            Step::Idle => return None,
        }
    }
}

/// Waits for output, and a little longer for what belongs to it; or until `at`.
async fn next_change(cursor: &Cursor, at: Option<Instant>) {
    let change = next_look(cursor, limits::WAIT_PAUSE);
    match at {
        Some(at) => drop(tokio::time::timeout_at(at, change).await),
        None => change.await,
    }
}
