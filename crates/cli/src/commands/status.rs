//! `swb status`: show the status of the daemon.

use super::serve;
use crate::context::Context;
use crate::error::Outcome;
use crate::table;
use serde::Serialize;
use swb_vt::printable;
use swb_wire::control::{DaemonStatus, DialectStatus, KeeperStatus, Operation, StatusReply, WebStatus};

/// Exit code if no daemon is running.
const NOT_RUNNING: u8 = 1;

/// The output of `status --json`; without a daemon, the first two are null.
#[derive(Debug, Serialize)]
struct Status {
    keeper: Option<KeeperStatus>,
    daemon: Option<DaemonStatus>,
    dialects: Vec<DialectStatus>,
    sessions: u32,
    web: Vec<WebStatus>,
    warnings: Vec<String>,
}

/// Prints the status of the daemon; never starts it.
pub(crate) fn run(context: &Context) -> Outcome {
    let status = match context.connect_if_running()? {
        Some(mut control) => Status::from(control.request::<StatusReply>(&Operation::Status)?),
        None => {
            let (dialects, web, warnings) = Default::default();
            Status { keeper: None, daemon: None, dialects, sessions: 0, web, warnings }
        }
    };
    let code = if status.daemon.is_some() { 0 } else { NOT_RUNNING };
    context.print_result(&status, |status| text(status, table::now()))?;
    Ok(code)
}

impl From<StatusReply> for Status {
    fn from(reply: StatusReply) -> Self {
        Self {
            keeper: Some(reply.keeper),
            daemon: Some(reply.daemon),
            dialects: reply.dialects,
            sessions: reply.sessions,
            web: reply.web,
            warnings: reply.warnings,
        }
    }
}

fn text(status: &Status, now: u64) -> String {
    let Some(daemon) = &status.daemon else {
        return "No daemon is running. The first command that needs one starts it.\n".to_owned();
    };
    let keeper = status.keeper.as_ref().map_or(0, |keeper| keeper.pid);
    let up = table::age(now.saturating_sub(daemon.started / 1000));
    let idle = if daemon.auto { "; ends by itself when no session is left" } else { "" };
    let mut out = format!(
        "daemon    pid {}, version {}, running for {up}{}{idle}\nkeeper    pid {keeper}; holds the terminals of the \
         sessions\nsessions  {}\n",
        daemon.pid,
        daemon.version,
        restarts(daemon.restarts),
        status.sessions,
    );
    if let Some(config) = &daemon.config {
        out.push_str(&format!("config    {}\n", printable(config)));
    }
    out.push('\n');
    let rows: Vec<[String; 3]> = status
        .dialects
        .iter()
        .map(|dialect| [dialect.name.clone(), String::from(dialect.state.clone()), dialect.socket.clone()])
        .collect();
    out.push_str(&table::layout(["DIALECT", "STATE", "SOCKET"], &rows));
    if !status.web.is_empty() {
        out.push('\n');
    }
    for server in &status.web {
        let scheme = if server.tls { "https" } else { "http" };
        let host = serve::bracketed(&server.host);
        out.push_str(&format!("web       {scheme}://{}:{}\n", printable(&host), server.port));
    }
    for warning in &status.warnings {
        out.push_str(&format!("\nwarning: {}\n", printable(warning)));
    }
    out
}

fn restarts(count: u32) -> String {
    match count {
        0 => String::new(),
        1 => "; restarted once after a failure".to_owned(),
        count => format!("; restarted {count} times after failures"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swb_wire::control::DialectState;

    fn status() -> Status {
        Status {
            keeper: Some(KeeperStatus { pid: 10 }),
            daemon: Some(DaemonStatus {
                pid: 11,
                restarts: 2,
                version: "0.1.0".into(),
                auto: true,
                started: 100_000,
                config: Some("/h/.config/switchboard/config.toml".into()),
            }),
            dialects: vec![
                DialectStatus {
                    name: "keepty".into(),
                    socket: "/r/keepty".into(),
                    state: DialectState::Listening,
                },
                DialectStatus {
                    name: "coop".into(),
                    socket: "/h/.coop/sock".into(),
                    state: DialectState::Failed("taken".into()),
                },
            ],
            sessions: 3,
            web: vec![WebStatus { host: "127.0.0.1".into(), port: 8888, tls: false, connections: 2 }],
            warnings: vec!["the coop socket is taken".into()],
        }
    }

    #[test]
    fn people_get_a_summary() {
        insta::assert_snapshot!(text(&status(), 220), @r"
        daemon    pid 11, version 0.1.0, running for 2m; restarted 2 times after failures; ends by itself when no session is left
        keeper    pid 10; holds the terminals of the sessions
        sessions  3
        config    /h/.config/switchboard/config.toml

        DIALECT  STATE          SOCKET
        keepty   listening      /r/keepty
        coop     failed: taken  /h/.coop/sock

        web       http://127.0.0.1:8888

        warning: the coop socket is taken
        ");
    }

    #[test]
    fn programs_get_the_promised_keys() {
        let json = serde_json::to_value(status()).unwrap();
        assert_eq!(json["keeper"]["pid"], 10);
        assert_eq!(json["daemon"]["restarts"], 2);
        assert_eq!(json["dialects"][1]["state"], "failed: taken");
        assert_eq!(json["sessions"], 3);
    }
}
