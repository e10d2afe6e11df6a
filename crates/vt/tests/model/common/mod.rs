//! What the tests share: random programs, recordings, and the check that a snapshot is exact.

#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::path::{Path, PathBuf};
use swb_types::Size;
use swb_vt::{Options, QueryFilter, Screen};

/// Scrollback of screens in tests: little, so that it overflows.
pub(crate) const SCROLLBACK: usize = 12;

/// One step of a random program.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Bytes(Vec<u8>),
    Resize(u16, u16),
}

pub(crate) fn screen(cols: u16, rows: u16, scrollback: usize) -> Screen {
    Screen::new(Size::new(cols, rows).unwrap(), Options { scrollback })
}

pub(crate) fn run(screen: &mut Screen, steps: &[Step]) {
    for step in steps {
        match step {
            Step::Bytes(bytes) => screen.feed(bytes),
            Step::Resize(cols, rows) => screen.resize(Size::new(*cols, *rows).unwrap()),
        }
    }
}

/// Runs random cases: `SWB_VT_CASES` sets how many, `SWB_VT_SEED` picks other ones.
pub(crate) fn runner(cases: u32) -> TestRunner {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let cases = number("SWB_VT_CASES").map_or(cases, |n| u32::try_from(n).unwrap());
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 20_000, ..Config::default() };
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&number("SWB_VT_SEED").unwrap_or(1).to_le_bytes());
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed))
}

/// Feeds the snapshot of `screen` to a fresh one and returns what differs.
pub(crate) fn round_trip(screen: &Screen, scrollback: usize) -> Result<Screen, String> {
    let snapshot = screen.snapshot();
    let mut copy = Screen::new(screen.size(), Options { scrollback });
    copy.feed(&snapshot);
    if let Some(difference) = screen.state().difference(&copy.state()) {
        return Err(format!("{difference}\nsnapshot {}", snapshot.escape_ascii()));
    }
    if !copy.take_replies().is_empty() {
        return Err(format!("the snapshot asks: {}", snapshot.escape_ascii()));
    }
    let mut filtered = Vec::new();
    let mut filter = QueryFilter::new();
    filter.feed(&snapshot, &mut filtered);
    filter.finish(&mut filtered);
    if filtered != snapshot {
        return Err(format!("the snapshot has a query: {}", snapshot.escape_ascii()));
    }
    Ok(copy)
}

fn csi(finals: &'static str) -> impl Strategy<Value = Vec<u8>> {
    let number = prop_oneof![3 => 0..14u32, 1 => Just(65_535), 1 => Just(4_000_000_000)];
    let index = 0..finals.len();
    (prop::collection::vec(number, 0..3), index).prop_map(move |(numbers, index)| {
        let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
        format!("\x1b[{}{}", numbers.join(";"), &finals[index..=index]).into_bytes()
    })
}

pub(crate) fn sgr() -> impl Strategy<Value = Vec<u8>> {
    let code = prop_oneof![
        4 => prop::sample::select(vec![0, 1, 2, 3, 4, 5, 7, 8, 9, 21, 22, 24, 27, 31, 39, 44, 49, 53, 59, 95, 101])
            .prop_map(|n: u32| n.to_string()),
        1 => any::<u8>().prop_map(|n| format!("38;5;{n}")),
        1 => any::<(u8, u8, u8)>().prop_map(|(r, g, b)| format!("48;2;{r};{g};{b}")),
        1 => (0..6u8).prop_map(|n| format!("4:{n}")),
        1 => any::<(u8, u8)>().prop_map(|(r, g)| format!("58:2::{r}:{g}:9")),
    ];
    prop::collection::vec(code, 0..3).prop_map(|codes| format!("\x1b[{}m", codes.join(";")).into_bytes())
}

fn fixed() -> impl Strategy<Value = Vec<u8>> {
    let all: Vec<&'static [u8]> = vec![
        b"\r",
        b"\n",
        b"\r\n",
        b"\t",
        b"\x08",
        b"\x07",
        b"\x0e",
        b"\x0f",
        b"\x0b",
        b"\x1b7",
        b"\x1b8",
        b"\x1bD",
        b"\x1bE",
        b"\x1bH",
        b"\x1bM",
        b"\x1bc",
        b"\x1b=",
        b"\x1b>",
        b"\x1bn",
        b"\x1b#8",
        b"\x1b(0",
        b"\x1b)0",
        b"\x1b(B",
        b"\x1b*A",
        b"\x1b[!p",
        b"\x1b[3g",
        b"\x1b[g",
        b"\x1b[s",
        b"\x1b[u",
        b"\x1b[22t",
        b"\x1b[23;2t",
        b"\x1b[4h",
        b"\x1b[4l",
        b"\x1b[20h",
        b"\x1b[20l",
        b"\x1b[2 q",
        b"\x1b[5 q",
        b"\x1b[0 q",
        b"\x1b[>1u",
        b"\x1b[>7u",
        b"\x1b[<u",
        b"\x1b[=5;1u",
        b"\x1b[=2;2u",
        b"\x1b[>4;2m",
        b"\x1b[>4m",
        b"\x1b[?6n",
        b"\x1b[6n",
        b"\x1b[c",
        b"\x1b[?2026$p",
        b"\x1b]11;?\x07",
        b"\x1b]0;title\x07",
        b"\x1b]2;caf\xc3\xa9\x1b\\",
        b"\x1b]7;file://h/tmp\x07",
        b"\x1b]8;;http://a\x07",
        b"\x1b]8;id=x;http://b\x1b\\",
        b"\x1b]8;;\x07",
        b"\x1b]133;A\x07",
        b"\x1b]133;D;1\x07",
        b"\x1b]7501;state=idle\x1b\\",
        b"\x1b]9;4;1;50\x07",
        b"\x1b]9;4;0\x07",
        b"\x1b]4;1;#ff0000\x07",
        b"\x1b]10;rgb:1/2/3\x07",
        b"\x1b]104\x07",
        b"\x1b]110\x07",
        b"\x1bP$qm\x1b\\",
        b"\x1b[1",
        b"\x1b]0;x",
        b"\x1b",
        b"\xe5",
        b"\xff",
        b"\xf0\x9f",
        b"\x18",
        b"\x1b[?W",
        b"\x1b[?5W",
        b"\x1b_Gi=1;x\x1b\\",
        b"\x1b[3J",
    ];
    prop::sample::select(all).prop_map(<[u8]>::to_vec)
}

fn mode() -> impl Strategy<Value = Vec<u8>> {
    let modes = vec![
        1, 5, 6, 6, 7, 7, 12, 25, 47, 1000, 1002, 1003, 1004, 1006, 1007, 1016, 1047, 1048, 1049, 1049, 2004,
        2026, 777,
    ];
    let mode = prop::sample::select(modes);
    (mode, any::<bool>())
        .prop_map(|(mode, on)| format!("\x1b[?{mode}{}", if on { 'h' } else { 'l' }).into_bytes())
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    let words = vec![
        "a",
        "bc",
        "x y",
        "hello world, long enough to wrap",
        "字",
        "漢字",
        "👍",
        "e\u{301}",
        "\u{301}",
        "字\u{fe0f}",
        "👩\u{200d}💻",
        "👍🏽",
        "🇩🇪",
        "🇩",
        "❤\u{fe0f}",
        "1\u{fe0f}\u{20e3}",
        "\u{fe0f}",
        "     ",
        "q\u{ad}",
        "─",
    ];
    prop::collection::vec(prop::sample::select(words), 1..4).prop_map(|words| words.concat().into_bytes())
}

/// Whether text has emoji of several code points, which other terminals may show in other columns.
pub(crate) fn has_joined_emoji(text: &str) -> bool {
    text.contains(
        |c| matches!(c, '\u{200d}' | '\u{fe0f}' | '\u{1f1e6}'..='\u{1f1ff}' | '\u{1f3fb}'..='\u{1f3ff}'),
    )
}

/// One step of a random program.
pub(crate) fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        10 => text().prop_map(Step::Bytes),
        8 => csi("@ABCDEFGHIJKLMPSTXZabdefghrstu`^").prop_map(Step::Bytes),
        4 => sgr().prop_map(Step::Bytes),
        6 => fixed().prop_map(Step::Bytes),
        3 => mode().prop_map(Step::Bytes),
        1 => (1..24u16, 1..10u16).prop_map(|(cols, rows)| Step::Resize(cols, rows)),
    ]
}

/// A size and a program.
pub(crate) fn program(len: usize) -> impl Strategy<Value = (u16, u16, Vec<Step>)> {
    (1..20u16, 1..8u16, prop::collection::vec(step(), 0..len))
}

/// One line of a recording.
#[derive(serde::Deserialize)]
struct Entry {
    d: String,
    b64: Option<String>,
    cols: Option<u16>,
    rows: Option<u16>,
}

/// A recorded session.
pub(crate) struct Recording {
    pub(crate) name: String,
    pub(crate) cols: u16,
    pub(crate) rows: u16,
    pub(crate) steps: Vec<Step>,
    pub(crate) dir: PathBuf,
}

/// The recordings: those of the directory named by `SWB_RECORDINGS`, or the few that come along.
pub(crate) fn recordings() -> Vec<Recording> {
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
    let root = std::env::var_os("SWB_RECORDINGS").map_or(ours, PathBuf::from);
    let mut found = Vec::new();
    for program in std::fs::read_dir(&root).unwrap() {
        let program = program.unwrap().path();
        for scenario in std::fs::read_dir(&program).into_iter().flatten() {
            let dir = scenario.unwrap().path();
            if dir.join("stream.jsonl").exists() {
                let name = dir.strip_prefix(&root).unwrap().display().to_string();
                found.push(recording(name, dir));
            }
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(!found.is_empty(), "no recordings in {}", root.display());
    found
}

fn recording(name: String, dir: PathBuf) -> Recording {
    let expected = std::fs::read_to_string(dir.join("expected.json")).unwrap();
    let expected: serde_json::Value = serde_json::from_str(&expected).unwrap();
    let side = |key: &str| u16::try_from(expected[key].as_u64().unwrap()).unwrap();
    let mut steps = Vec::new();
    for line in std::fs::read_to_string(dir.join("stream.jsonl")).unwrap().lines() {
        let entry: Entry = serde_json::from_str(line).unwrap();
        match entry.d.as_str() {
            "o" => steps.push(Step::Bytes(STANDARD.decode(entry.b64.unwrap()).unwrap())),
            "r" => steps.push(Step::Resize(entry.cols.unwrap(), entry.rows.unwrap())),
            _ => {}
        }
    }
    Recording { name, cols: side("cols"), rows: side("rows"), steps, dir }
}

impl Recording {
    /// All output, without resizes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut all = Vec::new();
        for step in &self.steps {
            if let Step::Bytes(bytes) = step {
                all.extend_from_slice(bytes);
            }
        }
        all
    }

    /// Plays the recording and calls `at` with each offset of `offsets` (ascending) when it is reached.
    pub(crate) fn play(
        &self,
        screen: &mut Screen,
        offsets: impl IntoIterator<Item = usize>,
        mut at: impl FnMut(&Screen, usize),
    ) {
        let mut offsets = offsets.into_iter().peekable();
        let mut done = 0;
        for step in &self.steps {
            match step {
                Step::Resize(cols, rows) => screen.resize(Size::new(*cols, *rows).unwrap()),
                Step::Bytes(bytes) => {
                    let mut rest = &bytes[..];
                    while let Some(offset) = offsets.next_if(|offset| *offset <= done + rest.len()) {
                        let (now, later) = rest.split_at(offset - done);
                        screen.feed(now);
                        (done, rest) = (offset, later);
                        at(screen, offset);
                    }
                    screen.feed(rest);
                    done += rest.len();
                }
            }
        }
    }
}
