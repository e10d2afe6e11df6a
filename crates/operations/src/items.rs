//! Entries of lists: sessions and PTYs.

use crate::RUN;
use crate::caller::{local_clients, web_clients};
use swb_engine::{ProcessPhase, PtyView, Session};
use swb_types::PtyId;
use swb_wire::control::{AgentItem, Origin, PtyItem, PtyRole, SessionDetails, SessionItem, SessionStatus};

/// A session, with details if the state of its agent and the number of its newest turn are known; each command line is cut
/// to about `most` bytes.
pub(crate) fn session(session: &Session, known: Option<(AgentItem, u64)>, most: usize) -> SessionItem {
    let view = session.view();
    let agent = view.ptys.first().filter(|agent| agent.pty.id() == PtyId::AGENT);
    SessionItem {
        name: session.name().to_string(),
        workspace: session.workspace().to_string_lossy().into_owned(),
        pid: agent.map_or(0, |agent| agent.pid.max(0) as u32),
        created: session.created(),
        ptys: view.ptys.iter().map(|view| pty(view, most)).collect(),
        web_clients: web_clients(session) as u32,
        local_clients: local_clients(session) as u32,
        details: agent.zip(known).map(|(agent, known)| detail(session, agent, known, most)),
    }
}

fn detail(session: &Session, agent: &PtyView, known: (AgentItem, u64), most: usize) -> SessionDetails {
    let (doing, turns) = known;
    let size = agent.pty.size();
    SessionDetails {
        argv: shortened(&agent.argv, most),
        status: match agent.phase {
            ProcessPhase::Waiting | ProcessPhase::Starting => SessionStatus::Starting,
            ProcessPhase::Running => SessionStatus::Running,
            ProcessPhase::Restarting => SessionStatus::Restarting,
            ProcessPhase::Exited(_) => SessionStatus::Exited,
        },
        exit_code: match agent.phase {
            ProcessPhase::Exited(status) => Some(status.code()),
            _ => None,
        },
        cols: size.cols(),
        rows: size.rows(),
        clients: session.clients(None) as u32,
        origin: match session.origin() {
            RUN => Origin::Run,
            swb_engine::chat::ORIGIN => Origin::Chat,
            _ => Origin::Coop,
        },
        offset: agent.pty.head(),
        agent: Some(doing),
        turns,
    }
}

pub(crate) fn pty(view: &PtyView, most: usize) -> PtyItem {
    PtyItem {
        id: view.pty.id(),
        role: if view.pty.id() == PtyId::AGENT { PtyRole::Agent } else { PtyRole::Shell },
        command: view.argv.first().map_or_else(String::new, |word| cut(word, most)),
        pid: u32::try_from(view.pid).ok().filter(|pid| *pid > 0),
    }
}

/// As many words as fit; the last one may be cut and is marked then.
fn shortened(argv: &[String], most: usize) -> Vec<String> {
    let mut left = most;
    let mut words = Vec::new();
    for word in argv {
        words.push(cut(word, left));
        // The quotes of a word count, too.
        match left.checked_sub(word.len() + 3) {
            Some(rest) => left = rest,
            None => break,
        }
    }
    words
}

fn cut(word: &str, most: usize) -> String {
    if word.len() <= most {
        return word.to_owned();
    }
    let end = (0..=most).rev().find(|end| word.is_char_boundary(*end)).unwrap_or(0);
    format!("{}…", &word[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(argv: &[&str], most: usize) -> Vec<String> {
        shortened(&argv.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>(), most)
    }

    #[test]
    fn long_command_lines_are_cut_where_they_get_too_long() {
        assert_eq!(words(&["sh", "-c", "echo"], usize::MAX), ["sh", "-c", "echo"]);
        assert_eq!(words(&["sh", "-c", "echo a lot", "more"], 15), ["sh", "-c", "echo …"]);
        assert_eq!(words(&["größe"], 3), ["gr…"]);
        assert_eq!(words(&["", "", "", ""], 7), ["", "", ""]);
        assert_eq!(words(&["sh"], 0), ["…"]);
        assert!(words(&[], 0).is_empty());
    }
}
