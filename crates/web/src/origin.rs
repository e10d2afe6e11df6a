//! Whether a request is meant for this server and comes from its own page: `Host` and `Origin`.
//!
//! A page of another site can make a browser send requests here. A name that its owner points at this machine (DNS
//! rebinding) shows in `Host`, any other page in `Origin`.

use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, Uri};
use std::net::IpAddr;
use swb_wire::web::url::host_of;

/// Where a request comes from, according to its headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// It does not say.
    Unknown,
    /// A page of this server.
    Own,
    /// Any other page, or one that hides what it is.
    Foreign,
}

/// Names under which a server may be addressed.
#[derive(Debug, Clone, Default)]
pub(crate) struct HostNames {
    /// Names of the configuration, in lower case.
    pub(crate) names: Vec<String>,
}

impl HostNames {
    /// Whether a request is meant for this server: it names an address of ours, `localhost`, or a configured name.
    pub(crate) fn admit(&self, headers: &HeaderMap, uri: &Uri, ours: &[IpAddr]) -> bool {
        let mut hosts = headers.get_all(HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
        let named = |authority: &str| self.is_ours(authority, ours);
        host.to_str().is_ok_and(named) && uri.authority().is_none_or(|authority| named(authority.as_str()))
    }

    /// Whether an authority has a name of the configuration.
    fn configured(&self, authority: &str) -> bool {
        host_of(authority).is_some_and(|host| self.names.contains(&host))
    }

    fn is_ours(&self, authority: &str, ours: &[IpAddr]) -> bool {
        let Some(host) = host_of(authority) else { return false };
        match host.parse::<IpAddr>() {
            Ok(address) => ours.contains(&address),
            Err(_) => host == "localhost" || self.names.contains(&host),
        }
    }
}

/// Which page a request comes from.
pub(crate) fn source(headers: &HeaderMap, tls: bool, names: &HostNames) -> Source {
    let mut origins = headers.get_all(ORIGIN).iter();
    let origin = match (origins.next(), origins.next()) {
        (None, _) => return Source::Unknown,
        (Some(origin), None) => origin.to_str().unwrap_or_default().to_ascii_lowercase(),
        _ => return Source::Foreign,
    };
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default().to_ascii_lowercase();
    let from_here =
        |scheme: &str| !host.is_empty() && origin.strip_prefix(scheme).is_some_and(|from| from == host);
    let is_own = match tls {
        true => from_here("https://"),
        // A reverse proxy may encrypt what is served here without; its name is in the configuration.
        false => from_here("http://") || (names.configured(&host) && from_here("https://")),
    };
    if is_own { Source::Own } else { Source::Foreign }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;
    use std::net::{Ipv4Addr, Ipv6Addr};

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    fn admitted(hosts: &[&'static str], uri: &str) -> bool {
        let names = HostNames { names: vec!["desk.example".to_owned()] };
        let ours = [IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)];
        let pairs: Vec<_> = hosts.iter().map(|host| ("host", *host)).collect();
        names.admit(&headers(&pairs), &uri.parse().unwrap(), &ours)
    }

    #[test]
    fn requests_for_our_addresses_and_names_are_admitted() {
        for host in [
            "127.0.0.1:8888",
            "localhost",
            "LOCALHOST:8888",
            "localhost.:80",
            "[::1]:8888",
            "[::1]",
            "desk.example",
        ] {
            assert!(admitted(&[host], "/"), "{host}");
        }
    }

    #[test]
    fn requests_for_other_names_are_not() {
        for host in [
            "",
            "evil.example",
            "127.0.0.1.evil.example",
            "192.168.1.5:8888",
            "localhost.evil.example",
            "[::2]",
            "127.0.0.1:x",
            "[::1",
            "user@localhost",
            "localhost:99999",
            "0.0.0.0",
        ] {
            assert!(!admitted(&[host], "/"), "{host}");
        }
        assert!(!admitted(&[], "/") && !admitted(&["localhost", "localhost"], "/"));
        assert!(!admitted(&["localhost"], "http://evil.example/"));
    }

    #[test]
    fn only_a_page_of_this_server_is_our_own() {
        let names = HostNames { names: vec!["desk.example".to_owned()] };
        let from = |origin: &'static str, tls| {
            source(&headers(&[("host", "localhost:8888"), ("origin", origin)]), tls, &names)
        };
        assert_eq!(from("http://localhost:8888", false), Source::Own);
        assert_eq!(from("https://localhost:8888", true), Source::Own);
        for foreign in
            ["null", "http://localhost:9999", "http://localhost", "https://localhost:8888", "", "http://evil"]
        {
            assert_eq!(from(foreign, false), Source::Foreign, "{foreign}");
        }
        assert_eq!(source(&headers(&[("host", "localhost")]), false, &names), Source::Unknown);
    }

    #[test]
    fn a_reverse_proxy_with_a_configured_name_may_encrypt() {
        let names = HostNames { names: vec!["desk.example".to_owned()] };
        let from = |host: &'static str, origin: &'static str, tls| {
            source(&headers(&[("host", host), ("origin", origin)]), tls, &names)
        };
        assert_eq!(from("desk.example", "https://desk.example", false), Source::Own);
        assert_eq!(from("desk.example:8443", "https://Desk.Example:8443", false), Source::Own);
        assert_eq!(from("desk.example", "http://desk.example", false), Source::Own);
        for (host, origin, tls) in [
            ("desk.example", "http://desk.example", true),
            ("desk.example", "https://desk.example:8443", false),
            ("desk.example", "https://evil.example", false),
            ("127.0.0.1:8888", "https://127.0.0.1:8888", false),
            ("evil.example", "https://evil.example", false),
        ] {
            assert_eq!(from(host, origin, tls), Source::Foreign, "{host} {origin} {tls}");
        }
    }
}
