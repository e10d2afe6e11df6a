//! Records what a program reports about itself.

use crate::detector::Detector;
use crate::live::Heard;
use crate::profile::Says;
use crate::scan::Report;
use crate::status::ProgramState;
use crate::time::Time;
use crate::turn::Signal;
use std::sync::Arc;

impl Detector {
    pub(crate) fn report(&mut self, report: Report, now: Time) {
        let profile = Arc::clone(&self.profile);
        match report {
            Report::Sync(on) => self.live.drawing = on.then_some(now),
            Report::Alternate(_) => {}
            Report::Paste(on) => self.pasting(on),
            Report::Title(title) => {
                let says = classify(&profile.title, &title);
                self.live.reports.title = says.map(|state| self.heard(state, &title, now));
                self.working_if(says == Some(ProgramState::Working), Signal::Title, &title, now);
            }
            Report::Notify(text) => {
                if let Some(state) = classify(&profile.notify, &text) {
                    self.live.reports.notify = Some(self.heard(state, &text, now));
                }
            }
            Report::Progress(busy) => {
                self.live.reports.progress = busy.then(|| self.heard(ProgramState::Working, "busy", now));
                self.working_if(busy, Signal::Progress, "busy", now);
            }
            Report::Status(text) => {
                let says = status_state(&text);
                self.live.reports.status = says.map(|state| self.heard(state, &text, now));
                self.working_if(says == Some(ProgramState::Working), Signal::Status, &text, now);
            }
            Report::Mark(text) => self.mark(&text, now),
        }
    }

    fn pasting(&mut self, on: bool) {
        let (offset, reports) = (self.live.offset, &mut self.live.reports);
        let was_on = reports.pasting == Some(true);
        if let Some(turn) = self.live.turn.as_mut().filter(|turn| reports.pasting_from <= turn.submit)
            && was_on
            && !on
        {
            turn.edited_to = Some(offset);
        }
        reports.pasting = Some(on);
        if on {
            reports.pasting_from = offset;
        }
    }

    fn mark(&mut self, text: &str, now: Time) {
        let offset = self.live.offset;
        // The offset before the mark's own bytes: ESC ] 133 ; … and one or two bytes of terminator.
        let before = offset.saturating_sub(text.len() as u64 + 7);
        let state = match text.as_bytes().first() {
            Some(b'A') => {
                self.live.reports.output_to.get_or_insert(before);
                ProgramState::Unknown
            }
            Some(b'B') => ProgramState::Ready,
            Some(b'C') => {
                // Of several commands that were submitted at once, the first one's output begins the answer.
                let submit = self.live.turn.as_ref().map(|turn| turn.submit);
                let first =
                    self.live.reports.output_from.filter(|from| submit.is_some_and(|submit| *from >= submit));
                self.live.reports.output_from = Some(first.unwrap_or(offset));
                self.live.reports.output_to = None;
                ProgramState::Working
            }
            Some(b'D') => {
                self.live.reports.output_to.get_or_insert(before);
                ProgramState::Unknown
            }
            _ => return,
        };
        self.live.reports.mark = Some(self.heard(state, text, now));
        self.working_if(state == ProgramState::Working, Signal::Mark, text, now);
    }

    pub(crate) fn heard(&self, state: ProgramState, detail: &str, now: Time) -> Heard {
        Heard { state, detail: detail.to_owned(), at: now, offset: self.live.offset }
    }

    /// A report of work is trusted at once; only its end needs a quiet moment.
    pub(crate) fn working_if(&mut self, working: bool, signal: Signal, detail: &str, now: Time) {
        if !working {
            return;
        }
        self.live.pending = None;
        if let Some(turn) = &mut self.live.turn {
            turn.worked = true;
        }
        if self.live.turn.is_some() || self.live.status.state != ProgramState::Starting {
            self.set_status(ProgramState::Working, signal, detail, now);
        }
    }
}

fn classify(says: &Says, text: &str) -> Option<ProgramState> {
    if says.asking.any(text) {
        Some(ProgramState::Asking)
    } else if says.working.any(text) {
        Some(ProgramState::Working)
    } else if says.ready.any(text) {
        Some(ProgramState::Ready)
    } else {
        None
    }
}

/// The state in a program's status: `state=working:app=…`.
fn status_state(text: &str) -> Option<ProgramState> {
    let state = text.split(':').find_map(|pair| pair.strip_prefix("state="))?;
    Some(match state {
        "working" => ProgramState::Working,
        "idle" | "done" => ProgramState::Ready,
        "blocked" => ProgramState::Asking,
        "error" => ProgramState::Error,
        _ => return None,
    })
}
