//! What the requests have in common that carry offers and answers.

use std::error::Error;
use std::time::Duration;

/// A client for servers that pass offers and answers on. Certificates are not checked: the tunnel's secret protects what is passed
/// on, and such a server may have made its certificate itself.
pub fn client(connect: Duration) -> reqwest::ClientBuilder {
    // Installed already by an earlier caller.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().danger_accept_invalid_certs(true).connect_timeout(connect)
}

/// The body of a reply; `None` if it is longer than `most` bytes.
pub async fn body(mut reply: reqwest::Response, most: usize) -> reqwest::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    while let Some(piece) = reply.chunk().await? {
        bytes.extend_from_slice(&piece);
        if bytes.len() > most {
            return Ok(None);
        }
    }
    Ok(Some(bytes))
}

/// The innermost cause of an error, which is what people need.
pub fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
