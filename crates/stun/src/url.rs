//! Addresses of servers as users write them: `stun:` and `turn:` URIs (RFC 7064, RFC 7065), with user name and password in
//! front of the host, which the RFCs leave to other means.
//!
//! A host may be a name: resolving it is up to the caller.

use crate::integrity::Credentials;
use crate::limits;
use core::net::Ipv6Addr;
use std::fmt;
use std::str::FromStr;

/// The port of both protocols.
pub const DEFAULT_PORT: u16 = 3478;

/// What a server does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ServerKind {
    /// Reports addresses.
    Stun,
    /// Relays datagrams.
    Turn,
}

/// A server. `Display` leaves the password out.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ServerUrl {
    /// What it does.
    pub kind: ServerKind,
    /// A name or an address, without brackets.
    pub host: String,
    /// Its UDP port.
    pub port: u16,
    /// For TURN only.
    pub credentials: Option<Credentials>,
}

/// Why a text names no server.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum UrlError {
    /// Neither `stun:` nor `turn:`.
    #[error(
        "not the address of a server: write stun:HOST or turn:USER:PASSWORD@HOST, with :PORT if it is not {DEFAULT_PORT}"
    )]
    Scheme,
    /// `stuns:`, `turns:` or `?transport=tcp`.
    #[error(
        "STUN and TURN over TCP or TLS are not supported: write stun: or turn: without transport=tcp, for UDP"
    )]
    Transport,
    /// An unknown parameter.
    #[error("unknown parameter in the address of a server: only ?transport=udp is known, for turn:")]
    Parameter,
    /// A user name without password, or one of them is empty or too long.
    #[error(
        "invalid user name or password: write turn:USER:PASSWORD@HOST, each with at most {} bytes",
        limits::USERNAME
    )]
    Credentials,
    /// Credentials for STUN.
    #[error("a STUN server takes no user name and no password: write stun:HOST, or turn: for a TURN server")]
    UnexpectedCredentials,
    /// Two slashes, as in other URLs.
    #[error("the address of a server has no slashes: write stun:HOST or turn:USER:PASSWORD@HOST")]
    Slashes,
    /// The host is missing, too long, or has other characters.
    #[error("invalid host: write a name, an IPv4 address, or an IPv6 address in brackets")]
    Host,
    /// Not a number from 1 to 65535.
    #[error("invalid port: write a number from 1 to 65535")]
    Port,
}

impl ServerUrl {
    /// Reads `stun:HOST[:PORT]` or `turn:[USER:PASSWORD@]HOST[:PORT][?transport=udp]`. `%XX` in user name and password is
    /// the byte that it stands for, so that they can have any characters.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        if text.len() > limits::URL {
            return Err(UrlError::Host);
        }
        let (scheme, rest) = text.trim().split_once(':').ok_or(UrlError::Scheme)?;
        let kind = match &*scheme.to_ascii_lowercase() {
            "stun" => ServerKind::Stun,
            "turn" => ServerKind::Turn,
            "stuns" | "turns" => return Err(UrlError::Transport),
            _ => return Err(UrlError::Scheme),
        };
        if rest.starts_with("//") {
            return Err(UrlError::Slashes);
        }
        // The last one: a password may contain both characters.
        let (user, server) = match rest.rsplit_once('@') {
            Some((user, server)) => (Some(user), server),
            None => (None, rest),
        };
        let credentials = match (kind, user) {
            (_, None) => None,
            (ServerKind::Stun, Some(_)) => return Err(UrlError::UnexpectedCredentials),
            (ServerKind::Turn, Some(user)) => Some(credentials(user).ok_or(UrlError::Credentials)?),
        };
        let (authority, query) = match server.split_once('?') {
            Some((authority, query)) => (authority, Some(query)),
            None => (server, None),
        };
        match (kind, query.map(str::to_ascii_lowercase).as_deref()) {
            (_, None) | (ServerKind::Turn, Some("transport=udp")) => {}
            (_, Some("transport=tcp" | "transport=tls")) => return Err(UrlError::Transport),
            (_, Some(_)) => return Err(UrlError::Parameter),
        }
        let (host, port) = host_and_port(authority)?;
        Ok(Self { kind, host, port, credentials })
    }
}

impl FromStr for ServerUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        Self::parse(text)
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, host, port, .. } = self;
        let scheme = if *kind == ServerKind::Stun { "stun" } else { "turn" };
        if host.contains(':') {
            write!(f, "{scheme}:[{host}]:{port}")
        } else {
            write!(f, "{scheme}:{host}:{port}")
        }
    }
}

fn credentials(user: &str) -> Option<Credentials> {
    let (username, password) = user.split_once(':')?;
    Credentials::new(unescape(username)?, unescape(password)?)
}

fn unescape(text: &str) -> Option<String> {
    let mut pieces = text.split('%');
    let mut bytes = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        let digits = piece.get(..2).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend(piece.bytes().skip(2));
    }
    String::from_utf8(bytes).ok()
}

fn host_and_port(authority: &str) -> Result<(String, u16), UrlError> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']').ok_or(UrlError::Host)?;
            host.parse::<Ipv6Addr>().map_err(|_| UrlError::Host)?;
            let port = match port {
                "" => None,
                port => Some(port.strip_prefix(':').ok_or(UrlError::Host)?),
            };
            (host, port)
        }
        None => {
            let (host, port) = match authority.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            };
            let is_known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
            if host.is_empty() || host.len() > limits::HOST || !host.chars().all(is_known) {
                return Err(UrlError::Host);
            }
            // An IPv6 address without brackets.
            if port.is_some_and(|port| port.contains(':')) {
                return Err(UrlError::Host);
            }
            (host, port)
        }
    };
    let port = match port {
        None => DEFAULT_PORT,
        Some(port) if !port.is_empty() && port.bytes().all(|digit| digit.is_ascii_digit()) => {
            port.parse().map_err(|_| UrlError::Port)?
        }
        Some(_) => return Err(UrlError::Port),
    };
    if port == 0 { Err(UrlError::Port) } else { Ok((host.to_ascii_lowercase(), port)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(text: &str) -> (String, u16, Option<(String, String)>) {
        let url = ServerUrl::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(url.kind, ServerKind::Turn);
        let credentials = url.credentials.map(|it| (it.username().to_owned(), it.password().to_owned()));
        (url.host, url.port, credentials)
    }

    #[test]
    fn stun_servers_are_read() {
        for (text, host, port) in [
            ("stun:stun.example.org", "stun.example.org", 3478),
            ("STUN:Stun.Example.org:19302", "stun.example.org", 19302),
            ("stun:192.0.2.1:1", "192.0.2.1", 1),
            ("stun:[2001:db8::1]", "2001:db8::1", 3478),
            (" stun:[::1]:65535\n", "::1", 65535),
        ] {
            let expected = ServerUrl { kind: ServerKind::Stun, host: host.into(), port, credentials: None };
            assert_eq!(ServerUrl::parse(text), Ok(expected.clone()), "{text}");
            assert_eq!(ServerUrl::parse(&expected.to_string()), Ok(expected), "{text}");
        }
    }

    #[test]
    fn turn_servers_have_a_user_and_a_password() {
        let user = |name: &str, password: &str| Some((name.to_owned(), password.to_owned()));
        for (text, expected) in [
            ("turn:u:p@h:5000", ("h", 5000, user("u", "p"))),
            ("turn:u:p@h?transport=udp", ("h", 3478, user("u", "p"))),
            ("turn:h:9?transport=UDP", ("h", 9, None)),
            ("turn:u:p@[::1]:7", ("::1", 7, user("u", "p"))),
            ("turn:1700000000:name:a@b?c@h", ("h", 3478, user("1700000000", "name:a@b?c"))),
            ("turn:1700000000%3Aname:%c3%bc%25@h", ("h", 3478, user("1700000000:name", "ü%"))),
        ] {
            let (host, port, credentials) = expected;
            assert_eq!(turn(text), (host.to_owned(), port, credentials), "{text}");
        }
    }

    #[test]
    fn other_texts_are_rejected_with_a_reason() {
        for (text, error) in [
            ("", UrlError::Scheme),
            ("example.org", UrlError::Scheme),
            ("http:example.org", UrlError::Scheme),
            ("example.org:3478", UrlError::Scheme),
            ("turns:u:p@h", UrlError::Transport),
            ("stuns:h", UrlError::Transport),
            ("turn:u:p@h?transport=tcp", UrlError::Transport),
            ("turn:u:p@h?transport=sctp", UrlError::Parameter),
            ("stun:h?transport=udp", UrlError::Parameter),
            ("turn:h?", UrlError::Parameter),
            ("stun://h", UrlError::Slashes),
            ("stun:u:p@h", UrlError::UnexpectedCredentials),
            ("turn:u@h", UrlError::Credentials),
            ("turn::p@h", UrlError::Credentials),
            ("turn:u:@h", UrlError::Credentials),
            ("turn:u:%zz@h", UrlError::Credentials),
            ("turn:u:%+1@h", UrlError::Credentials),
            ("turn:u:%ff@h", UrlError::Credentials),
            ("turn:u:%é@h", UrlError::Credentials),
            ("stun:", UrlError::Host),
            ("stun::3478", UrlError::Host),
            ("stun:2001:db8::1", UrlError::Host),
            ("stun:[2001:db8::1", UrlError::Host),
            ("stun:[name]:1", UrlError::Host),
            ("stun:[::1]x", UrlError::Host),
            ("stun:a b", UrlError::Host),
            ("stun:h/path", UrlError::Host),
            ("stun:h:", UrlError::Port),
            ("stun:h:0", UrlError::Port),
            ("stun:h:65536", UrlError::Port),
            ("stun:h:+1", UrlError::Port),
        ] {
            assert_eq!(ServerUrl::parse(text), Err(error), "{text}");
        }
        assert_eq!(ServerUrl::parse(&format!("stun:{}", "a".repeat(254))), Err(UrlError::Host));
        assert_eq!(ServerUrl::parse(&format!("turn:{}:p@h", "a".repeat(509))), Err(UrlError::Credentials));
    }

    #[test]
    fn passwords_are_not_shown() {
        let url = ServerUrl::parse("turn:name:secret@[::1]:7").unwrap();
        assert_eq!(url.to_string(), "turn:[::1]:7");
        assert!(!format!("{url:?}").contains("secret"));
    }
}
