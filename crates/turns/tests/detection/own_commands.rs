//! Commands that agents execute themselves: their lists of settings are questions, and nothing keeps the agent busy.

use std::time::Duration;
use swb_turns::{Detector, DetectorEvent, Profiles, ProgramState, Time};
use swb_types::Size;
use swb_vt::{Options, Screen};

const RULE: &str = "────────────────────────────────────────";

struct Agent {
    screen: Screen,
    detector: Detector,
    now: Time,
}

impl Agent {
    fn new(profile: &str) -> Self {
        let size = Size::new(80, 24).unwrap();
        let detector = Detector::new(Profiles::built_in().unwrap().named(profile).unwrap(), size);
        Self { screen: Screen::new(size, Options::default()), detector, now: Time(1_000_000) }
    }

    /// Paints the screen anew.
    fn shows(&mut self, text: &str) {
        let frame = format!("\x1b[?2026h\x1b[H\x1b[2J{}\x1b[?2026l", text.replace('\n', "\r\n"));
        self.detector.output(&mut self.screen, frame.as_bytes(), self.detector.offset(), self.now);
    }

    fn types(&mut self, text: &str) {
        self.detector.input(&self.screen, text.as_bytes(), self.now);
    }

    /// The state after this much silence.
    fn after(&mut self, millis: u64) -> ProgramState {
        self.now = self.now + Duration::from_millis(millis);
        self.detector.tick(&self.screen, self.now);
        self.detector.status().state
    }

    fn turns(&mut self) -> usize {
        let events = self.detector.take_events();
        events.iter().filter(|event| matches!(event, DetectorEvent::TurnEnded(_))).count()
    }
}

fn claude(input: &str) -> String {
    format!("Claude Code v2\n\n{RULE}\n❯ {input}\n{RULE}")
}

#[test]
fn an_agent_is_ready_within_two_seconds_after_a_command_without_an_answer() {
    let mut agent = Agent::new("claude");
    agent.shows(&claude(""));
    assert_eq!(agent.after(1000), ProgramState::Ready);
    agent.types("/clear");
    agent.shows(&claude("/clear"));
    agent.types("\r");
    agent.shows(&format!("❯ /clear\n\n{RULE}\n❯ \n{RULE}"));
    assert_eq!(agent.after(400), ProgramState::Working);
    assert_eq!(agent.after(1600), ProgramState::Ready);
    assert_eq!(agent.turns(), 0);
    // Another text is waited for.
    agent.types("hello\r");
    agent.shows(&format!("❯ hello\n\n{RULE}\n❯ \n{RULE}"));
    assert_eq!(agent.after(2000), ProgramState::Working);
}

#[test]
fn a_list_of_settings_is_a_question_and_no_work() {
    let mut agent = Agent::new("claude");
    agent.shows(&claude(""));
    agent.after(1000);
    agent.types("/theme");
    agent.shows(&claude("/theme"));
    agent.types("\r");
    agent.shows("❯ /theme\n▔▔▔▔▔▔▔▔▔▔▔▔\n   Theme\n\n   ❯ Dark mode\n     Light mode\n\n   Enter to select · Esc to cancel");
    assert_eq!(agent.after(1000), ProgramState::Asking);
    agent.types("\x1b");
    agent.after(100);
    agent.shows(&claude(""));
    assert_eq!(agent.after(1900), ProgramState::Ready);
    assert_eq!(agent.turns(), 0);
}

#[test]
fn a_question_at_the_start_is_a_question() {
    let trust = "  Trust this folder?\n\n› 1. Trust and continue\n  2. Back\n\n  enter continue · esc back";
    let mut agent = Agent::new("codex");
    agent.shows(&format!("{trust}\x1b]7501;state=idle:app=codex\x07"));
    assert_eq!(agent.after(1000), ProgramState::Asking);
    // A question that no profile describes is recognised by its marked row.
    let mut agent = Agent::new("gemini");
    agent.shows("Which one shall it be?\n\n  ▸ This one\n    That one\n\x1b]7501;state=idle\x07");
    assert_eq!(agent.after(1000), ProgramState::Starting);
    assert_eq!(agent.after(2500), ProgramState::Asking);
}

#[test]
fn a_report_about_a_question_does_not_outlive_it() {
    let trust = " Quick safety check\n\n ❯ No, exit\n   Yes, I trust this folder\n\n Enter to confirm · Esc to cancel";
    let mut agent = Agent::new("claude");
    agent.shows(&format!("{trust}\x1b]7501;state=blocked\x07"));
    assert_eq!(agent.after(1000), ProgramState::Asking);
    // The mark moves, and nothing is chosen yet.
    agent.types("\x1b[B");
    agent.shows(&trust.replace("❯ No", "  No").replace("  Yes", "❯ Yes"));
    assert_eq!(agent.after(5000), ProgramState::Asking);
    agent.types("\r");
    agent.shows(&claude(""));
    assert_eq!(agent.after(1000), ProgramState::Ready);
}

#[test]
fn text_that_an_interrupt_removed_is_not_submitted() {
    let mut agent = Agent::new("claude");
    agent.shows(&claude(""));
    agent.after(1000);
    agent.types("half typed");
    agent.shows(&claude("half typed"));
    agent.types("\x03");
    agent.shows(&claude(""));
    agent.types("/clear\r");
    agent.shows(&claude(""));
    assert_eq!(agent.after(2000), ProgramState::Ready);
}
