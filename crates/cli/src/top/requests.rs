//! The requests of the list: quick ones in a row over one connection, those that may take long over one each.

use super::link::TopLink;
use crate::context::Context;
use crate::limits;
use rustix::event::PollFd;
use std::collections::VecDeque;
use swb_wire::control::Operation;

/// Why a request was sent, to know what its reply means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The sessions.
    List,
    /// The approvals.
    Approvals,
    /// The screen of a session, for its last line.
    LastLine { session: String, asking: bool },
    /// An answer to an approval.
    Answer,
    /// A text for an agent.
    Ask { session: String },
    /// The end of a session.
    Kill { session: String },
    /// A turn typed into another session.
    Relay { to: String },
}

/// Requests on their way.
#[derive(Debug, Default)]
pub(super) struct Requests {
    quick: Option<TopLink>,
    /// What the replies on `quick` are for, in order.
    expected: VecDeque<Purpose>,
    slow: Vec<(TopLink, Purpose)>,
}

impl Requests {
    /// Uses a connection for quick requests; those sent before get no reply.
    pub(super) fn connected(&mut self, link: TopLink) {
        self.quick = Some(link);
        self.expected.clear();
    }

    /// Whether a reply for this purpose is on its way.
    pub(super) fn expects(&self, purpose: &Purpose) -> bool {
        self.expected.contains(purpose)
    }

    /// Number of replies on their way over the common connection.
    pub(super) fn outstanding(&self) -> usize {
        self.expected.len()
    }

    /// Sends a request whose reply comes at once; reconnects if the daemon closed the connection because it was idle.
    pub(super) fn ask(&mut self, context: &Context, request: &Operation, purpose: Purpose) {
        if self.quick.as_ref().is_none_or(TopLink::is_closed) {
            let Some(link) = TopLink::reopen(context) else { return };
            self.connected(link);
        }
        if let Some(quick) = &mut self.quick {
            quick.send(request);
            self.expected.push_back(purpose);
        }
    }

    /// Sends a request whose reply may take long; an error if too many are on their way or the daemon is not running.
    pub(super) fn start(
        &mut self,
        context: &Context,
        request: &Operation,
        purpose: Purpose,
    ) -> Result<(), &'static str> {
        if self.slow.len() >= limits::TOP_ACTIONS {
            return Err("too many requests are under way; wait for one of them");
        }
        let mut link = TopLink::reopen(context).ok_or("the daemon is not running")?;
        link.send(request);
        self.slow.push((link, purpose));
        Ok(())
    }

    /// Moves bytes and returns the replies that are complete; one that will not come is `None`.
    pub(super) fn replies(&mut self) -> Vec<(Purpose, Option<Vec<u8>>)> {
        let mut replies = Vec::new();
        if let Some(quick) = &mut self.quick {
            quick.move_bytes();
            while let Some(frame) = quick.frame() {
                if let Some(purpose) = self.expected.pop_front() {
                    replies.push((purpose, Some(frame)));
                }
            }
            if quick.is_closed() {
                self.quick = None;
                self.expected.clear();
            }
        }
        for (link, purpose) in &mut self.slow {
            link.move_bytes();
            let frame = link.frame();
            if frame.is_some() || link.is_closed() {
                replies.push((purpose.clone(), frame));
            }
        }
        self.slow
            .retain(|(link, purpose)| !link.is_closed() && !replies.iter().any(|(done, _)| done == purpose));
        replies
    }

    /// What to wait for.
    pub(super) fn poll_fds<'a>(&'a self, fds: &mut Vec<PollFd<'a>>) {
        fds.extend(self.quick.as_ref().map(TopLink::poll_fd));
        fds.extend(self.slow.iter().map(|(link, _)| link.poll_fd()));
    }
}
