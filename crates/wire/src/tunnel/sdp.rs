//! What we have to know of an offer or an answer ourselves: which certificate it names.

/// The SHA-256 fingerprint of the certificate, in upper case (`AB:CD:…`).
///
/// `None` if there is none, or if there are several that differ: then it would be unclear which one was meant. Fingerprints by
/// other algorithms do not count.
pub fn fingerprint(sdp: &str) -> Option<String> {
    let mut found = None;
    for line in sdp.lines() {
        let Some(value) = fingerprint_value(line) else { continue };
        let (algorithm, print) = value.split_once(' ')?;
        if !algorithm.eq_ignore_ascii_case("sha-256") {
            continue;
        }
        let print = print.trim().to_ascii_uppercase();
        let pairs =
            print.split(':').filter(|pair| pair.len() == 2 && pair.bytes().all(|b| b.is_ascii_hexdigit()));
        if pairs.count() != 32 || print.len() != 95 {
            return None;
        }
        match &found {
            Some(other) if *other != print => return None,
            _ => found = Some(print),
        }
    }
    found
}

/// The content of a line with a fingerprint: algorithm, space, print.
fn fingerprint_value(line: &str) -> Option<&str> {
    line.trim_end().strip_prefix("a=fingerprint:")
}

/// The same offer or answer with SHA-256 fingerprints only, so that both ends compare the same one. A malformed line stays:
/// removing it would turn an invalid answer into a valid one.
pub fn with_sha256_only(sdp: &str) -> String {
    let other = |line: &str| {
        let algorithm = fingerprint_value(line).and_then(|value| value.split_once(' '));
        algorithm.is_some_and(|(algorithm, _)| !algorithm.eq_ignore_ascii_case("sha-256"))
    };
    sdp.lines().filter(|line| !other(line)).flat_map(|line| [line, "\r\n"]).collect()
}

/// Bytes of the longest message that the other end takes (RFC 8841); `None` for any length.
pub fn max_message_size(sdp: &str) -> Option<usize> {
    let stated = sdp.lines().find_map(|line| line.strip_prefix("a=max-message-size:"));
    match stated.and_then(|size| size.trim().parse().ok()) {
        None => Some(65_536),
        Some(0) => None,
        Some(size) => Some(size),
    }
}

/// The name of the one section.
pub fn mid(sdp: &str) -> Option<&str> {
    sdp.lines().find_map(|line| line.strip_prefix("a=mid:")).map(str::trim)
}

/// The same offer or answer with another name for its one section.
pub fn with_mid(sdp: &str, mid: &str) -> String {
    let renamed = |line: &str| match line {
        line if line.starts_with("a=mid:") => format!("a=mid:{mid}\r\n"),
        line if line.starts_with("a=group:BUNDLE") => format!("a=group:BUNDLE {mid}\r\n"),
        line => format!("{line}\r\n"),
    };
    sdp.lines().map(renamed).collect()
}

/// An offer with the mark that all of its candidates are in it.
pub fn complete(sdp: &str) -> String {
    let trickles = |line: &&str| line.starts_with("a=ice-options:") && line.contains("trickle");
    let mut lines: Vec<&str> = sdp.lines().filter(|line| !trickles(line)).collect();
    if let Some(last) = lines.iter().rposition(|line| line.starts_with("a=candidate:")) {
        lines.insert(last + 1, "a=end-of-candidates");
    }
    lines.into_iter().flat_map(|line| [line, "\r\n"]).collect()
}

/// Characters of a user fragment and of a password of ICE (RFC 8839).
const UFRAG: std::ops::RangeInclusive<usize> = 4..=256;
const PASSWORD: std::ops::RangeInclusive<usize> = 22..=256;

/// Whether every line is one of SDP: a letter, `=`, and text without control characters.
fn is_plain(sdp: &str) -> bool {
    let plain = |line: &str| match line.split_once('=') {
        Some((kind, value)) => {
            matches!(kind.as_bytes(), [b'a'..=b'z']) && !value.contains(|c: char| c.is_control() && c != '\t')
        }
        None => line.is_empty(),
    };
    sdp.lines().all(plain)
}

/// What is missing from an answer to an offer of one application section, or wrong with it; `None` if nothing is.
pub fn missing(offer: &str, answer: &str) -> Option<&'static str> {
    if !is_plain(answer) {
        return Some("it has lines that do not belong there");
    }
    let value = |prefix: &str| answer.lines().find_map(|line| line.strip_prefix(prefix)).map(str::trim);
    let fits = |prefix: &str, length: std::ops::RangeInclusive<usize>| {
        value(prefix).is_some_and(|value| length.contains(&value.len()))
    };
    let mid =
        |sdp: &str| sdp.lines().find_map(|line| line.strip_prefix("a=mid:").map(|mid| mid.trim().to_owned()));
    let has = |prefix: &str| answer.lines().any(|line| line.starts_with(prefix));
    let mut sections = answer.lines().filter(|line| line.starts_with("m="));
    let media = sections.next();
    if sections.next().is_some() {
        return Some("it has more than one section");
    }
    match media {
        None => return Some("it has no section for data"),
        Some(media) if !media.starts_with("m=application ") => {
            return Some("its first section is not for data");
        }
        Some(media) if media.starts_with("m=application 0 ") => {
            return Some("it refuses the section for data");
        }
        Some(_) => {}
    }
    if fingerprint(answer).is_none() {
        Some("it has no SHA-256 fingerprint, or several")
    } else if !fits("a=ice-ufrag:", UFRAG) || !fits("a=ice-pwd:", PASSWORD) {
        Some("it has no ICE credentials, or they are too short or too long")
    } else if value("a=sctp-port:").is_some_and(|port| !port.parse::<u16>().is_ok_and(|port| port > 0)) {
        Some("its port is none (a=sctp-port)")
    } else if !has("a=setup:active") && !has("a=setup:passive") {
        Some("it does not name the end that begins the handshake (a=setup)")
    } else if mid(offer) != mid(answer) {
        Some("its section has another name (a=mid)")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(byte: &str) -> String {
        vec![byte; 32].join(":")
    }

    #[test]
    fn a_fingerprint_is_unique_and_in_upper_case() {
        let line = format!("v=0\r\na=fingerprint:sha-256 {}\r\n", print("ab"));
        assert_eq!(fingerprint(&line), Some(print("AB")));
        assert_eq!(fingerprint(&line.repeat(2)), Some(print("AB")));
        assert_eq!(fingerprint(&format!("{line}a=fingerprint:sha-256 {}\r\n", print("cd"))), None);
        let more = format!("{line}a=fingerprint:sha-512 {}\r\n", print("ab"));
        assert_eq!(fingerprint(&more), Some(print("AB")));
        assert_eq!(with_sha256_only(&more), line);
        assert_eq!(fingerprint("v=0\r\n"), None);
        assert_eq!(fingerprint("a=fingerprint:sha-256 AB:CD\r\n"), None);
        for malformed in
            ["a=fingerprint:", "a=fingerprint:sha-512", "a=fingerprint:sha-512 ", "a=fingerprint:a=mid:0"]
        {
            let spoiled = format!("{malformed}\r\n{line}");
            assert_eq!(fingerprint(&spoiled), None, "{malformed}");
            assert_eq!(fingerprint(&with_sha256_only(&spoiled)), None, "{malformed}");
        }
    }

    #[test]
    fn an_answer_says_how_long_messages_may_be() {
        let size = |line: &str| max_message_size(&format!("v=0\r\n{line}\r\na=mid:0\r\n"));
        assert_eq!(size("a=max-message-size:16384"), Some(16_384));
        assert_eq!(size("a=max-message-size:0"), None);
        assert_eq!(size("a=sctp-port:5000"), Some(65_536), "what holds without the attribute");
        assert_eq!(size("a=max-message-size:many"), Some(65_536));
    }

    #[test]
    fn sections_can_be_renamed() {
        let answer = "v=0\r\na=group:BUNDLE 0\r\nm=application 9 x y\r\na=mid:0\r\n";
        let renamed = with_mid(answer, "aBc");
        assert_eq!(renamed, "v=0\r\na=group:BUNDLE aBc\r\nm=application 9 x y\r\na=mid:aBc\r\n");
        assert_eq!((mid(answer), mid(&renamed), mid("v=0\r\n")), (Some("0"), Some("aBc"), None));
    }

    #[test]
    fn a_complete_offer_promises_no_further_candidates() {
        let offer = "v=0\r\na=candidate:1\r\na=candidate:2\r\na=ice-options:trickle\r\na=mid:0\r\n";
        assert_eq!(
            complete(offer),
            "v=0\r\na=candidate:1\r\na=candidate:2\r\na=end-of-candidates\r\na=mid:0\r\n"
        );
    }

    #[test]
    fn an_answer_is_complete_or_names_what_is_missing() {
        let good = format!(
            "v=0\r\nm=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\na=ice-ufrag:abcd\r\na=ice-pwd:secretsecretsecretsecret\r\n\
             a=fingerprint:sha-256 {}\r\na=setup:active\r\na=mid:0\r\n",
            print("01")
        );
        let offer = "a=mid:0\r\n";
        assert_eq!(missing(offer, &good), None);
        assert!(missing("a=mid:1\r\n", &good).is_some());
        assert!(
            missing(offer, &format!("{good}m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\n")).is_some()
        );
        for part in ["m=application", "a=ice-ufrag", "a=ice-pwd", "a=fingerprint", "a=setup"] {
            assert!(missing(offer, &good.replace(part, "a=x")).is_some(), "{part}");
        }
        assert!(missing(offer, &good.replace("application 9", "application 0")).is_some());
        for (part, bad) in [
            ("a=setup", "hello\r\na=setup"),
            ("a=setup", "a=x:\u{1b}[2J\r\na=setup"),
            ("a=setup", "a=sctp-port:x\r\na=setup"),
            ("a=setup", "a=sctp-port:70000\r\na=setup"),
            ("secretsecretsecretsecret", "short"),
            ("abcd", "abc"),
        ] {
            assert!(missing(offer, &good.replacen(part, bad, 1)).is_some(), "{bad}");
        }
        assert!(missing(offer, &format!("{good}\0\0")).is_some());
        assert_eq!(missing(offer, &format!("{good}a=sctp-port:5000\r\n\r\n")), None);
        assert_eq!(missing(offer, &good.replace("\r\n", "\n")), None);
        assert!(missing(offer, &good.replace("m=application", "m=audio")).is_some());
    }
}
