//! The line rules, one requirement at a time.

use swb_turns::{LineEvent, LineOptions, LineRules, LineTurn, Pattern, Time};

/// A program with prompts, driven by hand.
struct Session {
    rules: LineRules,
    now: u64,
    turns: Vec<LineTurn>,
    ready: usize,
}

impl Session {
    fn new(pattern: &str) -> Self {
        Self::with(LineRules::new(Pattern::new(pattern).unwrap(), LineOptions::default()))
    }

    fn with(rules: LineRules) -> Self {
        Self { rules, now: 1_000_000, turns: Vec::new(), ready: 0 }
    }

    fn out(&mut self, output: impl AsRef<[u8]>) -> &mut Self {
        self.rules.output(output.as_ref(), Time::from_millis(self.now));
        self.take()
    }

    fn keys(&mut self, input: impl AsRef<[u8]>) -> &mut Self {
        self.rules.input(input.as_ref(), Time::from_millis(self.now));
        self.take()
    }

    fn wait(&mut self, millis: u64) -> &mut Self {
        self.now += millis;
        self.rules.tick(Time::from_millis(self.now));
        self.take()
    }

    fn take(&mut self) -> &mut Self {
        for event in self.rules.take_events() {
            match event {
                LineEvent::Ready => self.ready += 1,
                LineEvent::Submitted => {}
                LineEvent::Turn(turn) => self.turns.push(turn),
            }
        }
        self
    }

    /// A shell's first prompt.
    fn prompt(&mut self) -> &mut Self {
        self.out("$ ").wait(200)
    }

    fn contents(&self) -> Vec<&str> {
        self.turns.iter().map(|turn| std::str::from_utf8(&turn.content).unwrap()).collect()
    }
}

fn shell() -> Session {
    let mut session = Session::new("generic");
    session.prompt();
    session
}

// CT-1, CT-2: the patterns themselves are tested in `pattern.rs`.
#[test]
fn a_custom_pattern_is_matched() {
    let mut session = Session::new(r"^READY\d+: $");
    session.out("READY1: ").wait(200).keys("go\r").out("go\r\nanswer $ \r\nREADY2: ").wait(200);
    assert_eq!(session.contents(), ["answer $ \r\n"]);
}

// CT-3
#[test]
fn presets_have_names() {
    let mut session = Session::new("aider");
    session.out("ask> ").wait(200).keys("hi\r").out("hi\r\nhello\r\n$ \r\nask> ").wait(200);
    assert_eq!(session.contents(), ["hello\r\n$ \r\n"]);
}

// CT-4
#[test]
fn without_a_pattern_any_usual_prompt_counts() {
    for prompt in ["$ ", "host# ", "zsh % ", ">>> ", "mysql>"] {
        let mut session = Session::with(LineRules::new(Pattern::default(), LineOptions::default()));
        session.out(prompt).wait(200).keys("x\r").out(format!("x\r\ny\r\n{prompt}")).wait(200);
        assert_eq!(session.contents(), ["y\r\n"], "{prompt:?}");
    }
}

// CT-5
#[test]
fn the_pattern_never_changes() {
    assert_eq!(Session::new("x+y").rules.pattern().as_str(), "x+y");
}

// CT-6
#[test]
fn escape_sequences_are_removed_wherever_reads_are_split() {
    let output = b"ls\r\nfile\r\n\x1b]0;a title $\x07\x1b[1;32muser\x1b(B\x1b[m\x1b]133;B\x1b\\$ \x1b[K";
    for cut in 1..output.len() {
        let mut session = Session::new(r"^user\$ $");
        session
            .out("user$ ")
            .wait(200)
            .keys("ls\r")
            .out(&output[..cut])
            .wait(20)
            .out(&output[cut..])
            .wait(200);
        assert_eq!(session.contents(), ["file\r\n"], "cut at {cut}");
    }
}

// CT-7
#[test]
fn a_match_anywhere_in_the_line_is_a_prompt() {
    let mut session = Session::new("READY");
    session.out("-- READY --").wait(200).keys("x\r").out("x\r\ny\r\n-- READY --").wait(200);
    assert_eq!(session.contents(), ["y\r\n"]);
}

// CT-8
#[test]
fn a_prompt_without_a_newline_needs_a_short_silence_and_no_more_output() {
    let mut session = shell();
    session.keys("x\r").out("x\r\ny\r\n$ ").wait(99);
    assert_eq!(session.contents(), [""; 0]);
    session.wait(2);
    assert_eq!(session.contents(), ["y\r\n"]);
}

// CT-8: a line that looks like a prompt and continues, or that other output follows at once, is output.
#[test]
fn lines_that_only_look_like_a_prompt_are_output() {
    let mut session = shell();
    session
        .keys("x\r")
        .out("x\r\nprice in $\r\n")
        .wait(50)
        .out("50%")
        .wait(50)
        .out(" done\r\n")
        .wait(300)
        .out("is it $?\r\n")
        .wait(10_000);
    assert_eq!(session.contents(), [""; 0]);
    session.out("$ ").wait(200);
    assert_eq!(session.contents(), ["price in $\r\n50% done\r\nis it $?\r\n"]);
}

// CT-8, CT-13: a prompt may be a line of its own, with blank lines below it.
#[test]
fn a_prompt_on_a_complete_line_is_found_once_it_is_quiet() {
    for prompt in ["READY>\r\n", "\x1b[1mREADY> \x1b[m\r\n\r\n", "READY>\n \n"] {
        let mut session = Session::new("^READY>");
        session.out("welcome\r\n").out(prompt).wait(200);
        assert_eq!(session.ready, 1, "{prompt:?}");
        session.keys("go\r").out("go\r\nREADY> is what I print\r\nmore\r\n").wait(50).out(prompt).wait(99);
        assert_eq!(session.contents(), [""; 0], "{prompt:?}");
        session.wait(2);
        assert_eq!(session.contents(), ["READY> is what I print\r\nmore\r\n"], "{prompt:?}");
        // Typed before it was quiet, and echoed key by key.
        session.keys("on").out("on").keys("\r").out("\r\nfirst\r\n").out(prompt);
        session.keys("up").out("up").keys("\r").out("\r\nsecond\r\n").out(prompt).wait(200);
        assert_eq!(session.contents()[1..], ["first\r\n", "second\r\n"], "{prompt:?}");
    }
}

// CT-8: while the program works, the line that has the prompt, and the echo, are not another prompt.
#[test]
fn the_prompt_that_was_answered_is_not_the_next_one() {
    let mut session = Session::new(r"^\$ ");
    session.prompt().keys("sleep 1").out("sleep 1").keys("\r").out("\r\n").wait(5_000);
    session.out("awake\r\n$ ").wait(200);
    assert_eq!(session.contents(), ["awake\r\n"]);
    let mut session = Session::new("^READY>");
    session.out("READY>\r\n").wait(200).keys("READY> x\r").out("READY> x\r\n").wait(5_000);
    session.out("answer\r\nREADY>\r\n").wait(200);
    assert_eq!(session.contents(), ["answer\r\n"]);
}

// CT-8: the caller may be late; what was quiet was quiet.
#[test]
fn a_late_tick_changes_nothing() {
    let mut session = shell();
    session.keys("x\r").out("x\r\ny\r\n$ ");
    session.now += 5_000;
    session.out("job done\r\n");
    assert_eq!(session.contents(), ["y\r\n"]);
    assert_eq!(session.turns[0].at, Time::from_millis(1_000_300));
}

// CT-9
#[test]
fn bytes_that_are_not_text_are_kept() {
    let mut session = shell();
    session.keys("x\r").out(b"x\r\n\xff\xfe\x00\xc3(\r\n$ ").wait(200);
    assert_eq!(session.turns[0].content, b"\xff\xfe\x00\xc3(\r\n");
}

// CT-10
#[test]
fn the_first_prompt_makes_no_turn() {
    let mut session = Session::new("generic");
    session.out("welcome\r\n$ ").wait(200);
    assert_eq!((session.ready, session.turns.len()), (1, 0));
}

// CT-11
#[test]
fn a_turn_needs_prompt_submission_output_and_prompt() {
    let mut session = Session::new("generic");
    session.keys("x\r").out("x\r\ny\r\n$ ").wait(200);
    assert_eq!(session.turns.len(), 0, "no prompt before");
    session.out("\r\nnews\r\n$ ").wait(200);
    assert_eq!(session.turns.len(), 0, "nothing submitted");
    session.keys("abc").out("abc").wait(200).out("\r\n$ ").wait(200);
    assert_eq!(session.turns.len(), 0, "typed, not submitted");
    let mut session = shell();
    session.keys("x\n").out("x\r\ny\r\n$ ").wait(200);
    assert_eq!(session.contents(), ["y\r\n"], "a line feed submits too");
}

// CT-12
#[test]
fn prompts_echo_and_blanks_make_no_turn() {
    let mut session = shell();
    session.keys("\r").out("\r\n$ ").wait(200);
    session.keys("true\r").out("true\r\n$ ").wait(200);
    session.keys("\r\r\r").out("\r\n$ \r\n$ \r\n$ ").wait(200);
    session.keys(" \r").out(" \r\n  \r\n\r\n$ ").wait(200);
    assert_eq!(session.turns.len(), 0, "{:?}", session.contents());
}

// CT-13
#[test]
fn content_lies_between_the_submission_and_the_prompt_line() {
    let mut session = shell();
    session.keys("x\r").out("x\r\n").out("one\r\n\r\ntwo\r\n").out("\x1b[32muser\x1b[m $ ").wait(200);
    assert_eq!(session.contents(), ["one\r\n\r\ntwo\r\n"]);
    let turn = &session.turns[0];
    assert_eq!((turn.start.0, turn.end.0), (5, 17));
}

// CT-14
#[test]
fn the_echo_is_not_content() {
    // The terminal driver, at once.
    let mut driver = shell();
    driver.keys("abc\r").out("abc\r\nabc\r\n$ ").wait(200);
    assert_eq!(driver.contents(), ["abc\r\n"]);
    // A line editor, key by key.
    let mut editor = shell();
    for key in ["a", "b", "c"] {
        editor.keys(key).out(key).wait(10);
    }
    editor.keys("\r").out("\r\nabc\r\n$ ").wait(200);
    assert_eq!(editor.contents(), ["abc\r\n"]);
    // No echo at all.
    let mut silent = shell();
    silent.keys("abc\r").out("abcd\r\n$ ").wait(200);
    assert_eq!(silent.contents(), ["abcd\r\n"]);
}

// CT-15, CT-18
#[test]
fn content_is_kept_byte_for_byte() {
    let answer = "\x1b[1mbold\x1b[m\r\n\ttab\x07\r\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\\n";
    let mut session = shell();
    session.keys("x\r").out("x\r\n").out(answer).out("$ ").wait(200);
    assert_eq!(session.contents(), [answer]);
}

// CT-16
#[test]
fn silence_completes_nothing() {
    let mut session = shell();
    session.keys("x\r").out("x\r\nworking").wait(3_600_000);
    assert_eq!(session.turns.len(), 0);
    assert_eq!(session.rules.deadline(), None, "nobody needs to be woken");
}

// CT-17
#[test]
fn an_interruption_is_reported() {
    let mut session = shell();
    session.keys("sleep 9\r").out("sleep 9\r\n").keys("\x03").out("^C\r\n$ ").wait(200);
    session.keys("x\r").out("x\r\ny\r\n$ ").wait(200);
    session.keys("z\r").out("z\r\n");
    session.rules.interrupt();
    session.out("stopped\r\n$ ").wait(200);
    let flags: Vec<bool> = session.turns.iter().map(|turn| turn.interrupted).collect();
    assert_eq!(flags, [true, false, true]);
    assert_eq!(session.contents()[0], "^C\r\n");
}

// CT-17: before anything is submitted there is nothing to interrupt.
#[test]
fn an_interruption_at_the_prompt_is_ignored() {
    let mut session = shell();
    session.keys("\x03").out("^C\r\n$ ").wait(200).keys("x\r").out("x\r\ny\r\n$ ").wait(200);
    assert!(!session.turns[0].interrupted);
}

// CT-19
#[test]
fn a_turn_has_the_time_of_its_closing_prompt() {
    let mut session = shell();
    session.keys("x\r").out("x\r\ny\r\n").wait(5_000).out("$ ").wait(5_000);
    assert_eq!(session.turns[0].at.millis(), 1_000_200 + 5_000 + 100);
}

// CP-20
#[test]
fn injected_lines_submit_as_typed_ones_do() {
    let mut session = shell();
    session.keys("one\rtwo\r").out("one\r\ntwo\r\nanswer\r\n$ ").wait(200);
    assert_eq!(session.turns.len(), 1);
}

// CP-28
#[test]
fn endless_output_is_bounded() {
    let options = LineOptions { turn_bytes: 1000, ..LineOptions::default() };
    let mut session = Session::with(LineRules::new(Pattern::default(), options));
    session.prompt().keys("yes\r").out("yes\r\n");
    for _ in 0..1000 {
        session.out("y\r\n".repeat(100));
    }
    session.out("$ ").wait(200);
    let turn = &session.turns[0];
    assert_eq!((turn.content.len(), turn.byte_length, turn.truncated()), (995, 300_000, true));
}

// CT-8, CT-11: a script replies to a prompt as soon as it sees it.
#[test]
fn a_prompt_that_is_answered_at_once_closes_the_turn_before() {
    let mut session = Session::new("generic");
    session.prompt().keys("one\r").out("one\r\nfirst answer\r\n$ ");
    session.keys("two\r").out("two\r\nsecond answer\r\n$ ").wait(200);
    assert_eq!(session.contents(), ["first answer\r\n", "second answer\r\n"]);
    // Also when its keys are echoed one by one before it presses Enter.
    session.keys("three").out("three").keys("\r").out("\r\nthird answer\r\n$ ");
    session.keys("four").out("four").keys("\r").out("\r\nfourth answer\r\n$ ").wait(200);
    assert_eq!(session.contents()[2..], ["third answer\r\n", "fourth answer\r\n"]);
}

// CT-14: only an echo is left out, not an answer that ends in the same words.
#[test]
fn an_answer_that_repeats_the_input_is_an_answer() {
    let mut session = Session::new("generic");
    session.prompt().keys("one\r").out("you said one\r\n$ ").wait(200);
    assert_eq!(session.contents(), ["you said one\r\n"]);
    session.keys("one\r").out("$ one\r\nyou said one\r\n$ ").wait(200);
    assert_eq!(session.contents()[1..], ["you said one\r\n"]);
}

// CT-1
#[test]
fn patterns_with_large_classes_are_fine() {
    assert!(Pattern::new(r"^[\w.-]{1,64}>").is_ok());
}
