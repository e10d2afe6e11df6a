//! Writes each side of each golden conversation as one file of the corpus, and each of its messages as
//! another.
//!
//! usage: `swb-fuzz-seeds CORPUS`; makes `CORPUS/keepty_decoder` and `CORPUS/coop_decoder`.

// The reader of the tests, so that corpus and tests cannot disagree about the vectors.
#[path = "../../../crates/wire/tests/vectors/mod.rs"]
mod vectors;

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

fn main() -> io::Result<()> {
    let Some(corpus) = env::args_os().nth(1).map(PathBuf::from) else {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "usage: swb-fuzz-seeds CORPUS",
        ));
    };
    write(&corpus.join("keepty_decoder"), &vectors::keepty())?;
    write(&corpus.join("coop_decoder"), &vectors::coop())?;
    for (i, request) in REQUESTS.iter().enumerate() {
        let length = u32::try_from(request.len())
            .expect("the list above is short")
            .to_be_bytes();
        let frame = [&length, request.as_bytes()].concat();
        write_seed(&corpus.join(format!("coop_decoder/request-{i}")), &frame)?;
    }
    Ok(())
}

fn write(directory: &Path, cases: &[Case]) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    for Case { name, steps } in cases {
        for (side, to_daemon) in [("client", true), ("daemon", false)] {
            let messages = steps.iter().filter(|step: &&Step| step.to_daemon == to_daemon);
            let messages: Vec<&[u8]> = messages.map(|step| &step.bytes[..]).collect();
            write_seed(
                &directory.join(format!("golden-{name}-{side}")),
                &messages.concat(),
            )?;
            for (i, message) in messages.iter().enumerate() {
                write_seed(&directory.join(format!("golden-{name}-{side}-{i}")), message)?;
            }
        }
    }
    Ok(())
}

fn write_seed(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if (1..=MAX_SEED).contains(&bytes.len()) {
        fs::write(path, bytes)
    } else {
        Ok(())
    }
}
