//! Switches the user's terminal to raw mode and back.
//!
//! The saved settings are in one process-wide variable, so that both the guard and the panic hook can restore
//! them. Restoring twice does no harm; the first call takes them.

use crate::console::eprint_line;
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
    /// Returns `None` if standard input is not a terminal.
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

    /// Switches to raw mode again, after a shell has used the terminal.
    pub(crate) fn renew(&self) -> io::Result<()> {
        apply_raw(tcgetattr(stdin())?)
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        restore();
    }
}

/// Restores the settings of the terminal, if this process changed them.
pub(crate) fn restore() {
    let saved = SAVED.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(before) = saved
        && let Err(error) = tcsetattr(stdin(), OptionalActions::Now, &before)
        // If the terminal is gone, there is nothing to restore.
        && error != rustix::io::Errno::IO
    {
        eprint_line(format_args!("swb: cannot restore the terminal: {error}; run `stty sane`"));
    }
}

fn apply_raw(mut settings: Termios) -> io::Result<()> {
    settings.make_raw();
    settings.special_codes[SpecialCodeIndex::VMIN] = 1;
    settings.special_codes[SpecialCodeIndex::VTIME] = 0;
    Ok(tcsetattr(stdin(), OptionalActions::Now, &settings)?)
}
