//! `swb init` in real shells: marks around prompts and output, beside the user's own prompt.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use swb_testkit::{Swb, Terminal, text, wait_for};

const EXE: &str = env!("CARGO_BIN_EXE_swb");

/// A shell whose prompt shows the exit code of the last command, set anew before each prompt, and which reads our
/// integration twice.
struct Shell {
    arguments: Vec<String>,
    variable: (&'static str, PathBuf),
}

fn shell(swb: &Swb, program: &'static str) -> Shell {
    let home = swb.paths().home;
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let write = |file: &Path, own: &str, line: &str| {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, format!("{own}\n{line}\n{line}\n")).unwrap();
    };
    match program {
        "bash" => {
            let file = home.join("rc.bash");
            write(&file, "PROMPT_COMMAND='PS1=\"own[$?]> \"; '", "eval \"$(swb init bash)\"");
            let file = file.to_str().unwrap().to_owned();
            let arguments = [words(&["--noprofile", "--rcfile"]), vec![file, "-i".to_owned()]].concat();
            Shell { arguments, variable: ("HISTFILE", "/dev/null".into()) }
        }
        "zsh" => {
            let own = "precmd() { PS1=\"own[$?]> \" }";
            write(&home.join(".zshrc"), own, "eval \"$(swb init zsh)\"");
            Shell { arguments: words(&["-i"]), variable: ("ZDOTDIR", home) }
        }
        _ => {
            let own = "function fish_greeting; end\nfunction fish_prompt; echo -n \"own[$status]> \"; end";
            write(&home.join("config/fish/config.fish"), own, "swb init fish | source");
            Shell { arguments: words(&["-i"]), variable: ("XDG_CONFIG_HOME", home.join("config")) }
        }
    }
}

impl Shell {
    /// Adds what the shell needs to the environment of a command.
    fn equip(&self, command: &mut Command) {
        let own = Path::new(EXE).parent().unwrap().to_str().unwrap();
        command.env("PATH", format!("{own}:{}", std::env::var("PATH").unwrap()));
        command.env(self.variable.0, &self.variable.1).env("LC_ALL", "C.UTF-8");
    }
}

fn count(shown: &str, what: &str) -> usize {
    shown.matches(what).count()
}

fn marks(program: &'static str) {
    let swb = Swb::new(EXE);
    let shell = shell(&swb, program);
    let mut command = swb.shell(&format!("exec {program} \"$@\""));
    command.args([&["sh".to_owned()][..], &shell.arguments].concat());
    shell.equip(&mut command);
    let odd = swb.workspace("ö a%b");
    let mut terminal = Terminal::start(command, 100, 30);
    terminal.until("own[0]> ");
    terminal.until("\x1b]133;B\x07");
    terminal.until("\x1b]7;file://");

    // The user's prompt finds the exit code, although our code runs before it.
    terminal.forget();
    terminal.type_in(b"false\r");
    terminal.until("own[1]> ");
    let shown = text(terminal.seen());
    let at =
        |what: &str| shown.find(what).unwrap_or_else(|| panic!("{program} never showed {what:?}: {shown:?}"));
    let order = [at("\x1b]133;C\x07"), at("\x1b]133;D;1\x07"), at("\x1b]133;A\x07"), at("own[1]> ")];
    assert!(order.is_sorted(), "{program}: {shown:?}");
    terminal.until("\x1b]133;B\x07");

    // Read twice, it still marks once.
    terminal.forget();
    terminal.type_in(b"echo one; echo two\r");
    terminal.until("\x1b]133;D;0\x07");
    terminal.until("own[0]> ");
    let shown = text(terminal.seen());
    for mark in ["\x1b]133;C\x07", "\x1b]133;D;", "\x1b]133;A\x07"] {
        assert_eq!(count(&shown, mark), 1, "{program}: {mark:?} in {shown:?}");
    }
    let output = shown.split_once("\x1b]133;C\x07").unwrap().1;
    assert!(output.contains("one\r\ntwo\r\n"), "{output:?}");

    // Without a command there is nothing to mark but the prompt.
    terminal.forget();
    terminal.type_in(b"\r");
    terminal.until("\x1b]133;A\x07");
    terminal.until("own[0]> ");
    assert_eq!(count(&text(terminal.seen()), "\x1b]133;D"), 0);

    terminal.type_in(format!("cd '{}'\r", odd.display()).as_bytes());
    terminal.until("%C3%B6%20a%25b\x07");
    terminal.type_in(b"exit\r");
    terminal.wait();
}

#[test]
fn bash_marks_its_prompts() {
    marks("bash");
}

#[test]
fn zsh_marks_its_prompts() {
    marks("zsh");
}

#[test]
fn fish_marks_its_prompts() {
    marks("fish");
}

/// The turns of a shell with the integration are known by its marks.
fn turns(program: &'static str) {
    let swb = Swb::start(EXE);
    let shell = shell(&swb, program);
    let mut run = swb.command(&["run", "-d", "-n", "shell", "--", program]);
    run.args(&shell.arguments);
    shell.equip(&mut run);
    assert!(run.status().unwrap().success());
    wait_for("its prompt", || swb.ok(&["screen", "shell"]).contains("own[0]>").then_some(()));
    // Longer than a guess would wait for, and with what looks like a prompt on the way.
    let answer = swb.ok(&["ask", "shell", "echo 'own[0]> '; sleep 2; echo done"]);
    assert_eq!(answer, "own[0]>\ndone\n", "{program}");
    let explained = wait_for("the evidence", || {
        let explained = swb.json(&["explain", "shell"]);
        (explained["state"] == "ready").then_some(explained)
    });
    let evidence: Vec<&Value> = explained["evidence"].as_array().unwrap().iter().collect();
    assert!(evidence.iter().any(|evidence| evidence["signal"] == "mark"), "{program}: {explained}");
}

#[test]
fn turns_of_bash_are_known_by_its_marks() {
    turns("bash");
}

#[test]
fn turns_of_zsh_are_known_by_its_marks() {
    turns("zsh");
}

#[test]
fn turns_of_fish_are_known_by_its_marks() {
    turns("fish");
}

#[test]
fn init_without_a_shell_explains_itself() {
    let swb = Swb::new(EXE);
    let mut command = swb.command(&["init"]);
    command.env("SHELL", "/usr/bin/zsh");
    let mut terminal = Terminal::start(command, 80, 24);
    terminal.until("at the end of ~/.zshrc");
    terminal.until("eval \"$(swb init zsh)\"");
    assert_eq!(terminal.wait(), 0);
    assert!(!text(terminal.seen()).contains("133;"), "code is no help on a terminal");

    let piped = swb.command(&["init"]).env("SHELL", "/usr/bin/zsh").output().unwrap();
    assert_eq!(text(&piped.stdout), swb.ok(&["init", "zsh"]));
    assert!(piped.stderr.is_empty() && text(&piped.stdout).contains("133;A"));
    let unknown = swb.command(&["init"]).env("SHELL", "/bin/ksh").output().unwrap();
    assert_eq!(unknown.status.code(), Some(2));
    assert!(text(&unknown.stderr).contains("no integration for your shell, /bin/ksh"));
    assert!(!swb.paths().control_socket().exists(), "no daemon is needed for this");
}
