//! Writes each side of each golden conversation as one file of the corpus, and each of its messages as
//! another; and pieces of the recorded sessions.
//!
//! usage: `swb-fuzz-seeds CORPUS`; makes `CORPUS/keepty_decoder`, `CORPUS/coop_decoder`, `CORPUS/clippy`,
//! `CORPUS/scriptschnell`, `CORPUS/web`, `CORPUS/screen` and `CORPUS/stun`.

// The reader of the tests, so that corpus and tests cannot disagree about the vectors.
#[path = "../../../crates/wire/tests/vectors/mod.rs"]
mod vectors;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::{env, fs, io};
use vectors::{Case, Step};

/// Bytes in a seed at most. The two conversations with a frame of a megabyte would slow every round down
/// and teach the fuzzer nothing that a length prefix alone does not.
const MAX_SEED: usize = 4096;

/// Requests the golden vectors have no example of: later commands and our additions, every field once.
const REQUESTS: &[&str] = &[
    r#"{"cmd":"create","workspace":"/w","argv":["a"],"env":{"A":"b"},"umask":18,"cols":80,"rows":24,"restart":true,"start":"writer","unique":true,"hide":["coop"],"require":["keepty"]}"#,
    r#"{"cmd":"attach","session":"a","resume":5,"watch":true,"history":0,"offsets":true,"until":"head"}"#,
    r#"{"cmd":"shell","session":"a","force_new":false,"argv":["a"],"env":{"A":"b"},"resume":5,"watch":true,"history":0,"offsets":true,"until":"head"}"#,
    r#"{"cmd":"ls","details":true,"all":true}"#,
    r#"{"cmd":"kill","session":"a","all":true,"force":true}"#,
    r#"{"cmd":"serve","port":1,"host":"h","token":"t"}"#,
    r#"{"cmd":"shutdown","kill":true}"#,
    r#"{"cmd":"sessionls","session":"a"}"#,
    r#"{"cmd":"sessionkill","session":"a","pty":1}"#,
    r#"{"cmd":"logs","session":"a","pty":1,"follow":true,"tail_lines":9}"#,
    r#"{"cmd":"restart","session":"a","pty":0}"#,
    r#"{"cmd":"send","session":"a","pty":0,"text":"x"}"#,
    r#"{"cmd":"send","session":"a","data":"AP8b"}"#,
    r#"{"cmd":"status"}"#,
    r#"{"cmd":"upgrade","exe":"/x","keeper":true}"#,
];

/// Messages and parts of URLs of clients on the web.
const WEB: &[&str] = &[
    r#"{"id":7,"cmd":"ls","details":true}"#,
    r#"{"id":"a","cmd":"cancel","request":-1.5e3}"#,
    r#"{"type":"resize","cols":80,"rows":24}"#,
    "session=a%20b&pty=1&resume=70000000000&repaint=1&watch=0&token=x+y",
    "[::1]:8888",
    "desk.example.:443",
];

/// What a TURN server may send, as the target `stun` takes it: pieces with a length in front; the first byte of each
/// decides what becomes of it.
const STUN: &[&[u8]] = &[
    // Attributes of a reply that grants an allocation, and of one that grants anything.
    b"\x28\x02\0\x20\0\x08\0\x01\xa1\x47\xe1\x12\xa6\x43\0\x16\0\x08\0\x01\xa1\x47\xe1\x12\xa6\x43\0\x0d\0\x04\0\0\x02\x58\x01\x02",
    // Challenges with realm and nonce, signed and not.
    b"\x19\x03\0\x09\0\x04\0\0\x04\x01\0\x14\0\x01r\0\0\0\0\x15\0\x01n\0\0\0",
    b"\x19\x04\0\x09\0\x04\0\0\x04\x26\0\x14\0\x01r\0\0\0\0\x15\0\x01m\0\0\0",
    // ChannelData, an indication, a second that passes, a datagram to a peer.
    b"\x08\0\x40\0\0\x03abc\x29\0\0\x17\0\x14\x21\x12\xa4\x42transaction!\0\x12\0\x08\0\x01\x21\x13\xe1\x12\xa6\x43\0\x13\0\x01x\0\0\0\x02\x05\x01\x02\x06\x01",
];

/// What the two ends of a tunnel exchange as text: an answer's SDP, the proof, a secret.
const TUNNEL: &[&str] = &[
    "v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0\r\nm=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\nc=IN IP4 0.0.0.0\r\na=mid:0\r\na=ice-ufrag:abcd\r\na=ice-pwd:abcdefghijklmnopqrstuvwx\r\na=fingerprint:sha-256 00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF\r\na=setup:active\r\na=sctp-port:5000\r\na=max-message-size:262144\r\na=candidate:1 1 udp 2130706431 192.0.2.1 5000 typ host\r\n",
    r#"{"proof":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","name":"phone"}"#,
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
];

/// Frames on a terminal's channel of a tunnel, without their length: a tag and its content.
const TUNNEL_FRAMES: &[&[u8]] = &[
    b"\x00ls\r",
    b"\x01{\"cmd\":\"ack\",\"bytes\":70000}",
    b"\x01{\"cmd\":\"resize\",\"cols\":80,\"rows\":24}",
];

/// Output that scrolls itself away, which recordings have little of; each is written over and over.
const FLOODS: &[&str] = &[
    "a line of text\r\n",
    "\x1b[32mok\x1b[0m \x1b[1;48;5;9msome\x1b[39m text\x07\r\n",
    "\u{6f22}\u{5b57}\t\x08e\u{301}\x1b[K\r\n\r\n",
    "a line that is longer than any of the screens of the fuzz target, and wraps\r\n",
    "\x1b(0lqk\x1b(B\r\nx\n\r\n",
];

fn main() -> io::Result<()> {
    let Some(corpus) = env::args_os().nth(1).map(PathBuf::from) else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "usage: swb-fuzz-seeds CORPUS"));
    };
    write(&corpus.join("keepty_decoder"), &vectors::keepty())?;
    write(&corpus.join("coop_decoder"), &vectors::coop())?;
    write(&corpus.join("clippy"), &vectors::clippy())?;
    write(&corpus.join("scriptschnell"), &vectors::scriptschnell())?;
    for (i, request) in REQUESTS.iter().enumerate() {
        write_seed(&corpus.join(format!("coop_decoder/request-{i}")), &framed(request.as_bytes()))?;
    }
    fs::create_dir_all(corpus.join("web"))?;
    for (i, text) in WEB.iter().enumerate() {
        write_seed(&corpus.join(format!("web/text-{i}")), text.as_bytes())?;
    }
    fs::create_dir_all(corpus.join("stun"))?;
    for (i, pieces) in STUN.iter().enumerate() {
        write_seed(&corpus.join(format!("stun/pieces-{i}")), pieces)?;
    }
    fs::create_dir_all(corpus.join("tunnel"))?;
    for (i, text) in TUNNEL.iter().enumerate() {
        write_seed(&corpus.join(format!("tunnel/text-{i}")), text.as_bytes())?;
    }
    for (i, content) in TUNNEL_FRAMES.iter().enumerate() {
        write_seed(&corpus.join(format!("tunnel/frame-{i}")), &framed(content))?;
    }
    write_recordings(&corpus.join("screen"))
}

/// A frame with this content.
fn framed(content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).expect("the lists above are short");
    [&length.to_be_bytes(), content].concat()
}

/// Writes pieces of the recordings of the terminal model's tests, as the target `screen` takes them: a
/// size, output, a larger size, more output, and that repeated.
fn write_recordings(directory: &Path) -> io::Result<()> {
    const PIECE: usize = 700;
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/vt/tests/recordings");
    fs::create_dir_all(directory)?;
    for (i, flood) in FLOODS.iter().enumerate() {
        let seed =
            [&[9, 3], flood.as_bytes(), &[0xfd, 99], b"\x1b[?1049h", flood.as_bytes(), &[0xfd, 99]].concat();
        write_seed(&directory.join(format!("flood-{i}")), &seed)?;
    }
    for program in fs::read_dir(recordings)? {
        for recording in fs::read_dir(program?.path())? {
            let bytes = output(&recording?.path().join("stream.jsonl"))?;
            // Not all of a long one: later pieces are like earlier ones.
            for pieces in bytes.chunks(2 * PIECE).take(6) {
                let (first, second) = pieces.split_at(pieces.len().min(PIECE));
                let seed = [&[23, 7], first, &[0xfe, 39, 11], second, &[0xfd, 10]].concat();
                write_seed(&directory.join(format!("recording-{:016x}", hash(&seed))), &seed)?;
            }
        }
    }
    Ok(())
}

/// What the program wrote.
fn output(path: &Path) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    for line in fs::read_to_string(path)?.lines() {
        let entry: serde_json::Value = serde_json::from_str(line)?;
        if let (Some("o"), Some(text)) = (entry["d"].as_str(), entry["b64"].as_str()) {
            all.extend(STANDARD.decode(text).map_err(io::Error::other)?);
        }
    }
    Ok(all)
}

/// A name for bytes, the same in every run.
fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

fn write(directory: &Path, cases: &[Case]) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    for Case { name, steps } in cases {
        for (side, to_daemon) in [("client", true), ("daemon", false)] {
            let messages = steps.iter().filter(|step: &&Step| step.to_daemon == to_daemon);
            let messages: Vec<&[u8]> = messages.map(|step| &step.bytes[..]).collect();
            write_seed(&directory.join(format!("golden-{name}-{side}")), &messages.concat())?;
            for (i, message) in messages.iter().enumerate() {
                write_seed(&directory.join(format!("golden-{name}-{side}-{i}")), message)?;
            }
        }
    }
    Ok(())
}

fn write_seed(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if (1..=MAX_SEED).contains(&bytes.len()) { fs::write(path, bytes) } else { Ok(()) }
}
