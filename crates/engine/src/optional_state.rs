//! What an earlier daemon left that sessions can do without, and what happens to it if daemons die of it.
//!
//! A daemon notes in its vital signs what it is about to read. If it dies there several times in a row, the next daemon
//! leaves out exactly that; if daemons keep dying at their start and nothing explains it, the next one leaves out
//! everything. What is left out is set aside: the keeper holds it under another key, and the daemon reports it.
//! Terminals, their rings and their records are never left out.

use crate::keeper::{KEY_ASIDE, KEY_CHATS, KEY_EVENTS, KEY_SCREEN, KEY_TURNS, Keeper};
use crate::limits;
use std::collections::BTreeMap;
use std::fmt;
use std::os::fd::OwnedFd;
use swb_keeper::{DaemonThread, SlotId, Suspect};

/// A piece of that state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OptionalState {
    /// The checkpoint of a terminal's screen.
    Screen(SlotId),
    /// The turns of all sessions.
    Turns,
    /// The newest events.
    Events,
    /// The journal of conversations.
    Conversations,
}

/// States that are held once for all sessions.
const GLOBAL: [OptionalState; 3] =
    [OptionalState::Turns, OptionalState::Events, OptionalState::Conversations];

impl OptionalState {
    /// Its number in the vital signs; later daemons read it.
    fn code(self) -> u64 {
        match self {
            Self::Turns => 1,
            Self::Events => 2,
            Self::Conversations => 3,
            Self::Screen(slot) => 1 << 32 | u64::from(slot.0),
        }
    }

    /// Whether it is held once for all sessions.
    pub(crate) fn is_global(self) -> bool {
        !matches!(self, Self::Screen(_))
    }

    /// The key under which it is held.
    pub(crate) fn key(self) -> u16 {
        match self {
            Self::Screen(_) => KEY_SCREEN,
            Self::Turns => KEY_TURNS,
            Self::Events => KEY_EVENTS,
            Self::Conversations => KEY_CHATS,
        }
    }

    /// What a slot without a terminal has been set aside for.
    pub(crate) fn in_slot(held: &BTreeMap<u16, OwnedFd>) -> Option<Self> {
        GLOBAL.into_iter().find(|state| held.contains_key(&state.key()))
    }
}

impl fmt::Display for OptionalState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Screen(_) => "the saved screen of a terminal",
            Self::Turns => "the turns of sessions",
            Self::Events => "the newest events",
            Self::Conversations => "the conversations that were not saved",
        })
    }
}

/// Why a daemon does without a piece of state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LeaveOut {
    /// Earlier ones died while they read it.
    Deadly,
    /// Earlier ones died at their start, and nothing explains it.
    FailedStarts,
}

impl fmt::Display for LeaveOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Deadly => "daemons died while they read it",
            Self::FailedStarts => "daemons died at their start for an unknown reason",
        })
    }
}

/// Whether a daemon does without `state`, given what earlier ones died on and how many of them never served a client.
fn reason_to_leave_out(state: OptionalState, suspects: [Suspect; 2], failed_starts: u64) -> Option<LeaveOut> {
    let died_of_it =
        |suspect: &Suspect| suspect.state == state.code() && suspect.deaths >= limits::DEATHS_OF_STATE;
    if suspects.iter().any(died_of_it) {
        return Some(LeaveOut::Deadly);
    }
    (failed_starts >= limits::FAILED_STARTS).then_some(LeaveOut::FailedStarts)
}

impl Keeper {
    /// Reads `memory`, which an earlier daemon left; nothing if daemons have died of it.
    pub(crate) fn adopt_state<T>(
        &self,
        state: OptionalState,
        memory: OwnedFd,
        read: impl FnOnce(OwnedFd) -> T,
    ) -> Option<T> {
        let reason = self.vitals().and_then(|vitals| {
            let suspects = [DaemonThread::Main, DaemonThread::Screens].map(|thread| vitals.suspect(thread));
            reason_to_leave_out(state, suspects, vitals.failed_starts())
        });
        if let Some(reason) = reason {
            tracing::error!("left out {state}: {reason}");
            self.set_aside(state, memory);
            return None;
        }
        Some(self.reading(DaemonThread::Main, state, || read(memory)))
    }

    /// Runs `read` on a thread and notes meanwhile what is being read.
    pub(crate) fn reading<T>(
        &self,
        thread: DaemonThread,
        state: OptionalState,
        read: impl FnOnce() -> T,
    ) -> T {
        let Some(vitals) = self.vitals() else { return read() };
        vitals.set_doing(thread, state.code());
        let result = read();
        vitals.set_done(thread);
        result
    }

    /// Notes that daemons do not die of `state`.
    pub(crate) fn acquit(&self, state: OptionalState) {
        if let Some(vitals) = self.vitals() {
            vitals.acquit(state.code());
        }
    }

    /// Lets the keeper hold `memory` where no daemon reads it.
    fn set_aside(&self, state: OptionalState, memory: OwnedFd) {
        let place = match state {
            OptionalState::Screen(slot) => {
                self.hold(slot, KEY_ASIDE, memory);
                self.drop_held(slot, KEY_SCREEN);
                slot
            }
            _ => match self.reserve_aside() {
                Some(slot) => {
                    self.hold(slot, state.key(), memory);
                    self.drop_held(SlotId::GLOBAL, state.key());
                    slot
                }
                // The keeper holds it where it is, and this daemon leaves nothing of its own there.
                None => SlotId::GLOBAL,
            },
        };
        // It is out of the way. The same slot may get a screen that is all right.
        self.acquit(state);
        self.note_aside(place, state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Suspect = Suspect { state: 0, deaths: 0 };

    #[test]
    fn only_what_daemons_died_of_several_times_is_left_out() {
        let screen = OptionalState::Screen(SlotId(7));
        for deaths in 0..limits::DEATHS_OF_STATE {
            let suspect = Suspect { state: screen.code(), deaths };
            assert_eq!(reason_to_leave_out(screen, [suspect, NOTHING], 0), None, "{deaths}");
        }
        let suspect = Suspect { state: screen.code(), deaths: limits::DEATHS_OF_STATE };
        for suspects in [[suspect, NOTHING], [NOTHING, suspect]] {
            assert_eq!(reason_to_leave_out(screen, suspects, 0), Some(LeaveOut::Deadly));
            let reason = reason_to_leave_out(screen, suspects, limits::FAILED_STARTS);
            assert_eq!(reason, Some(LeaveOut::Deadly));
            for other in [OptionalState::Screen(SlotId(8)), OptionalState::Turns] {
                assert_eq!(reason_to_leave_out(other, suspects, 0), None);
            }
        }
    }

    #[test]
    fn everything_is_left_out_when_starts_keep_failing() {
        for state in GLOBAL.into_iter().chain([OptionalState::Screen(SlotId(0))]) {
            let reason = |failed| reason_to_leave_out(state, [NOTHING; 2], failed);
            assert_eq!(reason(limits::FAILED_STARTS - 1), None);
            assert_eq!(reason(limits::FAILED_STARTS), Some(LeaveOut::FailedStarts));
        }
    }

    #[test]
    fn every_state_has_a_number_and_can_be_found_again() {
        let states = GLOBAL.into_iter().chain([OptionalState::Screen(SlotId(0))]);
        let mut codes: Vec<u64> = states.map(OptionalState::code).collect();
        codes.dedup();
        assert!(codes.len() == 4 && !codes.contains(&0), "{codes:?}");
        let memory = || swb_keeper::sealed_memfd("x", b"").unwrap();
        for state in GLOBAL {
            assert_eq!(OptionalState::in_slot(&BTreeMap::from([(state.key(), memory())])), Some(state));
        }
        assert_eq!(OptionalState::in_slot(&BTreeMap::from([(KEY_ASIDE, memory())])), None);
    }
}
