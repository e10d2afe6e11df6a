//! Recordings for tests: a few are in the repository, here and beside the screen model; `SWB_RECORDINGS` names
//! a directory with more.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use swb_turns::recording::{Expected, Recording};
use swb_turns::{Profile, Profiles};

/// A recording with everything that belongs to it.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) recording: Recording,
    pub(crate) expected: Expected,
    pub(crate) profile: Arc<Profile>,
}

/// All available recordings.
pub(crate) fn cases() -> Vec<Case> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = match std::env::var_os("SWB_RECORDINGS") {
        Some(folder) => vec![PathBuf::from(folder)],
        None => vec![own.join("tests/recordings"), own.join("../vt/tests/recordings")],
    };
    let profiles = Profiles::built_in().unwrap();
    let mut cases: Vec<Case> = folders.iter().flat_map(|folder| find(folder, &profiles)).collect();
    cases.sort_by(|one, two| one.name.cmp(&two.name));
    assert!(cases.len() > 20, "recordings are missing in {folders:?}");
    cases
}

fn find(folder: &Path, profiles: &Profiles) -> Vec<Case> {
    let stream = folder.join("stream.jsonl");
    if stream.exists() {
        let expected = std::fs::read_to_string(folder.join("expected.json")).unwrap();
        let expected = Expected::parse(&expected).unwrap();
        let names: Vec<_> = folder.iter().rev().take(2).map(|name| name.to_string_lossy()).collect();
        return vec![Case {
            name: format!("{}/{}", names[1], names[0]),
            recording: Recording::parse(&std::fs::read_to_string(stream).unwrap()).unwrap(),
            profile: profiles.for_command(expected.argv.iter().map(String::as_str)).unwrap(),
            expected,
        }];
    }
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.is_dir()).flat_map(|path| find(&path, profiles)).collect()
}

/// Pseudo-random numbers, the same every time.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}
