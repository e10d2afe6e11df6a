//! Pictures of `swb chat`.

use crate::picture::{SIZES, keep};
use crate::support::models::Stub;
use serde_json::json;
use std::path::PathBuf;
use swb_testkit::{Swb, Terminal};

const EXE: &str = env!("CARGO_BIN_EXE_swb");

/// An answer with everything that is drawn: headings, a list, a table, code, an image.
const ANSWER: &str = "# Why the queue stalls

The worker takes the **lock** twice; `push` holds it while it wakes the others, and a woken worker asks for it before \
`push` returns. Nothing is lost, but each message costs a context switch, which is what you see in ![](docs/profile.png).

| Messages | Before | After | Remark |
|---|--:|--:|---|
| 1 000 | 14 ms | 3 ms | one worker |
| 100 000 | 1 420 ms | 260 ms | eight workers that wait for one another whenever two of them are woken |

## The change

```rust
// Wake the others without the lock.
pub fn push(&self, message: Message) {
    self.queue.lock().push_back(message);
    self.wake.notify_one(); // at most \"one\" of 8
}
```

1. The order of messages stays.
2. No test has to change.
";

const BEFORE: &str = "    let mut queue = self.queue.lock();
    queue.push_back(message);
    self.wake.notify_one();
";
const AFTER: &str = "    self.queue.lock().push_back(message);
    self.wake.notify_one();
";

/// A model that gives these answers, the daemon, and the directory in which it works.
struct Rig {
    swb: Swb,
    directory: PathBuf,
    _model: Stub,
}

impl Rig {
    fn new() -> Self {
        let edit = json!({"name": "edit_file", "input": {"path": "queue.rs", "old_text": BEFORE, "new_text": AFTER}});
        let model = Stub::start(&json!({
            "rules": [
                {"match": "stall", "text": ANSWER, "chunk": 30, "delay_ms": 0, "first_delay_ms": 0},
                {"match": "without", "after_tool": false, "text": "I take the lock only for the push.", "tool": edit},
                {"match": "tests", "text": "I run the tests, and then I look at the log", "stall_after": 40},
            ],
            "default": {"text": "Done.", "first_delay_ms": 0},
        }));
        let mut swb = Swb::new(EXE);
        swb.configure(&format!(
            "[chat]\nbackend = \"model\"\n[[agents]]\nname = \"model\"\nkind = \"llm\"\napi = \"anthropic\"\n\
             base_url = \"{}\"\nmodel = \"stub\"\ncontext_tokens = 400\nprice = {{ input = 3, output = 15 }}\n",
            model.url()
        ));
        swb.start_daemon();
        let directory = swb.paths().home.join("src/api");
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(
            directory.join("queue.rs"),
            format!("pub fn push(&self, message: Message) {{\n{BEFORE}}}\n"),
        )
        .unwrap();
        Self { swb, directory, _model: model }
    }

    fn chat(&self, name: &str, size: (u16, u16)) -> Terminal {
        let mut terminal = self.start(&format!("{name}-{}", size.0), size);
        terminal.until_screen("a prompt", |text| text.ends_with('›'));
        terminal
    }

    fn start(&self, name: &str, (cols, rows): (u16, u16)) -> Terminal {
        let mut command = self.swb.command(&["chat", name, "--new"]);
        command.current_dir(&self.directory);
        Terminal::start(command, cols, rows)
    }
}

fn send(terminal: &mut Terminal, text: &str) {
    terminal.type_in(text.as_bytes());
    terminal.type_in(b"\r");
}

fn ended(text: &str) -> bool {
    text.lines().rev().nth(1).is_some_and(|line| line.starts_with("— "))
}

#[test]
fn chat_answer() {
    let rig = Rig::new();
    for size in SIZES {
        let mut terminal = rig.chat("answer", size);
        send(&mut terminal, "why does the queue stall?");
        terminal.until_screen("the end", |text| ended(text) && text.contains("notify_one()"));
        keep("chat-answer", &terminal);
    }
}

#[test]
fn chat_approval() {
    let rig = Rig::new();
    for size in SIZES {
        let mut terminal = rig.chat("approval", size);
        send(&mut terminal, "push without holding the lock, please");
        terminal.until_screen("a diff", |text| text.contains("queue.rs  +1 -2") && text.contains("y/1"));
        keep("chat-approval", &terminal);
        terminal.type_in(b"n");
    }
}

#[test]
fn chat_completion() {
    let rig = Rig::new();
    for size in SIZES {
        let mut terminal = rig.chat("completion", size);
        send(&mut terminal, "do it");
        terminal.until_screen("the end", ended);
        terminal.type_in(b"/\t\t");
        terminal.until_screen("commands", |text| text.ends_with("› /sessions"));
        keep("chat-completion", &terminal);
    }
}

#[test]
fn chat_search() {
    let rig = Rig::new();
    for (name, prompt) in [
        ("a", "rename the queue to inbox"),
        ("b", "fix the flaky queue check"),
        ("c", "explain the queue's lock to me"),
    ] {
        rig.swb.ok(&["chat", name, "--new", "-m", prompt]);
    }
    for size in SIZES {
        let mut terminal = rig.chat("search", size);
        terminal.type_in(b"\x12queue");
        terminal
            .until_screen("the prompts", |text| text.contains("fix the flaky") && text.contains("rename"));
        terminal.type_in(b"\x12");
        terminal.until_screen("another one", |text| {
            text.contains("▸ fix the flaky") && text.ends_with("search › queue")
        });
        keep("chat-search", &terminal);
    }
}

#[test]
fn chat_queue() {
    let rig = Rig::new();
    for size in SIZES {
        let mut terminal = rig.chat("queue", size);
        send(&mut terminal, "run the tests");
        terminal.until_screen("the answer", |text| text.contains("I run the tests, and then I look at"));
        send(&mut terminal, "then fix what fails, one commit for each");
        send(&mut terminal, "and write the changelog");
        terminal.type_in(b"this is how it looks: /tmp/shots/failure.png");
        terminal.until_screen("the queue", |text| {
            text.contains("queued: and write")
                && text.contains("▣ failure.png")
                && text.ends_with("/tmp/shots/failure.png")
        });
        keep("chat-queue", &terminal);
        terminal.type_in(b"\x03");
        terminal.until_screen("the end", |text| text.contains("✗ stopped"));
    }
}

#[test]
fn chat_shell() {
    let mut swb = Swb::new(EXE);
    swb.configure("[chat]\nbackend = \"shell\"\n");
    swb.start_daemon();
    let directory = swb.paths().home.join("src/api");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("main.rs"), "fn main() {}\n").unwrap();
    for (cols, rows) in SIZES {
        let mut command = swb.command(&["chat", "--new"]);
        command.current_dir(&directory);
        let mut terminal = Terminal::start(command, cols, rows);
        terminal.until_screen("a prompt", |text| text.ends_with('$'));
        send(&mut terminal, "cat main.rs; wc -l main.rs");
        terminal.until_screen("the output", |text| text.contains("1 main.rs") && ended(text));
        keep("chat-shell", &terminal);
    }
}
