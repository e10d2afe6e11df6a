//! The X server: keys grabbed on the root windows, and the focus by the properties of window managers.

mod focus;
mod held_keys;
mod keymap;
mod keys;

use super::action::Hotkey;
use super::desktop::Desktop;
use crate::error::Failure;
use focus::X11Focus;
use keys::X11Keys;
use std::rc::Rc;
use x11rb::errors::ConnectionError;
use x11rb::rust_connection::RustConnection;

/// Connects to the X server of `$DISPLAY`.
pub(super) fn open(hotkeys: &[Hotkey]) -> Result<Desktop, Failure> {
    let (connection, _screen) = x11rb::connect(None).map_err(|error| no_display(&error))?;
    let connection: Rc<RustConnection> = Rc::new(connection);
    Ok(Desktop {
        keys: Box::new(X11Keys::new(Rc::clone(&connection), hotkeys.to_vec())?),
        focus: Box::new(X11Focus::new(connection)?),
        clipboard: None,
    })
}

fn no_display(error: &dyn std::error::Error) -> Failure {
    match std::env::var("DISPLAY").ok().filter(|display| !display.is_empty()) {
        None => Failure::general("no display: DISPLAY is not set")
            .hint("run it in a graphical session with an X server, or inside tmux"),
        Some(display) => Failure::general(format!("no display: cannot connect to {display}: {error}"))
            .hint("is the X server running, and may you connect to it?"),
    }
}

fn lost(error: &ConnectionError) -> Failure {
    Failure::general(format!("the connection to the display was lost: {error}"))
}
