//! What lists show of sessions and PTYs.

use super::{LABEL, RUN};
use swb_engine::{Phase, PtyView, Session};
use swb_types::{Offset, PtyId};
use swb_wire::coop::{Origin, PtyItem, PtyRole, SessionDetails, SessionItem, SessionStatus};

pub(super) fn session(session: &Session, details: bool) -> SessionItem {
    let view = session.view();
    let agent = view.ptys.first().filter(|agent| agent.pty.id() == PtyId::AGENT);
    SessionItem {
        name: session.name().to_string(),
        workspace: session.workspace().to_string_lossy().into_owned(),
        pid: agent.map_or(0, |agent| agent.pid.max(0) as u32),
        created: session.created(),
        ptys: view.ptys.iter().map(pty).collect(),
        web_clients: 0,
        local_clients: session.clients(Some(LABEL)) as u32,
        details: agent.filter(|_| details).map(|agent| detail(session, agent)),
    }
}

fn detail(session: &Session, agent: &PtyView) -> SessionDetails {
    let size = agent.pty.size();
    SessionDetails {
        argv: agent.argv.to_vec(),
        status: match agent.phase {
            Phase::Waiting | Phase::Starting => SessionStatus::Starting,
            Phase::Running => SessionStatus::Running,
            Phase::Restarting => SessionStatus::Restarting,
            Phase::Exited(_) => SessionStatus::Exited,
        },
        exit_code: match agent.phase {
            Phase::Exited(status) => Some(status.code()),
            _ => None,
        },
        cols: size.cols(),
        rows: size.rows(),
        clients: session.clients(None) as u32,
        origin: if session.origin() == RUN { Origin::Run } else { Origin::Coop },
        offset: Offset(agent.pty.head()),
    }
}

pub(super) fn pty(view: &PtyView) -> PtyItem {
    PtyItem {
        id: view.pty.id(),
        role: if view.pty.id() == PtyId::AGENT { PtyRole::Agent } else { PtyRole::Shell },
        command: view.argv.first().cloned().unwrap_or_default(),
        pid: u32::try_from(view.pid).ok().filter(|pid| *pid > 0),
    }
}
