//! A rendezvous server between two machines that share nothing else.

use crate::{SWB, Tunnel};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use swb_testkit::{Swb, wait_for};

/// A running `swb rendezvous`.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(swb: &Swb) -> Self {
        let mut command = swb.command(&["rendezvous", "--port", "0", "--json"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = serde_json::from_str::<Value>(&line).unwrap()["url"].as_str().unwrap().to_owned();
        Self { child, url }
    }

    /// A request; returns the status and the body.
    fn request(&self, method: &str, path: &str, bearer: &str, body: &str) -> (u16, String) {
        let host = self.url.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        let length = body.len();
        let request = format!(
            "{method} /api/rendezvous/{path} HTTP/1.1\r\nHost: {host}\r\nOrigin: https://elsewhere.example\r\n\
             Authorization: Bearer {bearer}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        let (head, body) = reply.split_once("\r\n\r\n").unwrap();
        assert!(head.to_lowercase().contains("access-control-allow-origin: *"), "{head}");
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    fn publish(&self, code: &str, offer: &str) -> u16 {
        let body = json!({"offer": offer, "host": "h".repeat(43), "peer": "p".repeat(43)}).to_string();
        self.request("PUT", code, "", &body).0
    }

    /// Whether the server's memory contains something.
    fn remembers(&self, text: &[u8]) -> bool {
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", self.child.id())).unwrap();
        let memory = std::fs::File::open(format!("/proc/{}/mem", self.child.id())).unwrap();
        maps.lines().filter(|line| line.contains(" rw-p ")).any(|line| {
            let (from, rest) = line.split_once('-').unwrap();
            let parse = |text: &str| u64::from_str_radix(text, 16).unwrap();
            let (from, to) = (parse(from), parse(rest.split(' ').next().unwrap()));
            let mut bytes = vec![0; (to - from) as usize];
            // A part may have gone meanwhile.
            let read = std::os::unix::fs::FileExt::read_at(&memory, &mut bytes, from).unwrap_or(0);
            memchr::memmem::find(&bytes[..read], text).is_some()
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _killed = self.child.kill();
        let _ended = self.child.wait();
    }
}

/// A daemon that uses a rendezvous server, with a session `a`.
fn host_with(server: &str) -> Swb {
    let mut swb = Swb::new(SWB);
    let file = swb.paths().config_file();
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, format!("[tunnel]\nrendezvous = \"{server}\"\n")).unwrap();
    swb.start_daemon();
    swb.make("a", &["cat"]);
    swb
}

fn code(url: &str) -> &str {
    url.split_once("?c=").unwrap().1.split_once('#').unwrap().0
}

#[test]
fn a_short_code_leads_to_the_other_machine() {
    let far = Swb::new(SWB);
    let server = Server::start(&far);
    let swb = host_with(&server.url);
    let tunnel = Tunnel::open(&swb, &[]);
    let url = tunnel.short_url().to_owned();
    assert!(url.starts_with(&format!("{}/connect?c=", server.url)), "{url}");
    assert_eq!(code(&url), tunnel.offer["short_code"]);
    let listed = far.ok(&["ls", "--json", "--via", &url]);
    assert!(listed.contains("\"a\""), "{listed}");
    tunnel.event("connected");
    assert_eq!(tunnel.ended(), ("peer".to_owned(), 0));
    let again = far.run(&["ls", "--via", &url]);
    assert_eq!(again.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&again.stderr).contains("expired or been used"), "{again:?}");
}

#[test]
fn the_server_can_read_nothing_and_an_offer_goes_with_its_tunnel() {
    let far = Swb::new(SWB);
    let server = Server::start(&far);
    let swb = host_with(&server.url);
    let tunnel = Tunnel::open(&swb, &[]);
    let url = tunnel.short_url().to_owned();
    let code = code(&url).to_owned();
    assert!(server.remembers(code.as_bytes()), "the code is what it has");
    let (_, secret) = url.split_once('#').unwrap();
    let envelope = tunnel.url().split_once('#').unwrap().1;
    for plain in [secret, "a=fingerprint", "a=ice-pwd", "machine_id", tunnel.id(), &envelope[..24]] {
        assert!(!server.remembers(plain.as_bytes()), "{plain}");
    }
    assert_eq!(server.publish(&code, "AAAA"), 409, "the place is taken");
    drop(tunnel);
    wait_for("the place to be free", || (server.publish(&code, "AAAA") == 201).then_some(()));
}

#[test]
fn a_guessed_code_gets_nothing_and_slowly() {
    let far = Swb::new(SWB);
    let server = Server::start(&far);
    assert_eq!(server.publish("abc123", "c2VhbGVk"), 201);
    let peer = "p".repeat(43);
    let began = Instant::now();
    let guesses = [("abc124/offer", peer.as_str()), ("abc123/offer", "x"), ("abc123/answer", &peer)];
    let replies = guesses.map(|(path, bearer)| server.request("GET", path, bearer, ""));
    assert!(replies.iter().all(|reply| *reply == replies[0]), "{replies:?}");
    assert_eq!(replies[0].0, 404);
    assert!(began.elapsed() >= Duration::from_millis(700), "each is later than the one before");
    assert_eq!(server.request("DELETE", "abc123", &peer, "").0, 404);
    // None of them used the offer up.
    assert_eq!(server.request("GET", "abc123/offer", &peer, ""), (200, "c2VhbGVk".to_owned()));
    assert_eq!(server.request("GET", "abc123/offer", &peer, "").0, 404, "once");
}

#[test]
fn an_answer_arrives_while_the_host_waits() {
    let far = Swb::new(SWB);
    let server = Server::start(&far);
    server.publish("abc123", "c2VhbGVk");
    let (host, peer) = ("h".repeat(43), "p".repeat(43));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| server.request("GET", "abc123/answer", &host, ""));
        assert_eq!(server.request("POST", "abc123/answer", &peer, "YW5zd2Vy").0, 200);
        assert_eq!(waiting.join().unwrap(), (200, "YW5zd2Vy".to_owned()));
    });
    assert_eq!(server.request("POST", "abc123/answer", &peer, "YW5zd2Vy").0, 404, "all of it is gone");
}

#[test]
fn what_is_too_long_or_too_much_is_refused() {
    let far = Swb::new(SWB);
    let server = Server::start(&far);
    assert_eq!(server.publish("abc123", &"A".repeat(16 * 1024 + 1)), 400);
    assert_eq!(server.publish("abc123", &"A".repeat(64 * 1024)), 413);
    for code in ["ABC123", "abc12", "abc1234", "abc%2f1"] {
        assert_eq!(server.publish(code, "AAAA"), 400, "{code}");
    }
    assert_eq!(server.publish("abc123", "v=0"), 400, "not sealed");
    assert_eq!(server.request("PUT", "abc123", "", "{}").0, 400);
    for number in 0..32 {
        assert_eq!(server.publish(&format!("abcd{number:02}"), "AAAA"), 201);
    }
    assert_eq!(server.publish("abc123", "AAAA"), 429);
}

#[test]
fn a_tunnel_does_without_a_server_that_is_away() {
    let far = Swb::new(SWB);
    let swb = host_with("http://127.0.0.1:1");
    let mut tunnel = Tunnel::open(&swb, &[]);
    assert_eq!(tunnel.offer["short_url"], Value::Null);
    let answer = crate::via::answer_to(&far, &tunnel);
    tunnel.type_in(&answer.1);
    tunnel.event("connected");
    answer.0.wait_with_output().unwrap();
}
