//! Sends a notification to a web server, as JSON in a POST request.

use crate::limits;
use reqwest::{StatusCode, redirect};
use std::error::Error;
use std::time::Duration;
use swb_wire::control::NotificationItem;
use tokio::sync::OnceCell;

/// A URL that receives notifications. It may contain a secret, so it is not logged.
#[derive(Debug)]
pub(super) struct Webhook {
    url: String,
    client: OnceCell<reqwest::Client>,
    pauses: &'static [Duration],
}

/// Why a request failed.
struct Refusal {
    text: String,
    /// Whether another attempt may succeed.
    passes: bool,
}

impl Webhook {
    pub(super) fn new(url: String) -> Self {
        Self { url, client: OnceCell::new(), pauses: &limits::NOTIFY_RETRIES }
    }

    /// Sends it; tries again a few times if that may help.
    pub(super) async fn post(&self, item: &NotificationItem) -> Result<(), String> {
        let client = self.client.get_or_try_init(|| client(is_local(&self.url))).await?;
        let mut pauses = self.pauses.iter();
        loop {
            let refusal = match self.attempt(client, item).await {
                Ok(()) => return Ok(()),
                Err(refusal) => refusal,
            };
            match pauses.next().filter(|_| refusal.passes) {
                Some(pause) => tokio::time::sleep(*pause).await,
                None => return Err(refusal.text),
            }
        }
    }

    async fn attempt(&self, client: &reqwest::Client, item: &NotificationItem) -> Result<(), Refusal> {
        let reply = client.post(&self.url).json(item).send().await;
        let status =
            reply.map_err(|error| Refusal { passes: !error.is_builder(), text: cause(error) })?.status();
        if status.is_success() {
            return Ok(());
        }
        let passes = status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
        Err(Refusal { text: format!("the server replied with {status}"), passes })
    }
}

/// Loading the system's certificates takes time, so it is done once, when it is needed.
async fn client(local: bool) -> Result<reqwest::Client, String> {
    #[allow(
        clippy::disallowed_methods,
        reason = "reads the system's certificates, at no path that a client names"
    )]
    let built = tokio::task::spawn_blocking(move || {
        // Any provider that is already installed is fine.
        let _installed = rustls::crypto::ring::default_provider().install_default();
        let builder = reqwest::Client::builder()
            .timeout(limits::NOTIFY_REQUEST)
            // A redirect must not carry a secret elsewhere.
            .redirect(redirect::Policy::none())
            .user_agent(concat!("switchboard/", env!("CARGO_PKG_VERSION")));
        if local { builder.no_proxy() } else { builder }.build()
    });
    built.await.map_err(|error| error.to_string())?.map_err(cause)
}

/// Whether the server is on this machine, so that no proxy can reach it.
fn is_local(url: &str) -> bool {
    let host = url.split_once("://").map_or("", |(_, rest)| rest);
    let host = host.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    ["localhost", "127.", "[::1]"].iter().any(|local| host.starts_with(local))
}

/// The innermost cause of an error, without the URL.
fn cause(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut cause: &dyn Error = &error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::TcpListener;
    use swb_wire::control::{EventBody, EventItem, NotificationKind};

    fn item() -> NotificationItem {
        let event =
            EventItem { cursor: "1-1".into(), at: 5, session: Some("api".into()), what: EventBody::Opened };
        NotificationItem {
            event,
            notification: NotificationKind::Asking,
            text: "api is waiting for an answer".to_owned(),
            count: 1,
            seconds: None,
            machine: "m".into(),
        }
    }

    /// A server that replies with these status lines, one per connection, and returns the bodies.
    fn server(replies: &'static [&'static str]) -> (Webhook, std::thread::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/hook?key=secret", listener.local_addr().unwrap());
        let serve = move || {
            let each = replies.iter().map(|reply| {
                let (mut stream, _) = listener.accept().unwrap();
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let (mut length, mut line) = (0, String::new());
                while reader.read_line(&mut line).unwrap() > 2 {
                    let lower = line.to_lowercase();
                    if let Some(value) = lower.strip_prefix("content-length:") {
                        length = value.trim().parse().unwrap();
                    }
                    line.clear();
                }
                let mut body = vec![0; length];
                reader.read_exact(&mut body).unwrap();
                write!(stream, "HTTP/1.1 {reply}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
                String::from_utf8(body).unwrap()
            });
            each.collect()
        };
        let webhook = Webhook { pauses: &[Duration::ZERO, Duration::ZERO], ..Webhook::new(url) };
        (webhook, std::thread::spawn(serve))
    }

    #[tokio::test]
    async fn a_server_that_fails_for_a_moment_gets_it_again() {
        let (webhook, bodies) = server(&["503 Busy", "429 Slow down", "204 Done"]);
        webhook.post(&item()).await.unwrap();
        let bodies = bodies.join().unwrap();
        assert_eq!(bodies.len(), 3);
        assert_eq!(serde_json::from_str::<NotificationItem>(&bodies[2]).unwrap(), item());
    }

    #[tokio::test]
    async fn a_refusal_is_final_and_attempts_are_few() {
        let (webhook, bodies) = server(&["404 Not Found"]);
        let error = webhook.post(&item()).await.unwrap_err();
        assert!(error.contains("404") && !error.contains("secret"), "{error}");
        bodies.join().unwrap();
        let (webhook, bodies) = server(&["500 A", "500 B", "500 C"]);
        assert!(webhook.post(&item()).await.unwrap_err().contains("500"));
        assert_eq!(bodies.join().unwrap().len(), 3);
        let error = webhook.post(&item()).await.unwrap_err();
        assert!(error.to_lowercase().contains("refused") && !error.contains("secret"), "{error}");
    }

    #[test]
    fn no_proxy_is_used_for_this_machine() {
        assert!(
            is_local("http://localhost:80/x")
                && is_local("https://u:p@127.0.0.1/")
                && is_local("http://[::1]:1")
        );
        assert!(!is_local("https://example.net/127.0.0.1"));
    }
}
