//! Repaints a client that lags: it gets an event that it missed output, and the current screen.

use super::is_terminal;
use super::output::{Piece, TerminalOutput};
use crate::limits;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use swb_engine::Picture;
use swb_types::Offset;
use swb_wire::control::{StreamEvent, StreamOptions};

/// How long a client that lags again has to wait. All of them wait for the same moments, so that the screen is drawn once for
/// all, and not all the time: a screen that has to show every moment of a flood slows the program down.
fn until_repaint(now: SystemTime) -> Duration {
    let step = limits::LAG_REPAINT.as_millis();
    let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_millis();
    Duration::from_millis((step - since % step) as u64)
}

impl TerminalOutput {
    /// Reports to a client that was too slow that it missed output (CO-65, CO-66), and sends it the current
    /// screen. A client that requested bytes rather than the screen continues with the remaining ones.
    pub(super) async fn repaint_lagging(&mut self) {
        if std::mem::replace(&mut self.keeps_lagging, self.remote) {
            tokio::time::sleep(until_repaint(SystemTime::now())).await;
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
            Some(Picture { bytes, cursor }) => {
                // The output does not wait for this client again until it has caught up.
                cursor.falls_behind();
                self.continue_at(cursor);
                self.show(&bytes);
            }
            None => self.cursor.skip(to),
        }
    }

    /// Brings the client's terminal into the state of the screen, whatever it shows.
    pub(super) fn show(&mut self, picture: &[u8]) {
        self.push_picture(self.cursor.offset(), [swb_vt::RESET, picture].concat());
    }

    pub(super) fn push_picture(&mut self, offset: Offset, bytes: Vec<u8>) {
        self.queue.push_back(Piece::Picture { offset, bytes, announced: self.options.repaint });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_that_lag_wait_for_the_same_moment() {
        let at = |millis| until_repaint(SystemTime::UNIX_EPOCH + Duration::from_millis(millis)).as_millis();
        let step = limits::LAG_REPAINT.as_millis();
        assert_eq!([at(1_000_000), at(1_000_001), at(1_000_099)], [step, step - 1, step - 99]);
    }
}
