//! The screen of the selected session: a watcher whose window is the part of the terminal beside the list.

use super::link::TopLink;
use crate::context::Context;
use crate::session::runs_below;
use swb_types::Size;
use swb_vt::{Options, Screen};
use swb_wire::control::{self, Attach, Attached, Operation, StreamFrame};

/// What is known of one session's screen.
#[derive(Debug)]
pub(super) struct SessionPreview {
    pub(super) session: String,
    link: Option<TopLink>,
    attached: bool,
    size: Size,
    screen: Option<Screen>,
    note: &'static str,
}

impl SessionPreview {
    /// Watches a session through a window of this size.
    pub(super) fn open(context: &Context, session: &str, size: Size) -> Self {
        let mut link = TopLink::reopen(context);
        let request = Attach {
            session: session.to_owned(),
            cols: Some(size.cols()),
            rows: Some(size.rows()),
            watch: true,
            offsets: true,
            repaint: true,
            scrollback: Some(0),
            ..Attach::default()
        };
        if let Some(link) = &mut link {
            link.send(&Operation::Attach(request));
        }
        Self { session: session.to_owned(), link, attached: false, size, screen: None, note: "" }
    }

    /// A session that has no terminal.
    pub(super) fn without_terminal(session: &str, size: Size) -> Self {
        let note = "a conversation; it has no terminal";
        Self { session: session.to_owned(), link: None, attached: false, size, screen: None, note }
    }

    /// Whether it follows the session, or there is nothing to follow.
    pub(super) fn is_open(&self) -> bool {
        self.link.is_some() || !self.note.is_empty()
    }

    /// Whether this client counts among those that are attached to the session.
    pub(super) fn counts(&self) -> bool {
        self.attached && self.link.is_some()
    }

    /// The screen, or why there is none.
    pub(super) fn shown(&self) -> (Option<&Screen>, &'static str) {
        (self.screen.as_ref(), self.note)
    }

    /// The connection, to wait for.
    pub(super) fn link(&self) -> Option<&TopLink> {
        self.link.as_ref()
    }

    /// The window has another size.
    pub(super) fn resize(&mut self, size: Size) {
        if size == self.size {
            return;
        }
        self.size = size;
        self.screen = self.screen.take().map(|_| blank(size));
        if let Some(link) = self.link.as_mut().filter(|_| self.attached) {
            link.resize(size.cols(), size.rows());
        }
    }

    /// Takes what has arrived; true if it changes what is shown.
    pub(super) fn receive(&mut self) -> bool {
        let Some(link) = &mut self.link else { return false };
        link.move_bytes();
        let mut changed = false;
        while let Some(frame) = self.link.as_mut().and_then(TopLink::frame) {
            changed = true;
            if self.attached {
                self.take(frame);
            } else {
                self.begin(&frame);
            }
        }
        if self.link.as_ref().is_some_and(TopLink::is_closed) {
            // What was seen last stays; a session that comes back is watched again.
            self.link = None;
        }
        changed
    }

    fn begin(&mut self, reply: &[u8]) {
        let attached = control::parse_reply::<Attached>(reply);
        match attached {
            Ok(attached) if attached.pid.is_some_and(runs_below) => {
                // It would show itself showing itself.
                (self.link, self.note) = (None, "this terminal");
            }
            Ok(_) => {
                self.attached = true;
                self.screen = Some(blank(self.size));
                if let Some(link) = &mut self.link {
                    link.enter_stream();
                }
            }
            Err(_) => (self.link, self.note) = (None, "its screen is not available"),
        }
    }

    fn take(&mut self, frame: Vec<u8>) {
        if let StreamFrame::Data(bytes) = control::parse_stream(frame)
            && let Some(screen) = &mut self.screen
        {
            screen.feed(&bytes);
            // A watcher answers nothing.
            drop((screen.take_replies(), screen.take_events()));
        }
    }
}

fn blank(size: Size) -> Screen {
    Screen::new(size, Options { scrollback: 0 })
}
