//! `swb ask` with programs that read line by line: several lines, and prompts for more of them.

use crate::support::agents::{becomes, said, start};
use swb_testkit::Swb;

const EXE: &str = env!("CARGO_BIN_EXE_swb");

/// A REPL that needs no Python: it answers each line, and a line that ends with a colon begins a block.
const REPL: &str = r#"
prompt='>>> '
while printf '%s' "$prompt"; read -r line; do
  case $line in
    *:) prompt='... ' ;;
    '') prompt='>>> ' ;;
    *) [ "$prompt" = '>>> ' ] && echo "=> $line" ;;
  esac
done
"#;

fn repl(swb: &Swb, name: &str) {
    swb.ok(&["run", "-d", "-n", name, "--profile", "python", "--", "sh", "-c", REPL]);
    becomes(swb, name, "ready");
}

#[test]
fn a_program_that_waits_for_more_lines_ends_the_ask() {
    let swb = Swb::start(EXE);
    repl(&swb, "py");
    let output = swb.run(&["ask", "py", "def f():"]);
    assert_eq!(output.status.code(), Some(5), "{}", said(&output));
    let message = said(&output);
    assert!(
        message.contains("waits for more lines (its prompt is '...')") && message.contains("is kept"),
        "{message}"
    );
    assert!(message.contains("`swb send py TEXT --enter`"), "the hint names the session: {message}");
    // What was typed is there, and the block can be ended.
    assert!(swb.ok(&["screen", "py"]).contains(">>> def f():\n..."), "{}", swb.ok(&["screen", "py"]));
    swb.ok(&["send", "py", "", "--enter"]);
    becomes(&swb, "py", "ready");
    assert_eq!(swb.ok(&["ask", "py", "one"]), "=> one\n");
}

#[test]
fn an_open_quote_in_a_shell_ends_the_ask() {
    let swb = Swb::start(EXE);
    start(&swb, "sh", &["bash", "--norc", "--noprofile"], "ready");
    let output = swb.run(&["ask", "sh", "echo 'open", "--json"]);
    assert_eq!(output.status.code(), Some(5), "{}", said(&output));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&json["asking"], &json["more"]), (&true.into(), &">".into()), "{json}");
    swb.ok(&["keys", "sh", "C-c"]);
    becomes(&swb, "sh", "ready");
    assert_eq!(swb.ok(&["ask", "sh", "echo closed"]), "closed\n");
}

#[test]
fn several_lines_have_the_answers_to_all_of_them() {
    let swb = Swb::start(EXE);
    repl(&swb, "py");
    let answer = swb.ok(&["ask", "py", "one\ntwo\nthree"]);
    for line in ["=> one", "=> two", "=> three"] {
        assert!(answer.contains(line), "{line} is missing: {answer}");
    }
}

#[test]
fn ask_has_a_time_limit_unless_it_is_given_none() {
    let swb = Swb::start(EXE);
    let help = swb.ok(&["ask", "--help"]);
    assert!(help.contains("[default: 600]") && help.contains("`none`"), "{help}");
    start(&swb, "slow", &["sh", "-c", crate::support::agents::AGENT], "ready");
    let output = swb.run(&["ask", "slow", "slow", "--timeout", "0.5"]);
    assert_eq!(output.status.code(), Some(124));
    assert!(said(&output).contains("after 0.5 s; its agent continues"), "{}", said(&output));
    assert!(said(&output).contains("`swb wait slow --until turn`"), "{}", said(&output));
}
