//! Real programs look the same before a detach and after a reattach.

use super::{EXE, assert_newcomer_sees_the_same, head, script, stored_sizes, wait_for_text, waiting};
use serde_json::json;
use std::path::PathBuf;
use swb_testkit::{ScreenClient, Swb, assert_same, wait_for};
use swb_types::Size;
use swb_vt::{Options, Screen};

const SIZE: (u16, u16) = (90, 28);
const OTHER_SIZE: (u16, u16) = (71, 33);

/// A program in a session, a person who uses it, and an observer who gets every byte.
struct Stage {
    swb: Swb,
    workspace: PathBuf,
    observer: ScreenClient,
    person: ScreenClient,
}

impl Stage {
    fn new(argv: &[&str]) -> Self {
        Self::prepared(argv, |_| {})
    }

    /// The same with things put into the directory where the program starts.
    fn prepared(argv: &[&str], prepare: impl FnOnce(&std::path::Path)) -> Self {
        let swb = Swb::start(EXE);
        let workspace = waiting(&swb, "it", argv, SIZE);
        prepare(&workspace);
        let observer = ScreenClient::observe(&swb, "it");
        let person = ScreenClient::attach(&swb, "it");
        Self { swb, workspace, observer, person }
    }

    /// Types, and waits until something is shown.
    #[track_caller]
    fn does(&mut self, keys: &str, shows: &str) {
        self.person.type_in(keys.as_bytes());
        self.person.until_text(shows);
    }

    /// Insists that who comes next sees the same, also from another daemon, also at another size.
    #[track_caller]
    fn assert_lasts(&mut self) {
        self.leave("detached");
        self.come_back("re-attached");
        self.leave("detached again");
        self.kill_daemon();
        self.come_back("re-attached after the daemon's death");

        let (cols, rows) = OTHER_SIZE;
        self.person.resize(cols, rows);
        self.person.until("another size", |person| person.count("resized") > 0);
        self.person.settle();
        self.leave("detached at another size");
        assert_eq!(self.observer.screen().size().cols(), cols);
        self.come_back("re-attached at another size");
        self.leave("detached again at another size");
        let stored = [(cols.into(), rows.into())];
        wait_for("a stored screen of that size", || (stored_sizes(&self.swb) == stored).then_some(()));
        self.kill_daemon();
        self.come_back("re-attached at another size after the daemon's death");
    }

    #[track_caller]
    fn kill_daemon(&mut self) {
        self.swb.kill_daemon();
        // A client that is away when the size changes is not notified.
        self.observer.reconnect();
    }

    #[track_caller]
    fn leave(&mut self, when: &str) {
        self.person.detach();
        self.observer.read_to(self.person.offset());
        self.person.assert_same(&self.observer, when);
    }

    #[track_caller]
    fn come_back(&mut self, when: &str) {
        assert_newcomer_sees_the_same(&self.swb, "it", &mut self.observer, &format!("{when}, watching"));
        self.person = ScreenClient::attach(&self.swb, "it");
        self.observer.read_to(self.person.offset());
        self.person.assert_same(&self.observer, when);
    }
}

#[test]
fn a_shell_with_a_long_history_is_restored() {
    let mut stage = Stage::new(&["bash", "--norc", "--noprofile", "-i"]);
    stage.does("seq -f 'line %g of many' 1 2500\r", "2500");
    stage.does("for c in 1 2 3 4 5; do printf \"\\e[1;3${c}m%200s\\e[48;5;20${c}m\\n\" $c; done\r", "5");
    stage.does("printf 'gr\\303\\266\\303\\237e \\e[4m\\346\\274\\242\\345\\255\\227\\e[m\\n'\r", "größe");
    stage.does("echo d''one; printf '\\e[7m'\r", "done");
    stage.does("echo typed but not entered", "entered");
    stage.assert_lasts();
}

#[test]
fn an_editor_in_insert_mode_is_restored() {
    let text: String = (1..200).map(|n| format!("let x{n} = \"{n}\"; // line {n}\n")).collect();
    let argv = ["vim", "--clean", "-n", "+set number", "text.rs"];
    let mut stage = Stage::prepared(&argv, |dir| std::fs::write(dir.join("text.rs"), text).unwrap());
    stage.does("", "let x1 ");
    stage.does(":split\r", "text.rs                ");
    stage.does("50Gzz", "let x50 ");
    stage.does("oöber inserted \x1b[200~and pasted\x1b[201~", "INSERT");
    stage.person.until_text("inserted");
    stage.assert_lasts();
    // It is still in insert mode.
    stage.does(" typed behind it", "typed behind it");
}

#[test]
fn a_pager_in_the_middle_of_a_file_is_restored() {
    let text: String = (1..=5000).map(|n| format!("\x1b[3{}mline {n}\x1b[m\n", n % 8)).collect();
    let mut stage =
        Stage::prepared(&["less", "-R", "text"], |dir| std::fs::write(dir.join("text"), text).unwrap());
    stage.does("", "line 1");
    stage.does("2500G/line 26.0\r", "line 2610");
    stage.assert_lasts();
}

#[test]
fn a_changing_screen_is_the_same_at_the_same_offset() {
    let mut stage = Stage::new(&["htop", "-d", "2"]);
    stage.does("", "Quit");
    stage.does("t", "F5List");
    stage.assert_lasts();
}

#[test]
fn a_multiplexer_within_a_session_is_restored() {
    let conf =
        "set -g destroy-unattached on\nset -g status-interval 0\nset -g default-command 'bash --norc'\n";
    let mut stage = Stage::prepared(&["tmux", "-S", "sock", "-f", "conf", "new-session"], |dir| {
        std::fs::write(dir.join("conf"), conf).unwrap();
    });
    stage.does("", "0:bash");
    stage.does("seq 1 300; echo -e '\\e[31m'le''ft\r", "left");
    stage.does("\x02%", "│");
    stage.does("printf '\\e[44mri%sht' g\r", "right");
    stage.assert_lasts();
    stage.swb.control().ok(&json!({"cmd": "kill", "session": "it", "force": true}));
}

/// Writes more than the ring holds several times over, then what the rest of the script writes.
fn after_flood(line: &str, rest: &str) -> String {
    format!("i=0; while [ $i -lt 60 ]; do yes '{line}' | head -n 1500; i=$((i+1)); done; {rest}")
}

/// A line of text, plain or coloured, of about 50 bytes.
const LINES: [(&str, &str); 2] = [
    ("plain", "some plain text that fills most of a line, again"),
    ("coloured", "\x1b[1;31mred \x1b[38;5;99mand\x1b[48;2;1;2;3m more\x1b[m text"),
];

#[test]
fn a_full_screen_program_after_a_flood_is_restored() {
    let text: String = (1..=500).map(|n| format!("page line {n}\n")).collect();
    for (kind, line) in LINES {
        let script = after_flood(line, "echo; echo behind the flood; exec less text");
        let argv = ["/bin/sh", "-c", &script];
        let mut stage = Stage::prepared(&argv, |dir| std::fs::write(dir.join("text"), &text).unwrap());
        stage.person.until_text("page line 27");
        assert!(stage.person.offset() > 4 << 20, "{kind}: {} bytes", stage.person.offset());
        stage.does("G", "page line 500");
        stage.leave(kind);
        stage.kill_daemon();
        stage.come_back(kind);
        // Below it there is still what the flood left.
        stage.does("q", "behind the flood");
        assert!(stage.workspace.exists());
    }
}

// Without a daemon the keeper does not wait for readers, so that no client has got every byte. But it is known what is left.
#[test]
fn a_daemon_kill_in_a_flood_loses_nothing_of_the_screen() {
    for (kind, line) in LINES {
        let swb = Swb::start(EXE);
        let script = format!(
            "stty -echo; printf '\\033[?2004h\\033]2;a title\\007ready'; read line; \
             while [ ! -e enough ]; do yes '{line}' | head -n 1500; done; \
             printf '\\033[4m'; echo finished; exec sleep 1000"
        );
        let workspace = waiting(&swb, "it", &["/bin/sh", "-c", &script], SIZE);
        let mut person = ScreenClient::attach(&swb, "it");
        wait_for_text(&swb, "it", "ready");
        person.type_in(b"\n");
        person.detach();
        wait_for("a stored screen", || (!stored_sizes(&swb).is_empty()).then_some(()));
        // Dies several times, at places that differ from run to run.
        for _ in 0..3 {
            swb.kill_daemon();
            let at = head(&swb, "it") + (2 << 20);
            wait_for("more of the flood", || (head(&swb, "it") > at).then_some(()));
        }
        std::fs::write(workspace.join("enough"), "").unwrap();
        wait_for_text(&swb, "it", "finished");
        let mut expected = Screen::new(Size::new(SIZE.0, SIZE.1).unwrap(), Options::default());
        expected.feed(b"\x1b[?2004h\x1b]2;a title\x07");
        expected.feed(format!("{line}\r\n").repeat(3000).as_bytes());
        expected.feed(b"\x1b[4mfinished\r\n");
        for when in ["then", "after another death"] {
            let mut late = ScreenClient::with(&swb, "it", &json!({"repaint": true, "watch": true}));
            late.until("a picture", |late| late.pictures() > 0);
            assert_same(late.screen(), &expected, &format!("{kind}, {when}"));
            swb.kill_daemon();
        }
    }
}

/// A tmux server of its own, in which `swb attach` runs as in a user's terminal.
struct OuterTmux<'a> {
    swb: &'a Swb,
    socket: PathBuf,
}

impl OuterTmux<'_> {
    /// Runs a command of tmux and returns what it prints.
    fn run(&self, args: &[&str]) -> String {
        let attach = self.swb.command(&[]);
        let mut tmux = std::process::Command::new("tmux");
        for (name, value) in attach.get_envs() {
            match value {
                Some(value) => tmux.env(name, value),
                None => tmux.env_remove(name),
            };
        }
        let output = tmux.arg("-S").arg(&self.socket).args(["-f", "/dev/null"]).args(args).output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    #[track_caller]
    fn wait_for_keypad(&self, flag: &str) {
        let shown = || self.run(&["display", "-p", "#{keypad_flag}"]);
        wait_for(&format!("keypad flag {flag}"), || (shown() == flag).then_some(()));
    }
}

impl Drop for OuterTmux<'_> {
    fn drop(&mut self) {
        self.run(&["kill-server"]);
    }
}

// tmux knows `ESC =` and `ESC >`, but not the number of the mode.
#[test]
fn the_keypad_mode_is_restored_inside_tmux_and_reset_after_detaching() {
    let swb = Swb::start(EXE);
    let workspace = script(&swb, "it", "printf '\\033=ready'; exec cat");
    let mut client = ScreenClient::attach(&swb, "it");
    client.until_text("ready");
    client.detach();
    let tmux = OuterTmux { swb: &swb, socket: workspace.join("outer") };
    tmux.run(&["new-session", "-d", "-x", "80", "-y", "24", "sh"]);
    tmux.wait_for_keypad("0");
    tmux.run(&["send-keys", &format!("{EXE} attach it; echo le''ft"), "Enter"]);
    tmux.wait_for_keypad("1");
    tmux.run(&["send-keys", "C-]"]);
    wait_for("the end of `swb attach`", || tmux.run(&["capture-pane", "-p"]).contains("left").then_some(()));
    tmux.wait_for_keypad("0");
}
