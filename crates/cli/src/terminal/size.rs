//! The size of the user's terminal.

use rustix::stdio::{stderr, stdin, stdout};
use rustix::termios::tcgetwinsize;
use swb_types::Size;

/// The size of the terminal of this process, if it has one that knows its size.
pub(crate) fn current() -> Option<Size> {
    // Any of the three may be redirected.
    [stdout(), stdin(), stderr()].into_iter().find_map(|fd| {
        let size = tcgetwinsize(fd).ok()?;
        Size::new(size.ws_col, size.ws_row)
    })
}
