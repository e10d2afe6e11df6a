//! Parts of URLs, as browsers and scripts write them.

/// The first value of a query parameter.
pub fn query_value(query: &str, name: &str) -> Option<String> {
    let mut pairs = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| decode(&value.replace('+', " ")))
}

/// Replaces `%XX` by the byte that it stands for; anything malformed stays as it is.
pub fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let escaped = after.get(..2).filter(|_| first == b'%').and_then(|digits| {
            let digits = std::str::from_utf8(digits).ok()?;
            u8::from_str_radix(digits, 16).ok().filter(|_| !digits.contains('+'))
        });
        bytes.push(escaped.unwrap_or(first));
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Replaces every byte that is not a letter, a digit or one of `-._~` by `%XX`, so that any token fits into a cookie.
pub fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(byte as char),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// The host of an authority, in lower case, without brackets and port; `None` if it is malformed.
pub fn host_of(authority: &str) -> Option<String> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, port) = rest.split_once(']')?;
            (host, port.strip_prefix(':').or(port.is_empty().then_some("0"))?)
        }
        None => authority.split_once(':').unwrap_or((authority, "0")),
    };
    port.parse::<u16>().ok()?;
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    (!host.is_empty()).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_survives_being_encoded() {
        for text in ["", "plain-Token_1.~", "a b;c=d\"\\%41", "ü\u{1f600}"] {
            assert_eq!(decode(&encode(text)), text);
        }
        assert_eq!(decode("%zz%4"), "%zz%4");
        assert_eq!(decode("%+1"), "%+1");
    }

    #[test]
    fn a_parameter_is_the_first_of_its_name() {
        assert_eq!(query_value("a=1&b=2&a=3", "a").as_deref(), Some("1"));
        assert_eq!(query_value("a&b=x%20y+z", "a").as_deref(), Some(""));
        assert_eq!(query_value("a&b=x%20y+z", "b").as_deref(), Some("x y z"));
        assert_eq!(query_value("aa=1", "a"), None);
    }
}
