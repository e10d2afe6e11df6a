//! How answers read on a terminal: streamed words, tables, code, diffs, sizes, terminals that can do little.

use swb_testkit::{Swb, Terminal};

const EXE: &str = env!("CARGO_BIN_EXE_swb");

const TABLE: &str =
    "say:| Key | Meaning |\\n|---|---|\\n| a | several words that do not fit into one row of it |\\n\\nend";

/// A terminal with a conversation that waits for a prompt.
fn terminal(swb: &Swb, args: &[&str], (cols, rows): (u16, u16)) -> Terminal {
    started(swb, args, (cols, rows), &[])
}

/// The same with other variables.
fn started(swb: &Swb, args: &[&str], (cols, rows): (u16, u16), variables: &[(&str, &str)]) -> Terminal {
    let mut command = swb.command(&[&["chat", "--new"], args].concat());
    command.envs(variables.iter().copied());
    let mut terminal = Terminal::start(command, cols, rows);
    terminal
        .until_screen("a prompt", |text| text.ends_with("› ") || text.ends_with('›') || text.ends_with('>'));
    terminal
}

fn send(terminal: &mut Terminal, text: &str) {
    terminal.type_in(text.as_bytes());
    terminal.type_in(b"\r");
}

/// The end of an answer is below everything else but the prompt.
fn ended(text: &str) -> bool {
    text.lines().rev().nth(1).is_some_and(|line| line.starts_with("— ") || line.starts_with("- "))
}

#[test]
fn words_wrap_while_they_stream() {
    let swb = Swb::scripted(EXE, "");
    let mut terminal = terminal(&swb, &[], (30, 20));
    let file = swb.dir().join("go on");
    send(
        &mut terminal,
        &format!("split:a sentence of words that wraps and is still going;await:{}", file.display()),
    );
    terminal.until_screen("the whole sentence, between words", |text| {
        text.contains("\na sentence of words that\nwraps and is still going\n")
    });
    std::fs::write(&file, "").unwrap();
    terminal.until_screen("the end", ended);
    let text = terminal.screen().text();
    assert_eq!(text.matches("\na sentence of words").count(), 1, "{text}");
}

#[test]
fn a_table_is_drawn_in_the_width_there_is() {
    let swb = Swb::scripted(EXE, "");
    let mut wide = terminal(&swb, &[], (80, 30));
    send(&mut wide, TABLE);
    wide.until_screen("a table", |text| {
        ended(text) && text.contains("│ a   │ several words that do not fit into one row of it │")
    });
    let mut narrow = terminal(&swb, &[], (30, 30));
    send(&mut narrow, TABLE);
    narrow.until_screen("a table of 29 columns", |text| {
        ended(text) && text.contains("┌─────┬") && text.contains("│ a   │ several words that  │")
    });
}

#[test]
fn code_has_colours_only_where_they_are_wanted() {
    let swb = Swb::scripted(EXE, "");
    let code = "say:```rust\\nfn main() {}\\n```\\n";
    let mut coloured = terminal(&swb, &[], (80, 24));
    send(&mut coloured, code);
    coloured.until("\x1b[35mfn\x1b[m");
    let mut plain = started(&swb, &[], (80, 24), &[("NO_COLOR", "1")]);
    send(&mut plain, code);
    plain.until_screen("code", |text| ended(text) && text.contains("    fn main() {}"));
    assert!(!String::from_utf8_lossy(plain.seen()).contains("\x1b[35m"));
}

#[test]
fn an_edit_is_a_diff_before_it_is_approved() {
    let swb = Swb::scripted(EXE, "");
    let mut terminal = terminal(&swb, &[], (80, 24));
    send(&mut terminal, "edit:main.rs:one\\ntwo\\nthree:one\\n2\\nthree");
    terminal.until("\x1b[31m  - two\x1b[m");
    terminal.until("\x1b[32m  + 2\x1b[m");
    terminal
        .until_screen("the ways to answer", |text| text.contains("main.rs  +1 -1") && text.contains("y/1"));
    terminal.type_in(b"y");
    terminal.until_screen("the end", |text| ended(text) && text.contains("permit: yes"));
}

#[test]
fn resizing_leaves_nothing_behind() {
    let swb = Swb::scripted(EXE, "");
    let mut terminal = terminal(&swb, &[], (80, 24));
    send(&mut terminal, "say:the answer");
    terminal.until_screen("the end", ended);
    terminal.type_in(b"a message that is being typed and takes more than one row of a narrow terminal");
    terminal.until_screen("it", |text| text.replace("\n  ", "").contains("narrow terminal"));
    for (cols, rows) in [(40, 24), (33, 12), (100, 30), (24, 10), (80, 24)] {
        terminal.resize(cols, rows);
        let mark = format!("{cols}");
        terminal.type_in(mark.as_bytes());
        terminal
            .until_screen("the typed text", |text| text.replace("\n", "").replace(' ', "").ends_with(&mark));
        let text = terminal.screen().text();
        assert_eq!(text.matches("› a message").count(), 1, "{cols}x{rows}:\n{text}");
        assert!(text.matches("the answer").count() <= 2, "{cols}x{rows}:\n{text}");
    }
}

#[test]
fn a_terminal_that_can_do_little_is_usable() {
    let swb = Swb::scripted(EXE, "");
    let variables = [("TERM", "dumb"), ("LC_ALL", "C")];
    let mut terminal = started(&swb, &[], (80, 24), &variables);
    send(&mut terminal, TABLE);
    terminal.until_screen("the end", |text| {
        text.contains("+-----+-") && text.contains("\nend\n") && text.contains("\n- ")
    });
    send(&mut terminal, "permit:rm x");
    terminal.until_screen("the ways to answer", |text| text.contains("may it use") && text.contains("y/1 "));
    terminal.type_in(b"n");
    terminal.until_screen("the answer", |text| text.contains("permit: no"));
    let seen = String::from_utf8_lossy(terminal.seen()).into_owned();
    assert!(seen.is_ascii() && !seen.contains('\x1b'), "{seen:?}");
}

#[test]
fn a_tiny_terminal_is_usable() {
    let swb = Swb::scripted(EXE, "");
    let mut terminal = terminal(&swb, &[], (20, 5));
    send(&mut terminal, TABLE);
    terminal.until_screen("the end", |text| text.contains("end\n") && ended(text));
    send(&mut terminal, "permit:rm x");
    terminal.until_screen("the ways to answer", |text| text.contains("y/1"));
    terminal.type_in(b"y");
    terminal.until_screen("the end", |text| text.contains("permit: yes") && ended(text));
    terminal.type_in(b"/");
    terminal.until_screen("commands", |text| text.contains("/new"));
    terminal.type_in(b"\x15\x12");
    terminal.until_screen("the search", |text| text.contains("search"));
    terminal.type_in(b"\x07");
    terminal.until_screen("the prompt", |text| text.ends_with('›'));
    terminal.type_in(b"\x04");
    assert_eq!(terminal.wait(), 0);
}

#[test]
fn images_are_named() {
    let swb = Swb::scripted(EXE, "");
    let mut terminal = terminal(&swb, &[], (80, 24));
    terminal.type_in(b"\x1b[200~'/tmp/with blank/shot 1.png'\x1b[201~");
    terminal.until_screen("the image's name", |text| text.contains("▣ shot 1.png"));
    terminal.type_in(b"\x15");
    send(&mut terminal, "say:![](https://example.org/a/chart.png)");
    terminal.until_screen("the image's name", |text| ended(text) && text.contains("▣ chart.png"));
}
