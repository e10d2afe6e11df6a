//! Raw mode of the user's terminal, and its way back.
//!
//! The saved settings live in one process-wide place, so that the panic hook can restore them as well as
//! the guard. Restoring twice does no harm; whoever comes first takes them out.

use crate::console::say;
use rustix::stdio::stdin;
use rustix::termios::{OptionalActions, SpecialCodeIndex, Termios, isatty, tcgetattr, tcsetattr};
use std::io;
use std::sync::{Mutex, PoisonError};

static SAVED: Mutex<Option<Termios>> = Mutex::new(None);

/// Keeps the terminal on standard input raw until it is dropped.
#[derive(Debug)]
pub(crate) struct RawMode(());

impl RawMode {
    /// Switches to raw mode: no echo, no lines, no signal keys, no changes to output.
    ///
    /// Gives nothing when standard input is no terminal.
    pub(crate) fn enter() -> io::Result<Option<Self>> {
        if !isatty(stdin()) {
            return Ok(None);
        }
        let before = tcgetattr(stdin())?;
        *SAVED.lock().unwrap_or_else(PoisonError::into_inner) = Some(before.clone());
        let guard = Self(());
        apply_raw(before)?;
        Ok(Some(guard))
    }

    /// Switches to raw mode again, after a shell had the terminal in between.
    pub(crate) fn renew(&self) -> io::Result<()> {
        apply_raw(tcgetattr(stdin())?)
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal its settings back, if this process changed them.
pub(crate) fn restore() {
    let saved = SAVED.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(before) = saved
        && let Err(error) = tcsetattr(stdin(), OptionalActions::Now, &before)
        // The terminal may be gone altogether, and then there is nothing to restore.
        && error != rustix::io::Errno::IO
    {
        say(format_args!("swb: could not restore the terminal: {error}; `stty sane` does"));
    }
}

fn apply_raw(mut settings: Termios) -> io::Result<()> {
    settings.make_raw();
    settings.special_codes[SpecialCodeIndex::VMIN] = 1;
    settings.special_codes[SpecialCodeIndex::VTIME] = 0;
    Ok(tcsetattr(stdin(), OptionalActions::Now, &settings)?)
}
