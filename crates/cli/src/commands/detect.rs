//! `swb detect`: run the detector over recordings, and score it.

use crate::args;
use crate::console::{print_json, print_json_text, print_text};
use crate::error::{Failure, Outcome};
use crate::limits;
use crate::profiles;
use serde::Deserialize;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use swb_turns::recording::{DetectionResult, Expected, Recording, detect, guess};
use swb_turns::score::Score;
use swb_turns::{Profile, Profiles};
use swb_types::Size;
use swb_vt::printable;

/// Columns and rows of recordings without a size: those of most recordings.
const USUAL_SIZE: (u16, u16) = (100, 30);

/// Prints the turns found in a recording, or scores the detection over many.
pub(super) fn run(json: bool, args: &args::DetectArgs) -> Outcome {
    let bench = Bench { profiles: profiles::load("swb")?, args };
    match (&args.recording, &args.score) {
        (_, Some(dir)) => bench.score(dir, json)?,
        (Some(path), _) => bench.show(path, json)?,
        (None, None) => return Err(Failure::usage("no recording given")),
    }
    Ok(0)
}

/// Runs the detector over recordings.
struct Bench<'a> {
    profiles: Profiles,
    args: &'a args::DetectArgs,
}

/// What `expected.json` contains about a recording; all fields are optional.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct About {
    argv: Vec<String>,
    cols: u16,
    rows: u16,
}

impl Bench<'_> {
    fn show(&self, path: &Path, json: bool) -> Result<(), Failure> {
        let stream = if path.is_dir() { path.join("stream.jsonl") } else { path.to_owned() };
        let (_, found) = self.detect(&stream)?;
        match json {
            true => print_json_text(&(found.json_lines().join("\n") + "\n")),
            false => print_text(&describe(&found)),
        }
    }

    fn score(&self, dir: &Path, json: bool) -> Result<(), Failure> {
        let mut score = Score::default();
        let folders = recordings(dir, limits::RECORDINGS_DEPTH);
        if folders.is_empty() {
            return Err(Failure::general(format!("there are no recordings in {}", dir.display()))
                .hint("a recording is a folder with stream.jsonl and expected.json"));
        }
        for folder in folders {
            let file = folder.join("expected.json");
            let expected = Expected::parse(&read(&file)?)
                .map_err(|error| Failure::general(format!("{}: {error}", file.display())))?;
            let (recording, found) = self.detect(&folder.join("stream.jsonl"))?;
            score.add(&name(&folder), &expected, &found, &recording.output());
        }
        if json { print_json(&score_json(&score)) } else { print_text(&score_text(&score)) }
    }

    fn detect(&self, stream: &Path) -> Result<(Recording, DetectionResult), Failure> {
        let recording = Recording::parse(&read(stream)?)
            .map_err(|error| Failure::general(format!("{}: {error}", stream.display())))?;
        let about = stream.with_file_name("expected.json");
        let about: About = std::fs::read_to_string(about)
            .ok()
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default();
        let (cols, rows) = USUAL_SIZE;
        let usual = || Size::new(cols, rows).unwrap_or(Size::DEFAULT);
        let size = self.args.size.or(Size::new(about.cols, about.rows)).unwrap_or_else(usual);
        let found = detect(&recording, self.profile(&about, stream, &recording, size)?, size);
        Ok((recording, found))
    }

    /// The profile given by the user, or that of the recorded command, or that of the program the folder is named after,
    /// or that of the program whose greeting is found.
    fn profile(
        &self,
        about: &About,
        stream: &Path,
        recording: &Recording,
        size: Size,
    ) -> Result<Arc<Profile>, Failure> {
        if let Some(name) = &self.args.profile {
            return profiles::named(&self.profiles, name);
        }
        let by_command = || self.profiles.for_command(about.argv.iter().map(String::as_str));
        let full = stream.canonicalize().unwrap_or_else(|_| stream.to_owned());
        let by_folder = || {
            let folders = full.ancestors().skip(1).take(2).filter_map(Path::file_name);
            folders.filter_map(|name| profiles::for_program(&self.profiles, name.to_str()?)).next()
        };
        let found = match about.argv.is_empty() {
            true => by_folder().or_else(|| guess(recording, &self.profiles, size)),
            false => by_command(),
        };
        found
            .or_else(|| self.profiles.named("generic"))
            .ok_or_else(|| Failure::general("there are no detection profiles"))
    }
}

fn read(file: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(file)
        .map_err(|error| Failure::io(format!("cannot read {}", file.display()), &error))
}

/// The folders below `dir` that contain a recording and an `expected.json`, sorted.
fn recordings(dir: &Path, depth: usize) -> Vec<PathBuf> {
    if dir.join("stream.jsonl").exists() {
        return if dir.join("expected.json").exists() { vec![dir.to_owned()] } else { Vec::new() };
    }
    let Some(depth) = depth.checked_sub(1) else { return Vec::new() };
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders.iter().flat_map(|folder| recordings(folder, depth)).collect()
}

/// `program/scenario`.
fn name(folder: &Path) -> String {
    let full = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let parts: Vec<_> = full.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    parts[parts.len().saturating_sub(2)..].join("/")
}

/// The detected turns as text for people.
fn describe(found: &DetectionResult) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = match found.ready0 {
        Some(ready) => writeln!(text, "profile {}, first ready at {}", found.profile, ready.0),
        None => writeln!(text, "profile {}, never ready", found.profile),
    };
    for turn in &found.turns {
        let interrupted = if turn.interrupted { ", interrupted" } else { "" };
        let (submit, end, signal) = (turn.submit.0, turn.end.0, turn.signal.name());
        let _ = writeln!(
            text,
            "\nturn {}: submitted at {submit}, ended at {end} by {signal}{interrupted}",
            turn.seq
        );
        for dialog in &turn.dialogs {
            let _ = writeln!(text, "asked at {}", dialog.0);
        }
        for line in turn.text.lines() {
            let _ = writeln!(text, "  {}", printable(line));
        }
    }
    text
}

fn score_text(score: &Score) -> String {
    let mut text = score.table();
    for miss in score.misses() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{} turn {}: {}", miss.recording, miss.turn, printable(&miss.what));
    }
    text
}

fn score_json(score: &Score) -> Value {
    let total = score.total();
    let misses: Vec<_> = score
        .misses()
        .iter()
        .map(|miss| json!({"recording": miss.recording, "turn": miss.turn, "what": miss.what}))
        .collect();
    json!({
        "turns": total.turns, "found": total.found, "early": total.early, "missed": total.missed,
        "extra": total.extra, "interrupted": total.interrupted, "dialogs": total.dialogs, "text": total.text,
        "misses": misses,
    })
}
