//! Timeouts of conversations with terminals, with their reasons.

use std::time::Duration;

/// Columns and rows of a terminal created for a conversation: wide enough for code, as high as most windows.
pub(super) const SIZE: [u16; 2] = [120, 40];
/// How long a program may take to exit when its conversation is deleted.
pub(super) const KILL_GRACE: Duration = Duration::from_secs(1);
/// How long an agent may take to start, or to finish another client's prompt.
pub(super) const READY: Duration = Duration::from_secs(60);
/// How long an agent may look busy before the client is notified: it may be about to finish.
pub(super) const DOUBT: Duration = Duration::from_millis(500);
/// Pause between two looks at a growing answer: smooth to the eye.
pub(super) const LOOK: Duration = Duration::from_millis(40);
/// A look may take 1/N of the time between looks, as other sessions need their screens too.
pub(super) const LOOK_SHARE: u32 = 20;
/// How long to keep looking after the output stopped: longer than a line must be stable to be sent.
pub(super) const REST: Duration = Duration::from_secs(2);
/// How long an agent may be ready without an answer before the prompt counts as unanswered.
pub(super) const NOTHING: Duration = Duration::from_secs(3);
/// How long to wait for an agent that was interrupted; a generation has 1.2 s to stop.
pub(super) const STOPPED: Duration = Duration::from_millis(900);
/// If the interrupt keys had no effect within this time, they are pressed again.
pub(super) const PRESS_AGAIN: Duration = Duration::from_millis(600);
/// How long to wait for a dialog to close when the answer is stopped.
pub(super) const DISMISS: Duration = Duration::from_millis(300);
/// How long the search for installed agents may delay the start of the daemon: a directory may not respond.
pub(crate) const SEARCH: Duration = Duration::from_secs(2);
/// How long a program in a terminal may take to end by itself when another agent takes its place.
pub(crate) const REPLACED: Duration = Duration::from_secs(1);
/// Number of looks that must show the same dialog before it is trusted: dialogs are drawn bit by bit.
pub(super) const DIALOG_SURE: u16 = 2;
/// Number of looks without a readable dialog while the agent's state is "asking", which outlasts the dialog a little.
pub(super) const DIALOG_UNREADABLE: u16 = 40;
