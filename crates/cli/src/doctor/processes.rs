//! The daemon and the keeper: whether they run and reply, their versions, and the web server's port.
//!
//! A socket that systemd listens on is not connected to while no daemon runs: that would start one.

use super::{DoctorContext, Finding};
use crate::control_client::ControlClient;
use crate::error::Failure;
use crate::limits;
use rustix::process::geteuid;
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use swb_daemon::output_within;
use swb_types::Paths;
use swb_wire::control::{Operation, StatusReply, WebStatus};

const DAEMON: &str = "daemon";
const KEEPER: &str = "keeper";
const PORT: &str = "web port";
/// The version of this program.
const OWN: &str = env!("CARGO_PKG_VERSION");

/// Everything about our running processes.
pub(super) fn check(place: &DoctorContext) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut web = Vec::new();
    if waits_in_systemd(&place.paths) {
        findings
            .push(Finding::ok(DAEMON, "not running; systemd starts it for the first command (swb.socket)"));
    } else {
        match status(&place.paths) {
            Ok(None) => findings.push(Finding::ok(DAEMON, "not running; most commands start it")),
            Ok(Some(reply)) => {
                findings.push(daemon(&reply, &program_of(reply.daemon.pid)));
                let warnings = reply.warnings.iter().filter(|warning| !warning.starts_with("This kernel"));
                findings.extend(
                    warnings.map(|text| Finding::warning(DAEMON, text, "`swb status` shows all sockets")),
                );
                web = reply.web;
            }
            Err(failure) => findings.push(no_reply(&failure, &place.paths)),
        }
    }
    findings.extend(keeper_pid(&place.paths).map(keeper));
    findings.push(port(place, &web));
    findings
}

/// Asks the daemon for its status, if one is listening.
fn status(paths: &Paths) -> Result<Option<StatusReply>, Failure> {
    let Some(mut control) = ControlClient::open_within(&paths.control_socket(), limits::DOCTOR_REPLY)? else {
        return Ok(None);
    };
    control.request_within(&Operation::Status, Some(limits::DOCTOR_REPLY)).map(Some)
}

fn no_reply(failure: &Failure, paths: &Paths) -> Finding {
    Finding::problem(
        DAEMON,
        failure.to_string(),
        format!(
            "sessions are not affected, and a daemon that hangs is replaced within seconds; if this lasts, \
             `swb upgrade` replaces one of another version, and {} says more",
            paths.daemon_log().display()
        ),
    )
}

/// The program file of a process. It is compared and never executed: any process can have a keeper's arguments.
#[derive(Debug, Default, PartialEq, Eq)]
struct Program {
    /// The file was replaced or removed since.
    replaced: bool,
    /// It is this program's own file.
    own: bool,
}

fn program_of(pid: u32) -> Program {
    let link = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    Program {
        replaced: link.to_string_lossy().ends_with(" (deleted)"),
        own: file_of(&pid.to_string()).is_some_and(|file| Some(file) == file_of("self")),
    }
}

/// What identifies a process's program file, even after it was replaced.
fn file_of(process: &str) -> Option<(u64, u64)> {
    let metadata = std::fs::metadata(format!("/proc/{process}/exe")).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

fn daemon(reply: &StatusReply, program: &Program) -> Finding {
    let daemon = &reply.daemon;
    let message = format!("pid {}, version {}, {} sessions", daemon.pid, daemon.version, reply.sessions);
    let upgrade = "`swb upgrade` replaces it; sessions keep running";
    if daemon.version != OWN {
        return Finding::warning(DAEMON, format!("{message}, but this program is version {OWN}"), upgrade);
    }
    if program.replaced {
        return Finding::warning(DAEMON, format!("{message}; its program file has been replaced"), upgrade);
    }
    Finding::ok(DAEMON, message)
}

fn keeper(pid: u32) -> Finding {
    keeper_finding(pid, &program_of(pid))
}

fn keeper_finding(pid: u32, program: &Program) -> Finding {
    let upgrade = "`swb upgrade --keeper` replaces it; sessions keep running";
    if program.replaced {
        return Finding::warning(KEEPER, format!("pid {pid}; its program file has been replaced"), upgrade);
    }
    if !program.own {
        let message = format!("pid {pid} runs another program file than this one, version {OWN}");
        return Finding::warning(KEEPER, message, upgrade);
    }
    Finding::ok(KEEPER, format!("pid {pid}, version {OWN}"))
}

/// The keeper of this user, found by its arguments: it serves daemons alone.
pub(super) fn keeper_pid(paths: &Paths) -> Option<u32> {
    let socket = paths.keeper_socket();
    let processes = std::fs::read_dir("/proc").ok()?.flatten();
    let mut pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.find(|pid| {
        let owner = std::fs::metadata(format!("/proc/{pid}")).map(|metadata| metadata.uid());
        if owner.ok() != Some(geteuid().as_raw()) {
            return false;
        }
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        is_keeper(&words, &socket)
    })
}

fn is_keeper(words: &[u8], socket: &Path) -> bool {
    let words: Vec<&[u8]> = words.split(|byte| *byte == 0).collect();
    let named = words.get(1).is_some_and(|verb| *verb == b"keeper");
    named && words.contains(&socket.as_os_str().as_encoded_bytes())
}

/// Whether systemd listens in place of a daemon that does not run.
fn waits_in_systemd(paths: &Paths) -> bool {
    let manager = paths.runtime.as_ref().is_some_and(|runtime| runtime.join("systemd/private").exists());
    if !manager {
        return false;
    }
    let mut ask = Command::new("systemctl");
    ask.args(["--user", "is-active", "swb.socket", "swb.service"]).current_dir("/");
    let output = output_within(&mut ask, limits::DOCTOR_REPLY).ok().flatten();
    output.is_some_and(|output| is_waiting(&String::from_utf8_lossy(&output.stdout)))
}

/// The states of the socket and of the service, a line each.
fn is_waiting(states: &str) -> bool {
    let mut states = states.lines();
    states.next() == Some("active") && states.next().is_some_and(|service| service != "active")
}

/// Whether `swb serve` can have the port that it would use.
fn port(place: &DoctorContext, served: &[WebStatus]) -> Finding {
    if let Some(server) = served.first() {
        let more = if served.len() > 1 { format!(", and {} more", served.len() - 1) } else { String::new() };
        return Finding::ok(PORT, format!("the daemon serves {}:{}{more}", server.host, server.port));
    }
    let configured = swb_daemon::Config::load(&place.config_file, false).ok();
    let configured = configured.and_then(|config| config.web.listen.first().map(|address| address.port));
    let port = configured.unwrap_or(crate::args::WEB_PORT);
    match TcpListener::bind(("127.0.0.1", port)) {
        Ok(_) => Finding::ok(PORT, format!("{port} is free for `swb serve`")),
        Err(error) => Finding::warning(
            PORT,
            format!("`swb serve` cannot listen on port {port}: {error}"),
            "`swb serve --port N` uses another one, `[web] listen` in the configuration always",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;
    use swb_wire::control::{DaemonStatus, KeeperStatus};

    fn reply(version: &str) -> StatusReply {
        let version = version.to_owned();
        StatusReply {
            ok: true,
            keeper: KeeperStatus { pid: 10 },
            daemon: DaemonStatus { pid: 11, restarts: 0, version, auto: true, started: 0, config: None },
            dialects: Vec::new(),
            sessions: 2,
            web: Vec::new(),
            warnings: Vec::new(),
        }
    }

    #[test]
    fn another_version_needs_an_upgrade() {
        let replaced = Program { replaced: true, own: true };
        assert_eq!(daemon(&reply(OWN), &Program::default()).status, Level::Ok);
        for finding in [daemon(&reply("0.0.9"), &Program::default()), daemon(&reply(OWN), &replaced)] {
            assert_eq!(finding.status, Level::Warning);
            assert!(finding.hint.unwrap().starts_with("`swb upgrade`"));
        }
        let own = Program { own: true, ..Program::default() };
        assert_eq!(keeper_finding(10, &own).status, Level::Ok);
        for finding in [keeper_finding(10, &Program::default()), keeper_finding(10, &replaced)] {
            assert_eq!(finding.status, Level::Warning);
            assert!(finding.hint.unwrap().starts_with("`swb upgrade --keeper`"));
        }
    }

    #[test]
    fn the_keeper_is_known_by_its_socket() {
        let socket = Path::new("/r/switchboard/keeper.sock");
        assert!(is_keeper(b"/usr/bin/swb\0keeper\0--socket\0/r/switchboard/keeper.sock\0", socket));
        assert!(!is_keeper(b"/usr/bin/swb\0keeper\0--socket\0/other/keeper.sock\0", socket));
        assert!(!is_keeper(b"vim\0/r/switchboard/keeper.sock\0", socket));
        assert!(!is_keeper(b"", socket));
    }

    #[test]
    fn a_socket_of_systemd_waits_until_its_service_runs() {
        assert!(is_waiting("active\ninactive\n"));
        assert!(!is_waiting("active\nactive\n"));
        assert!(!is_waiting("inactive\ninactive\n"));
        assert!(!is_waiting(""));
    }
}
