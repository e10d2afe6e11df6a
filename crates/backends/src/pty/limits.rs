//! Waits of conversations with terminals, with their reasons.

use std::time::Duration;

/// Columns and rows of a terminal made for a conversation: wide enough for code, as high as most windows.
pub(super) const SIZE: [u16; 2] = [120, 40];
/// How long a program may take to end by itself when its conversation is deleted.
pub(super) const KILL_GRACE: Duration = Duration::from_secs(1);
/// How long an agent may take to start, or to finish what somebody else has asked it.
pub(super) const READY: Duration = Duration::from_secs(60);
/// How long an agent that seems to be busy may be about to be free, until it is told that it is not.
pub(super) const DOUBT: Duration = Duration::from_millis(500);
/// Pause between two looks at an answer that grows: smooth to the eye.
pub(super) const LOOK: Duration = Duration::from_millis(40);
/// A look may take this part of the time in between, as others need their screens too.
pub(super) const LOOK_SHARE: u32 = 20;
/// How long the screen is looked at after it came to rest: longer than a line must stand to be told.
pub(super) const REST: Duration = Duration::from_secs(2);
/// How long an agent may be ready without having answered, until it is clear that there will be no answer.
pub(super) const NOTHING: Duration = Duration::from_secs(3);
/// How long an agent that was interrupted is waited for; a generation has 1.2 s to stop.
pub(super) const STOPPED: Duration = Duration::from_millis(900);
/// After so long without effect the keys that interrupt are pressed again.
pub(super) const PRESS_AGAIN: Duration = Duration::from_millis(600);
/// How long a dialog is given when everything is to stop.
pub(super) const DISMISS: Duration = Duration::from_millis(300);
/// How long a program in a terminal may take to end by itself when another agent takes its place.
pub(crate) const REPLACED: Duration = Duration::from_secs(1);
