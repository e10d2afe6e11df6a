//! Repaints a client that lags: it gets an event that it missed output, and the current screen.

use super::is_terminal;
use super::output::{Piece, TerminalOutput};
use crate::limits;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use swb_types::Offset;
use swb_wire::control::{StreamEvent, StreamOptions};

/// How long a client that lags again has to wait. All of them wait for the same moments, so that the screen is drawn once for
/// all, and not all the time: a screen that has to show every moment of a flood slows the program down.
fn until_repaint(now: SystemTime, step: Duration) -> Duration {
    let step = step.as_millis();
    let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_millis();
    Duration::from_millis((step - since % step) as u64)
}

impl TerminalOutput {
    /// Reports to a client that was too slow that it missed output (CO-65, CO-66), and sends it the current
    /// screen. A client that requested bytes rather than the screen continues with the remaining ones.
    pub(super) async fn repaint_lagging(&mut self) {
        if std::mem::replace(&mut self.keeps_lagging, self.remote) {
            tokio::time::sleep(until_repaint(SystemTime::now(), limits::LAG_REPAINT)).await;
        }
        let pty = Arc::clone(self.cursor.pty());
        let wants_bytes = (self.options.watch || self.options.wants_offsets()) && !self.options.repaint;
        let terminal = is_terminal(&self.options);
        let picture = if wants_bytes { None } else { pty.picture(0, terminal).await.ok() };
        let before = self.cursor.offset();
        let newest = || pty.oldest().max(pty.head().saturating_sub(StreamOptions::DEFAULT_HISTORY));
        let to = picture.as_ref().map_or_else(newest, |picture| picture.cursor.offset()).max(before);
        let dropped = (to - before).div_ceil(limits::OUTPUT_PIECE).max(1);
        let offset = self.options.wants_offsets().then_some(to);
        self.queue.push_back(Piece::Event(StreamEvent::Lagged { dropped, offset }));
        match picture {
            Some(picture) => {
                // The output does not wait for this client again until it has caught up.
                picture.cursor.falls_behind();
                let bytes = self.continue_after(picture);
                self.show(&bytes);
            }
            None => {
                self.cursor.skip(to);
                self.due = pty.head();
            }
        }
    }

    /// Whether the client gets nothing before the next moment: it has lagged, and is one of many, for whom the output does
    /// not wait. A few are sent the output at once, and catch up.
    pub(super) fn waits_for_moments(&self) -> bool {
        self.keeps_lagging && self.cursor.offset() >= self.due && self.cursor.is_in_crowd()
    }

    /// Serves a client that has lagged at the next moment: with the output, if there was little of it meanwhile, else with
    /// the screen or the newest bytes. The flood itself would be sent to it for nothing, at the program's expense.
    pub(super) async fn catch_up(&mut self) {
        tokio::time::sleep(until_repaint(SystemTime::now(), limits::CROWD_REPAINT)).await;
        let head = self.cursor.pty().head();
        // If it lags, it does so at this moment, and does not wait for the next one.
        self.keeps_lagging = false;
        if head - self.cursor.offset() > limits::LAG_BACKLOG {
            self.repaint_lagging().await;
        }
    }

    /// Brings the client's terminal into the state of the screen, from any other state.
    pub(super) fn show(&mut self, picture: &[u8]) {
        self.push_picture(self.cursor.offset(), [swb_vt::RESET, picture].concat(), false);
    }

    /// Queues a picture; `part` if it shows what fits the client's window.
    pub(super) fn push_picture(&mut self, offset: Offset, bytes: Vec<u8>, part: bool) {
        let event = StreamEvent::Repaint { offset, bytes: bytes.len() as u64, part };
        let announced = self.options.repaint.then_some(event);
        self.queue.push_back(Piece::Picture { offset, bytes, announced });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_that_lag_wait_for_the_same_moment() {
        let step = limits::LAG_REPAINT;
        let at =
            |millis| until_repaint(SystemTime::UNIX_EPOCH + Duration::from_millis(millis), step).as_millis();
        let step = step.as_millis();
        assert_eq!([at(1_000_000), at(1_000_001), at(1_000_099)], [step, step - 1, step - 99]);
    }
}
