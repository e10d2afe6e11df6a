//! `swb ls`: list sessions.

use crate::args;
use crate::context::{self, Context};
use crate::error::{Failure, Outcome};
use crate::table::{self, Column, Fit};
use crate::terminal::size;
use crate::watch_list;
use rustix::stdio::stdout;
use rustix::termios::isatty;
use serde::Serialize;
use std::path::Path;
use swb_vt::printable;
use swb_wire::control::{AgentItem, AgentState, Origin, PtyItem, SessionItem, SessionStatus};
use unicode_width::UnicodeWidthStr;

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
        let list = |rows: &Vec<SessionRow>| text(rows, table::now(), home, &ListForm::of(args));
        return watch_list::run(context, || rows(context, args), list);
    }
    let rows = rows(context, args)?;
    context.print_result(&rows, |rows| text(rows, table::now(), &context.paths.home, &ListForm::of(args)))?;
    Ok(0)
}

/// How a list looks to people.
#[derive(Debug, Default)]
struct ListForm {
    /// Whether all sessions that have ended are listed.
    all: bool,
    /// Columns of the terminal; `None` for a file or a program, which gets everything.
    width: Option<usize>,
}

impl ListForm {
    fn of(args: &args::LsArgs) -> Self {
        let size = isatty(stdout()).then(size::current).flatten();
        Self { all: args.all, width: size.map(|size| size.cols().into()) }
    }
}

/// Ended sessions that are listed unless all are.
const ENDED: usize = 5;

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

/// The running sessions, and those that have ended below them.
fn text(rows: &[SessionRow], now: u64, home: &Path, form: &ListForm) -> String {
    let (ended, live): (Vec<&SessionRow>, Vec<&SessionRow>) =
        rows.iter().partition(|row| row.status == SessionStatus::Exited);
    let mut out = match live.is_empty() {
        true if ended.is_empty() => return "No sessions. `swb run -- CMD` starts one.\n".to_owned(),
        true => "No session is running. `swb run -- CMD` starts one.\n".to_owned(),
        false => table::fitted(live_columns(&live, now, home), form.width),
    };
    if !ended.is_empty() {
        // The newest are the last.
        let hidden = if form.all { 0 } else { ended.len().saturating_sub(ENDED) };
        let newest = ended.last().map_or("", |row| row.name.as_str());
        let heading = format!("Ended (`swb kill {}` removes one from the list):", printable(newest));
        let fits = form.width.is_none_or(|width| heading.width() <= width);
        out.push_str(&format!("\n{}\n", if fits { heading.as_str() } else { "Ended:" }));
        out.push_str(&table::fitted(
            ended_columns(ended.get(hidden..).unwrap_or_default(), now, home),
            form.width,
        ));
        if hidden > 0 {
            out.push_str(&format!("and {hidden} more; `swb ls --all` lists them\n"));
        }
    }
    out
}

fn column_of(
    rows: &[&SessionRow],
    title: &'static str,
    fit: Fit,
    cell: &dyn Fn(&SessionRow) -> String,
) -> Column {
    Column { title, fit, cells: rows.iter().map(|row| cell(row)).collect() }
}

fn live_columns(rows: &[&SessionRow], now: u64, home: &Path) -> Vec<Column> {
    let column = |title, fit, cell: &dyn Fn(&SessionRow) -> String| column_of(rows, title, fit, cell);
    vec![
        column("NAME", Fit::Whole, &|row| row.name.clone()),
        column("STATUS", Fit::Leave(4), &SessionRow::status_cell),
        column("AGENT", Fit::Leave(5), &|row| row.agent_cell(now)),
        column("PID", Fit::Leave(0), &|row| if row.pid == 0 { "-".to_owned() } else { row.pid.to_string() }),
        column("SIZE", Fit::Leave(1), &|row| {
            row.size.as_ref().map_or_else(|| "-".to_owned(), |size| format!("{}x{}", size.cols, size.rows))
        }),
        column("CLIENTS", Fit::Leave(2), &|row| row.clients.to_string()),
        column("AGE", Fit::Leave(3), &|row| row.age(now)),
        column("WORKSPACE", Fit::Beginning, &|row| table::short_path(&row.workspace, home)),
        column("COMMAND", Fit::End, &|row| row.command.clone()),
    ]
}

fn ended_columns(rows: &[&SessionRow], now: u64, home: &Path) -> Vec<Column> {
    let column = |title, fit, cell: &dyn Fn(&SessionRow) -> String| column_of(rows, title, fit, cell);
    vec![
        column("NAME", Fit::Whole, &|row| row.name.clone()),
        column("STATUS", Fit::Whole, &SessionRow::status_cell),
        column("AGE", Fit::Leave(0), &|row| row.age(now)),
        column("WORKSPACE", Fit::Beginning, &|row| table::short_path(&row.workspace, home)),
        column("COMMAND", Fit::End, &|row| row.command.clone()),
    ]
}

impl SessionRow {
    fn status_cell(&self) -> String {
        match (self.status, self.exit_code) {
            (SessionStatus::Starting, _) => "starting".to_owned(),
            (SessionStatus::Running, _) => "running".to_owned(),
            (SessionStatus::Restarting, _) => "restarting".to_owned(),
            (SessionStatus::Exited, Some(code)) => format!("exited ({code})"),
            (SessionStatus::Exited, None) => "exited".to_owned(),
        }
    }

    /// The time since its creation.
    fn age(&self, now: u64) -> String {
        table::age(now.saturating_sub(self.created / 1000))
    }

    /// The agent's state and since when; empty if it has ended, or if the program seems to be no agent: it was never ready.
    fn agent_cell(&self, now: u64) -> String {
        let live = self.agent.as_ref().filter(|_| self.status != SessionStatus::Exited);
        let live = live.filter(|agent| !context::is_no_agent(agent, self.created / 1000, now));
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
        let text = |rows: &[SessionRow], form: &ListForm| super::text(rows, 4600, Path::new("/home/u"), form);
        insta::assert_snapshot!(text(&rows(), &ListForm::default()), @r"
        NAME  STATUS   AGENT      PID   SIZE    CLIENTS  AGE  WORKSPACE  COMMAND
        api   running  ready 10m  4711  120x40  1        1h   ~/src/api  claude --resume

        Ended (`swb kill build` removes one from the list):
        NAME   STATUS      AGE  WORKSPACE  COMMAND
        build  exited (2)  1h   /srv       sh -c 'make -j8'
        ");
        insta::assert_snapshot!(text(&[], &ListForm::default()), @"No sessions. `swb run -- CMD` starts one.");
        insta::assert_snapshot!(text(&rows(), &ListForm { width: Some(60), all: false }), @r"
        NAME  STATUS   AGENT      AGE  WORKSPACE  COMMAND
        api   running  ready 10m  1h   ~/src/api  claude --re…

        Ended (`swb kill build` removes one from the list):
        NAME   STATUS      AGE  WORKSPACE  COMMAND
        build  exited (2)  1h   /srv       sh -c 'make -j8'
        ");
        let ended = || rows().into_iter().filter(|row| row.status == SessionStatus::Exited);
        let many: Vec<SessionRow> = std::iter::repeat_with(ended).take(7).flatten().collect();
        let few = text(&many, &ListForm::default());
        assert!(
            few.starts_with("No session is running.") && few.contains("and 2 more; `swb ls --all`"),
            "{few}"
        );
        assert!(!text(&many, &ListForm { all: true, width: None }).contains("more"));
    }

    #[test]
    fn a_program_that_is_never_ready_is_no_agent() {
        let mut row = rows().remove(0);
        let agent = |profile: &str| AgentItem {
            state: AgentState::Starting,
            profile: Some(profile.to_owned()),
            ..AgentItem::default()
        };
        row.agent = Some(agent("claude"));
        assert_eq!(row.agent_cell(1010), "starting");
        assert_eq!(row.agent_cell(1060), "-");
        row.agent = Some(agent("generic"));
        assert_eq!(row.agent_cell(1010), "-");
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
