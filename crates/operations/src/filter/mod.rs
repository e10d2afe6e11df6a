//! The filter for input from clients elsewhere (web, tunnel) to an agent's terminal (CO-46).
//!
//! A key that ends the agent by mistake is worse on a phone than at a desk, so what usually ends agents is withheld with a
//! notice. All clients elsewhere type into the same line of the agent, so one matcher follows all of them. An owner can
//! switch the filter off for a session.

mod matcher;

pub(crate) use matcher::Withheld;

use crate::execute::Call;
use crate::reply::{OperationResult, done};
use crate::{limits, roles};
use matcher::{Filtered, Matcher, forbidden};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use swb_engine::{Engine, Session, SessionUid, TypedText};
use swb_wire::control::{ErrorReply, Filter, FilterReply};

/// The filters of all sessions.
#[derive(Debug, Default)]
pub(crate) struct InputFilters {
    sessions: Mutex<HashMap<SessionUid, SessionFilter>>,
}

#[derive(Debug, Default)]
struct SessionFilter {
    off: bool,
    matcher: Matcher,
}

impl InputFilters {
    /// Takes input for the agent of a session and returns what reaches it; the last bytes may be held back.
    pub(crate) fn feed(&self, session: &Session, bytes: &[u8]) -> Filtered {
        let mut sessions = self.lock();
        let filter = sessions.entry(session.uid()).or_default();
        if filter.off {
            return Filtered { passed: bytes.to_vec(), withheld: None };
        }
        filter.matcher.feed(bytes, Instant::now())
    }

    /// Gives up the bytes held back for a session.
    pub(crate) fn release(&self, session: &Session) -> Vec<u8> {
        let mut sessions = self.lock();
        sessions.get_mut(&session.uid()).map(|filter| filter.matcher.release()).unwrap_or_default()
    }

    /// Gives up the bytes held back for a session after a while, if no other input did.
    pub(crate) async fn release_later(&self, session: &Session) -> Vec<u8> {
        if !self.holds(session) {
            return std::future::pending().await;
        }
        tokio::time::sleep(limits::FILTER_HOLD).await;
        self.release(session)
    }

    /// Whether bytes for a session are held back.
    pub(crate) fn holds(&self, session: &Session) -> bool {
        self.lock().get(&session.uid()).is_some_and(|filter| filter.matcher.holds())
    }

    pub(crate) fn is_on(&self, session: &Session) -> bool {
        self.lock().get(&session.uid()).is_none_or(|filter| !filter.off)
    }

    /// The sessions whose input is not filtered, by their uids.
    pub(crate) fn switched_off(&self) -> Vec<SessionUid> {
        let sessions = self.lock();
        sessions.iter().filter(|(_, filter)| filter.off).map(|(session, _)| *session).collect()
    }

    pub(crate) fn restore(&self, switched_off: Vec<SessionUid>) {
        let off = switched_off.into_iter().take(limits::FILTERS);
        self.lock()
            .extend(off.map(|session| (session, SessionFilter { off: true, ..SessionFilter::default() })));
    }

    fn switch(&self, session: &Session, on: bool) {
        self.lock().entry(session.uid()).or_default().off = !on;
    }

    /// Forgets sessions that have ended, once there may be many of them.
    fn prune(&self, engine: &Engine) {
        let mut sessions = self.lock();
        if sessions.len() > limits::FILTERS {
            let live: Vec<SessionUid> = engine.sessions().iter().map(Session::uid).collect();
            sessions.retain(|session, _| live.contains(session));
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionUid, SessionFilter>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Call<'_> {
    pub(crate) fn filter(&self, filter: &Filter) -> OperationResult {
        let session = self.session(&filter.session)?;
        let filters = &self.operations.filters;
        if let Some(on) = filter.on {
            filters.prune(self.engine());
            filters.switch(&session, on);
            self.operations.host.remote_access_changed();
        }
        done(&FilterReply { ok: true, on: filters.is_on(&session) })
    }

    /// What of a client's input for the agent of a session reaches it, and a notice about the rest.
    pub(crate) fn filtered(&self, session: &Session, steps: Vec<Vec<u8>>) -> (Vec<Vec<u8>>, Option<String>) {
        if !self.caller.is_remote() {
            return (steps, None);
        }
        let filters = &self.operations.filters;
        filters.prune(self.engine());
        let mut notice = None;
        let mut passed: Vec<Vec<u8>> = Vec::with_capacity(steps.len());
        for step in steps {
            let mut filtered = filters.feed(session, &step);
            // The next step is typed after a pause, and nothing may follow the last one. A word that ends here is
            // withheld by its Enter, which may be a step of its own.
            if filters.holds(session) && !is_forbidden_word(&step) {
                filtered.passed.extend(filters.release(session));
            }
            notice = filtered.withheld.map(Withheld::notice).or(notice);
            passed.push(filtered.passed);
        }
        if let Some(last) = passed.last_mut() {
            last.extend(filters.release(session));
        }
        passed.retain(|step| !step.is_empty());
        (passed, notice)
    }

    /// Refuses a text that a client elsewhere submits to an agent, if the filter would withhold it.
    pub(crate) fn check_text(&self, session: &Session, text: &TypedText) -> Result<(), ErrorReply> {
        let bytes = match text {
            TypedText::Text(text) => text.as_bytes(),
            TypedText::Raw(bytes) => bytes,
            // The first line has the origin in front.
            TypedText::Relayed(relayed) if relayed.origin.is_some() => {
                relayed.text.split_once('\n').map_or(&[][..], |(_, rest)| rest.as_bytes())
            }
            TypedText::Relayed(relayed) => relayed.text.as_bytes(),
        };
        let filtered = self.caller.is_remote() && self.operations.filters.is_on(session);
        match forbidden(bytes).filter(|_| filtered) {
            Some(withheld) => Err(roles::forbidden(withheld.notice())),
            None => Ok(()),
        }
    }
}

fn is_forbidden_word(step: &[u8]) -> bool {
    forbidden(step).is_some()
}

/// The notice for a prompt that a client elsewhere may not submit to an agent in a terminal; `None` if it may.
pub fn withheld_prompt(text: &str) -> Option<String> {
    forbidden(text.as_bytes()).map(Withheld::notice)
}
