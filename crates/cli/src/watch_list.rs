//! Lists that are kept up to date: `swb ls --watch`, `swb approvals --watch`.

use crate::console::{print_bytes, print_json_text, print_text};
use crate::context::Context;
use crate::error::{Failure, Outcome};
use crate::event_stream::{EventStream, StreamItem};
use crate::limits;
use crate::panics;
use crate::table;
use crate::terminal::signals::Signals;
use crate::terminal::size;
use rustix::stdio::stdout;
use rustix::termios::isatty;
use serde::Serialize;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use swb_types::Size;
use swb_vt::printable;
use swb_wire::control::Events;

/// The alternate screen, without a cursor; dropping it restores the user's, also on a panic.
struct OwnScreen;

impl OwnScreen {
    fn enter() -> Result<Self, Failure> {
        print_bytes(b"\x1b[?1049h\x1b[?25l").map(|()| Self)
    }
}

impl Drop for OwnScreen {
    fn drop(&mut self) {
        // A terminal that is gone needs no restoring.
        drop(print_bytes(b"\x1b[?25h\x1b[?1049l"));
    }
}

/// Prints a list again and again, until it is interrupted.
pub(crate) fn run<T: Serialize>(
    context: &Context,
    look: impl Fn() -> Result<T, Failure>,
    text: impl Fn(&T) -> String,
) -> Outcome {
    let screen = !context.json && isatty(stdout());
    // Install the handlers before the terminal changes, so that no signal can leave it changed.
    let signals = if screen { Some(Signals::catch(&[SIGINT, SIGTERM, SIGHUP])?) } else { None };
    let mut events = EventStream::open(context, Events::default(), signals)?;
    if !screen {
        return follow(context, look, text, &mut events);
    }
    panics::keep_for_later();
    let _screen = OwnScreen::enter()?;
    show(look, text, &mut events)
}

fn show<T>(
    look: impl Fn() -> Result<T, Failure>,
    text: impl Fn(&T) -> String,
    events: &mut EventStream<'_>,
) -> Outcome {
    loop {
        let list = text(&look()?);
        print_bytes(&picture(&list, size::current().unwrap_or(Size::DEFAULT)))?;
        if settle(events)? {
            return Ok(0);
        }
    }
}

/// For files and programs: prints the list whenever it has changed.
fn follow<T: Serialize>(
    context: &Context,
    look: impl Fn() -> Result<T, Failure>,
    text: impl Fn(&T) -> String,
    events: &mut EventStream<'_>,
) -> Outcome {
    let mut last = String::new();
    loop {
        let list = look()?;
        let current = serde_json::to_string(&list)?;
        if current != last {
            match context.json {
                true => print_json_text(&format!("{current}\n"))?,
                false => print_text(&text(&list))?,
            }
            last = current;
        }
        if settle(events)? {
            return Ok(0);
        }
    }
}

/// Waits for an event, and a little longer for those that belong to it; true if it is time to end.
fn settle(events: &mut EventStream<'_>) -> Result<bool, Failure> {
    let mut wait = limits::LIST_REFRESH;
    for _ in 0..limits::LIST_GATHERED {
        match events.next(Some(wait))? {
            StreamItem::Signalled => return Ok(true),
            StreamItem::Quiet | StreamItem::Again => break,
            StreamItem::Event(..) => wait = limits::LIST_GATHER,
        }
    }
    Ok(false)
}

/// The list drawn over the previous one, cut to the size of the screen.
fn picture(list: &str, size: Size) -> Vec<u8> {
    let rows = usize::from(size.rows());
    // Erased before it is written: after a full row the cursor is still on the last character.
    let line = |line: &str| format!("\x1b[K{}", table::cut(&printable(line), size.cols().into()));
    let lines: Vec<String> = list.lines().take(rows).map(line).collect();
    let below = if lines.len() < rows { "\r\n\x1b[J" } else { "" };
    format!("\x1b[H{}{below}", lines.join("\r\n")).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_stays_on_the_screen() {
        let size = Size::new(4, 2).unwrap();
        assert_eq!(picture("abcdef\ng\nh\n", size), b"\x1b[H\x1b[Kabcd\r\n\x1b[Kg");
        // A row with wide characters must not push the others down.
        assert_eq!(picture("日本語\n", size), "\x1b[H\x1b[K日本\r\n\x1b[J".as_bytes());
    }
}
