//! A display of the test: Xvfb, a window manager, and xterms in it.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use swb_testkit::{in_time, text, wait_for};

/// A virtual X server with a window manager. Dropping it ends both.
pub(crate) struct Display {
    name: String,
    server: Child,
    manager: Child,
}

/// A window with a terminal.
pub(crate) struct Window {
    title: String,
    process: Child,
}

impl Display {
    /// Starts an X server on a free display.
    #[track_caller]
    pub(crate) fn start() -> Self {
        let (name, server) = wait_for("a display", try_server);
        let manager = Command::new("openbox")
            .env("DISPLAY", &name)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("this test needs openbox: `cargo xtask setup` installs it");
        let display = Self { name, server, manager };
        wait_for("the window manager", || {
            let check = display.try_run("xprop", &["-root", "_NET_SUPPORTING_WM_CHECK"])?;
            check.contains("window id").then_some(())
        });
        display
    }

    /// The value of `$DISPLAY`.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Process of the X server.
    pub(crate) fn server_pid(&self) -> i64 {
        self.server.id().into()
    }

    /// A command with this display.
    pub(crate) fn command(&self, mut command: Command) -> Command {
        command.env("DISPLAY", &self.name).env_remove("TMUX").env_remove("DBUS_SESSION_BUS_ADDRESS");
        command
    }

    /// Runs a program on the display, which must succeed.
    #[track_caller]
    pub(crate) fn run(&self, program: &str, args: &[&str]) -> String {
        self.try_run(program, args).unwrap_or_else(|| panic!("{program} {args:?} failed"))
    }

    fn try_run(&self, program: &str, args: &[&str]) -> Option<String> {
        let mut command = Command::new(program);
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = self.command(command).spawn().unwrap_or_else(|_| panic!("this test needs {program}"));
        let output = in_time(child);
        output.status.success().then(|| text(&output.stdout))
    }

    /// Presses and releases keys together.
    #[track_caller]
    pub(crate) fn press(&self, keys: &str) {
        self.run("xdotool", &["key", "--clearmodifiers", keys]);
    }

    /// Opens a window with a terminal that runs `command`, and waits until it has the focus.
    #[track_caller]
    pub(crate) fn open(&self, title: &str, command: &Command) -> Window {
        let mut xterm = Command::new("xterm");
        xterm.args(["-T", title, "-e"]).arg(command.get_program()).args(command.get_args());
        for (key, value) in command.get_envs() {
            match value {
                Some(value) => xterm.env(key, value),
                None => xterm.env_remove(key),
            };
        }
        if let Some(dir) = command.get_current_dir() {
            xterm.current_dir(dir);
        }
        xterm.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = self.command(xterm).spawn().expect("this test needs xterm");
        let window = Window { title: title.to_owned(), process };
        self.focus(&window);
        window
    }

    /// Gives the focus to a window.
    #[track_caller]
    pub(crate) fn focus(&self, window: &Window) {
        let title = format!("^{}$", window.title);
        wait_for("the window", || self.try_run("xdotool", &["search", "--name", &title, "windowactivate"]));
        wait_for("the focus", || {
            let active = self.try_run("xdotool", &["getactivewindow", "getwindowname"])?;
            (active.trim() == window.title).then_some(())
        });
    }

    /// Takes the focus from all windows.
    #[track_caller]
    pub(crate) fn unfocus(&self, window: &Window) {
        self.run("xdotool", &["search", "--name", &format!("^{}$", window.title), "windowminimize"]);
        wait_for("no focus", || match self.try_run("xdotool", &["getactivewindow"]) {
            Some(active) if active.trim() != "0" => None,
            _ => Some(()),
        });
    }
}

impl Window {
    /// Process of the terminal.
    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        end(&mut self.process);
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        end(&mut self.manager);
        end(&mut self.server);
    }
}

/// Starts an X server with a number that other tests hardly use at the same time: a server that searches for a free one
/// waits for seconds if another one does so, too.
fn try_server() -> Option<(String, Child)> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = 1000 + (std::process::id() + NEXT.fetch_add(1, Ordering::Relaxed)) % 50_000;
    let name = format!(":{number}");
    // Without a reset when the last client leaves, which would drop the keyboard map.
    let mut server = Command::new("Xvfb")
        .args([&*name, "-displayfd", "1", "-screen", "0", "800x600x24", "-nolisten", "tcp", "-noreset"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("this test needs Xvfb: `cargo xtask setup` installs it");
    // It writes the number when it is ready, and nothing if the number is in use.
    let mut ready = String::new();
    let stdout = server.stdout.take().expect("its output");
    BufReader::new(stdout).read_line(&mut ready).expect("the display's number");
    if ready.trim() == number.to_string() {
        return Some((name, server));
    }
    end(&mut server);
    None
}

fn end(process: &mut Child) {
    let _killed = process.kill();
    let _ended = process.wait();
}

/// How long a held key is watched: longer than the X server waits before it repeats a key, and several repetitions.
pub(crate) const HELD: Duration = Duration::from_millis(1200);
