//! Programs that behave like agents.

use serde_json::Value;
use std::process::Output;
use swb_testkit::{Swb, wait_for};

/// Answers each line, reports its state, and asks at the line `ask`; `slow` takes until a second line comes, `end` ends it.
pub(crate) const AGENT: &str = r#"
say() { printf '\033]7501;state=%s\033\\' "$1"; }
say idle; printf '> '
while read -r line; do
  say working
  case $line in
    ask) printf 'Allow? '; say blocked; read -r yes; say working; echo "allowed: $yes";;
    slow) read -r more; echo "at last: $more";;
    end) echo bye; exit 3;;
    *) echo "you said: $line";;
  esac
  say idle; printf '> '
done
"#;

/// Takes pastes, and shows every byte it gets; a carriage return is `^M`.
pub(crate) const SHOWS_BYTES: &str = r"stty raw -echo; printf '\033[?2004hgo\r\n'; exec cat -v";

/// Runs a program in a session and waits until its agent is in a state.
#[track_caller]
pub(crate) fn start(swb: &Swb, name: &str, argv: &[&str], state: &str) {
    swb.ok(&[&["run", "-d", "-n", name, "--"], argv].concat());
    becomes(swb, name, state);
}

/// Waits until the agent of a session is in a state.
#[track_caller]
pub(crate) fn becomes(swb: &Swb, name: &str, state: &str) {
    wait_for(&format!("{name} to be {state}"), || (agent(swb, name)["state"] == state).then_some(()));
}

/// What is listed about the agent of a session.
pub(crate) fn agent(swb: &Swb, name: &str) -> Value {
    swb.session(name).map(|session| session["agent"].clone()).unwrap_or_default()
}

/// Waits until a session has written something.
#[track_caller]
pub(crate) fn wrote(swb: &Swb, name: &str, text: &str) -> String {
    wait_for(&format!("{name} to write {text:?}"), || {
        let log = swb.ok(&["logs", name]);
        log.contains(text).then_some(log)
    })
}

/// What a program wrote to its standard error.
pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
