//! The way through a rendezvous server, from either end. What is passed on is sealed (`sealed.rs`); the server is not trusted.

use crate::http;
use crate::limits;
use crate::sealed::{self, NotOurs, Purpose};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use serde::Serialize;
use std::time::Duration;
use swb_wire::tunnel::{Answer, Envelope, Secret};

/// Why a rendezvous server did not help.
#[derive(Debug, thiserror::Error)]
pub enum RendezvousError {
    /// It cannot be reached.
    #[error("cannot reach the rendezvous server {0}: {1}")]
    Unreachable(String, String),
    /// It has nothing under this code for us.
    #[error("no tunnel waits under this code; it may have expired or been used")]
    Unknown,
    /// The code is in use.
    #[error("the short code is in use")]
    Taken,
    /// The offer was answered.
    #[error("the tunnel was used already")]
    Answered,
    /// It refuses for another reason.
    #[error("the rendezvous server refuses: {0}")]
    Refused(String),
    /// What it passed on was not sealed by the other end.
    #[error(transparent)]
    NotOurs(#[from] NotOurs),
}

/// One tunnel's place at a rendezvous server.
#[derive(Debug, Clone)]
pub struct Rendezvous {
    /// Scheme, host and port.
    origin: String,
    code: String,
    secret: Secret,
    client: Client,
}

#[derive(Serialize)]
struct Published {
    offer: String,
    host: String,
    peer: String,
}

impl Rendezvous {
    /// A place under a short code.
    pub fn new(origin: &str, code: &str, secret: Secret) -> Result<Self, RendezvousError> {
        let origin = origin.trim_end_matches('/').to_owned();
        let client =
            http::client(limits::RENDEZVOUS).build().map_err(|error| unreachable(&origin, &error))?;
        Ok(Self { origin, code: code.to_owned(), secret, client })
    }

    /// The short code.
    pub(crate) fn code(&self) -> &str {
        &self.code
    }

    /// The address for the peer.
    pub(crate) fn url(&self) -> String {
        format!("{}/connect?c={}#{}", self.origin, self.code, self.secret.reveal())
    }

    /// Leaves the offer there.
    pub(crate) async fn publish(&self, envelope: &Envelope) -> Result<(), RendezvousError> {
        let published = Published {
            offer: sealed::seal(&self.secret, Purpose::Offer, &self.code, envelope),
            host: self.secret.rendezvous_host_code(&self.code),
            peer: self.secret.rendezvous_peer_code(&self.code),
        };
        let request = self.client.put(self.place("")).json(&published);
        self.send(request, limits::RENDEZVOUS).await.map(drop)
    }

    /// Waits for the answer.
    pub(crate) async fn answer(&self) -> Result<Answer, RendezvousError> {
        loop {
            let request = self.request(Method::GET, "/answer", self.secret.rendezvous_host_code(&self.code));
            match self.send(request, limits::RENDEZVOUS_POLL).await {
                Ok(reply) if reply.status() == StatusCode::NO_CONTENT => {}
                Ok(reply) => {
                    let sealed = self.text(reply).await?;
                    return Ok(sealed::open(&self.secret, Purpose::Answer, &self.code, &sealed)?);
                }
                // The network may be back soon.
                Err(RendezvousError::Unreachable(..)) => tokio::time::sleep(limits::RENDEZVOUS_PAUSE).await,
                Err(error) => return Err(error),
            }
        }
    }

    /// Removes the offer; it expires by itself if that fails.
    pub(crate) async fn remove(&self) {
        let request = self.request(Method::DELETE, "", self.secret.rendezvous_host_code(&self.code));
        let _removed = self.send(request, limits::RENDEZVOUS).await;
    }

    /// Gets the offer, which can be read only once.
    pub async fn fetch_offer(&self) -> Result<Envelope, RendezvousError> {
        let request = self.request(Method::GET, "/offer", self.secret.rendezvous_peer_code(&self.code));
        let reply = self.send(request, limits::RENDEZVOUS).await?;
        let sealed = self.text(reply).await?;
        Ok(sealed::open(&self.secret, Purpose::Offer, &self.code, &sealed)?)
    }

    /// Returns the answer, in the form that [`crate::guest::PendingAnswer`] has it.
    pub async fn send_answer(&self, answer: &str) -> Result<(), RendezvousError> {
        let refused = |error: swb_wire::tunnel::BadPack| RendezvousError::Refused(error.to_string());
        let answer: Answer = swb_wire::tunnel::unpack(answer).map_err(refused)?;
        let sealed = sealed::seal(&self.secret, Purpose::Answer, &self.code, &answer);
        let request = self.request(Method::POST, "/answer", self.secret.rendezvous_peer_code(&self.code));
        match self.send(request.body(sealed), limits::RENDEZVOUS).await {
            Err(RendezvousError::Taken) => Err(RendezvousError::Answered),
            sent => sent.map(drop),
        }
    }

    fn place(&self, what: &str) -> String {
        format!("{}/api/rendezvous/{}{what}", self.origin, self.code)
    }

    fn request(&self, method: Method, what: &str, code: String) -> RequestBuilder {
        self.client.request(method, self.place(what)).bearer_auth(code)
    }

    async fn send(&self, request: RequestBuilder, limit: Duration) -> Result<Response, RendezvousError> {
        let reply = request.timeout(limit).send().await.map_err(|error| unreachable(&self.origin, &error))?;
        match reply.status() {
            status if status.is_success() => Ok(reply),
            StatusCode::NOT_FOUND => Err(RendezvousError::Unknown),
            StatusCode::CONFLICT => Err(RendezvousError::Taken),
            // Of a proxy before it, say, while it is started again.
            StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT => {
                Err(RendezvousError::Unreachable(self.origin.clone(), reply.status().to_string()))
            }
            status => Err(RendezvousError::Refused(status.to_string())),
        }
    }

    async fn text(&self, reply: Response) -> Result<String, RendezvousError> {
        let body = http::body(reply, limits::RENDEZVOUS_REPLY).await;
        let body = body.map_err(|error| unreachable(&self.origin, &error))?;
        let body = body.ok_or_else(|| RendezvousError::Refused("its reply is too long".to_owned()))?;
        Ok(String::from_utf8_lossy(&body).into_owned())
    }
}

fn unreachable(origin: &str, error: &reqwest::Error) -> RendezvousError {
    RendezvousError::Unreachable(origin.to_owned(), http::cause(error))
}
