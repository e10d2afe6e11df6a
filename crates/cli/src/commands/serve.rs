//! `swb serve`: sessions in a browser.

use crate::args;
use crate::console::{eprint_text, wants_colours};
use crate::context::Context;
use crate::error::{Failure, Outcome};
use qrcode::{EcLevel, QrCode};
use rustix::termios::tcgetwinsize;
use serde::Serialize;
use std::net::IpAddr;
use swb_wire::control::{Operation, Serve, ServeReply, StatusReply, StopServeReply, WebStatus};
use swb_wire::web::url::encode;

/// The output of `serve --json`.
#[derive(Debug, Serialize)]
struct Served {
    host: String,
    port: u16,
    token: String,
    tls: bool,
    /// Where this machine reaches the server.
    url: String,
    /// Where other machines may reach it.
    network_urls: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<String>,
}

/// The output of `serve --stop --json`.
#[derive(Debug, Serialize)]
struct Stopped {
    stopped: u32,
}

/// Starts a web server, or stops all of them.
pub(crate) fn run(context: &Context, args: args::ServeArgs) -> Outcome {
    if args.stop {
        return stop(context);
    }
    let args::ServeArgs { host, port, token, tls, .. } = args;
    let request = Serve { host: Some(host), port: Some(port), token, tls, stop: false };
    let wanted = request.token.clone();
    let reply: ServeReply = context.execute(&Operation::Serve(request))?;
    if wanted.is_some_and(|wanted| wanted != reply.token) {
        eprint_text("warning: this address is served already; its token stays as it was\n");
    }
    let served = Served::from(reply);
    if !served.tls && !is_local(&served.host) {
        eprint_text("warning: without --tls, everybody on the network can read what you see and type\n");
    }
    // A QR code is for people who look at a terminal.
    let width = tcgetwinsize(std::io::stdout()).ok().map(|size| usize::from(size.ws_col));
    context.print_coloured_result(&served, |served| text(served, width, Paint::of_terminal()))?;
    Ok(0)
}

/// The addresses at which the holder of a token reaches the servers that run.
pub(super) fn addresses_for(context: &Context, token: &str) -> Result<Vec<String>, Failure> {
    let status: StatusReply = context.query(&Operation::Status)?;
    let mut addresses = Vec::new();
    for WebStatus { host, port, tls, .. } in status.web {
        // An address that is served already gets the running server's data.
        let request = Serve { host: Some(host), port: Some(port), tls, ..Serve::default() };
        let reply: ServeReply = context.execute(&Operation::Serve(request))?;
        let served = Served::from(ServeReply { token: token.to_owned(), ..reply });
        addresses.push(served.url);
        addresses.extend(served.network_urls);
    }
    Ok(addresses)
}

fn stop(context: &Context) -> Outcome {
    let stopped = match context.connect_if_running()? {
        Some(mut control) => {
            let request = Operation::Serve(Serve { stop: true, ..Serve::default() });
            control.request::<StopServeReply>(&request)?.stopped
        }
        None => 0,
    };
    context.print_result(&Stopped { stopped }, |stopped| match stopped.stopped {
        0 => "No web server was running.\n".to_owned(),
        1 => "Stopped the web server.\n".to_owned(),
        count => format!("Stopped {count} web servers.\n"),
    })?;
    Ok(0)
}

impl From<ServeReply> for Served {
    fn from(reply: ServeReply) -> Self {
        let tls = reply.fingerprint.is_some();
        let url = |host: &str| address(host, reply.port, tls, &reply.token);
        let everywhere = bare(&reply.host).parse().is_ok_and(|host: IpAddr| host.is_unspecified());
        Self {
            url: url(if everywhere { "localhost" } else { &reply.host }),
            network_urls: reply.addresses.iter().map(|host| url(host)).collect(),
            host: reply.host,
            port: reply.port,
            token: reply.token,
            tls,
            fingerprint: reply.fingerprint,
        }
    }
}

pub(crate) fn address(host: &str, port: u16, tls: bool, token: &str) -> String {
    let scheme = if tls { "https" } else { "http" };
    format!("{scheme}://{}:{port}/?token={}", bracketed(host), encode(token))
}

/// A host as it is written in a URL.
pub(crate) fn bracketed(host: &str) -> String {
    let host = bare(host);
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host)
}

fn is_local(host: &str) -> bool {
    host == "localhost" || bare(host).parse().is_ok_and(|host: IpAddr| host.is_loopback())
}

/// What people see; a QR code if the output is a terminal that is wide enough for it.
fn text(served: &Served, width: Option<usize>, paint: Paint) -> String {
    let mut out = format!("Local:    {}\n", served.url);
    for url in &served.network_urls {
        out.push_str(&format!("Network:  {url}\n"));
    }
    if is_local(&served.host) {
        out.push_str("Only this machine can connect; `--host 0.0.0.0 --tls` serves your network.\n");
    }
    if let Some(fingerprint) = &served.fingerprint {
        out.push_str(&format!(
            "\nSHA-256 fingerprint of the certificate, to compare with the browser's:\n{fingerprint}\n"
        ));
    }
    let far = served.network_urls.first().unwrap_or(&served.url);
    if let Some(code) = width.and_then(|width| qr_code(far, width, paint)) {
        out.push_str(&format!("\n{code}"));
    }
    out
}

/// How a QR code is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paint {
    /// Black on white, independent of the terminal's colours.
    Colours,
    /// With the terminal's own colours, which have to be light on dark.
    Blocks,
}

impl Paint {
    /// How the user's terminal can show one.
    pub(super) fn of_terminal() -> Self {
        if wants_colours() { Self::Colours } else { Self::Blocks }
    }
}

/// A QR code in half blocks; `None` if it is too wide.
pub(super) fn qr_code(text: &str, width: usize, paint: Paint) -> Option<String> {
    let code = QrCode::with_error_correction_level(text, EcLevel::L).ok()?;
    let size = code.width();
    let margin = 2;
    if size + 2 * margin > width {
        return None;
    }
    let colors = code.to_colors();
    // Whether the foreground draws a module: the dark ones in black on white, else the light ones.
    let drawn = |x: usize, y: usize| {
        let inside = (margin..size + margin).contains(&x) && (margin..size + margin).contains(&y);
        let dark = inside && colors.get((y - margin) * size + x - margin) == Some(&qrcode::Color::Dark);
        dark == (paint == Paint::Colours)
    };
    // From the fixed part of the palette: themes change the first sixteen colours.
    let (begin, end) = match paint {
        Paint::Colours => ("\x1b[38;5;16;48;5;231m", "\x1b[0m"),
        Paint::Blocks => ("", ""),
    };
    let mut out = String::new();
    for y in (0..size + 2 * margin).step_by(2) {
        out.push_str(begin);
        for x in 0..size + 2 * margin {
            out.push(match (drawn(x, y), drawn(x, y + 1)) {
                (true, true) => '█',
                (true, false) => '▀',
                (false, true) => '▄',
                (false, false) => ' ',
            });
        }
        out.push_str(end);
        out.push('\n');
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(host: &str, addresses: &[&str], fingerprint: Option<&str>) -> Served {
        Served::from(ServeReply {
            ok: true,
            port: 8888,
            host: host.to_owned(),
            token: "t/1".to_owned(),
            fingerprint: fingerprint.map(str::to_owned),
            addresses: addresses.iter().map(|address| (*address).to_owned()).collect(),
        })
    }

    #[test]
    fn addresses_are_complete() {
        assert_eq!(served("127.0.0.1", &[], None).url, "http://127.0.0.1:8888/?token=t%2F1");
        assert_eq!(served("::1", &[], Some("AB")).url, "https://[::1]:8888/?token=t%2F1");
        let everywhere = served("0.0.0.0", &["10.0.0.2"], None);
        assert_eq!(everywhere.url, "http://localhost:8888/?token=t%2F1");
        assert_eq!(everywhere.network_urls, ["http://10.0.0.2:8888/?token=t%2F1"]);
        assert!(is_local("localhost") && is_local("[::1]") && !is_local("0.0.0.0") && !is_local("desk"));
    }

    #[test]
    fn a_code_is_drawn_only_where_it_fits() {
        let url = served("127.0.0.1", &[], None).url;
        let code = qr_code(&url, 80, Paint::Blocks).unwrap();
        assert!(code.lines().count() <= 24 && code.lines().all(|line| line.chars().count() <= 80), "{code}");
        assert_eq!(qr_code(&url, 20, Paint::Blocks), None);
    }

    #[test]
    fn a_code_in_colours_is_black_on_white_and_the_inverse_of_one_without() {
        let url = served("127.0.0.1", &[], None).url;
        let blocks = qr_code(&url, 80, Paint::Blocks).unwrap();
        let colours = qr_code(&url, 80, Paint::Colours).unwrap();
        let inverse = |drawn: char| match drawn {
            '█' => ' ',
            '▀' => '▄',
            '▄' => '▀',
            ' ' => '█',
            other => other,
        };
        for (colours, blocks) in colours.lines().zip(blocks.lines()) {
            let cells = colours.strip_prefix("\x1b[38;5;16;48;5;231m").unwrap();
            assert_eq!(
                cells.strip_suffix("\x1b[0m").unwrap(),
                blocks.chars().map(inverse).collect::<String>()
            );
        }
    }
}
