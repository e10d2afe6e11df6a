//! The few messages of D-Bus that a notification needs, as bytes: addresses, the two calls, and the heads of replies.
//!
//! Written by hand because one method call is all there is: a D-Bus library would bring dozens of crates and a runtime.
//! The format is that of the D-Bus specification, version 1, little endian.

use swb_vt::printable;

/// Where a bus listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BusAddress {
    Path(Vec<u8>),
    Abstract(Vec<u8>),
}

/// The addresses in `$DBUS_SESSION_BUS_ADDRESS` that are Unix sockets.
pub(super) fn parse_addresses(text: &str) -> Vec<BusAddress> {
    text.split(';')
        .filter_map(|address| {
            let pairs = address.strip_prefix("unix:")?.split(',');
            let mut pairs = pairs.filter_map(|pair| pair.split_once('='));
            pairs.find_map(|(key, value)| match key {
                "path" => Some(BusAddress::Path(unescape(value))),
                "abstract" => Some(BusAddress::Abstract(unescape(value))),
                _ => None,
            })
        })
        .collect()
}

/// Values may have bytes as `%2f`.
fn unescape(value: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let escaped = after.get(..2).filter(|_| byte == b'%');
        let escaped = escaped.and_then(|digits| std::str::from_utf8(digits).ok());
        match escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(value) => {
                bytes.push(value);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    bytes
}

/// The lines with which a client authenticates as a user.
pub(super) fn auth_line(uid: u32) -> String {
    let hex: String = uid.to_string().bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("\0AUTH EXTERNAL {hex}\r\n")
}

/// The first call on a connection.
pub(super) fn hello_call(serial: u32) -> Vec<u8> {
    let bus = "org.freedesktop.DBus";
    call(
        serial,
        &MethodCall {
            destination: bus,
            path: "/org/freedesktop/DBus",
            interface: bus,
            member: "Hello",
            signature: "",
        },
        &[],
    )
}

/// The call that shows a notification.
pub(super) fn notify_call(serial: u32, text: &str) -> Vec<u8> {
    let service = "org.freedesktop.Notifications";
    let mut body = Writer::default();
    body.string("swb");
    // Replaces no earlier notification.
    body.u32(0);
    body.string("");
    body.string("Switchboard");
    body.string(&without_markup(text));
    // No actions, no hints, and the server's own timeout.
    body.u32(0);
    body.u32(0);
    body.align(8);
    body.u32(u32::MAX);
    let path = "/org/freedesktop/Notifications";
    let method = MethodCall {
        destination: service,
        path,
        interface: service,
        member: "Notify",
        signature: "susssasa{sv}i",
    };
    call(serial, &method, &body.bytes)
}

/// The body of a notification may be markup; a string has no NUL.
fn without_markup(text: &str) -> String {
    printable(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Bytes of the fixed part of a message.
pub(super) const HEAD: usize = 16;

/// Kind of a message that reports the failure of a call.
pub(super) const ERROR: u8 = 3;

/// From the first [`HEAD`] bytes of a message: whether it replies to a call, and the bytes that follow.
pub(super) fn parse_head(head: &[u8; HEAD]) -> Option<(bool, usize)> {
    let [order, kind, _flags, version, rest @ ..] = head;
    let number = |at: usize| {
        let bytes: [u8; 4] = rest.get(at..at + 4)?.try_into().ok()?;
        let number = if *order == b'B' { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) };
        usize::try_from(number).ok()
    };
    let (body, fields) = (number(0)?, number(8)?);
    let is_valid = *version == 1 && matches!(*order, b'l' | b'B');
    // A method return or an error; signals and calls are neither.
    is_valid.then_some((matches!(*kind, 2 | ERROR), fields.checked_next_multiple_of(8)?.checked_add(body)?))
}

struct MethodCall<'a> {
    destination: &'a str,
    path: &'a str,
    interface: &'a str,
    member: &'a str,
    signature: &'a str,
}

fn call(serial: u32, method: &MethodCall<'_>, body: &[u8]) -> Vec<u8> {
    let mut message = Writer { bytes: vec![b'l', 1, 0, 1] };
    message.u32(length(body));
    message.u32(serial);
    let mut fields = Writer::default();
    let texts = [
        (1, "o", method.path),
        (2, "s", method.interface),
        (3, "s", method.member),
        (6, "s", method.destination),
    ];
    for (code, kind, value) in texts {
        fields.field(code, kind);
        fields.string(value);
    }
    if !method.signature.is_empty() {
        fields.field(8, "g");
        fields.signature(method.signature);
    }
    message.u32(length(&fields.bytes));
    // The fields begin at a multiple of eight, so their own alignment holds.
    message.bytes.extend_from_slice(&fields.bytes);
    message.align(8);
    message.bytes.extend_from_slice(body);
    message.bytes
}

fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX)
}

/// Values in the format of D-Bus, aligned from the start of `bytes`.
#[derive(Debug, Default)]
struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    fn align(&mut self, to: usize) {
        self.bytes.resize(self.bytes.len().next_multiple_of(to), 0);
    }

    fn u32(&mut self, value: u32) {
        self.align(4);
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    fn string(&mut self, text: &str) {
        self.u32(length(text.as_bytes()));
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.push(0);
    }

    fn signature(&mut self, text: &str) {
        self.bytes.push(u8::try_from(text.len()).unwrap_or(u8::MAX));
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.push(0);
    }

    /// The code of a header field and the type of its value.
    fn field(&mut self, code: u8, kind: &str) {
        self.align(8);
        self.bytes.push(code);
        self.signature(kind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_unix_sockets() {
        let path = |text: &str| BusAddress::Path(text.into());
        assert_eq!(parse_addresses("unix:path=/run/user/1000/bus"), [path("/run/user/1000/bus")]);
        assert_eq!(
            parse_addresses("tcp:host=x,port=1;unix:abstract=/tmp/d%2dbus,guid=1f;unix:guid=2,path=/a%20b"),
            [BusAddress::Abstract(b"/tmp/d-bus".to_vec()), path("/a b")]
        );
        assert_eq!(parse_addresses("unix:path=/50%"), [path("/50%")]);
        assert!(parse_addresses("").is_empty() && parse_addresses("unix:").is_empty());
    }

    #[test]
    fn a_user_authenticates_with_the_digits_of_its_number_in_hexadecimal() {
        assert_eq!(auth_line(1000), "\0AUTH EXTERNAL 31303030\r\n");
    }

    // Each field: its code, the type of its value, the value, and zeros up to a multiple of eight.
    #[test]
    fn the_first_call_is_hello() {
        let mut expected = b"l\x01\x00\x01\x00\x00\x00\x00\x01\x00\x00\x00\x6d\x00\x00\x00".to_vec();
        expected.extend_from_slice(b"\x01\x01o\x00\x15\x00\x00\x00/org/freedesktop/DBus\x00\x00\x00");
        expected.extend_from_slice(b"\x02\x01s\x00\x14\x00\x00\x00org.freedesktop.DBus\x00\x00\x00\x00");
        expected.extend_from_slice(b"\x03\x01s\x00\x05\x00\x00\x00Hello\x00\x00\x00");
        expected.extend_from_slice(b"\x06\x01s\x00\x14\x00\x00\x00org.freedesktop.DBus\x00\x00\x00\x00");
        assert_eq!(hello_call(1), expected);
    }

    #[test]
    fn the_text_of_a_notification_is_no_markup() {
        let call = notify_call(2, "a <b> & \u{0}");
        let has = |text: &[u8]| call.windows(text.len()).any(|part| part == text);
        assert!(has(b"a &lt;b&gt; &amp; \\u{0}\0"), "{}", call.escape_ascii());
        assert_eq!(call.len() % 4, 0);
    }

    #[test]
    fn replies_are_distinguished_from_signals() {
        let mut head = [0; HEAD];
        head[..4].copy_from_slice(b"l\x02\x01\x01");
        (head[4], head[12]) = (9, 61);
        assert_eq!(parse_head(&head), Some((true, 64 + 9)));
        head[1] = 4;
        assert_eq!(parse_head(&head), Some((false, 64 + 9)));
        head[..4].copy_from_slice(b"B\x03\x01\x01");
        head[4..].fill(0);
        (head[7], head[15]) = (4, 8);
        assert_eq!(parse_head(&head), Some((true, 12)));
        head[0] = b'x';
        assert_eq!(parse_head(&head), None);
        assert_eq!(parse_head(&[0xff; HEAD]), None);
    }
}
