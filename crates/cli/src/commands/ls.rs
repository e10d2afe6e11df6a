//! `swb ls`: list sessions.

use crate::args;
use crate::context::{self, Context};
use crate::error::{Failure, Outcome};
use crate::table;
use crate::watch_list;
use serde::Serialize;
use std::path::Path;
use swb_wire::control::{AgentItem, AgentState, Origin, PtyItem, SessionItem, SessionStatus};

/// One session as `ls --json` shows it.
#[derive(Debug, Serialize)]
struct SessionRow {
    name: String,
    workspace: String,
    /// The command line, quoted for a shell.
    command: String,
    argv: Vec<String>,
    pid: u32,
    /// Unix milliseconds.
    created: u64,
    size: Option<SessionSize>,
    clients: u32,
    status: SessionStatus,
    exit_code: Option<i32>,
    /// The agent's state, and since when.
    agent: Option<AgentItem>,
    origin: Option<Origin>,
    ptys: Vec<PtyItem>,
}

#[derive(Debug, Serialize)]
struct SessionSize {
    cols: u16,
    rows: u16,
}

/// Lists sessions, oldest first.
pub(crate) fn run(context: &Context, args: &args::LsArgs) -> Outcome {
    if args.watch {
        let home = &context.paths.home;
        return watch_list::run(context, || rows(context, args), |rows| text(rows, table::now(), home));
    }
    let rows = rows(context, args)?;
    context.answer(&rows, |rows| text(rows, table::now(), &context.paths.home))?;
    Ok(0)
}

fn rows(context: &Context, args: &args::LsArgs) -> Result<Vec<SessionRow>, Failure> {
    let mut sessions = context.sessions()?;
    sessions.sort_by(|a, b| (a.created, &a.name).cmp(&(b.created, &b.name)));
    let wanted = |session: &SessionItem| !args.running || context::status(session) != SessionStatus::Exited;
    Ok(sessions.into_iter().filter(wanted).map(SessionRow::from).collect())
}

impl From<SessionItem> for SessionRow {
    fn from(session: SessionItem) -> Self {
        let agent = session.ptys.first().map(|pty| vec![pty.command.clone()]).unwrap_or_default();
        let status = context::status(&session);
        let details = session.details.as_ref();
        let argv = details.map_or(agent, |details| details.argv.clone());
        Self {
            command: table::command_line(&argv),
            argv,
            size: details.map(|details| SessionSize { cols: details.cols, rows: details.rows }),
            clients: details
                .map_or(session.local_clients.saturating_add(session.web_clients), |details| details.clients),
            status,
            exit_code: details.and_then(|details| details.exit_code),
            agent: details.and_then(|details| details.agent.clone()),
            origin: details.map(|details| details.origin),
            name: session.name,
            workspace: session.workspace,
            pid: session.pid,
            created: session.created.saturating_mul(1000),
            ptys: session.ptys,
        }
    }
}

fn text(rows: &[SessionRow], now: u64, home: &Path) -> String {
    if rows.is_empty() {
        return "No sessions. `swb run -- CMD` starts one.\n".to_owned();
    }
    let cells: Vec<[String; 9]> = rows.iter().map(|row| row.cells(now, home)).collect();
    table::layout(
        ["NAME", "STATUS", "AGENT", "PID", "SIZE", "CLIENTS", "AGE", "WORKSPACE", "COMMAND"],
        &cells,
    )
}

impl SessionRow {
    fn cells(&self, now: u64, home: &Path) -> [String; 9] {
        let status = match (self.status, self.exit_code) {
            (SessionStatus::Starting, _) => "starting".to_owned(),
            (SessionStatus::Running, _) => "running".to_owned(),
            (SessionStatus::Restarting, _) => "restarting".to_owned(),
            (SessionStatus::Exited, Some(code)) => format!("exited ({code})"),
            (SessionStatus::Exited, None) => "exited".to_owned(),
        };
        let pid = if self.pid == 0 || self.status == SessionStatus::Exited {
            "-".to_owned()
        } else {
            self.pid.to_string()
        };
        [
            self.name.clone(),
            status,
            self.agent_cell(now),
            pid,
            self.size.as_ref().map_or_else(|| "-".to_owned(), |size| format!("{}x{}", size.cols, size.rows)),
            self.clients.to_string(),
            table::age(now.saturating_sub(self.created / 1000)),
            table::short_path(&self.workspace, home),
            self.command.clone(),
        ]
    }

    /// The agent's state and since when; empty if it has ended.
    fn agent_cell(&self, now: u64) -> String {
        let live = self.agent.as_ref().filter(|_| self.status != SessionStatus::Exited);
        match live.filter(|agent| agent.state != AgentState::Exited) {
            Some(agent) if agent.since > 0 => {
                format!("{} {}", agent.state.as_str(), table::age(now.saturating_sub(agent.since / 1000)))
            }
            Some(agent) => agent.state.as_str().to_owned(),
            None => "-".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<SessionRow> {
        let row = |name: &str, workspace: &str, command: &str, status, exit_code| SessionRow {
            name: name.into(),
            workspace: workspace.into(),
            command: command.to_owned(),
            argv: command.split(' ').map(str::to_owned).collect(),
            pid: 4711,
            created: 1_000_000,
            size: Some(SessionSize { cols: 120, rows: 40 }),
            clients: 1,
            status,
            exit_code,
            agent: Some(AgentItem { state: AgentState::Ready, since: 4_000_000, ..AgentItem::default() }),
            origin: Some(Origin::Run),
            ptys: Vec::new(),
        };
        vec![
            row("api", "/home/u/src/api", "claude --resume", SessionStatus::Running, None),
            row("build", "/srv", "sh -c 'make -j8'", SessionStatus::Exited, Some(2)),
        ]
    }

    #[test]
    fn people_get_a_table() {
        insta::assert_snapshot!(text(&rows(), 4600, Path::new("/home/u")), @r"
        NAME   STATUS      AGENT      PID   SIZE    CLIENTS  AGE  WORKSPACE  COMMAND
        api    running     ready 10m  4711  120x40  1        1h   ~/src/api  claude --resume
        build  exited (2)  -          -     120x40  1        1h   /srv       sh -c 'make -j8'
        ");
        insta::assert_snapshot!(text(&[], 0, Path::new("/")), @"No sessions. `swb run -- CMD` starts one.");
    }

    #[test]
    fn programs_get_every_field() {
        let json = serde_json::to_value(rows()).unwrap();
        for key in [
            "name",
            "workspace",
            "command",
            "pid",
            "created",
            "size",
            "clients",
            "status",
            "exit_code",
            "agent",
        ] {
            assert!(json[0].get(key).is_some(), "{key}");
        }
        assert_eq!(json[1]["status"], "exited");
        assert_eq!(json[1]["exit_code"], 2);
        assert_eq!(json[0]["exit_code"], serde_json::Value::Null);
    }
}
