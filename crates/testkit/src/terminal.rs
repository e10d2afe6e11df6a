//! A program on a PTY of the test.

use crate::{LIMIT, sys};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::pty::OpenptFlags;
use rustix::termios::{OptionalActions, Termios, Winsize};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};
use swb_types::Size;
use swb_vt::{Options, Screen};

/// A program with a terminal, and the user at it.
///
/// The terminal is the program's controlling terminal, so that resizing and closing the window reach it as
/// usual.
#[derive(Debug)]
pub struct Terminal {
    master: OwnedFd,
    /// Kept open so that the terminal and its modes outlive the program.
    slave: OwnedFd,
    child: Child,
    /// The modes from before the program could change them.
    first_modes: Termios,
    seen: Vec<u8>,
    /// The screen with everything shown so far.
    screen: Screen,
}

impl Terminal {
    /// Starts `command` on a new terminal.
    pub fn start(command: Command, cols: u16, rows: u16) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = rustix::pty::openpt(flags).expect("a terminal");
        rustix::pty::unlockpt(&master).expect("a terminal");
        let slave = rustix::pty::ioctl_tiocgptpeer(&master, flags).expect("a terminal");
        let size = Winsize { ws_row: rows, ws_col: cols, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(&master, size).expect("a size");
        let first_modes = rustix::termios::tcgetattr(&slave).expect("modes");
        let child = spawn(command, &slave);
        let screen = Screen::new(Size::new(cols, rows).expect("a size"), Options::default());
        Self { master, slave, child, first_modes, seen: Vec::new(), screen }
    }

    /// Starts another program on this terminal, whose last one has ended; clears the output seen so far.
    #[track_caller]
    pub fn next(&mut self, command: Command) {
        let ended = self.child.try_wait().expect("a child").is_some();
        assert!(ended, "one program at a time");
        self.seen.clear();
        self.child = spawn(command, &self.slave);
    }

    /// The program's process.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// The terminal's modes.
    pub fn modes(&self) -> Termios {
        rustix::termios::tcgetattr(&self.slave).expect("modes")
    }

    /// Requires that the modes are those from before the first program.
    #[track_caller]
    pub fn assert_modes_restored(&self) {
        assert_eq!(format!("{:?}", self.modes()), format!("{:?}", self.first_modes));
    }

    /// Changes the terminal's modes, as a shell does between two programs.
    pub fn set_modes(&self, modes: &Termios) {
        rustix::termios::tcsetattr(&self.slave, OptionalActions::Now, modes).expect("modes");
    }

    /// Types.
    pub fn type_in(&self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let n = rustix::io::write(&self.master, rest).expect("the terminal takes keys");
            rest = &rest[n..];
        }
    }

    /// Resizes the window; the kernel notifies the program.
    pub fn resize(&mut self, cols: u16, rows: u16) {
        self.screen.resize(Size::new(cols, rows).expect("a size"));
        let size = Winsize { ws_row: rows, ws_col: cols, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(&self.master, size).expect("a size");
    }

    /// Closes the window; returns the program's exit code, or 128 plus the signal that ended it.
    #[track_caller]
    pub fn close(&mut self) -> i32 {
        let nothing = || OwnedFd::from(std::fs::File::open("/dev/null").expect("/dev/null"));
        (self.master, self.slave) = (nothing(), nothing());
        let child = &mut self.child;
        code(crate::wait_for("the program's end", || child.try_wait().expect("a child")))
    }

    /// Sends the program a signal.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).expect("the program lives");
    }

    /// Everything the terminal has shown so far.
    pub fn seen(&self) -> &[u8] {
        &self.seen
    }

    /// The screen, as a terminal that wraps lines anew when it is resized shows it.
    pub fn screen(&self) -> &Screen {
        &self.screen
    }

    /// Waits until the text of the screen fulfils a condition; panics with `what` if it does not within the limit.
    #[track_caller]
    pub fn until_screen(&mut self, what: &str, condition: impl Fn(&str) -> bool) {
        let end = Instant::now() + LIMIT;
        // What is being drawn is not to be seen yet.
        while self.screen.modes().synchronized || !condition(&self.screen.text()) {
            let left = self.read(end);
            assert!(left, "timed out waiting for {what}; the screen shows\n{}", self.screen.text());
        }
    }

    /// Clears the output seen so far; the screen stays.
    pub fn forget(&mut self) {
        self.seen.clear();
    }

    /// Waits until `text` has been shown since the last [`Terminal::forget`].
    #[track_caller]
    pub fn until(&mut self, text: &str) {
        if !self.shows(text, LIMIT) {
            panic!("the terminal never showed {text:?}, but {:?}", String::from_utf8_lossy(&self.seen));
        }
    }

    /// Whether `text` has been shown, or is within `limit`.
    pub fn shows(&mut self, text: &str, limit: Duration) -> bool {
        let end = Instant::now() + limit;
        let mut looked_at = 0_usize;
        loop {
            // The bytes searched before can only contain its beginning.
            let from = (looked_at + 1).saturating_sub(text.len());
            if contains(&self.seen[from..], text.as_bytes()) {
                return true;
            }
            looked_at = self.seen.len();
            if !self.read(end) {
                return false;
            }
        }
    }

    /// Waits for the program's end and reads the rest; returns its exit code, or 128 plus the signal.
    #[track_caller]
    pub fn wait(&mut self) -> i32 {
        let end = Instant::now() + LIMIT;
        let status = loop {
            self.read(Instant::now() + Duration::from_millis(20));
            if let Some(status) = self.child.try_wait().expect("a child") {
                break status;
            }
            let shown = String::from_utf8_lossy(&self.seen);
            assert!(Instant::now() < end, "the program did not end; the terminal shows {shown:?}");
        };
        while self.read(Instant::now() + Duration::from_millis(20)) {}
        code(status)
    }

    fn read(&mut self, end: Instant) -> bool {
        let left = end.saturating_duration_since(Instant::now());
        let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        let mut fds = [PollFd::new(&self.master, PollFlags::IN)];
        match rustix::event::poll(&mut fds, Some(&left)) {
            Ok(0) => return false,
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => panic!("polling the terminal: {error}"),
        }
        let mut bytes = [0; 65536];
        match rustix::io::read(&self.master, &mut bytes) {
            Ok(0) => false,
            Ok(n) => {
                self.seen.extend_from_slice(&bytes[..n]);
                self.screen.feed(&bytes[..n]);
                drop((self.screen.take_events(), self.screen.take_replies()));
                true
            }
            Err(_) => false,
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ended = (self.child.kill(), self.child.wait());
    }
}

fn spawn(mut command: Command, slave: &OwnedFd) -> Child {
    let stdio = || slave.try_clone().expect("a descriptor");
    command.stdin(stdio()).stdout(stdio()).stderr(stdio());
    sys::with_controlling_terminal(&mut command).spawn().expect("the program starts")
}

fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

fn contains(data: &[u8], text: &[u8]) -> bool {
    data.windows(text.len()).any(|window| window == text)
}
