//! Which session a window shows, given the processes below it (CH-7).

use crate::limits;
use swb_wire::clippy::SessionItem;

/// The sessions that the process of a window runs or shows.
///
/// A session is in the window if its process, or one that shows it (`swb attach`), is the window's process or descends
/// from it. `parent` returns the parent of a process.
pub(super) fn sessions_below(
    window: u32,
    sessions: &[SessionItem<'_>],
    parent: impl Fn(u32) -> Option<u32>,
) -> Vec<String> {
    let below = |pid: &u32| descends(*pid, window, &parent);
    let shown = sessions.iter().filter(|item| below(&item.pid) || item.client_pids.iter().any(below));
    shown.map(|item| item.session.to_owned()).collect()
}

fn descends(pid: u32, ancestor: u32, parent: &impl Fn(u32) -> Option<u32>) -> bool {
    // Process 0 is no process: sessions without one report it. Everything descends from 1.
    let chain = std::iter::successors(Some(pid), |pid| parent(*pid));
    ancestor > 1 && chain.take(limits::PROCESS_DEPTH).take_while(|pid| *pid > 1).any(|pid| pid == ancestor)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Window 10 has the shell 11, which runs 12; window 20 has 21. 30 is a daemon with the child 31.
    fn parent(pid: u32) -> Option<u32> {
        let parents = [(10, 1), (11, 10), (12, 11), (20, 1), (21, 20), (30, 1), (31, 30), (40, 41), (41, 40)];
        parents.iter().find(|(child, _)| *child == pid).map(|(_, parent)| *parent)
    }

    fn item<'a>(session: &'a str, pid: u32, client_pids: &[u32]) -> SessionItem<'a> {
        SessionItem { session, pid, has_turn: false, client_pids: client_pids.to_vec() }
    }

    // CH-7
    #[test]
    fn the_parents_of_a_session_lead_to_its_window() {
        let sessions = [item("a", 12, &[]), item("b", 21, &[])];
        assert_eq!(sessions_below(10, &sessions, parent), ["a"]);
        assert_eq!(sessions_below(20, &sessions, parent), ["b"]);
        assert_eq!(sessions_below(12, &sessions, parent), ["a"], "the window's own process");
        assert!(sessions_below(30, &sessions, parent).is_empty());
        let two = [item("a", 12, &[]), item("c", 11, &[])];
        assert_eq!(sessions_below(10, &two, parent), ["a", "c"]);
    }

    // CH-7
    #[test]
    fn a_window_with_swb_attach_shows_the_session() {
        let sessions = [item("api", 31, &[99, 12]), item("web", 31, &[])];
        assert_eq!(sessions_below(10, &sessions, parent), ["api"]);
        let both = [item("api", 12, &[11, 12])];
        assert_eq!(sessions_below(10, &both, parent), ["api"], "counts once");
    }

    #[test]
    fn odd_processes_are_in_no_window() {
        let sessions = [item("gone", 77, &[]), item("none", 0, &[0]), item("circle", 40, &[])];
        for window in [0, 1, 10] {
            assert!(sessions_below(window, &sessions, parent).is_empty(), "{window}");
        }
    }
}
