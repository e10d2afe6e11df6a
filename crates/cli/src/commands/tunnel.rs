//! `swb tunnel`: a connection from anywhere to this machine, for as long as the command runs.

use super::serve::{Paint, qr_code};
use crate::args::{TunnelArgs, TunnelCommand};
use crate::console::{eprint_text, print_coloured, print_json_text};
use crate::context::Context;
use crate::error::{Failure, Outcome};
use crate::limits;
use crate::stdin;
use crate::table;
use crate::terminal::signals::Signals;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::termios::tcgetwinsize;
use serde::Serialize;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::cell::Cell;
use std::io::{self, IsTerminal, Read};
use std::os::unix::net::UnixStream;
use swb_vt::printable;
use swb_wire::LengthPrefixed;
use swb_wire::control::{
    self, Base64, OkReply, Operation, StreamFrame, Tunnel, TunnelAnswer, TunnelEnd, TunnelEvent, TunnelItem,
    TunnelReply, TunnelRevoke, Tunnels, TunnelsReply,
};

/// What `--json` prints that the daemon does not send.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Line<'a> {
    Offer {
        tunnel: &'a str,
        url: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        short_url: Option<&'a str>,
        short_code: &'a str,
        offer_sdp: &'a Base64,
        expires: Option<u64>,
    },
    Error {
        message: &'a str,
    },
}

/// Opens a tunnel, answers one, lists them or ends one.
pub(crate) fn run(context: &Context, args: TunnelArgs) -> Outcome {
    match (args.command, args.answer) {
        (Some(TunnelCommand::Ls), _) => {
            let tunnels = match context.connect_if_running()? {
                Some(mut control) => {
                    control.request::<TunnelsReply>(&Operation::Tunnels(Tunnels {}))?.tunnels
                }
                None => Vec::new(),
            };
            context.print_result(&tunnels, |all| list(all))?;
            Ok(0)
        }
        (Some(TunnelCommand::Revoke { tunnel }), _) => {
            let _ok: OkReply = context.query(&Operation::TunnelRevoke(TunnelRevoke { tunnel }))?;
            Ok(0)
        }
        (None, Some(answer)) => {
            let answer = if answer == "-" { stdin::text(limits::TUNNEL_ANSWER)? } else { answer };
            let _ok: OkReply = context.query(&Operation::TunnelAnswer(TunnelAnswer { answer }))?;
            Ok(0)
        }
        (None, None) => {
            let stun = match (args.no_stun, args.stun.is_empty()) {
                (true, _) => Some(Vec::new()),
                (false, true) => None,
                (false, false) => Some(args.stun),
            };
            swb_tunnel::check_servers(stun.as_deref().unwrap_or_default(), args.turn.as_deref())
                .map_err(Failure::usage)?;
            let request = Tunnel {
                session: args.name.map(|name| context.session(name)).transpose()?,
                role: Some(args.role),
                stun,
                turn: args.turn,
                expires: Some(args.expires.as_secs()),
                follow: true,
            };
            Following::begin(context, request)?.follow()
        }
    }
}

fn list(all: &[TunnelItem]) -> String {
    if all.is_empty() {
        return "No tunnels. `swb tunnel` opens one.\n".to_owned();
    }
    let plain = |text: Option<&str>| text.map_or_else(|| "-".to_owned(), |text| printable(text).into_owned());
    let row = |one: &TunnelItem| {
        [
            one.tunnel.clone(),
            one.role.to_string(),
            one.session.clone().unwrap_or_else(|| "all".to_owned()),
            one.state.to_string(),
            plain(one.peer.as_deref()),
        ]
    };
    let rows: Vec<[String; 5]> = all.iter().map(row).collect();
    table::layout(["TUNNEL", "ROLE", "SESSION", "STATE", "PEER"], &rows)
}

/// A tunnel that lives as long as this command.
struct Following<'a> {
    context: &'a Context,
    /// The tunnel's name.
    tunnel: String,
    stream: UnixStream,
    frames: LengthPrefixed,
    signals: Signals,
    /// What was typed or piped since the last end of a line; `None` once there is no more.
    typed: Option<Vec<u8>>,
    /// Whether the rest of a line that is too long is skipped.
    skips: bool,
    /// Whether the cursor stands behind what this command has written, not at the beginning of a line.
    within_line: Cell<bool>,
}

impl<'a> Following<'a> {
    fn begin(context: &'a Context, request: Tunnel) -> Result<Self, Failure> {
        let signals = Signals::catch(&[SIGINT, SIGTERM, SIGHUP])?;
        let mut control = context.connect()?;
        let reply: TunnelReply = control.request(&Operation::Tunnel(request))?;
        let stream = control.into_stream();
        stream.set_nonblocking(true)?;
        let mut frames = control::command_frames();
        control::enter_stream(&mut frames);
        let tunnel = reply.tunnel.clone();
        let within_line = Cell::new(false);
        let following = Self {
            context,
            tunnel,
            stream,
            frames,
            signals,
            typed: Some(Vec::new()),
            skips: false,
            within_line,
        };
        following.show_offer(&reply)?;
        Ok(following)
    }

    fn show_offer(&self, reply: &TunnelReply) -> Result<(), Failure> {
        if self.context.json {
            return line(&Line::Offer {
                tunnel: &reply.tunnel,
                url: &reply.qr_data,
                short_url: reply.short_url.as_deref(),
                short_code: &reply.short_code,
                offer_sdp: &reply.offer_sdp,
                expires: reply.expires,
            });
        }
        let short_url = reply.short_url.as_deref();
        let url = short_url.unwrap_or(&reply.qr_data);
        let mut text = format!("{url}\n");
        // A QR code is for people who look at a terminal.
        let width = tcgetwinsize(io::stdout()).ok().map(|size| usize::from(size.ws_col));
        let code = width.and_then(|width| qr_code(url, width.min(limits::QR_COLUMNS), Paint::of_terminal()));
        let code = code.filter(|code| code.lines().count() < limits::QR_ROWS);
        text.push_str(code.as_deref().unwrap_or_default());
        print_coloured(text.as_bytes())?;
        if code.is_some() && io::stderr().is_terminal() {
            // The cursor stays in this line, as one more would push the code out of a small terminal.
            eprint_text(below_code(short_url));
            self.within_line.set(true);
            return Ok(());
        }
        eprint_text(reach(short_url));
        eprint_text("Waiting. If the peer shows an answer, paste it here. Ctrl+C ends the tunnel.\n");
        Ok(())
    }

    /// Writes for people, at the beginning of a line.
    fn say(&self, text: &str) {
        if self.within_line.take() {
            eprint_text("\n");
        }
        eprint_text(text);
    }

    /// Shows what happens until the tunnel ends.
    fn follow(mut self) -> Outcome {
        loop {
            while let Some(event) = self.arrived()? {
                self.show(&event)?;
                if let TunnelEvent::Closed { reason, .. } = event {
                    return Ok(exit_code(reason));
                }
            }
            if !self.wait()? {
                // The daemon died, and the tunnel with it.
                let (tunnel, reason) = (self.tunnel.clone(), TunnelEnd::Daemon);
                self.show(&TunnelEvent::Closed { tunnel, reason, message: None })?;
                return Ok(exit_code(reason));
            }
            if !self.signals.take().is_empty() {
                if !self.context.json {
                    // Behind what the terminal shows for Ctrl+C.
                    eprint_text("\nThe tunnel has ended.\n");
                }
                // The connection ends with this process, and the tunnel with the connection.
                return Ok(0);
            }
        }
    }

    fn show(&self, event: &TunnelEvent) -> Result<(), Failure> {
        if self.context.json {
            return line(event);
        }
        match event {
            TunnelEvent::Connected { peer, .. } => self.say(&format!("Connected: {}\n", printable(peer))),
            TunnelEvent::Closed { reason, message, .. } => {
                let why = message.clone().unwrap_or_else(|| reason.to_string());
                self.say(&format!("The tunnel has ended: {}.\n", printable(&why)));
            }
        }
        Ok(())
    }

    /// The next event that has already arrived.
    fn arrived(&mut self) -> Result<Option<TunnelEvent>, Failure> {
        while let Some(frame) = self.frames.next().map_err(|error| Failure::general(error.to_string()))? {
            let StreamFrame::Control(body) = control::parse_stream(frame) else { continue };
            if let Ok(event) = serde_json::from_slice(&body) {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    /// Waits for an event, an answer or a signal; `false` when the daemon has closed the connection.
    fn wait(&mut self) -> Result<bool, Failure> {
        let stdin = io::stdin();
        let mut fds =
            vec![PollFd::new(&self.stream, PollFlags::IN), PollFd::new(&self.signals, PollFlags::IN)];
        if self.typed.is_some() {
            fds.push(PollFd::new(&stdin, PollFlags::IN));
        }
        match poll(&mut fds, None) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(true),
            Err(error) => return Err(error.into()),
        }
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        drop(fds);
        if ready.get(2) == Some(&true) {
            self.read_answers()?;
        }
        if ready.first() != Some(&true) {
            return Ok(true);
        }
        let mut bytes = [0; limits::EVENTS_READ];
        match self.stream.read(&mut bytes) {
            Ok(0) => Ok(false),
            Ok(count) => {
                self.frames.push(bytes.get(..count).unwrap_or_default());
                Ok(true)
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                Ok(true)
            }
            Err(_) => Ok(false),
        }
    }

    /// Gives the daemon each line as an answer.
    fn read_answers(&mut self) -> Result<(), Failure> {
        let mut bytes = [0; 8192];
        // A line that the user types ends ours.
        self.within_line.set(self.within_line.get() && !io::stdin().is_terminal());
        // Not through the buffer of `Stdin`: poll does not see what is in it.
        let count = match rustix::io::read(io::stdin(), &mut bytes) {
            Ok(count) => count,
            Err(Errno::INTR | Errno::AGAIN) => return Ok(()),
            Err(_) => 0,
        };
        let mut typed = self.typed.take().unwrap_or_default();
        typed.extend_from_slice(bytes.get(..count).unwrap_or_default());
        if count == 0 {
            // The last line may have no end.
            typed.push(b'\n');
        }
        while let Some(end) = typed.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = typed.drain(..=end).collect();
            if std::mem::take(&mut self.skips) {
                continue;
            }
            self.answer(&String::from_utf8_lossy(&line))?;
        }
        if typed.len() > limits::TUNNEL_ANSWER {
            typed.clear();
            if !std::mem::replace(&mut self.skips, true) {
                self.complain("this is not a tunnel's answer: the line is too long")?;
            }
        }
        self.typed = (count > 0).then_some(typed);
        Ok(())
    }

    fn answer(&self, line: &str) -> Result<(), Failure> {
        let answer = line.trim();
        if answer.is_empty() {
            return Ok(());
        }
        let request = Operation::TunnelAnswer(TunnelAnswer { answer: answer.to_owned() });
        match self.context.query::<OkReply>(&request) {
            Ok(_) => Ok(()),
            Err(failure) => self.complain(&failure.to_string()),
        }
    }

    fn complain(&self, message: &str) -> Result<(), Failure> {
        if self.context.json {
            return line(&Line::Error { message });
        }
        self.say(&format!("{}\n", printable(message)));
        if io::stdin().is_terminal() {
            self.say("The tunnel still waits; copy the whole answer and paste it again.\n");
        }
        Ok(())
    }
}

/// Who can open the address, where that is not everybody.
fn reach(short_url: Option<&str>) -> &'static str {
    match short_url {
        None => {
            "No web server runs here, so a browser finds no page at this address: give it to `swb attach --via` on the other \
             machine, paste it into a page for tunnels, or run `swb serve --host 0.0.0.0 --tls` first.\n"
        }
        Some(url) if is_local(url) => {
            "Only this machine can open the address; `swb serve --host 0.0.0.0 --tls` serves your network.\n"
        }
        Some(_) => "",
    }
}

/// The line below a QR code, in which the cursor stays.
fn below_code(short_url: Option<&str>) -> &'static str {
    match short_url {
        Some(url) if is_local(url) => {
            "Only this machine can open it (`swb serve --help`). Ctrl+C ends the tunnel. "
        }
        _ => "Waiting; paste the answer if the peer shows one. Ctrl+C ends the tunnel. ",
    }
}

/// Whether an address is that of this machine for itself.
fn is_local(url: &str) -> bool {
    ["//127.", "//localhost:", "//[::1]:"].iter().any(|local| url.contains(local))
}

fn line(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(value).map_err(|error| Failure::general(error.to_string()))?;
    print_json_text(&(text + "\n"))
}

fn exit_code(reason: TunnelEnd) -> u8 {
    match reason {
        TunnelEnd::Peer => 0,
        TunnelEnd::Expired => 124,
        TunnelEnd::Revoked | TunnelEnd::Refused | TunnelEnd::Session | TunnelEnd::Daemon => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swb_types::Role;
    use swb_wire::control::TunnelState;

    #[test]
    fn an_address_that_others_cannot_open_is_explained() {
        assert!(reach(None).contains("No web server"));
        assert!(reach(Some("http://127.0.0.1:8888/connect?t=x#y")).contains("Only this machine"));
        assert_eq!(reach(Some("https://192.168.1.7:8888/connect?t=x#y")), "");
    }

    #[test]
    fn an_address_its_code_and_a_line_fit_a_small_terminal() {
        let secret = "s".repeat(43);
        for origin in ["http://127.0.0.1:8888", "https://192.168.100.200:18888"] {
            let url = format!("{origin}/connect?t={}#{secret}", "t".repeat(16));
            let code = qr_code(&url, limits::QR_COLUMNS, Paint::Blocks).unwrap();
            let rows = url.len().div_ceil(limits::QR_COLUMNS) + code.lines().count() + 1;
            assert!(rows <= limits::QR_ROWS, "{rows} rows for {url}");
            assert!(below_code(Some(&url)).len() < limits::QR_COLUMNS);
        }
    }

    #[test]
    fn people_get_a_table() {
        let item = |tunnel: &str, session: Option<&str>, state, peer: Option<&str>| TunnelItem {
            tunnel: tunnel.to_owned(),
            session: session.map(str::to_owned),
            role: Role::Drive,
            state,
            peer: peer.map(str::to_owned),
        };
        let all = [
            item("abcdefgh", None, TunnelState::Waiting, None),
            item("ijklmnop", Some("api"), TunnelState::Connected, Some("phone")),
        ];
        insta::assert_snapshot!(list(&all), @r"
        TUNNEL    ROLE   SESSION  STATE      PEER
        abcdefgh  drive  all      waiting    -
        ijklmnop  drive  api      connected  phone
        ");
        assert!(list(&[]).contains("swb tunnel"));
    }
}
