//! Starting and stopping servers, and what brings them back.

use crate::SWB;
use serde_json::json;
use std::net::{TcpListener, TcpStream};
use swb_testkit::{Swb, Web, wait_for};

// CO-42
#[test]
fn a_server_is_started_once_per_address_and_stopped() {
    let swb = Swb::start(SWB);
    let first = swb.json(&["serve", "--port", "0"]);
    let port = first["port"].as_u64().unwrap().to_string();
    assert_eq!(first["host"], "127.0.0.1");
    assert!(first["token"].as_str().unwrap().len() >= 22, "128 bits at least");
    let again = swb.json(&["serve", "--port", &port]);
    assert_eq!(again, first);
    let other = swb.json(&["serve", "--host", "localhost", "--port", "0", "--token", "chosen"]);
    assert_ne!(other["port"], first["port"]);
    let web = Web { port: other["port"].as_u64().unwrap() as u16, token: "chosen".to_owned() };
    swb.make("a", &["cat"]);
    let mut terminal = web.socket("/ws?session=a");
    terminal.message("attached");
    let mut control = web.socket("/api/control");
    control.ask(&json!(1), json!({"cmd": "whoami"}));
    let status = swb.json(&["status"]);
    assert_eq!(status["web"].as_array().unwrap().len(), 2, "{status}");
    assert!(swb.ok(&["status"]).contains(&format!("http://127.0.0.1:{port}")));
    assert!(swb.ok(&["serve", "--stop"]).contains('2'));
    assert_eq!(terminal.closed(), Some(1001), "a page shows that the server was stopped");
    assert_eq!(control.closed(), Some(1001));
    wait_for("the port to be free", || TcpStream::connect(("127.0.0.1", web.port)).is_err().then_some(()));
    assert_eq!(swb.json(&["serve", "--stop"]), json!({"stopped": 0}));
    let fresh = swb.json(&["serve", "--port", &port]);
    assert_ne!(fresh["token"], first["token"]);
}

// CO-44
#[test]
fn an_address_that_cannot_be_bound_is_an_error() {
    let swb = Swb::start(SWB);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let refused = swb.run(&["serve", "--port", &port]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("cannot listen"), "{refused:?}");
    let mut coop = swb.coop();
    let reply = coop.ask(&json!({"cmd": "serve", "port": port.parse::<u16>().unwrap()}));
    assert_eq!((&reply["ok"], &reply["error"]), (&json!(false), &json!("BIND_FAILED")), "{reply}");
    for host in ["192.0.2.1", "no such host", ""] {
        let reply = coop.ask(&json!({"cmd": "serve", "host": host, "port": 0}));
        assert_eq!(reply["error"], "BIND_FAILED", "{host}: {reply}");
    }
}

// CO-42, CO-43
#[test]
fn coop_clients_start_the_server() {
    let swb = Swb::start(SWB);
    let reply = swb.coop().ask(&json!({"cmd": "serve", "port": 0, "token": "mine"}));
    let port = reply["port"].as_u64().unwrap() as u16;
    assert_eq!(reply, json!({"ok": true, "port": port, "host": "127.0.0.1", "token": "mine"}));
    let web = Web { port, token: "mine".to_owned() };
    assert_eq!(web.request("GET", "/api/sessions", "").status, 200);
    assert_eq!(web.with_token("other").request("GET", "/api/sessions", "").status, 403);
}

#[test]
fn servers_are_back_after_a_crash_and_an_upgrade() {
    let swb = Swb::start(SWB);
    let web = swb.web();
    swb.make("a", &["cat"]);
    for again in [&["status"][..], &["upgrade"]] {
        match again {
            ["upgrade"] => {
                let mut terminal = web.socket("/ws?session=a");
                terminal.message("attached");
                swb.ok(&["upgrade"]);
                assert_ne!(terminal.closed(), Some(1001), "the server returns");
            }
            _ => drop(swb.kill_daemon()),
        }
        wait_for("the server to be back", || {
            TcpStream::connect(("127.0.0.1", web.port)).ok()?;
            (web.request("GET", "/api/sessions", "").status == 200).then_some(())
        });
        let mut terminal = web.socket("/ws?session=a");
        terminal.message("attached");
        terminal.input(b"alive\r");
        terminal.shows("alive");
        assert_eq!(swb.json(&["serve", "--port", &web.port.to_string()])["token"], web.token.as_str());
    }
}

#[test]
fn addresses_of_the_configuration_are_served_from_the_start() {
    let mut swb = Swb::new(SWB);
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = swb.paths().config_file();
    std::fs::create_dir_all(config.parent().unwrap()).unwrap();
    std::fs::write(&config, format!("[web]\nlisten = [\"127.0.0.1:{free}\"]\nhosts = [\"desk.example\"]\n"))
        .unwrap();
    swb.start_daemon();
    let served = swb.json(&["serve", "--port", &free.to_string()]);
    let web = Web { port: free, token: served["token"].as_str().unwrap().to_owned() };
    assert_eq!(web.request("GET", "/api/sessions", "").status, 200);
    let named = "GET /healthz HTTP/1.1\r\nHost: desk.example\r\nConnection: close\r\n\r\n";
    assert_eq!(web.raw(named).status, 200);
}

#[test]
fn a_malformed_address_of_the_configuration_is_an_error() {
    let swb = Swb::new(SWB);
    let config = swb.paths().config_file();
    std::fs::create_dir_all(config.parent().unwrap()).unwrap();
    std::fs::write(&config, "[web]\nlisten = [\"8888\"]\n").unwrap();
    let refused = swb.run(&["daemon"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("127.0.0.1:8888"), "{refused:?}");
}

#[test]
fn other_hosts_without_encryption_get_a_warning() {
    let swb = Swb::start(SWB);
    let open = swb.run(&["serve", "--host", "0.0.0.0", "--port", "0"]);
    assert!(String::from_utf8_lossy(&open.stderr).contains("--tls"), "{open:?}");
    let local = swb.run(&["serve", "--port", "0"]);
    assert!(local.status.success() && local.stderr.is_empty(), "{local:?}");
}

#[test]
fn a_certificate_is_made_once() {
    let swb = Swb::start(SWB);
    let first = swb.json(&["serve", "--port", "0", "--tls"]);
    let fingerprint = first["fingerprint"].as_str().unwrap();
    assert_eq!(fingerprint.split(':').count(), 32, "{fingerprint}");
    assert!(first["url"].as_str().unwrap().starts_with("https://127.0.0.1:"));
    let second = swb.json(&["serve", "--port", "0", "--tls"]);
    assert_eq!(second["fingerprint"], first["fingerprint"]);
    let port = first["port"].as_u64().unwrap().to_string();
    let url = format!("https://127.0.0.1:{port}/?token={}", first["token"].as_str().unwrap());
    let page = std::process::Command::new("curl").args(["-sik", &url]).output().unwrap();
    let page = String::from_utf8_lossy(&page.stdout).into_owned();
    assert!(page.contains("200 OK") && page.contains("Secure"), "{page}");
    let differs = swb.run(&["serve", "--port", &port]);
    assert_eq!(differs.status.code(), Some(1));
    let key = swb.paths().state_dir().join("web-key.pem");
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(key).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_certificate_that_cannot_be_written_stops_only_that_server() {
    let swb = Swb::start(SWB);
    let in_the_way = swb.paths().state_dir().join("web-key.pem");
    std::fs::create_dir_all(&in_the_way).unwrap();
    let refused = swb.run(&["serve", "--port", "0", "--tls"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("cannot make a certificate"), "{refused:?}");
    assert_eq!(swb.json(&["status"])["web"], json!([]), "nothing is served");
    assert_eq!(swb.web().request("GET", "/healthz", "").status, 200);
    std::fs::remove_dir(in_the_way).unwrap();
    assert!(swb.json(&["serve", "--port", "0", "--tls"])["fingerprint"].is_string());
}
