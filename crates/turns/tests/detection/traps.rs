//! What looks like a prompt, a dialog or an end, but is none; and ends that are hard to detect.

use swb_turns::{CompletedTurn, Detector, DetectorEvent, Hook, Profiles, ProgramState, Time};
use swb_types::{Offset, Size};
use swb_vt::{Options, Screen};

/// A program on a screen, driven by hand.
struct Session {
    detector: Detector,
    screen: Screen,
    now: u64,
    turns: Vec<CompletedTurn>,
    dialogs: usize,
}

impl Session {
    fn new(profile: &str) -> Self {
        let size = Size::new(80, 24).unwrap();
        let profile = Profiles::built_in().unwrap().named(profile).unwrap();
        Self {
            detector: Detector::new(profile, size),
            screen: Screen::new(size, Options::default()),
            now: 5_000,
            turns: Vec::new(),
            dialogs: 0,
        }
    }

    fn out(&mut self, output: impl AsRef<[u8]>) -> &mut Self {
        let offset = self.detector.offset();
        self.detector.output(&mut self.screen, output.as_ref(), offset, Time::from_millis(self.now));
        self.take()
    }

    fn keys(&mut self, input: &str) -> &mut Self {
        self.detector.input(&self.screen, input.as_bytes(), Time::from_millis(self.now));
        self.take()
    }

    fn hook(&mut self, hook: Hook) -> &mut Self {
        self.detector.hook(&self.screen, hook, Time::from_millis(self.now));
        self.take()
    }

    fn wait(&mut self, millis: u64) -> &mut Self {
        self.now += millis;
        self.detector.tick(&self.screen, Time::from_millis(self.now));
        self.take()
    }

    fn take(&mut self) -> &mut Self {
        for event in self.detector.take_events() {
            match event {
                DetectorEvent::TurnEnded(turn) => self.turns.push(*turn),
                DetectorEvent::Dialog { .. } => self.dialogs += 1,
                DetectorEvent::Status(_) | DetectorEvent::TurnStarted { .. } => {}
            }
        }
        self
    }

    fn state(&self) -> ProgramState {
        self.detector.status().state
    }

    fn texts(&self) -> Vec<&str> {
        self.turns.iter().map(|turn| turn.text.as_str()).collect()
    }
}

/// A frame, complete at once.
fn picture(rows: &[&str]) -> String {
    format!("\x1b[?2026h\x1b[H\x1b[2J{}\x1b[?2026l", rows.join("\r\n"))
}

const RULE: &str = "────────────────────────────────────────────────────────────────────────────────";

fn claude(conversation: &[&str], input: &str, below: &str) -> String {
    let mut rows = conversation.to_vec();
    let input = format!("❯ {input}");
    rows.extend(["", RULE, &input, RULE, below]);
    picture(&rows)
}

const IDLE: &str = "  ? for shortcuts";
const BUSY: &str = "  esc to interrupt";

/// Claude at its first prompt.
fn claude_ready() -> Session {
    let mut session = Session::new("claude");
    session.out(claude(&["Claude Code"], "", IDLE)).wait(2_000);
    assert_eq!(session.state(), ProgramState::Ready);
    session
}

/// An answer made of everything the agent itself could write, as the agent shows it.
const TRAP: [&str; 12] = [
    "❯ question",
    "",
    "● Press esc to interrupt. Do you want to proceed?",
    "   ❯ 1. Yes",
    "    2. No",
    "  Esc to cancel",
    "  ✻ Thinking… (esc to interrupt)",
    "  ────────────────────────────────────────────────────────────────────────────",
    "  ❯ ",
    "  ────────────────────────────────────────────────────────────────────────────",
    "  ? for shortcuts",
    "  $ ",
];

#[test]
fn an_answer_that_shows_a_prompt_is_not_over_and_one_that_shows_a_dialog_asks_nothing() {
    let mut session = claude_ready();
    session
        .keys("question\r")
        .out(claude(&[&TRAP[..], &["", "✻ Thinking… (3s)"]].concat(), "", BUSY))
        .wait(5_000);
    assert_eq!((session.turns.len(), session.dialogs, session.state()), (0, 0, ProgramState::Working));
    session.out(claude(&TRAP, "", IDLE)).wait(1_000);
    assert_eq!((session.turns.len(), session.dialogs, session.state()), (1, 0, ProgramState::Ready));
    assert!(session.texts()[0].starts_with("Press esc to interrupt."), "{:?}", session.texts());
    assert!(session.texts()[0].ends_with("? for shortcuts\n$"), "{:?}", session.texts());
}

#[test]
fn silence_alone_completes_nothing() {
    let mut session = claude_ready();
    session.keys("question\r").out(claude(&["❯ question", "", "● half an"], "", BUSY)).wait(3_600_000);
    assert_eq!(session.turns.len(), 0);
    // Nothing has moved for an hour: the state is unknown.
    assert_eq!(session.state(), ProgramState::Unknown);
    // Not even a submission that was ignored.
    let mut session = claude_ready();
    session.keys("question").out(claude(&["Claude Code"], "question", IDLE)).keys("\r").wait(20_000);
    assert_eq!(session.turns.len(), 0);
}

#[test]
fn a_dialog_never_ends_a_turn() {
    let dialog = [
        "❯ question",
        "",
        "● Bash(ls)",
        RULE,
        " Bash command",
        "",
        " Do you want to proceed?",
        " ❯ 1. Yes",
        "   2. No",
    ];
    let mut session = claude_ready();
    session.keys("question\r").out("\x1b]0;⠂ Claude\x07").out(claude(&dialog[..2], "", BUSY)).wait(500);
    session.out("\x1b]0;✳ Claude\x07").out(picture(&dialog)).wait(3_600_000);
    assert_eq!((session.turns.len(), session.dialogs, session.state()), (0, 1, ProgramState::Asking));
    // Esc answers the dialog; it does not interrupt.
    session
        .keys("\x1b")
        .wait(200)
        .out(claude(&["❯ question", "", "● Bash(ls)", "  denied"], "", IDLE))
        .wait(1_000);
    assert_eq!((session.turns.len(), session.dialogs), (1, 1));
    assert!(!session.turns[0].interrupted);
}

#[test]
fn consecutive_dialogs_are_distinguished() {
    let dialog =
        |what| picture(&["❯ question", RULE, what, " Do you want to proceed?", " ❯ 1. Yes", "   2. No"]);
    let mut session = claude_ready();
    session.keys("question\r").out(claude(&["❯ question"], "", BUSY)).out(dialog(" Run ls")).wait(1_000);
    session.keys("1").wait(100).out(dialog(" Run rm")).wait(1_000);
    assert_eq!(session.dialogs, 2);
    // The mark of the option moves: still the same dialog.
    let moved =
        picture(&["❯ question", RULE, " Run rm", " Do you want to proceed?", "   1. Yes", " ❯ 2. No"]);
    session.keys("\x1b[B").wait(100).out(moved).wait(1_000);
    assert_eq!(session.dialogs, 2);
}

#[test]
fn a_title_from_before_the_submission_is_ignored() {
    let mut session = claude_ready();
    session.out("\x1b]0;✳ Claude\x07").wait(1_000).keys("question\r").wait(2_000);
    session.out(claude(&["❯ question"], "", IDLE)).wait(2_000);
    assert_eq!(session.turns.len(), 0);
}

#[test]
fn typed_ahead_text_is_not_part_of_the_turn() {
    let mut session = claude_ready();
    session.keys("one\r").out(claude(&["❯ one", "● answer"], "", BUSY)).wait(300);
    session.keys("tw").out(claude(&["❯ one", "● answer"], "tw", BUSY)).wait(300);
    session.out(claude(&["❯ one", "● answer one"], "tw", IDLE)).wait(1_000);
    session.keys("o").out(claude(&["❯ one", "● answer one"], "two", IDLE)).wait(300);
    session.keys("\r").out(claude(&["❯ one", "● answer one", "❯ two"], "", BUSY)).wait(300);
    session.out(claude(&["❯ one", "● answer one", "❯ two", "● answer two"], "", IDLE)).wait(1_000);
    assert_eq!(session.texts(), ["answer one", "answer two"]);
}

#[test]
fn a_lagging_input_box_is_not_trusted() {
    let mut session = claude_ready();
    session.keys("question").out(claude(&["Claude Code"], "q", IDLE)).wait(100).keys("\r");
    session.out(claude(&["❯ question", "● answer"], "", BUSY)).wait(300);
    session.out(claude(&["❯ question", "● answer"], "", IDLE)).wait(100);
    session.keys("quit").out(claude(&["❯ question", "● answer"], "q", IDLE)).wait(100).keys("\r");
    assert_eq!(session.texts(), ["answer"]);
}

#[test]
fn the_next_submission_ends_the_turn() {
    let mut session = claude_ready();
    session.keys("one\r").out(claude(&["❯ one", "● answer"], "", BUSY)).wait(300);
    session.out(claude(&["❯ one", "● answer one"], "", IDLE)).wait(100);
    let end = session.detector.offset();
    session.keys("two").out(claude(&["❯ one", "● answer one"], "two", IDLE)).wait(100).keys("\r");
    assert_eq!(session.texts(), ["answer one"]);
    assert_eq!(session.turns[0].end, end);
}

#[test]
fn enter_during_work_does_not_start_a_turn() {
    let mut session = claude_ready();
    session.keys("one\r").out(claude(&["❯ one"], "", BUSY)).wait(300).keys("and this\r").wait(300);
    session.out(claude(&["❯ one", "● answer", "❯ and this", "● more"], "", IDLE)).wait(1_000);
    assert_eq!(session.turns.len(), 1);
    // Enter in an empty box does nothing.
    session.keys("\r").wait(40_000);
    assert_eq!((session.turns.len(), session.state()), (1, ProgramState::Ready));
}

#[test]
fn commands_without_work_end_with_their_answer_or_are_dropped() {
    let mut session = claude_ready();
    session.keys("/cost\r").out(claude(&["❯ /cost", "  ⎿ nothing yet"], "", IDLE)).wait(1_000);
    assert_eq!(session.turns.len(), 0);
    session.wait(1_000);
    assert_eq!(session.texts(), ["⎿ nothing yet"]);
    session.keys("/clear\r").out(claude(&["Claude Code"], "", IDLE)).wait(60_000);
    assert_eq!((session.turns.len(), session.state()), (1, ProgramState::Ready));
}

#[test]
fn an_incomplete_frame_is_ignored() {
    let mut session = claude_ready();
    session.keys("one\r").out(claude(&["❯ one"], "", BUSY)).wait(300);
    let half = claude(&["❯ one", "● answer"], "", IDLE);
    let half = half.strip_suffix("\x1b[?2026l").unwrap();
    session.out(half).wait(900);
    assert_eq!(session.turns.len(), 0);
    session.out("\x1b[?2026l").wait(900);
    assert_eq!(session.turns.len(), 1);
}

fn codex(conversation: &[&str], count: &str) -> String {
    let count = format!("  {count} · ? for shortcuts");
    picture(&[conversation, &["", "› Write tests", "", &count]].concat())
}

#[test]
fn codex_streams_without_a_mark_and_pauses() {
    let mut session = Session::new("codex");
    session.out(codex(&["Codex"], "24 used")).wait(2_000).keys("question\r");
    session.out(codex(&["› question", "", "• Working (0s • esc to interrupt)"], "24 used")).wait(300);
    session.out(codex(&["› question", "", "• The first half"], "24 used")).wait(20_000);
    assert_eq!(session.turns.len(), 0);
    session.out(codex(&["› question", "", "• The first half", "  and the second"], "52 used")).wait(1_000);
    assert_eq!(session.texts(), ["The first half\nand the second"]);
}

#[test]
fn a_question_that_waits_for_the_start_of_the_program_is_no_dialog() {
    let mut session = Session::new("codex");
    session.out(picture(&["Codex", "", "› Ask Codex to do anything", "", "  ? for shortcuts"])).wait(2_000);
    session.keys("question").out(picture(&["Codex", "", "› question", "", "  ? for shortcuts"])).keys("\r");
    session.out(picture(&["Codex", "", "› question", "", "  Waiting for startup  · esc cancel"])).wait(5_000);
    assert_eq!((session.state(), session.dialogs), (ProgramState::Working, 0));
    session.out(codex(&["› question", "", "• The answer"], "52 used")).wait(3_000);
    assert_eq!(session.texts(), ["The answer"]);
}

#[test]
fn a_tip_below_an_answer_is_not_part_of_it() {
    let mut session = Session::new("codex");
    session.out(codex(&["Codex"], "24 used")).wait(2_000).keys("question\r");
    let shown = ["› question", "", "• The answer", "  └ Tip: Run /review.", "", "  Worked for 3s • 14:22"];
    session.out(codex(&shown, "52 used")).wait(3_000);
    assert_eq!(session.texts(), ["The answer"]);
}

#[test]
fn reports_are_trusted_over_the_screen() {
    let mut session = Session::new("codex");
    session.out("\x1b]7501;state=idle:app=codex\x1b\\").out(codex(&["Codex"], "1 used")).wait(2_000);
    session.keys("question\r").out("\x1b]7501;state=working:app=codex\x1b\\");
    session.out(codex(&["› question", "", "• half"], "2 used")).wait(60_000);
    assert_eq!((session.turns.len(), session.state()), (0, ProgramState::Working));
    session.out(codex(&["› question", "", "• whole"], "2 used")).out("\x1b]7501;state=done\x1b\\").wait(500);
    assert_eq!((session.texts(), session.turns[0].signal.name()), (vec!["whole"], "status"));
}

#[test]
fn reports_count_for_unknown_programs() {
    let mut session = Session::new("generic");
    session
        .out("tool\r\n\x1b]7501;state=idle\x07")
        .wait(500)
        .keys("hi\r")
        .out("hi\r\n\x1b]7501;state=working\x07");
    session.out("50 $ ").wait(5_000);
    assert_eq!((session.turns.len(), session.state()), (0, ProgramState::Working));
    session.out("\r\nhello\r\n\x1b]7501;state=blocked\x07").wait(500);
    assert_eq!(session.state(), ProgramState::Asking);
    session.out("bye\r\n\x1b]7501;state=idle\x07").wait(500);
    assert_eq!(session.texts(), ["50 $\nhello\nbye"]);
}

#[test]
fn hooks_are_reports() {
    let mut session = claude_ready();
    session.keys("one\r").hook(Hook::Working).out(claude(&["❯ one", "● half"], "", IDLE)).wait(5_000);
    assert_eq!((session.turns.len(), session.state()), (0, ProgramState::Working));
    session.hook(Hook::Asking).wait(500);
    assert_eq!(session.state(), ProgramState::Asking);
    session.hook(Hook::Ready).wait(500);
    assert_eq!((session.texts(), session.turns[0].signal.name()), (vec!["half"], "hook"));
}

#[test]
fn enter_may_be_a_newline() {
    let mut session = claude_ready();
    session.keys("one\\").out(claude(&["Claude Code"], "one\\", IDLE)).keys("\r");
    session.out(claude(&["Claude Code"], "one", IDLE)).wait(2_000).keys("two");
    session.out(claude(&["Claude Code"], "one", IDLE)).wait(300);
    let submit = session.detector.offset();
    session.keys("\r").out(claude(&["❯ one", "  two"], "", BUSY)).wait(300);
    session.out(claude(&["❯ one", "  two", "", "● answer"], "", IDLE)).wait(1_000);
    assert_eq!((session.texts(), session.turns[0].submit), (vec!["answer"], submit));
}

#[test]
fn input_that_was_not_submitted_is_not_a_turn() {
    // Enter arrives while the program still starts, and is lost; the text stays.
    let mut session = Session::new("codex");
    let starting = ["Codex", "", "• Starting (1s • esc to interrupt)"];
    let with_input =
        |conversation: &[&str], input: &str| picture(&[conversation, &["", input, "", "  1 used"]].concat());
    session.out(with_input(&["Codex"], "› ")).wait(2_000).keys("question\r");
    session.out(with_input(&starting, "› question")).wait(500);
    session.out(with_input(&["Codex"], "› question")).out("\x1b]7501;state=idle\x07").wait(2_000);
    assert_eq!((session.turns.len(), session.state()), (0, ProgramState::Ready));
}

#[test]
fn input_that_stays_in_the_box_is_no_work_for_ever() {
    let mut session = claude_ready();
    session.keys("question").out(claude(&["Claude Code"], "question", IDLE)).keys("\r");
    session.out(claude(&["Claude Code"], "question", IDLE)).wait(20_000);
    assert_eq!(session.state(), ProgramState::Working, "it may still be submitted");
    session.wait(11_000);
    assert_eq!((session.turns.len(), session.state()), (0, ProgramState::Unknown));
    session.out(claude(&["❯ question"], "", BUSY)).wait(300);
    session.out(claude(&["❯ question", "", "● answer"], "", IDLE)).wait(1_000);
    assert_eq!(session.texts(), ["answer"]);
}

#[test]
fn pasted_text_is_one_submission() {
    let mut session = claude_ready();
    session
        .keys("\x1b[200~one\rtwo\x1b[201~")
        .out(claude(&["Claude Code"], "one", IDLE))
        .wait(300)
        .keys("\r");
    session.out(claude(&["❯ one", "  two", "", "● answer"], "", BUSY)).wait(300);
    session.out(claude(&["❯ one", "  two", "", "● answer"], "", IDLE)).wait(1_000);
    assert_eq!(session.texts(), ["answer"]);
}

#[test]
fn a_pause_after_prompt_like_text_does_not_end_the_answer() {
    let mut session = Session::new("aider");
    session.out("ask> ").wait(500).keys("quote\r").out("quote\r\nAs they say:\r\n> ").wait(1_500);
    assert_eq!(session.turns.len(), 0);
    session.out("to be\r\nask> ").wait(1_000);
    assert_eq!(session.texts(), ["As they say:\n> to be"]);
    // Another mode has another prompt; it takes a moment longer to trust.
    session.keys("/code\r").out("/code\r\n> ").wait(1_000);
    assert_eq!(session.turns.len(), 1);
    session.wait(3_000);
    assert_eq!(session.turns.len(), 2);
}

#[test]
fn lines_wrapped_by_an_editor_are_an_echo() {
    let mut session = Session::new("aider");
    let pasted = format!("first {}\rlast line.", "word ".repeat(20));
    session.out("\x1b[?2004hask> ").wait(500).keys(&format!("\x1b[200~{pasted}\x1b[201~"));
    let drawn = format!("ask> first {}\r\nask> {}\r\nask> last line.", "word ".repeat(13), "word ".repeat(7));
    session.out(format!("\r{drawn}")).wait(300).keys("\r");
    session.out(format!("\x1b[2A\r\x1b[J{drawn}   \r\x1b[79C \r\r\n\x1b[J\x1b[?2004l\r\n"));
    session.out("the answer\r\n\x1b[?2004hask> ").wait(500);
    assert_eq!(session.texts(), ["the answer"]);
    // An editor that submits only after the answer has not drawn the answer.
    session.keys("more\r").out("more\r\nfirst\r\nsecond\r\n\x1b[?2004l\x1b[?2004hask> ").wait(3_000);
    assert_eq!(session.texts()[1], "first\nsecond");
}

fn bash() -> Session {
    let mut session = Session::new("shell");
    session.out("\x1b[?2004huser@host:~$ ").wait(500);
    assert_eq!(session.state(), ProgramState::Ready);
    session
}

#[test]
fn a_shells_prompt_is_not_what_its_commands_print() {
    let mut session = bash();
    session.keys("x\r").out("x\r\n\x1b[?2004l\rone\r\nuser@host:~$ ").wait(60_000);
    assert_eq!((session.turns.len(), session.state()), (0, ProgramState::Working));
    session.out("two\r\n\x1b[?2004huser@host:~$ ").wait(500);
    assert_eq!(session.texts(), ["one\nuser@host:~$ two"]);
    assert_eq!(session.turns[0].raw, b"\x1b[?2004l\rone\r\nuser@host:~$ two\r\n");
}

#[test]
fn a_continuation_prompt_does_not_end_a_turn() {
    let mut session = bash();
    session.keys("for i in 1 2\r").out("for i in 1 2\r\n\x1b[?2004l\r\x1b[?2004h> ").wait(1_000);
    session.keys("do echo $i; done\r").out("do echo $i; done\r\n\x1b[?2004l\r1\r\n2\r\n").wait(1_000);
    assert_eq!(session.turns.len(), 0);
    session.out("\x1b[?2004huser@host:~$ ").wait(500);
    assert_eq!(session.turns.len(), 1);
}

#[test]
fn bracketed_paste_in_editors_and_questions_is_not_a_prompt() {
    let mut session = bash();
    session.keys("vim\r").out("vim\r\n\x1b[?2004l\r\x1b[?1049h\x1b[?2004h\x1b[Hhello").wait(5_000);
    assert_eq!((session.turns.len(), session.state()), (0, ProgramState::Working));
    session.out("\x1b[?2004l\x1b[?1049l\x1b[?2004huser@host:~$ ").wait(500);
    assert_eq!(session.turns.len(), 1);
    session.keys("read -e\r").out("read -e\r\n\x1b[?2004l\r\x1b[?2004hGo on? [y/N] ").wait(5_000);
    assert_eq!(session.turns.len(), 1);
}

#[test]
fn output_on_the_line_of_the_prompt_is_part_of_the_answer() {
    let mut session = bash();
    session
        .keys("printf abc\r")
        .out("printf abc\r\n\x1b[?2004l\rone\r\nabc\x1b[?2004huser@host:~$ ")
        .wait(500);
    assert_eq!(session.texts(), ["one\nabc"]);
    assert_eq!(session.turns[0].raw, b"\x1b[?2004l\rone\r\nabc");
    // The next prompt is the same, and the next input is not part of it.
    session.keys("true\r").out("true\r\n\x1b[?2004l\r\x1b[?2004huser@host:~$ ").wait(500);
    assert_eq!(session.texts()[1..], [""]);
    // Without any marks, behind the prompt that is known.
    let mut session = Session::new("gdb");
    session.out("(gdb) ").wait(500).keys("echo abc\r").out("echo abc\r\nabc(gdb) ").wait(1_000);
    session.keys("p 1\r").out("p 1\r\n$1 = 1\r\n(gdb) ").wait(1_000);
    assert_eq!(session.texts(), ["abc", "$1 = 1"]);
}

#[test]
fn an_answer_that_shows_the_prompt_and_pauses_is_not_over() {
    let mut session = Session::new("python");
    session.out(">>> ").wait(500).keys("f()\r").out("f()\r\n>>> ").wait(900);
    assert_eq!(session.turns.len(), 0);
    session.out("fake\r\n>>> ").wait(1_000);
    assert_eq!(session.texts(), [">>> fake"]);
    // A user who does not wait that long sees a prompt.
    session.keys("1\r").out("1\r\n1\r\n>>> ").wait(200);
    session.keys("2").out("2").keys("\r").out("\r\n2\r\n>>> ").wait(1_000);
    assert_eq!(session.texts()[1..], ["1", "2"]);
}

#[test]
fn the_echo_of_lines_submitted_at_once_is_not_part_of_the_answer() {
    let mut session = bash();
    session.keys("echo a\recho b\r").out("echo a\r\n\x1b[?2004l\ra\r\n\x1b[?2004huser@host:~$ ");
    session.out("echo b\r\n\x1b[?2004l\rb\r\n\x1b[?2004huser@host:~$ ").wait(500);
    assert_eq!(session.texts(), ["a\nb"]);
    // The next prompt is there, and its line is not.
    session.keys("echo c\recho d\r").out("echo c\r\n\x1b[?2004l\rc\r\n\x1b[?2004huser@host:~$ ").wait(1_000);
    assert_eq!(session.turns.len(), 1);
    session.out("echo d\r\n\x1b[?2004l\rd\r\n\x1b[?2004huser@host:~$ ").wait(500);
    assert_eq!(session.texts()[1..], ["c\nd"]);
    // Each command has marks of its own.
    let prompt = "\x1b]133;D;0\x07\x1b]133;A\x07$ \x1b]133;B\x07";
    let mut session = Session::new("shell");
    session.out(prompt).wait(500).keys("echo a\recho b\r").out("echo a\r\n\x1b]133;C\x07a\r\n");
    session.out(prompt).out("echo b\r\n\x1b]133;C\x07b\r\n").out(prompt).wait(500);
    assert_eq!(session.texts(), ["a\nb"]);
}

#[test]
fn lines_that_were_never_shown_leave_a_mark() {
    for shown in ["line", "- item", "• item", "    code"] {
        let mut session = Session::new("codex");
        session.out("\x1b[?1049h").out(codex(&["Codex"], "24 used")).wait(2_000).keys("question\r");
        session
            .out(codex(&["Codex", "", "› question", "", "• Working (0s • esc to interrupt)"], "24 used"))
            .wait(300);
        // The question is pinned, and the answer has scrolled below it.
        let rows: Vec<String> = (20..36).map(|n| format!("  {shown} {n}")).collect();
        let rows: Vec<&str> = ["› question"].into_iter().chain(rows.iter().map(String::as_str)).collect();
        session.out(codex(&rows, "52 used")).wait(1_000);
        let start = format!("[lines not shown]\n{shown} 20\n");
        assert!(session.texts()[0].starts_with(&start), "{:?}", session.texts());
        assert!(session.turns[0].truncated);
    }
}

fn opencode(conversation: &[&str], below: &str) -> String {
    let edge = "   ╹▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀";
    picture(&[conversation, &["", "   ┃", "   ┃", "   ┃  Build · Stub", edge, below]].concat())
}

#[test]
fn items_whose_text_was_never_drawn_leave_a_mark_and_a_quoted_footer_is_text() {
    let mut session = Session::new("opencode");
    session.out("\x1b[?1049h").out(opencode(&["OpenCode"], "")).wait(2_000).keys("question\r");
    session.out(opencode(&["   ┃  question"], "   ■⬝⬝ esc interrupt")).wait(300);
    let shown = [
        "   ┃  question",
        "",
        "     - one",
        "     -",
        "     -",
        "     - four",
        "     ▣  Build · quoted · 1.0s",
        "     end",
        "",
        "     ▣  Build · Stub · 3.8s",
    ];
    session.out(opencode(&shown, "")).wait(2_000);
    assert_eq!(session.turns.len(), 0, "it may still be drawn");
    session.wait(2_000);
    assert_eq!(session.texts(), ["- one\n[lines not shown]\n- four\n▣  Build · quoted · 1.0s\nend"]);
    assert!(session.turns[0].truncated);
}

#[test]
fn an_error_beside_the_bar_of_a_request_that_is_tried_again_is_no_end() {
    let mut session = Session::new("opencode");
    session.out("\x1b[?1049h").out(opencode(&["OpenCode"], "")).wait(2_000).keys("question\r");
    session.out(opencode(&["   ┃  question"], "   ■■■⬝⬝⬝⬝⬝ esc interrupt")).wait(300);
    let asked = ["   ┃  question", "", "     ▣  Build · Stub"];
    for bar in ["⬝⬝⬝⬝⬝⬝⬝⬝", "⬝⬝■■■■■■", "■■■■⬝⬝⬝⬝"] {
        let error = format!("   {bar} Cannot connect to API: Unable to connect. [retrying in 4s attempt #2");
        session.out(opencode(&asked, &error)).wait(3_000);
    }
    assert_eq!(session.turns.len(), 0);
    let shown = ["   ┃  question", "", "     the answer", "", "     ▣  Build · Stub · 9.1s"];
    session.out(opencode(&shown, "")).wait(2_000);
    assert_eq!(session.texts(), ["the answer"]);
}

#[test]
fn a_tip_of_two_rows_is_not_part_of_the_answer() {
    let tip = [
        "  ⎿  Tip: Start with small features or bug fixes, tell Claude to propose a plan,",
        "     and verify it",
    ];
    let mut session = claude_ready();
    let busy = [&["❯ question", "", "● answer", "", "* Swooping…"], &tip[..]].concat();
    session.keys("question\r").out(claude(&busy, "", BUSY)).wait(300);
    let done = [&["❯ question", "", "● answer", ""], &tip[..]].concat();
    session.out(claude(&done, "", IDLE)).wait(1_000);
    assert_eq!(session.texts(), ["answer"]);
}

#[test]
fn a_shells_prompt_marks_are_trusted() {
    let prompt = "\x1b]133;D;0\x07\x1b]133;A\x07$ \x1b]133;B\x07";
    let mut session = Session::new("shell");
    session.out(prompt).wait(500).keys("x\r").out("x\r\n\x1b]133;C\x07out\r\n$ ").wait(60_000);
    assert_eq!(session.turns.len(), 0);
    session.out("\r\n").out(prompt).wait(500);
    assert_eq!(
        (session.turns[0].raw.as_slice(), session.turns[0].signal.name()),
        (&b"out\r\n$ \r\n"[..], "mark")
    );
}

#[test]
fn prompt_marks_printed_by_a_command_are_ignored() {
    let prompt = "\x1b[?2004h\x1b]133;A\x07$ \x1b]133;B\x07";
    let mut session = Session::new("shell");
    session.out(prompt).wait(500).keys("cat log\r").out("cat log\r\n\x1b[?2004l\r\x1b]133;C\x07");
    session.out("\x1b]133;D;0\x07\x1b]133;A\x07$ \x1b]133;B\x07").wait(5_000);
    assert_eq!(session.turns.len(), 0);
    session.out("\r\n\x1b]133;D;0\x07").out(prompt).wait(500);
    assert_eq!(session.turns.len(), 1);
}

#[test]
fn replies_of_the_terminal_are_not_input() {
    let mut session = bash();
    session.keys("x\r").out("x\r\n\x1b[?2004l\rone\r\n\x1b[?2004hpro\x1b[6n").keys("\x1b[1;4R");
    assert_eq!(session.turns.len(), 0);
    session.out("\x1b[2K\r$ ").wait(500);
    assert_eq!(session.texts(), ["one"]);
}

#[test]
fn text_typed_ahead_does_not_hide_a_prompt() {
    let mut session = bash();
    session.keys("sleep 1\r").out("sleep 1\r\n\x1b[?2004l\r").wait(300).keys("why?").out("why?").wait(700);
    session.out("\x1b[?2004huser@host:~$ why?").wait(500);
    assert_eq!((session.turns.len(), session.state()), (1, ProgramState::Ready));
    session
        .keys("\r")
        .out("\r\n\x1b[?2004l\rbash: why?: command not found\r\n\x1b[?2004huser@host:~$ ")
        .wait(500);
    assert_eq!(session.texts()[1], "bash: why?: command not found");
}

#[test]
fn an_exited_program_completes_no_turn() {
    let mut session = bash();
    session.keys("exit\r").out("exit\r\n\x1b[?2004l\rbye\r\n");
    session.detector.exited(Time::from_millis(session.now));
    session.wait(60_000);
    assert_eq!((session.turns.len(), session.state()), (0, ProgramState::Exited));
}

#[test]
fn a_gap_in_the_output_is_handled() {
    let mut session = bash();
    session.keys("x\r").out("x\r\n\x1b[?2004l\rstart \x1b]0;unfinished");
    let offset = Offset(session.detector.offset().0 + 1_000_000);
    session.detector.output(
        &mut session.screen,
        b"\x1b\\end\r\n\x1b[?2004h$ ",
        offset,
        Time::from_millis(session.now),
    );
    session.wait(500);
    let turn = &session.turns[0];
    // Of a part that is lost the end is worth more than the beginning.
    assert_eq!((turn.text.as_str(), turn.truncated), ("end", true));
    assert_eq!(turn.byte_length, 1_000_000 + 36);
}

#[test]
fn skipped_output_counts() {
    let mut session = bash();
    session.keys("yes\r").out("yes\r\n\x1b[?2004l\r");
    let flood = "y\r\n".repeat(100_000);
    let skipped = session.screen.skip(flood.as_bytes());
    assert!(skipped > 100_000, "{skipped}");
    session.detector.passed(
        &flood.as_bytes()[..skipped],
        session.detector.offset(),
        Time::from_millis(session.now),
    );
    session.out(&flood[skipped..]).out("\x1b[?2004huser@host:~$ ").wait(500);
    assert_eq!(session.turns[0].byte_length, flood.len() as u64 + 9);
}

#[test]
fn frames_in_a_flood_are_read_now_and_then() {
    let mut session = claude_ready();
    session.keys("one\r");
    let busy = claude(&["❯ one"], "", BUSY);
    let flood = busy.repeat(20_000);
    let started = std::time::Instant::now();
    session.out(&flood);
    session.out(claude(&["❯ one", "● answer"], "", IDLE)).wait(1_000);
    assert_eq!(session.texts(), ["answer"]);
    // 20,000 looks take minutes in a debug build; this is only to catch that.
    assert!(started.elapsed().as_secs() < 60);
}
