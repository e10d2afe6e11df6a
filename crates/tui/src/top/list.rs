//! Which sessions are listed, in which order and under which heading.

use super::row::{SessionRow, SessionState};
use std::collections::HashMap;

/// One entry of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ListEntry {
    /// A heading.
    Heading(String),
    /// A session, by its place among the rows.
    Session(usize),
}

/// The entries for a filter: sessions that wait for a person first, the longest waiting one on top; then by workspace,
/// the oldest session first; those that have ended last.
pub(super) fn entries(rows: &[SessionRow], filter: &str) -> Vec<ListEntry> {
    let shown: Vec<usize> = (0..rows.len()).filter(|at| rows[*at].matches(filter)).collect();
    let of = |wanted: &dyn Fn(&SessionRow) -> bool| -> Vec<usize> {
        shown.iter().copied().filter(|at| wanted(&rows[*at])).collect()
    };
    let ended = |row: &SessionRow| row.state == SessionState::Exited;
    let mut waiting = of(&|row| row.state.needs_attention());
    waiting.sort_by_key(|at| (rows[*at].since, &rows[*at].name));
    let mut others = of(&|row| !row.state.needs_attention() && !ended(row));
    // A workspace stands where its oldest session does, so that a new session moves nothing.
    let mut oldest: HashMap<&str, u64> = HashMap::new();
    for row in rows.iter().filter(|row| !ended(row)) {
        let first = oldest.entry(&row.workspace).or_insert(row.created);
        *first = (*first).min(row.created);
    }
    others.sort_by_key(|at| {
        let row = &rows[*at];
        (oldest.get(row.workspace.as_str()).copied(), &row.workspace, row.created, &row.name)
    });
    let mut gone = of(&ended);
    gone.sort_by_key(|at| (std::cmp::Reverse(rows[*at].since), &rows[*at].name));

    let mut entries = Vec::with_capacity(shown.len() + 8);
    section(&mut entries, "Waiting for you", &waiting);
    let mut workspace = None;
    for at in others {
        if workspace != Some(&rows[at].workspace) {
            workspace = Some(&rows[at].workspace);
            entries.push(ListEntry::Heading(rows[at].workspace.clone()));
        }
        entries.push(ListEntry::Session(at));
    }
    section(&mut entries, "Ended", &gone);
    entries
}

fn section(entries: &mut Vec<ListEntry>, heading: &str, sessions: &[usize]) {
    if !sessions.is_empty() {
        entries.push(ListEntry::Heading(heading.to_owned()));
        entries.extend(sessions.iter().copied().map(ListEntry::Session));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, workspace: &str, state: SessionState, created: u64) -> SessionRow {
        let (name, workspace) = (name.to_owned(), workspace.to_owned());
        SessionRow { name, workspace, state, created, since: created, ..SessionRow::default() }
    }

    fn names(rows: &[SessionRow], filter: &str) -> Vec<String> {
        let name = |entry: ListEntry| match entry {
            ListEntry::Heading(text) => format!("# {text}"),
            ListEntry::Session(at) => rows[at].name.clone(),
        };
        entries(rows, filter).into_iter().map(name).collect()
    }

    #[test]
    fn sessions_that_ask_come_first_and_ended_ones_last() {
        let rows = [
            row("old", "~/b", SessionState::Ready, 1),
            row("gone", "~/a", SessionState::Exited, 2),
            row("new", "~/a", SessionState::Working, 3),
            row("late", "~/a", SessionState::Asking, 5),
            row("early", "~/b", SessionState::Error, 4),
            row("beside", "~/b", SessionState::Unknown, 6),
        ];
        assert_eq!(
            names(&rows, ""),
            [
                "# Waiting for you",
                "early",
                "late",
                "# ~/b",
                "old",
                "beside",
                "# ~/a",
                "new",
                "# Ended",
                "gone"
            ]
        );
    }

    #[test]
    fn a_filter_finds_words_anywhere() {
        let rows =
            [row("api", "~/src", SessionState::Ready, 1), row("web", "~/src", SessionState::Working, 2)];
        assert_eq!(names(&rows, "SRC ready"), ["# ~/src", "api"]);
        assert_eq!(names(&rows, "nothing"), [""; 0]);
    }
}
