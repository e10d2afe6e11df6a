//! Dialogs of real agents: their questions, and the keys that answer them.

use crate::common::{Case, cases};
use std::path::Path;
use std::time::Duration;
use swb_turns::Meaning::{AllowAlways, AllowOnce, RejectAlways, RejectOnce};
use swb_turns::recording::{Recording, Step};
use swb_turns::{Detector, DetectorEvent, Dialog, Meaning, Profiles, ProgramState, Time, box_holds, dialog};
use swb_types::Size;
use swb_vt::{Options, Screen};

/// The dialogs of a recording, each as shown when the user answers it.
fn dialogs(case: &Case) -> Vec<Dialog> {
    let mut screen = Screen::new(case.expected.size(), Options::default());
    let mut detector = Detector::new(case.profile.clone(), case.expected.size());
    let (mut asked, mut all) = (false, Vec::new());
    for (now, step) in &case.recording.steps {
        match step {
            Step::Output(bytes) => detector.output(&mut screen, bytes, detector.offset(), *now),
            Step::Resize(size) => detector.resize(&mut screen, *size, *now),
            Step::Input(bytes) => {
                let before = dialog(&case.profile, &screen, false);
                detector.input(&screen, bytes, *now);
                asked |=
                    detector.take_events().iter().any(|event| matches!(event, DetectorEvent::Dialog { .. }));
                if std::mem::take(&mut asked) {
                    all.push(before.unwrap());
                }
            }
        }
        asked |= detector.take_events().iter().any(|event| matches!(event, DetectorEvent::Dialog { .. }));
    }
    all
}

/// Label, meaning and keys of each option, in short.
fn options(dialog: &Dialog) -> Vec<(&str, Meaning, String)> {
    let options = dialog.options.iter();
    options.map(|option| (option.label.as_str(), option.meaning, option.keys.join(" "))).collect()
}

fn only(name: &str) -> Option<Dialog> {
    let case = cases().into_iter().find(|case| case.name == name)?;
    let mut found = dialogs(&case);
    assert_eq!(found.len(), 1, "{name}");
    found.pop()
}

#[test]
fn every_dialog_can_be_answered() {
    let mut seen = 0;
    for case in cases() {
        let found = dialogs(&case);
        let expected: usize = case.expected.turns.iter().map(|turn| turn.dialogs.len()).sum();
        assert!(found.len() >= expected, "{}: {found:#?}", case.name);
        for dialog in found {
            let meanings: Vec<Meaning> = dialog.options.iter().map(|option| option.meaning).collect();
            assert!(
                meanings.contains(&AllowOnce) && meanings.contains(&RejectOnce),
                "{}: {dialog:#?}",
                case.name
            );
            assert!(!meanings.contains(&Meaning::Other), "{}: {dialog:#?}", case.name);
            assert!(dialog.question.ends_with('?') || case.profile.name() == "opencode", "{dialog:#?}");
            assert!(!dialog.detail.is_empty() && dialog.asks_permission(), "{dialog:#?}");
            seen += 1;
        }
    }
    assert!(seen >= 9, "{seen} dialogs");
}

#[test]
fn claude_is_answered_with_numbers_and_escape() {
    let dialog = only("claude-code/04-tool").unwrap();
    assert_eq!((dialog.tool.as_str(), dialog.question.as_str()), ("Bash command", "Do you want to proceed?"));
    assert!(dialog.detail.contains("touch made.txt && ls -la"));
    let always = "Yes, and always allow access to project/ from this project";
    assert_eq!(dialog.subject.as_deref(), Some("touch made.txt && ls -la"));
    let expected = [
        ("Yes", AllowOnce, "1".to_owned()),
        (always, AllowAlways, "2".to_owned()),
        ("No", RejectOnce, "Escape".to_owned()),
    ];
    assert_eq!(options(&dialog), expected);
}

#[test]
fn codex_is_answered_with_the_letters_it_names() {
    let dialog = only("codex/04-tool-denied").unwrap();
    assert_eq!(dialog.question, "Would you like to run the following command?");
    assert!(dialog.detail.ends_with("$ touch made.txt && ls"), "{}", dialog.detail);
    assert_eq!(dialog.subject.as_deref(), Some("touch made.txt && ls"));
    let always = "Yes, and don't ask again for commands that start with `touch made.txt`";
    let expected = [
        ("Yes, proceed", AllowOnce, "y".to_owned()),
        (always, AllowAlways, "p".to_owned()),
        ("No, and tell Codex what to do differently", RejectOnce, "Escape".to_owned()),
    ];
    assert_eq!(options(&dialog), expected);
}

#[test]
fn gemini_is_answered_inside_its_frame() {
    let dialog = only("gemini-cli/04-tool-denied").unwrap();
    assert_eq!((dialog.tool.as_str(), dialog.question.as_str()), ("Shell", "Allow execution of [Shell]?"));
    let expected = [
        ("Allow once", AllowOnce, "1".to_owned()),
        ("Allow for this session", AllowAlways, "2".to_owned()),
        ("No, suggest changes", RejectOnce, "Escape".to_owned()),
    ];
    assert_eq!(options(&dialog), expected);
}

#[test]
fn opencode_is_answered_by_moving_the_mark() {
    let dialog = only("opencode/04-tool-denied").unwrap();
    assert_eq!((dialog.tool.as_str(), dialog.question.as_str()), ("Shell command", "Permission required"));
    let expected = [
        ("Allow once", AllowOnce, "Enter".to_owned()),
        ("Allow always", AllowAlways, "Right Enter".to_owned()),
        ("Reject", RejectOnce, "Escape".to_owned()),
    ];
    assert_eq!(options(&dialog), expected);
}

#[test]
fn aider_is_answered_with_a_letter_and_enter() {
    let case = cases().into_iter().find(|case| case.name == "aider/04-tool").unwrap();
    let found = dialogs(&case);
    let questions: Vec<&str> = found.iter().map(|dialog| dialog.question.as_str()).collect();
    assert_eq!(questions, ["Create new file?", "Run shell command?", "Add command output to the chat?"]);
    assert!(found[1].detail.starts_with("> Q09 list the files\n"), "{}", found[1].detail);
    assert!(found[1].detail.ends_with("\nApplied edit to made.txt\nls"), "{}", found[1].detail);
    let expected = [
        ("Yes", AllowOnce, "y Enter".to_owned()),
        ("No", RejectOnce, "n Enter".to_owned()),
        ("Don't ask again", RejectAlways, "d Enter".to_owned()),
    ];
    assert_eq!(options(&found[1]), expected);
    let subjects: Vec<Option<&str>> = found.iter().map(|dialog| dialog.subject.as_deref()).collect();
    assert_eq!(subjects, [Some("made.txt"), Some("ls"), None]);
    assert_ne!(found[0].id, found[1].id);
}

#[test]
fn blank_rows_hide_nothing_of_a_command() {
    let text = format!("{RULE}\n> go\n\nrm -rf .\n\nls\nRun shell commands? (Y)es/(N)o [Yes]: ");
    assert_eq!(shown("aider", &text).unwrap().detail, "> go\nrm -rf .\nls");
}

fn shown(profile: &str, text: &str) -> Option<Dialog> {
    let mut screen = Screen::new(Size::new(80, 24).unwrap(), Options::default());
    screen.feed(text.replace('\n', "\r\n").as_bytes());
    dialog(&Profiles::built_in().unwrap().named(profile).unwrap(), &screen, false)
}

const RULE: &str = "────────────────────────────────────────";

#[test]
fn the_command_is_named_where_the_question_does_not() {
    let rule = "╌".repeat(60);
    let claude = |question: &str| {
        let text = format!(
            "{RULE}\n Bash command\n Make a file\n{rule}\n touch made.txt\n{rule}\n Rule Bash.\n\n {question}\n\
             \x20❯ 1. Yes\n   2. No\n\n Esc to cancel"
        );
        shown("claude", &text).unwrap().subject
    };
    assert_eq!(claude("Do you want to proceed?").as_deref(), Some("touch made.txt"));
    assert_eq!(claude("Do you want to make this edit to made.txt?"), None);
    let gemini = "╭─────╮\n│ ? Shell  touch made.txt │\n│ ╭────╮ │\n│ │ touch made.txt │ │\n│ ╰────╯ │\n\
                  │ Allow execution of [Shell]? │\n│ │\n│ ● 1. Allow once │\n│   2. No, suggest changes (esc) │\n╰─────╯";
    assert_eq!(shown("gemini", gemini).unwrap().subject.as_deref(), Some("touch made.txt"));
}

#[test]
fn a_dialog_that_begins_above_the_screen_is_cut() {
    let edit = |rows: usize| {
        let lines: String = (0..rows).map(|n| format!(" {n} a line\n")).collect();
        let text = format!(
            "{RULE}\n Edit file\n{lines} Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n Esc to cancel"
        );
        shown("claude", &text).unwrap().cut
    };
    assert!(!edit(5) && edit(40));
    let rule = "╌".repeat(60);
    let lines: String = (0..40).map(|n| format!(" │ echo {n}\n")).collect();
    let text = format!(
        "{RULE}\n Bash command\n{rule}\n{lines}{rule}\n Do you want to proceed?\n ❯ 1. Yes\n   2. No\n"
    );
    let tall = shown("claude", &text).unwrap();
    assert!(tall.cut && tall.subject.unwrap().ends_with("echo 38 echo 39"));
}

/// What a program asks when it starts, or when one of its own commands lets the user choose.
const TRUST: &str = "  Folder access\n  /home/u/api\n\n  Trust this folder? Codex can read, edit, and run files.\n\n\
                     › 1. Trust and continue\n  2. Back to Agent Command Center\n\n  enter continue · esc back";
const SIGN_IN: &str = "  Welcome to Codex\n\n  Choose how you want to use Codex.\n\n> 1. Sign in with ChatGPT\n\
                       \x20    Usage included\n\n  2. Use an OpenAI API key\n     Pay for what you use\n\n  Press enter to continue";
const MODEL: &str = "❯ /clear\n▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔\n   Select model\n   Switch between Claude models.\n\n\
                     \x20  ❯ 1. Default (recommended) ✔  Use the default model\n     2. Opus                     Opus 5.5\n\
                     \x20  ↓ 3. Fable                    Fable 5.2\n\n   Enter to set as default · s to use this session only · Esc to cancel";
const THEME: &str = "▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔\n   Theme\n\n   Choose the text style\n\n       Auto\n   ❯ ✔ Dark mode\n\
                     \x20      Light mode\n     ↓ 2 more\n\n   Enter to select · Esc to cancel";
const STATUS: &str =
    "▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔\n   Settings  Status   Config\n\n   Version:   2.1.325\n\n   Esc to cancel";
const CENTER: &str =
    "  Agent command center\n\n  › ● A task       Ready\n\n  ? help  esc back  ↑/↓ move  enter open  n new";
const GEMINI_THEME: &str = "╭────────────╮\n│ > Select Theme │\n│ ●  4. Default Dark │\n│    5. Dracula Dark │\n│ │\n\
                            │ (Use Enter to select, Tab to configure scope, Esc to close) │\n╰────────────╯";
const WINDOW: &str = "  ┃  hello\n     ok then\n     ▣  Bu    Themes                                  esc\n\
                      \x20             nord\n            ● opencode\n  ┃\n  ┃  Build · Stub\n  ╹▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀";

#[test]
fn what_has_replaced_the_input_box_is_a_dialog() {
    for (profile, screen, question) in [
        ("codex", TRUST, "Trust this folder?"),
        ("codex", SIGN_IN, "Choose how you want to use Codex."),
        ("codex", CENTER, ""),
        ("claude", MODEL, ""),
        ("claude", THEME, ""),
        ("claude", STATUS, ""),
        ("gemini", GEMINI_THEME, ""),
        ("opencode", WINDOW, ""),
    ] {
        let found = shown(profile, screen).unwrap_or_else(|| panic!("{screen}"));
        assert!(question.is_empty() || found.question == question, "{found:#?}");
        assert!(found.options.iter().any(|option| option.meaning.rejects()), "{found:#?}");
    }
    let trust = shown("codex", TRUST).unwrap();
    let expected = [
        ("Trust and continue", AllowOnce, "1".to_owned()),
        ("Back to Agent Command Center", RejectOnce, "2".to_owned()),
    ];
    assert_eq!(options(&trust), expected);
}

#[test]
fn not_to_trust_is_to_deny() {
    let text = "╭────╮\n│ Do you trust the files in this folder? │\n│ ● 1. Trust folder (p) │\n\
                │   2. Trust parent folder (u) │\n│   3. Don't trust │\n╰────╯";
    let meanings: Vec<Meaning> =
        shown("gemini", text).unwrap().options.iter().map(|option| option.meaning).collect();
    assert_eq!(meanings, [AllowOnce, AllowOnce, RejectOnce]);
}

#[test]
fn hints_below_an_input_box_are_no_dialog() {
    let claude = format!("● Press Enter to go on\n{RULE}\n❯ text\n{RULE}\n  Esc to clear");
    assert_eq!(shown("claude", &claude), None);
    let codex = "• Press enter to go on, esc to cancel\n\n› text\n\n  /model   press enter to choose\n  ? for shortcuts";
    assert_eq!(shown("codex", codex), None);
}

#[test]
fn the_text_of_a_command_is_not_an_option() {
    let text = format!(
        "● Bash\n{RULE}\n Bash command\n\n   cat <<E\n   1. Yes\n   2. No\n   E\n\n Do you want to proceed?\n\
         \x20❯ 1. Yes\n   2. Yes, and don't ask again for cat commands in a directory with a long\n\
         \x20     name\n   3. No\n\n Esc to cancel"
    );
    let found = shown("claude", &text).unwrap();
    let labels: Vec<&str> = found.options.iter().map(|option| option.label.as_str()).collect();
    let long = "Yes, and don't ask again for cat commands in a directory with a long name";
    assert_eq!(labels, ["Yes", long, "No"]);
    assert!(found.detail.contains("1. Yes\n2. No"), "{}", found.detail);
}

#[test]
fn a_command_that_ends_like_the_question_is_shown() {
    let with_command = |command: &str| {
        let text = format!(
            "{RULE}\n Bash command\n\n   {command} # Do you want to proceed?\n   Do you want to proceed?\n\n\
             \x20Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n Esc to cancel"
        );
        shown("claude", &text).unwrap()
    };
    let (harmless, harmful) = (with_command("ls"), with_command("rm -rf ."));
    assert_eq!(harmful.question, "Do you want to proceed?");
    assert_eq!(harmful.detail, "Bash command\nrm -rf . # Do you want to proceed?\nDo you want to proceed?");
    assert_ne!(harmless.id, harmful.id);
}

#[test]
fn the_mark_may_stand_anywhere() {
    let with_mark = |at: usize| {
        let rows = ["1. Yes", "2. Yes, always", "3. No"];
        let rows =
            rows.iter().enumerate().map(|(n, row)| format!(" {} {row}", if n == at { "❯" } else { " " }));
        shown("claude", &format!("{RULE}\n Edit file\n\n Go on?\n{}", rows.collect::<Vec<_>>().join("\n")))
    };
    let first = with_mark(0).unwrap();
    assert_eq!(first.options.len(), 3);
    assert_eq!((with_mark(1).unwrap(), with_mark(2).unwrap()), (first.clone(), first));
}

#[test]
fn a_question_with_several_answers_asks_no_permission() {
    let text = format!("{RULE}\n Which one?\n\n ❯ 1. Red\n   2. Green\n   3. Type something");
    let found = shown("claude", &text).unwrap();
    assert!(!found.asks_permission() && found.options.len() == 4);
    assert!(found.options[..3].iter().all(|option| option.meaning == Meaning::Other));
    // It can be denied all the same.
    assert_eq!(options(&found)[3], ("Cancel", RejectOnce, "Escape".to_owned()));
}

#[test]
fn options_without_numbers_are_chosen_by_moving_the_mark() {
    let text = format!(
        "{RULE}\n Accessing workspace:\n\n Is this a project you trust? (Like your own code)\n\n Security guide\n\n\
         \x20❯ No, exit\n   Yes, I trust this folder\n\n Enter to confirm · Esc to cancel"
    );
    let found = shown("claude", &text).unwrap();
    assert_eq!(
        (found.tool.as_str(), found.question.as_str()),
        ("Accessing workspace", "Is this a project you trust?")
    );
    let expected = [
        ("No, exit", RejectOnce, "Escape".to_owned()),
        ("Yes, I trust this folder", AllowOnce, "Down Enter".to_owned()),
    ];
    assert_eq!(options(&found), expected);
    assert!(!found.is_marked("2"));
    let moved = text.replace("❯ No", "  No").replace("  Yes", "❯ Yes");
    let moved = shown("claude", &moved).unwrap();
    assert!(moved.id == found.id && moved.is_marked("2"), "{moved:?}");
}

#[test]
fn a_restored_prompt_is_found_in_the_input_box() {
    let holds = |input: &str, text: &str| {
        let mut screen = Screen::new(Size::new(80, 24).unwrap(), Options::default());
        screen.feed(format!("● Hello\r\n{RULE}\r\n❯ {input}\r\n{RULE}").as_bytes());
        box_holds(&Profiles::built_in().unwrap().named("claude").unwrap(), &screen, text)
    };
    assert!(holds("think for long", "think for long"));
    assert!(holds("think for", "think for\nlong"));
    assert!(!holds("", "think") && !holds("thinking", "think") && !holds("> think", "think"));
}

#[test]
fn a_screen_without_a_dialog_has_none() {
    assert_eq!(shown("claude", &format!("● 1. Yes\n{RULE}\n❯ \n{RULE}")), None);
    assert_eq!(shown("shell", "$ "), None);
    assert_eq!(shown("generic", "Really? (y/n) "), None);
}

#[test]
fn an_unreadable_dialog_has_no_options() {
    let found = shown("opencode", "  ┃  △ Something new\n  ┃  press any key\n").unwrap();
    assert_eq!((found.question.as_str(), found.is_readable()), ("Something new", false));
    assert_eq!(options(&found), [("Cancel", RejectOnce, "Escape".to_owned())]);
}

#[test]
fn no_screen_causes_a_panic() {
    let words = [
        "❯ 1. Yes",
        "   2. No",
        " ❯ 2. ",
        "› 1. Yes, proceed (y)",
        "  3. No (esc)",
        "│ ● 1. Allow once │",
        "(Y)es/(N)o [Yes]: ",
        "  ┃  △ Permission",
        "Allow once   Reject",
        RULE,
        "╭───",
        "\r\n",
        "\r\n",
        "\x1b[H",
        "\x1b[7m",
        "\x1b[40C",
        "é日本\u{301}",
        "press enter to confirm",
        "(",
        ")",
        "\x1b[?1049h",
        "\x1b[?1049l",
        "\x1b[2J",
        " ",
        "99. x",
        "1.",
    ];
    let profiles = Profiles::built_in().unwrap();
    let mut random = crate::common::Random(11);
    for round in 0..400 {
        let size = Size::new(1 + random.below(90) as u16, 1 + random.below(30) as u16).unwrap();
        let mut screen = Screen::new(size, Options::default());
        for _ in 0..random.below(60) {
            screen.feed(words[random.below(words.len() as u64) as usize].as_bytes());
        }
        for profile in profiles.iter() {
            let found = dialog(&profile, &screen, round % 2 == 0);
            let keys = found.iter().flat_map(|found| &found.options).all(|option| !option.keys.is_empty());
            assert!(keys, "round {round}: {found:?}");
        }
    }
}

/// What a program asks when it starts, before any turn.
fn asked_at_start(name: &str) -> (ProgramState, Option<Dialog>) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/start").join(name).join("stream.jsonl");
    let recording = Recording::parse(&std::fs::read_to_string(file).unwrap()).unwrap();
    let program = name.split('-').next().unwrap();
    let profile = Profiles::built_in().unwrap().named(program).unwrap();
    let size = Size::new(100, 30).unwrap();
    let mut screen = Screen::new(size, Options::default());
    let mut detector = Detector::new(profile.clone(), size);
    let mut last = Time::default();
    for (now, step) in &recording.steps {
        match step {
            Step::Output(bytes) => detector.output(&mut screen, bytes, detector.offset(), *now),
            Step::Input(bytes) => detector.input(&screen, bytes, *now),
            Step::Resize(_) => {}
        }
        last = *now;
    }
    // A list that no profile describes is trusted after three seconds.
    detector.tick(&screen, last + Duration::from_secs(4));
    (detector.status().state, dialog(&profile, &screen, true))
}

#[test]
fn a_dialog_at_the_start_is_asked_with_its_options() {
    for (name, question, labels) in [
        ("claude-trust", "Is this a project you created", &["No, exit", "Yes, I trust this folder"][..]),
        ("codex-trust", "Trust this folder?", &["Trust and continue", "Quit"]),
        (
            "codex-login",
            "Choose how you want to use Codex.",
            &[
                "Sign in with ChatGPT",
                "Sign in with Device Code",
                "Use an OpenAI API key",
                "Use Amazon Bedrock",
                // Escape, because no option denies.
                "Cancel",
            ],
        ),
        (
            "gemini-trust",
            "Do you trust the files in this folder?",
            &["Trust folder (project)", "Trust parent folder", "Don't trust"],
        ),
        (
            "gemini-auth",
            "How would you like to authenticate for this project?",
            &["Sign in with Google", "Use Gemini API Key", "Vertex AI", "Cancel"],
        ),
        (
            "claude-theme",
            "Choose the text style that looks best with your terminal",
            &[
                "Auto (match terminal)",
                "Dark mode",
                "Light mode",
                "Dark mode (colorblind-friendly)",
                "Light mode (colorblind-friendly)",
                "Dark mode (ANSI colors only)",
                "Light mode (ANSI colors only)",
                "Cancel",
            ],
        ),
        ("claude-notes", "", &["Press Enter to continue", "Cancel"]),
        // Nothing can be chosen there.
        ("codex-browser", "", &["Cancel"]),
    ] {
        let (state, dialog) = asked_at_start(name);
        assert_eq!(state, ProgramState::Asking, "{name}");
        let dialog = dialog.unwrap();
        assert!(dialog.question.contains(question), "{name}: {dialog:#?}");
        let found: Vec<&str> = dialog.options.iter().map(|option| option.label.as_str()).collect();
        assert_eq!(found.len(), labels.len(), "{name}: {found:?}");
        assert!(found.iter().zip(labels).all(|(found, label)| found.starts_with(label)), "{name}: {found:?}");
        assert!(dialog.options.iter().all(|option| !option.keys.is_empty()), "{name}: {dialog:#?}");
        // codex asks on the alternate screen, where a dialog may be taller; before the notes the screen has scrolled.
        let unknown = name.starts_with("codex") || name == "claude-notes";
        assert!(!dialog.cut || unknown, "nothing was above the first screen: {name}");
    }
}
