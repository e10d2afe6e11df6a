//! `swb top`: the list of sessions on a full screen, and over an attached session.
//!
//! What it shows and what keys do is in `swb_tui::top`; here are the terminal ([`terminal`]), the connections to the daemon
//! ([`link`], [`requests`], [`preview`]), the loop that brings them together ([`browser`]), what it learns ([`updates`]) and what
//! it does ([`actions`]). Nothing is polled: the loop
//! sleeps until a key, an event, output of the selected session, or a moment at which a shown age changes.

mod actions;
mod browser;
mod clock;
mod link;
mod preview;
mod requests;
mod rows;
mod terminal;
mod updates;

use crate::commands::ls;
use crate::context::Context;
use crate::error::{Failure, Outcome};
use crate::{args, session};
use rustix::stdio::{stdin, stdout};
use rustix::termios::isatty;
use swb_tui::top::Top;

/// What the user chose in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TopChoice {
    /// To attach to a session.
    Attach(String),
    /// To leave the list.
    Quit,
    /// To open a shell in a session.
    Shell(String),
    /// The terminal is gone, or a signal asked this process to end; the exit code.
    Ended(u8),
}

/// Shows the list until the user leaves it, attaches to a session, or ends it. As JSON, prints the list once.
pub(crate) fn run(context: &Context) -> Outcome {
    if context.json {
        return ls::run(context, &args::LsArgs::default());
    }
    if !is_usable() {
        return Err(Failure::usage("`swb top` needs a terminal that can be drawn on")
            .hint("`swb ls` prints the list, `swb ls --watch` keeps it up to date"));
    }
    session::follow_choice(context, choose(context, ListStart::default())?)
}

/// How the list begins.
#[derive(Debug, Default)]
pub(crate) struct ListStart {
    /// The session it is open over.
    pub(crate) home: Option<String>,
    /// The session to select.
    pub(crate) select: Option<String>,
    /// Input that has been read already.
    pub(crate) typed: Vec<u8>,
    /// Only show the keys.
    pub(crate) help: bool,
}

/// Whether there is a terminal for a full screen.
pub(crate) fn is_usable() -> bool {
    let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    isatty(stdin()) && isatty(stdout()) && !dumb
}

/// Shows the list until the user has chosen.
pub(crate) fn choose(context: &Context, start: ListStart) -> Result<TopChoice, Failure> {
    let top = Top::new(start.home, start.select, start.help);
    browser::Browser::open(context, top)?.run(&start.typed)
}
