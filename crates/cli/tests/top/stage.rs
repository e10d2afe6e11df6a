//! Sessions to list, and a terminal of any size to look at.

use crate::support::agents::{AGENT, becomes, start};
use crate::support::view::screen;
use std::process::Command;
use std::time::{Duration, Instant};
use swb_testkit::{LIMIT, Swb, Terminal};
use swb_vt::Screen;

pub(crate) const EXE: &str = env!("CARGO_BIN_EXE_swb");

/// A dialog of claude; shows which key answered it.
pub(crate) const DIALOG: &str = r#"stty raw -echo
rule() { i=0; while [ $i -lt 60 ]; do printf '─'; i=$((i+1)); done; printf '\r\n'; }
rule
printf ' Bash command\r\n\r\n   rm -rf build\r\n   Remove the build directory\r\n\r\n Do you want to proceed?\r\n'
printf ' ❯ 1. Yes\r\n   2. Yes, and don’t ask again for rm commands in ~/src/shop\r\n   3. No, and tell Claude what to do differently (esc)\r\n'
exec cat -v"#;

/// The user's terminal, with what it shows.
pub(crate) struct Stage {
    pub(crate) terminal: Terminal,
    cols: u16,
    rows: u16,
}

impl Stage {
    pub(crate) fn start(command: Command, cols: u16, rows: u16) -> Self {
        Self { terminal: Terminal::start(command, cols, rows), cols, rows }
    }

    /// The list on a terminal of this size.
    pub(crate) fn top(swb: &Swb, cols: u16, rows: u16) -> Self {
        Self::start(swb.command(&["top"]), cols, rows)
    }

    /// Resizes the window.
    pub(crate) fn resize(&mut self, cols: u16, rows: u16) {
        self.terminal.resize(cols, rows);
        (self.cols, self.rows) = (cols, rows);
    }

    pub(crate) fn screen(&self) -> Screen {
        screen(self.terminal.seen(), self.cols, self.rows)
    }

    pub(crate) fn text(&self) -> String {
        self.screen().text()
    }

    /// Waits until the screen satisfies a condition.
    #[track_caller]
    pub(crate) fn until(&mut self, what: &str, condition: impl Fn(&str) -> bool) {
        let end = Instant::now() + LIMIT;
        while !condition(&self.text()) {
            assert!(Instant::now() < end, "the terminal never showed {what}, but\n{}", self.text());
            // Never shown: reads for a while.
            self.terminal.shows("\u{0}", Duration::from_millis(20));
        }
    }

    #[track_caller]
    pub(crate) fn until_text(&mut self, text: &str) {
        self.until(text, |screen| screen.contains(text));
    }

    pub(crate) fn press(&self, keys: &str) {
        self.terminal.type_in(keys.as_bytes());
    }
}

/// Runs a session with an agent that answers lines.
pub(crate) fn agent(swb: &Swb, name: &str) {
    start(swb, name, &["sh", "-c", AGENT], "ready");
}

/// Runs a session whose agent asks for a permission.
pub(crate) fn asks(swb: &Swb, name: &str, workspace: &str) {
    let place = swb.workspace(workspace);
    let place = place.to_str().unwrap();
    swb.ok(&["run", "-d", "-n", name, "-w", place, "--profile", "claude", "--", "sh", "-c", DIALOG]);
    becomes(swb, name, "asking");
}
