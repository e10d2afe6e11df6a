//! Recorded output of real agents looks the same to clients that attach later.

use super::{EXE, assert_newcomer_sees_the_same, waiting};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use std::path::{Path, PathBuf};
use swb_testkit::{ScreenClient, Swb};

/// What was recorded: its name, size and all output.
struct Recording {
    name: String,
    size: (u16, u16),
    output: Vec<u8>,
}

fn recordings() -> Vec<Recording> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vt/tests/recordings");
    let mut found: Vec<Recording> =
        entries(&root).iter().flat_map(|agent| entries(agent)).map(read).collect();
    found.sort_by(|one, two| one.name.cmp(&two.name));
    assert!(found.len() > 10, "only {} recordings", found.len());
    found
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn read(dir: PathBuf) -> Recording {
    let expected: Value = serde_json::from_slice(&std::fs::read(dir.join("expected.json")).unwrap()).unwrap();
    let side = |key: &str| u16::try_from(expected[key].as_u64().unwrap()).unwrap();
    let mut output = Vec::new();
    for line in std::fs::read_to_string(dir.join("stream.jsonl")).unwrap().lines() {
        let entry: Value = serde_json::from_str(line).unwrap();
        if entry["d"] == "o" {
            output.extend(STANDARD.decode(entry["b64"].as_str().unwrap()).unwrap());
        }
    }
    let agent = dir.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
    let name = format!("{agent}-{}", dir.file_name().unwrap().to_string_lossy()).replace('.', "-");
    Recording { name, size: (side("cols"), side("rows")), output }
}

#[test]
fn recorded_agent_screens_are_restored() {
    let swb = Swb::start(EXE);
    let mut played: Vec<(Recording, ScreenClient)> = Vec::new();
    for recording in recordings() {
        let argv = ["/bin/sh", "-c", "stty raw -echo; cat output; exec sleep 1000"];
        let workspace = waiting(&swb, &recording.name, &argv, recording.size);
        std::fs::write(workspace.join("output"), &recording.output).unwrap();
        let mut observer = ScreenClient::observe(&swb, &recording.name);
        let mut person = ScreenClient::attach(&swb, &recording.name);
        let end = recording.output.len() as u64;
        person.read_to(end);
        observer.read_to(end);
        person.assert_same(&observer, &recording.name);
        person.detach();
        assert_newcomer_sees_the_same(&swb, &recording.name, &mut observer, &recording.name);
        played.push((recording, observer));
    }
    swb.kill_daemon();
    for (recording, mut observer) in played {
        assert_newcomer_sees_the_same(&swb, &recording.name, &mut observer, &recording.name);
        assert_eq!(observer.offset(), recording.output.len() as u64, "nothing was written twice");
    }
}
