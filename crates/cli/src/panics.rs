//! The message of a panic while the terminal is in raw mode.
//!
//! The message would be lost on an alternate screen, so it is kept until every guard has run and `main` has
//! restored the terminal.

use crate::console::eprint_text;
use crate::terminal::raw;
use std::panic;
use std::sync::{Mutex, PoisonError};

static MESSAGES: Mutex<String> = Mutex::new(String::new());

/// Makes panics of this thread restore the terminal first and print their message later.
pub(crate) fn keep_for_later() {
    let here = std::thread::current().id();
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if std::thread::current().id() != here {
            // Other threads do not unwind to `main`.
            return usual(info);
        }
        raw::restore();
        let mut messages = MESSAGES.lock().unwrap_or_else(PoisonError::into_inner);
        messages.push_str(&format!(
            "swb: internal error: {info}\nhint: please report this; sessions are not affected\n"
        ));
    }));
}

/// Prints the kept message.
pub(crate) fn print_messages() {
    let messages = std::mem::take(&mut *MESSAGES.lock().unwrap_or_else(PoisonError::into_inner));
    eprint_text(&messages);
}

/// Panics when the user types the value of the variable, so that tests can see what a panic leaves behind.
#[cfg(debug_assertions)]
pub(crate) fn provoke(typed: &[u8]) {
    if std::env::var("SWB_TEST_PANIC").is_ok_and(|keys| typed == keys.as_bytes()) {
        panic!("SWB_TEST_PANIC asked for it");
    }
}
