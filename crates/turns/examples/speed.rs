//! How fast the detector is on top of the screen model: `speed DIR` with recordings, and a flood of plain lines.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use swb_turns::recording::{Expected, Recording, Step};
use swb_turns::{Detector, Profile, Profiles, Time};
use swb_types::Size;
use swb_vt::{Options, Screen};

const READ: usize = 65_536;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::args().nth(1).ok_or("which folder?")?;
    let profiles = Profiles::built_in()?;
    let mut all = Vec::new();
    for folder in recordings(Path::new(&dir)) {
        let expected = Expected::parse(&std::fs::read_to_string(folder.join("expected.json"))?)?;
        let recording = Recording::parse(&std::fs::read_to_string(folder.join("stream.jsonl"))?)?;
        let profile = profiles.for_command(expected.argv.iter().map(String::as_str)).ok_or("no profile")?;
        all.push((recording, expected.size(), profile));
    }
    let bytes: usize = all.iter().map(|(recording, ..)| recording.output().len()).sum();
    measure("recordings, screen alone", bytes, 20, || {
        for (recording, size, _) in &all {
            screen_alone(recording, *size);
        }
    });
    measure("recordings, with detector", bytes, 20, || {
        for (recording, size, profile) in &all {
            with_detector(recording, *size, profile);
        }
    });
    for name in ["shell", "claude", "generic"] {
        let profile = profiles.named(name).ok_or("no such profile")?;
        flood(&profile);
    }
    Ok(())
}

fn screen_alone(recording: &Recording, size: Size) {
    let mut screen = Screen::new(size, Options::default());
    for (_, step) in &recording.steps {
        match step {
            Step::Output(bytes) => screen.feed(bytes),
            Step::Resize(size) => screen.resize(*size),
            Step::Input(_) => {}
        }
    }
    black_box(screen.cursor());
}

fn with_detector(recording: &Recording, size: Size, profile: &Arc<Profile>) {
    let mut screen = Screen::new(size, Options::default());
    let mut detector = Detector::new(profile.clone(), size);
    for (now, step) in &recording.steps {
        match step {
            Step::Output(bytes) => detector.output(&mut screen, bytes, detector.offset(), *now),
            Step::Resize(size) => detector.resize(&mut screen, *size, *now),
            Step::Input(bytes) => detector.input(&screen, bytes, *now),
        }
    }
    black_box(detector.take_events());
}

/// A child that writes lines as fast as it can, in the middle of a turn.
fn flood(profile: &Arc<Profile>) {
    let line = "The quick brown fox jumps over the lazy dog, again and again and again.\r\n";
    let read = line.repeat(READ / line.len());
    let total = 256 * 1024 * 1024 / read.len();
    let bytes = total * read.len();
    measure("flood, screen alone", bytes, 1, || {
        let mut screen = Screen::new(Size::DEFAULT, Options::default());
        for _ in 0..total {
            screen.feed(read.as_bytes());
        }
    });
    measure(&format!("flood, with detector ({})", profile.name()), bytes, 1, || {
        let mut screen = Screen::new(Size::DEFAULT, Options::default());
        let mut detector = Detector::new(profile.clone(), Size::DEFAULT);
        detector.output(&mut screen, b"\x1b[?2004h$ ", detector.offset(), Time(0));
        detector.input(&screen, b"yes\r", Time::from_millis(2000));
        detector.output(&mut screen, b"yes\r\n\x1b[?2004l", detector.offset(), Time::from_millis(2001));
        for n in 0..total {
            let now = Time::from_millis(2002 + n as u64);
            detector.output(&mut screen, read.as_bytes(), detector.offset(), now);
        }
        black_box(detector.take_events());
    });
}

fn measure(what: &str, bytes: usize, times: usize, mut run: impl FnMut()) {
    run();
    let (start, used) = (Instant::now(), cpu_seconds());
    for _ in 0..times {
        run();
    }
    let wall = start.elapsed().as_secs_f64();
    // On a busy machine only the time on a core is comparable.
    let seconds = cpu_seconds().zip(used).map_or(wall, |(now, before)| now - before);
    println!("{what:42} {:8.1} MB/s", (bytes * times) as f64 / seconds / 1e6);
}

/// How long this thread has been on a core, where the system reports that.
fn cpu_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanos: f64 = text.split(' ').next()?.parse().ok()?;
    Some(nanos / 1e9)
}

/// The folders with a recording below, in order.
fn recordings(dir: &Path) -> Vec<PathBuf> {
    if dir.join("stream.jsonl").exists() {
        return vec![dir.to_owned()];
    }
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders.iter().flat_map(|folder| recordings(folder)).collect()
}
