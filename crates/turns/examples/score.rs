//! Scores the detector on a folder of recordings: `score DIR`, or prints what is found in one: `score --json DIR`.
//!
//! `--cut=N` cuts the output into pieces of N bytes, `--stretch=F` makes everything F times as slow, `--profile=NAME`
//! takes another profile than the command's.

use std::path::{Path, PathBuf};
use swb_turns::recording::{Expected, Recording, detect};
use swb_turns::score::Score;
use swb_turns::{Profiles, Time};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let json = args.iter().any(|arg| arg == "--json");
    let dir = args.iter().find(|arg| !arg.starts_with("--")).ok_or("which folder?")?;
    let option = |name: &str| args.iter().find_map(|arg| arg.strip_prefix(name)?.strip_prefix('='));
    let cut: Option<usize> = option("--cut").map(str::parse).transpose()?;
    let stretch: f64 = option("--stretch").map_or(Ok(1.0), str::parse)?;
    let profiles = Profiles::built_in()?;
    let mut score = Score::default();
    for folder in recordings(Path::new(dir)) {
        let expected = Expected::parse(&std::fs::read_to_string(folder.join("expected.json"))?)?;
        let mut recording = Recording::parse(&std::fs::read_to_string(folder.join("stream.jsonl"))?)?;
        for (at, _) in &mut recording.steps {
            *at = Time((at.0 as f64 * stretch) as u64);
        }
        if let Some(len) = cut {
            recording = recording.recut(|| len);
        }
        let profile = match option("--profile") {
            Some(name) => profiles.named(name),
            None => profiles.for_command(expected.argv.iter().map(String::as_str)),
        };
        let profile = profile.ok_or("no such profile")?;
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
