//! Repaints a client that lags: it gets an event that it missed output, and the current screen.

use super::is_terminal;
use super::output::{Piece, TerminalOutput};
use crate::limits;
use std::sync::Arc;
use swb_engine::Picture;
use swb_types::Offset;
use swb_wire::control::{StreamEvent, StreamOptions};
use tokio::time::Instant;

impl TerminalOutput {
    /// Reports to a client that was too slow that it missed output (CO-65, CO-66), and sends it the current
    /// screen. A client that requested bytes rather than the screen continues with the remaining ones.
    pub(super) async fn repaint_lagging(&mut self) {
        if let Some(due) = self.next_repaint {
            tokio::time::sleep_until(due).await;
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
        // Many that are too slow must not keep the processor busy with pictures that nobody has time to see.
        self.next_repaint = self.remote.then(|| Instant::now() + limits::LAG_REPAINT);
    }

    /// Brings the client's terminal into the state of the screen, whatever it shows.
    pub(super) fn show(&mut self, picture: &[u8]) {
        self.push_picture(self.cursor.offset(), [swb_vt::RESET, picture].concat());
    }

    pub(super) fn push_picture(&mut self, offset: Offset, bytes: Vec<u8>) {
        self.queue.push_back(Piece::Picture { offset, bytes, announced: self.options.repaint });
    }
}
