//! Who may send a request.

use crate::SWB;
use serde_json::json;
use std::io::{Read, Write};
use std::time::{Duration, Instant};
use swb_testkit::{LIMIT, Swb, Web, read_response, wait_for};

fn cookie(web: &Web) -> String {
    format!("Cookie: swb-{}={}", web.port, web.token)
}

fn origin(web: &Web) -> String {
    format!("Origin: http://127.0.0.1:{}", web.port)
}

// CO-43
#[test]
fn requests_without_a_valid_token_are_forbidden_on_every_path() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    let paths = [
        "/",
        "/api/sessions",
        "/api/control",
        "/ws?session=x",
        "/assets/x.js",
        "/sign-in.js",
        "/nope",
        "/api/chat",
    ];
    for path in paths {
        assert_eq!(web.bare("GET", path, &[], "").status, 403, "{path}");
        let wrong = web.bare_socket(path, &["Authorization: Bearer wrong"]).err().unwrap();
        assert_eq!(wrong.status, 403, "{path}");
    }
    assert_eq!(web.bare("POST", "/api/sessions", &[], r#"{"workspace":"/tmp"}"#).status, 403);
    assert_eq!(web.bare("DELETE", "/api/sessions/a", &[], "").status, 403);
    let page = web.bare("GET", "/", &[], "");
    assert!(page.body.contains("<form") && page.header("content-type") == Some("text/html; charset=utf-8"));
    let refusal = web.bare("GET", "/api/sessions", &[], "").json();
    assert_eq!(refusal["error"], "FORBIDDEN");
    let health = web.bare("GET", "/healthz", &[], "");
    assert_eq!((health.status, health.body.as_str()), (200, "ok\n"));
}

// CO-70
#[test]
fn a_token_is_accepted_in_header_query_and_cookie() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    let (token, cookie) = (&web.token, cookie(&web));
    let ok = |path: &str, headers: &[&str]| web.bare("GET", path, headers, "").status;
    assert_eq!(ok("/api/sessions", &[&format!("Authorization: Bearer {token}")]), 200);
    assert_eq!(ok(&format!("/api/sessions?token={token}"), &[]), 200);
    assert_eq!(ok("/api/sessions", &[&cookie]), 200);
    assert_eq!(ok("/api/sessions?token=wrong", &[&cookie]), 403, "a wrong one is like none");
    assert_eq!(ok("/api/sessions", &["Authorization: Bearer wrong", &cookie]), 403);
    // Without Origin the cookie does not count where something changes.
    let create = r#"{"workspace":"/tmp","name":"made"}"#;
    assert_eq!(web.bare("POST", "/api/sessions", &[&cookie], create).status, 403);
    assert!(web.bare_socket("/api/control", &[&cookie]).is_err());
    assert!(web.bare_socket("/api/control", &[&cookie, &origin(&web)]).is_ok());
    assert!(web.bare_socket(&format!("/api/control?token={token}"), &[]).is_ok());
}

#[test]
fn signing_in_sets_a_strict_cookie_and_replaces_the_address() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    let page = web.bare("GET", &format!("/?token={}", web.token), &[], "");
    assert_eq!(page.status, 200);
    let set = page.header("set-cookie").unwrap();
    assert!(set.starts_with(&format!("swb-{}=", web.port)), "{set}");
    assert!(set.contains("HttpOnly") && set.contains("SameSite=Strict") && !set.contains("Secure"), "{set}");
    assert!(page.body.contains("/sign-in.js") && !page.body.contains(&web.token), "{}", page.body);
    let cookie = set.split(';').next().unwrap();
    let script = web.bare("GET", "/sign-in.js", &[&format!("Cookie: {cookie}")], "");
    assert!(script.status == 200 && script.body.contains("location.replace"), "{script:?}");
    let wrong = web.bare("GET", "/?token=wrong", &[], "");
    assert!(wrong.status == 403 && wrong.header("set-cookie").is_none(), "{wrong:?}");
}

#[test]
fn signing_out_makes_the_browser_forget_its_cookie() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    let (cookie, origin) = (cookie(&web), origin(&web));
    let out = web.bare("POST", "/api/sign-out", &[&cookie, &origin], "");
    assert_eq!(out.status, 204);
    let set = out.header("set-cookie").unwrap();
    assert!(set.starts_with(&format!("swb-{}=;", web.port)) && set.contains("Max-Age=0"), "{set}");
    // Other sites cannot do that.
    assert_eq!(web.bare("POST", "/api/sign-out", &[&cookie, "Origin: http://evil.example"], "").status, 403);
    assert_eq!(web.bare("POST", "/api/sign-out", &[&cookie], "").status, 403);
}

#[test]
fn every_response_has_the_security_headers() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    for response in [
        web.bare("GET", "/healthz", &[], ""),
        web.bare("GET", "/", &[], ""),
        web.request("GET", "/", ""),
        web.request("GET", "/nope", ""),
        web.request("GET", "/api/sessions", ""),
        web.request("POST", "/api/sessions", "not JSON"),
        web.raw("GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"),
    ] {
        let policy = response.header("content-security-policy").unwrap_or_default();
        assert!(
            policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
            "{response:?}"
        );
        assert!(!policy.contains("script-src 'self' 'unsafe"), "{policy}");
        assert_eq!(response.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(response.header("referrer-policy"), Some("no-referrer"));
    }
}

#[test]
fn names_that_others_point_at_this_machine_are_refused() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    let (port, token) = (web.port, web.token.clone());
    let status = |path: &str, host: &str| {
        let bearer = format!("Authorization: Bearer {token}");
        web.raw(&format!("GET {path} HTTP/1.1\r\n{host}Connection: close\r\n{bearer}\r\n\r\n")).status
    };
    for host in ["evil.example", &format!("evil.example:{port}"), "192.0.2.7", "127.0.0.1.evil.example"] {
        for path in ["/healthz", "/", "/api/sessions"] {
            assert_eq!(status(path, &format!("Host: {host}\r\n")), 403, "{host}{path}");
        }
    }
    assert!(matches!(status("/healthz", ""), 400 | 403));
    for host in [format!("127.0.0.1:{port}"), format!("localhost:{port}"), "LOCALHOST".to_owned()] {
        assert_eq!(status("/api/sessions", &format!("Host: {host}\r\n")), 200, "{host}");
    }
    assert_eq!(status("http://evil.example/healthz", "Host: localhost\r\n"), 403);
}

#[test]
fn pages_of_other_sites_change_nothing_and_open_no_socket() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    let bearer = format!("Authorization: Bearer {}", web.token);
    for foreign in ["null", "http://evil.example", "http://127.0.0.1:1", "https://127.0.0.1"] {
        let origin = format!("Origin: {foreign}");
        let create = web.bare("POST", "/api/sessions", &[&bearer, &origin], r#"{"workspace":"/tmp"}"#);
        assert_eq!(create.status, 403, "{foreign}");
        for path in ["/api/control", "/ws?session=x", "/api/chat"] {
            assert_eq!(
                web.bare_socket(path, &[&bearer, &origin]).err().unwrap().status,
                403,
                "{foreign} {path}"
            );
            let cookie = cookie(&web);
            assert_eq!(
                web.bare_socket(path, &[&cookie, &origin]).err().unwrap().status,
                403,
                "{foreign} {path}"
            );
        }
    }
    assert!(web.bare_socket("/api/control", &[&bearer, &origin(&web)]).is_ok());
}

#[test]
fn wrong_tokens_are_delayed_and_delay_no_other_client() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    let wrong = || {
        let mut stream = web.connect();
        let request = format!(
            "GET /api/sessions?token=wrong HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n\r\n",
            web.port
        );
        stream.write_all(request.as_bytes()).unwrap();
        stream
    };
    let mut attempts: Vec<_> = (0..200).map(|_| wrong()).collect();
    // A right one in between, over and over, on connections of its own.
    for _ in 0..10 {
        assert_eq!(web.request("GET", "/api/sessions", "").status, 200);
    }
    for stream in &mut attempts {
        assert_eq!(read_response(stream).status, 403, "never 429");
    }
    // The last of them waits: on an idle machine 1.5 s.
    let begin = Instant::now();
    assert_eq!(read_response(&mut wrong()).status, 403);
    assert!(begin.elapsed() < LIMIT);
}

#[test]
fn peers_without_a_token_lock_out_no_client() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    swb.make("a", &["cat"]);
    let mut terminal = web.socket("/ws?session=a");
    terminal.message("attached");
    // More than the server has places for strangers: the oldest are closed.
    let mut idle: Vec<_> = (0..600).map(|_| web.connect()).collect();
    wait_for("the oldest to be closed", || {
        idle[0].set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        matches!(idle[0].read(&mut [0]), Ok(0)).then_some(())
    });
    assert_eq!(web.request("GET", "/api/sessions", "").status, 200);
    terminal.input(b"still here\r");
    terminal.shows("still here");
}

#[test]
fn malformed_requests_end_their_own_connection_only() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    // A body that never comes is given up after ten seconds; meanwhile others are served.
    let mut slow = web.connect();
    let head = format!(
        "POST /api/sessions?token={} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 50000\r\n\r\nx",
        web.token
    );
    slow.write_all(head.as_bytes()).unwrap();
    for bad in [
        "\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "\u{0}\u{1}\u{2}\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: x\r\n\r\n",
        "POST /api/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: nope\r\n\r\n",
    ] {
        let mut stream = web.connect();
        stream.write_all(bad.as_bytes()).unwrap();
        let mut answer = Vec::new();
        // Closed, with or without an answer.
        let _read = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{bad:?}: {answer}");
    }
    let long = format!("GET /{} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "x".repeat(100_000));
    let mut stream = web.connect();
    let _sent = stream.write_all(long.as_bytes());
    let _read = stream.read_to_end(&mut Vec::new());
    assert_eq!(web.request("GET", "/api/sessions", "").status, 200);
    assert_eq!(read_response(&mut slow).status, 400);
}

#[test]
fn a_token_with_many_connections_locks_out_no_other() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    let guest = web.with_token(&swb.token(&["--role", "watch"]));
    let mut sockets = Vec::new();
    let refused = loop {
        match guest.try_socket("/api/control", &[]) {
            Ok(socket) => sockets.push(socket),
            Err(refused) => break refused,
        }
        assert!(sockets.len() < 1000, "there is no limit");
    };
    assert_eq!((refused.status, &refused.json()["error"]), (503, &json!("LIMIT_REACHED")));
    assert!(sockets.len() >= 200);
    assert_eq!(web.request("GET", "/api/sessions", "").status, 200);
    assert_eq!(web.with_token(&swb.token(&[])).request("GET", "/api/sessions", "").status, 200);
}

#[test]
fn tokens_are_not_logged() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    let secret = swb.token(&["--role", "watch"]);
    web.with_token(&secret).request("GET", "/api/sessions", "");
    web.bare("GET", "/api/sessions?token=wrong-but-secret", &[], "");
    let log = swb.log();
    for word in [web.token.as_str(), secret.as_str(), "wrong-but-secret"] {
        assert!(!log.contains(word), "{log}");
    }
    assert!(log.contains("wrong token"), "{log}");
}
