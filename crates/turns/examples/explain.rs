//! Prints every change of status in a recording, with its evidence: `explain DIR`.

use std::path::PathBuf;
use swb_turns::recording::{Expected, Recording, Step};
use swb_turns::{Detector, DetectorEvent, Profiles};
use swb_vt::{Options, Screen};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("which folder?")?);
    let expected = Expected::parse(&std::fs::read_to_string(folder.join("expected.json"))?)?;
    let recording = Recording::parse(&std::fs::read_to_string(folder.join("stream.jsonl"))?)?;
    let profiles = Profiles::built_in()?;
    let profile = profiles.for_command(expected.argv.iter().map(String::as_str)).ok_or("no profile")?;
    let mut screen = Screen::new(expected.size(), Options::default());
    let mut detector = Detector::new(profile, expected.size());
    for (now, step) in &recording.steps {
        match step {
            Step::Output(bytes) => detector.output(&mut screen, bytes, detector.offset(), *now),
            Step::Input(bytes) => detector.input(&screen, bytes, *now),
            Step::Resize(size) => detector.resize(&mut screen, *size, *now),
        }
        print(&mut detector);
    }
    let (end, _) = recording.steps.last().ok_or("nothing recorded")?;
    detector.tick(&screen, *end + std::time::Duration::from_secs(5));
    print(&mut detector);
    Ok(())
}

fn print(detector: &mut Detector) {
    for event in detector.take_events() {
        match event {
            DetectorEvent::Status(status) => {
                let seen = status.evidence.map(|seen| (seen.offset.0, seen.signal.name(), seen.detail));
                println!("{:>10.3} {:?} {seen:?}", status.since.0 as f64 / 1e6, status.state);
            }
            DetectorEvent::TurnStarted { seq, submit } => {
                println!("           turn {seq} submitted at {submit}")
            }
            DetectorEvent::Dialog { offset } => println!("           dialog at {offset}"),
            DetectorEvent::TurnEnded(turn) => {
                println!("           turn {} ended at {} by {}", turn.seq, turn.end, turn.signal.name());
            }
        }
    }
}
