//! Scores the detector on a folder of recordings: `score [--verbose] DIR`, or prints what is found in one: `score --json DIR`.

use std::path::{Path, PathBuf};
use swb_turns::Profiles;
use swb_turns::recording::{Expected, Recording, detect};
use swb_turns::score::Score;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let json = args.iter().any(|arg| arg == "--json");
    let dir = args.iter().find(|arg| !arg.starts_with("--")).ok_or("which folder?")?;
    let profiles = Profiles::built_in()?;
    let mut score = Score::default();
    for folder in recordings(Path::new(dir)) {
        let expected = Expected::parse(&std::fs::read_to_string(folder.join("expected.json"))?)?;
        let recording = Recording::parse(&std::fs::read_to_string(folder.join("stream.jsonl"))?)?;
        let profile = profiles.for_command(expected.argv.iter().map(String::as_str)).ok_or("no profile")?;
        let found = detect(&recording, profile, expected.size());
        if json {
            for line in found.json_lines() {
                println!("{line}");
            }
        }
        let name: Vec<_> =
            folder.components().rev().take(2).map(|part| part.as_os_str().to_string_lossy()).collect();
        score.add(
            &name.iter().rev().cloned().collect::<Vec<_>>().join("/"),
            &expected,
            &found,
            &recording.output(),
        );
    }
    if !json {
        print!("{}", score.table());
        for miss in score.misses() {
            println!("{} turn {}: {}", miss.recording, miss.turn, miss.what);
        }
    }
    Ok(())
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
