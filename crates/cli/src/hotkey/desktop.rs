//! What a window system has to offer: keys, the focus, and a clipboard (CH-12).
//!
//! Three separate interfaces, so that each can be replaced. [`open`] chooses an implementation of each.

use super::action::{Hotkey, HotkeyAction};
use super::{tmux, x11};
use crate::error::Failure;
use clap::ValueEnum;
use std::os::fd::BorrowedFd;

/// Where keys are bound, as the user chooses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackendChoice {
    /// The X server of $DISPLAY
    X11,
    /// The tmux server of $TMUX
    Tmux,
    /// x11 if $DISPLAY is set, else tmux if $TMUX is set
    Detect,
}

/// Where keys are bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Backend {
    X11,
    Tmux,
}

impl BackendChoice {
    /// Resolves `detect`; `is_set` returns whether a variable is set and not empty.
    pub(super) fn resolve(self, is_set: impl Fn(&str) -> bool) -> Backend {
        match self {
            Self::X11 => Backend::X11,
            Self::Tmux => Backend::Tmux,
            Self::Detect if !is_set("DISPLAY") && is_set("TMUX") => Backend::Tmux,
            Self::Detect => Backend::X11,
        }
    }
}

/// Binds keys, and reports when they are pressed.
pub(super) trait KeyGrabber {
    /// Binds all hotkeys; returns those that could not be bound, with the reason.
    fn grab(&mut self) -> Result<Vec<GrabFailure>, Failure>;

    /// Events that have arrived, without waiting. An error means that the window system is gone.
    fn events(&mut self) -> Result<Vec<KeyEvent>, Failure>;

    /// Descriptors that become readable when there are events.
    fn descriptors(&self) -> Vec<BorrowedFd<'_>>;

    /// Removes all bindings.
    fn release(&mut self);
}

/// Finds the window that has the focus.
pub(super) trait FocusLookup {
    /// The focused window at the place where a key was pressed.
    fn focused(&mut self, at: PressedAt) -> Result<FocusedWindow, Failure>;
}

/// A clipboard of the window system, for content that the broker cannot deliver to its own.
pub(super) trait ClipboardAccess {
    /// Replaces the content of the clipboard; returns what people call it.
    fn store(&mut self, content: &[u8]) -> Result<&'static str, String>;
}

/// A hotkey that is not bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GrabFailure {
    pub(super) action: HotkeyAction,
    pub(super) why: &'static str,
}

/// Something that a [`KeyGrabber`] reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KeyEvent {
    Pressed {
        action: HotkeyAction,
        at: PressedAt,
    },
    /// A binding no longer works, because the keyboard layout has changed.
    Lost(GrabFailure),
    /// A binding works again.
    Restored(HotkeyAction),
}

/// Where a key was pressed: a screen of the X server, a pane of tmux.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PressedAt(pub(super) u32);

/// The window that has the focus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FocusedWindow {
    /// The process that it belongs to.
    Process(u32),
    /// Its process is unknown, for this reason.
    Unknown(&'static str),
}

/// The three interfaces of one window system.
pub(super) struct Desktop {
    pub(super) keys: Box<dyn KeyGrabber>,
    pub(super) focus: Box<dyn FocusLookup>,
    /// `None` where the broker's clipboard is that of the desktop.
    pub(super) clipboard: Option<Box<dyn ClipboardAccess>>,
}

/// Connects to a window system.
pub(super) fn open(backend: Backend, hotkeys: &[Hotkey]) -> Result<Desktop, Failure> {
    match backend {
        Backend::X11 => x11::open(hotkeys),
        Backend::Tmux => tmux::open(hotkeys),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // CH-12
    #[test]
    fn detect_prefers_a_display() {
        let with = |set: &'static [&'static str]| {
            BackendChoice::Detect.resolve(move |variable| set.contains(&variable))
        };
        assert_eq!(with(&["DISPLAY", "TMUX"]), Backend::X11);
        assert_eq!(with(&["TMUX"]), Backend::Tmux);
        assert_eq!(with(&[]), Backend::X11, "which fails for want of a display");
        assert_eq!(BackendChoice::X11.resolve(|variable| variable == "TMUX"), Backend::X11);
        assert_eq!(BackendChoice::Tmux.resolve(|_| true), Backend::Tmux);
    }
}
