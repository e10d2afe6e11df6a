//! A home directory of its own with a daemon in it.

use crate::{CoopClient, KeeptyClient, LIMIT, children, keepers_in, signal, wait_for};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use swb_types::Paths;
use swb_wire::keepty::KeeptyRole;

/// Environment variables of the user who runs the tests that would change the results; the tests may run in a session
/// of ours.
const FOREIGN: [&str; 9] = [
    "BASH_ENV",
    "ENV",
    "NO_COLOR",
    "SCRIPTSCHNELL_SOCKET_TOKEN",
    "SWB_CONNECTION",
    "SWB_SESSION",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
];

/// A temporary installation: own home, own runtime directory, own daemon. Dropping it ends every process it
/// started.
#[derive(Debug)]
pub struct Swb {
    exe: PathBuf,
    dir: tempfile::TempDir,
    daemon: Option<Child>,
}

impl Swb {
    /// Creates the directories; no daemon is running yet.
    pub fn new(exe: &str) -> Self {
        // Short, because socket paths can have only about a hundred bytes.
        let dir =
            tempfile::Builder::new().prefix("swb").rand_bytes(5).tempdir_in("/tmp").expect("a directory");
        for name in ["h", "r", "w"] {
            std::fs::create_dir(dir.path().join(name)).expect("a directory");
        }
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(dir.path().join("r"), private).expect("permissions");
        Self { exe: exe.into(), dir, daemon: None }
    }

    /// The same with a daemon in the foreground, ready.
    pub fn start(exe: &str) -> Self {
        let mut swb = Self::new(exe);
        swb.start_daemon();
        swb
    }

    /// Starts the daemon in the foreground and waits until it is ready; its log is in `daemon.log`.
    pub fn start_daemon(&mut self) {
        self.start_daemon_with(|_| {});
    }

    /// The same with changes to its command line.
    pub fn start_daemon_with(&mut self, change: impl FnOnce(&mut Command)) {
        let log = std::fs::File::options().create(true).append(true).open(self.dir.path().join("daemon.log"));
        let mut command = self.command(&["daemon"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log.expect("a log"));
        change(&mut command);
        self.daemon = Some(command.spawn().expect("the daemon starts"));
        wait_for("the daemon's sockets", || self.try_status());
    }

    /// The daemon that [`Swb::start_daemon`] started, for waiting on it.
    pub fn daemon(&mut self) -> &mut Child {
        self.daemon.as_mut().expect("a daemon was started")
    }

    /// The directory all this is in.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// A fresh workspace directory.
    pub fn workspace(&self, name: &str) -> PathBuf {
        let path = self.dir.path().join("w").join(name);
        std::fs::create_dir_all(&path).expect("a directory");
        path
    }

    /// The paths of sockets and files.
    pub fn paths(&self) -> Paths {
        let (home, runtime) = (self.dir.path().join("h"), self.dir.path().join("r"));
        let var = |key: &str| match key {
            "HOME" => Some(home.clone().into_os_string()),
            "XDG_RUNTIME_DIR" => Some(runtime.clone().into_os_string()),
            _ => None,
        };
        Paths::from_env(var).expect("a home")
    }

    /// The program, run in this home.
    pub fn command(&self, args: &[&str]) -> Command {
        self.command_as(&self.exe, args)
    }

    /// The program under another name (`keepty`, `coop`), run in this home.
    pub fn named(&self, name: &str, args: &[&str]) -> Command {
        let link = self.dir.path().join(name);
        if !link.exists() {
            std::os::unix::fs::symlink(&self.exe, &link).expect("a link");
        }
        self.command_as(&link, args)
    }

    /// A shell script, run in this home; `$SWB` is the program.
    pub fn shell(&self, script: &str) -> Command {
        let mut command = self.command_as(Path::new("/bin/sh"), &["-c", script]);
        command.env("SWB", &self.exe);
        command
    }

    fn command_as(&self, exe: &Path, args: &[&str]) -> Command {
        let paths = self.paths();
        let mut command = Command::new(exe);
        command.args(args).current_dir(self.dir.path().join("w")).stdin(Stdio::null());
        command.env("HOME", &paths.home).env("SHELL", "/bin/sh").env("TERM", "xterm-256color");
        command.env("XDG_RUNTIME_DIR", self.dir.path().join("r"));
        for key in FOREIGN {
            command.env_remove(key);
        }
        command
    }

    /// Runs the program to its end.
    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("the program runs")
    }

    /// Runs the program, which must succeed, and returns its standard output.
    #[track_caller]
    pub fn ok(&self, args: &[&str]) -> String {
        let output = self.run(args);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "swb {args:?} failed ({}): {error}{}", output.status, self.log());
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs the program with `--json` and parses its output.
    #[track_caller]
    pub fn json(&self, args: &[&str]) -> Value {
        let text = self.ok(&[args, &["--json"]].concat());
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{args:?} gave no JSON ({error}): {text}"))
    }

    /// The daemon's status, if one is running.
    pub fn try_status(&self) -> Option<Value> {
        let mut client = CoopClient::connect(&self.paths().control_socket()).ok()?;
        client.try_ask(&json!({"version": 1}))?;
        client.try_ask(&json!({"cmd": "status"}))
    }

    /// The daemon's status; waits for one that is being restarted.
    pub fn status(&self) -> Value {
        wait_for("the daemon", || self.try_status())
    }

    /// Process id of the daemon that serves now.
    pub fn daemon_pid(&self) -> i64 {
        self.status()["daemon"]["pid"].as_i64().expect("a pid")
    }

    /// Process id of the keeper.
    pub fn keeper_pid(&self) -> i64 {
        self.status()["keeper"]["pid"].as_i64().expect("a pid")
    }

    /// Kills the daemon with SIGKILL; returns how long it took until another one replied.
    pub fn kill_daemon(&self) -> Duration {
        let pid = self.daemon_pid();
        let began = Instant::now();
        signal(pid, Signal::KILL);
        wait_for("another daemon", || {
            self.try_status().filter(|status| status["daemon"]["pid"].as_i64() != Some(pid))
        });
        began.elapsed()
    }

    /// A connection to our own control socket, after the handshake.
    pub fn control(&self) -> CoopClient {
        let mut client = CoopClient::connect(&self.paths().control_socket()).expect("the control socket");
        client.hello();
        client
    }

    /// Runs a shell script in a session of its own; returns its process id.
    #[track_caller]
    pub fn script(&self, name: &str, script: &str) -> i64 {
        let workspace = self.dir.path().join("w");
        let create =
            json!({"cmd": "create", "name": name, "workspace": workspace, "argv": ["/bin/sh", "-c", script]});
        self.control().ok(&create)["pid"].as_i64().expect("a pid")
    }

    /// The list entry of a session: the running one of that name, else the latest that has ended.
    pub fn session(&self, name: &str) -> Option<Value> {
        let list = self.control().ok(&json!({"cmd": "ls", "details": true, "all": true}));
        let named = |session: &&Value| session["name"] == name;
        let found: Vec<&Value> = list["sessions"].as_array().expect("a list").iter().filter(named).collect();
        let live = found.iter().find(|session| session["status"] != "exited");
        live.or(found.last()).copied().cloned()
    }

    /// A connection to the coop socket, after the handshake.
    pub fn coop(&self) -> CoopClient {
        let mut client = CoopClient::connect(&self.paths().coop_socket()).expect("the coop socket");
        client.hello();
        client
    }

    /// Creates a session that runs `argv` in the common directory; returns its process id.
    #[track_caller]
    pub fn make(&self, name: &str, argv: &[&str]) -> i64 {
        let created = self.coop().ok(&json!({
            "cmd": "create", "name": name, "workspace": self.workspace(""), "argv": argv,
        }));
        created["pid"].as_i64().expect("a pid")
    }

    /// A connection in stream mode on PTY 0 of a session.
    #[track_caller]
    pub fn attach(&self, session: &str) -> CoopClient {
        let mut client = self.coop();
        client.ok(&json!({"cmd": "attach", "session": session}));
        client
    }

    /// A connection to a session's keepty socket, before the Hello.
    pub fn keepty_raw(&self, session: &str) -> KeeptyClient {
        KeeptyClient::connect(&self.paths().keepty_socket(session)).expect("the keepty socket")
    }

    /// A connection to a session's keepty socket, after the reply to its Hello; see [`KeeptyClient::ack`].
    pub fn keepty(&self, session: &str, role: KeeptyRole, cols: u16, rows: u16) -> KeeptyClient {
        let mut client = self.keepty_raw(session);
        client.hello(role, cols, rows);
        client
    }

    /// The daemon's log, for messages of failed tests.
    pub fn log(&self) -> String {
        // Tests replace it by devices that can be read for ever.
        let read = |path: PathBuf| match path.is_file() {
            true => std::fs::read_to_string(path).unwrap_or_default(),
            false => String::new(),
        };
        let own = read(self.dir.path().join("daemon.log"));
        format!("\n--- log ---\n{own}{}", read(self.paths().daemon_log()))
    }
}

impl Drop for Swb {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.log());
        }
        // Ends the sessions in order if possible; the rest cleans up after a failed test.
        let mut end = self.command(&["shutdown", "--kill"]);
        if let Ok(mut child) = end.stdout(Stdio::null()).stderr(Stdio::null()).spawn() {
            let deadline = Instant::now() + LIMIT;
            while child.try_wait().is_ok_and(|status| status.is_none()) && Instant::now() < deadline {
                std::thread::park_timeout(Duration::from_millis(10));
            }
            let _ended = (child.kill(), child.wait());
        }
        if let Some(mut daemon) = self.daemon.take() {
            let _ended = (daemon.kill(), daemon.wait());
        }
        // A keeper without sessions ends by itself a moment after its daemon.
        let deadline = Instant::now() + Duration::from_secs(1);
        while Instant::now() < deadline && !keepers_in(self.dir.path()).is_empty() {
            std::thread::park_timeout(Duration::from_millis(10));
        }
        for keeper in keepers_in(self.dir.path()) {
            for daemon in children(keeper) {
                signal(daemon, Signal::KILL);
            }
            signal(keeper, Signal::KILL);
        }
    }
}
