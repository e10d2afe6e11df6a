//! The sending half of a stream: output straight from the ring, and pictures where output would not do.

use super::{Opening, StreamEnd, is_terminal};
use crate::conn::next_look;
use crate::limits;
use crate::outlet::{Outlet, OutputError};
use serde::Serialize;
use std::ops::ControlFlow;
use swb_engine::{Cursor, Mark, Picture, Step};
use swb_types::{Offset, Size};
use swb_vt::View;
use swb_wire::control::{Event, OkReply, StreamOptions, data_header, encode_control, encode_data};
use tokio::net::UnixStream;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

pub(super) struct Sender<'a> {
    pub(super) stream: &'a UnixStream,
    pub(super) options: StreamOptions,
    pub(super) until: Option<u64>,
    pub(super) window: watch::Receiver<Size>,
    pub(super) detach: &'a CancellationToken,
    pub(super) stop: &'a CancellationToken,
}

/// What becomes of a stream: it goes on, or it has ended.
type Flow<T = ()> = ControlFlow<StreamEnd, T>;

impl Sender<'_> {
    pub(super) async fn run(mut self, opening: Opening) -> StreamEnd {
        let cursor = match opening {
            Opening::Output(cursor) => Flow::Continue(cursor),
            Opening::Picture(picture) if self.looks_through_window(&picture.cursor) => {
                Flow::Continue(picture.cursor)
            }
            Opening::Picture(picture) => self.send_picture(picture).await,
        };
        let mut cursor = match cursor {
            Flow::Continue(cursor) => cursor,
            Flow::Break(end) => return end,
        };
        loop {
            let next = if self.looks_through_window(&cursor) {
                self.paint(cursor).await
            } else {
                self.send_output(cursor).await
            };
            match next {
                Flow::Continue(next) => cursor = next,
                Flow::Break(end) => return end,
            }
        }
    }

    /// Whether the client looks on from a terminal of another size, on which the output would be a mess. One that
    /// follows sizes has none of its own.
    fn looks_through_window(&self, cursor: &Cursor) -> bool {
        let looks_on = self.options.watch && self.options.repaint && !self.options.sizes;
        looks_on && *self.window.borrow() != cursor.pty().size()
    }

    /// Sends output until the stream ends, or the sizes differ.
    async fn send_output(&mut self, mut cursor: Cursor) -> Flow<Cursor> {
        let outlet = Outlet::new(self.stream);
        let mut pieces = 0;
        loop {
            if self.until.is_some_and(|until| cursor.offset() >= until) {
                return Flow::Break(self.tell(&Event::End { offset: Offset(cursor.offset()) }).await);
            }
            match cursor.step(limits::OUTPUT_FRAME) {
                Step::Output { to } => {
                    let to = to.min(self.until.unwrap_or(u64::MAX));
                    let header = data_header((to - cursor.offset()) as usize);
                    match self.unless_leaving(outlet.send_output(&header, &mut cursor, to)).await {
                        Ok(()) => {}
                        Err(OutputError::Lost) => cursor = self.lagged(cursor).await?,
                        Err(OutputError::Broken) => return Flow::Break(StreamEnd::Broken),
                    }
                }
                Step::Mark(mark) => {
                    self.tell_mark(mark).await?;
                    if self.looks_through_window(&cursor) {
                        return Flow::Continue(cursor);
                    }
                }
                Step::Lost { .. } => cursor = self.lagged(cursor).await?,
                Step::Idle => {
                    tokio::select! {
                        () = cursor.wait() => pieces = 0,
                        Ok(()) = self.window.changed() => {}
                        () = self.detach.cancelled() => {}
                        () = self.stop.cancelled() => {}
                    }
                    self.stay().await?;
                    if self.looks_through_window(&cursor) {
                        return Flow::Continue(cursor);
                    }
                }
            }
            pieces += 1;
            if pieces % limits::PIECES_PER_TURN == 0 {
                tokio::task::yield_now().await;
                // Neither a stop nor a detach waits for the end of a flood.
                self.stay().await?;
            }
        }
    }

    /// Says goodbye if it is time for that.
    async fn stay(&self) -> Flow {
        if self.stop.is_cancelled() {
            return Flow::Break(self.goodbye(false).await);
        }
        if self.detach.is_cancelled() {
            return Flow::Break(self.goodbye(true).await);
        }
        Flow::Continue(())
    }

    async fn tell_mark(&self, mark: Mark) -> Flow {
        match mark {
            Mark::Resized { generation, size } if self.options.sizes => {
                let (cols, rows) = (size.cols(), size.rows());
                self.tell_on(&Event::Resized { cols, rows, generation }).await
            }
            Mark::Resized { .. } => Flow::Continue(()),
            // CO-62
            Mark::Restarting { delay_ms } => self.tell_on(&Event::PtyRestarting { delay_ms }).await,
            // CO-61
            Mark::Exited(status) => Flow::Break(self.tell(&Event::PtyExited { code: status.code() }).await),
        }
    }

    /// Does something that takes as long as the client takes to read; one that does not holds up neither a stop
    /// nor its own detach for long.
    async fn unless_leaving(
        &self,
        sent: impl Future<Output = Result<(), OutputError>>,
    ) -> Result<(), OutputError> {
        let leaving = async {
            tokio::select! {
                () = self.stop.cancelled() => {}
                () = self.detach.cancelled() => {}
            }
            tokio::time::sleep(limits::GOODBYE).await;
        };
        tokio::select! {
            biased;
            sent = sent => sent,
            () = leaving => Err(OutputError::Broken),
        }
    }

    /// Tells a client that was too slow that it missed something (CO-65, CO-66), and shows it what the screen
    /// looks like now. Whoever wants the bytes rather than the screen goes on with what is left of them.
    async fn lagged(&self, mut cursor: Cursor) -> Flow<Cursor> {
        let pty = cursor.pty();
        let wants_bytes = (self.options.watch || self.options.wants_offsets()) && !self.options.repaint;
        let terminal = is_terminal(&self.options);
        let picture = if wants_bytes { None } else { pty.picture(0, terminal).await.ok() };
        let before = cursor.offset();
        let newest = || pty.oldest().max(pty.head().saturating_sub(StreamOptions::DEFAULT_HISTORY));
        let to = picture.as_ref().map_or_else(newest, |picture| picture.cursor.offset()).max(before);
        let dropped = (to - before).div_ceil(limits::OUTPUT_FRAME).max(1);
        let offset = self.options.wants_offsets().then_some(Offset(to));
        self.tell_on(&Event::Lagged { dropped, offset }).await?;
        let Some(picture) = picture else {
            cursor.skip(to);
            return Flow::Continue(cursor);
        };
        // Nobody waits for it again before it has caught up.
        picture.cursor.falls_behind();
        drop(cursor);
        self.send_picture(picture).await
    }

    /// Brings the client's terminal into the state of the screen, whatever it shows.
    async fn send_picture(&self, picture: Picture) -> Flow<Cursor> {
        let Picture { bytes, cursor } = picture;
        self.send_bytes(&[swb_vt::RESET, &bytes].concat(), cursor.offset()).await?;
        Flow::Continue(cursor)
    }

    /// Sends bytes that are no output but show what there is before `offset`.
    async fn send_bytes(&self, picture: &[u8], offset: u64) -> Flow {
        let mut frames = Vec::with_capacity(picture.len() + 64);
        if self.options.repaint {
            let event = Event::Repaint { offset: Offset(offset), bytes: picture.len() as u64 };
            if encode_control(&event, &mut frames).is_err() {
                return Flow::Break(StreamEnd::Broken);
            }
        }
        for piece in picture.chunks(limits::OUTPUT_FRAME as usize) {
            encode_data(piece, &mut frames);
        }
        let sent = async { Outlet::new(self.stream).send(&frames).await.map_err(OutputError::from) };
        match self.unless_leaving(sent).await {
            Ok(()) => Flow::Continue(()),
            Err(_) => Flow::Break(StreamEnd::Broken),
        }
    }

    /// Shows the part of the screen that fits the client's terminal, until the sizes are the same.
    async fn paint(&mut self, mut cursor: Cursor) -> Flow<Cursor> {
        let pty = std::sync::Arc::clone(cursor.pty());
        cursor.falls_behind();
        let mut view = View::new(*self.window.borrow_and_update());
        // Leaves what a picture or output may have set before.
        self.send_bytes(swb_vt::RESET, cursor.offset()).await?;
        loop {
            let end = self.pass_over(&mut cursor).await?;
            let (picture, offset, again) =
                match pty.look(true, move |sight| (view.paint(sight.screen()), sight.offset(), view)).await {
                    Ok(seen) => seen,
                    Err(_) => return Flow::Break(StreamEnd::Broken),
                };
            view = again;
            self.send_bytes(&picture, offset).await?;
            if let Some(end) = end {
                self.tell_mark(end).await?;
            }
            tokio::select! {
                () = next_look(&cursor, limits::VIEW_PAUSE) => {}
                Ok(()) = self.window.changed() => view.resize(*self.window.borrow_and_update()),
                () = self.detach.cancelled() => {}
                () = self.stop.cancelled() => {}
            }
            self.stay().await?;
            if !self.looks_through_window(&cursor) {
                return match pty.picture(0, false).await {
                    Ok(picture) => self.send_picture(picture).await,
                    Err(_) => Flow::Break(StreamEnd::Broken),
                };
            }
        }
    }

    /// Passes over output that is shown as a picture, and tells what happened in it; gives the end if there is
    /// one, to be told behind the last picture.
    async fn pass_over(&self, cursor: &mut Cursor) -> Flow<Option<Mark>> {
        loop {
            match cursor.step(u64::MAX) {
                Step::Output { to } => cursor.advance(to - cursor.offset()),
                Step::Lost { oldest } => cursor.skip(oldest),
                Step::Mark(end @ Mark::Exited(_)) => return Flow::Continue(Some(end)),
                Step::Mark(mark) => self.tell_mark(mark).await?,
                Step::Idle => return Flow::Continue(None),
            }
        }
    }

    /// CO-59 when the client asked for it, CO-48 when the daemon stops.
    async fn goodbye(&self, asked: bool) -> StreamEnd {
        let words = async {
            if asked && self.tell(&OkReply::default()).await == StreamEnd::Broken {
                return StreamEnd::Broken;
            }
            self.tell(&Event::Detached).await
        };
        tokio::time::timeout(limits::GOODBYE, words).await.unwrap_or(StreamEnd::Broken)
    }

    async fn tell_on(&self, message: &impl Serialize) -> Flow {
        match self.tell(message).await {
            StreamEnd::Finished => Flow::Continue(()),
            broken => Flow::Break(broken),
        }
    }

    async fn tell(&self, message: &impl Serialize) -> StreamEnd {
        let mut bytes = Vec::new();
        if encode_control(message, &mut bytes).is_err() {
            return StreamEnd::Broken;
        }
        match Outlet::new(self.stream).send(&bytes).await {
            Ok(()) => StreamEnd::Finished,
            Err(_) => StreamEnd::Broken,
        }
    }
}
