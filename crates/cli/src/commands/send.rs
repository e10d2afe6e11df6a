//! `swb send`: type text into a session without attaching.

use crate::args;
use crate::context::Context;
use crate::error::{Failure, Outcome};
use crate::limits;
use serde::Serialize;
use std::io::Read;
use swb_wire::control::{Base64, OkReply, Operation, Send};

/// The output of `send --json`.
#[derive(Debug, Serialize)]
struct Sent {
    session: String,
    bytes: usize,
}

/// Types the text and returns when all of it is written to the terminal.
pub(super) fn run(context: &Context, args: args::SendArgs) -> Outcome {
    let text: Box<dyn Read> = match args.text.as_str() {
        "-" => Box::new(std::io::stdin().lock()),
        text => Box::new(text.as_bytes()),
    };
    let mut input = text.chain(if args.enter { &b"\r"[..] } else { b"" });
    // Read before connecting to the daemon: the writer of standard input may be slow.
    let mut chunk = next_chunk(&mut input)?;
    let mut control = context.connect()?;
    let mut bytes = 0;
    loop {
        bytes += chunk.len();
        // A chunk that is not full is the last; an empty one still checks whether the session exists.
        let last = chunk.len() < limits::SEND;
        let data = Some(Base64(chunk));
        let request = Send { session: args.name.clone(), pty: Some(args.pty), text: None, data };
        let _: OkReply = control.request(&Operation::Send(request))?;
        if last {
            break;
        }
        chunk = next_chunk(&mut input)?;
    }
    context.answer(&Sent { session: args.name, bytes }, |_| String::new())?;
    Ok(0)
}

fn next_chunk(input: &mut impl Read) -> Result<Vec<u8>, Failure> {
    let mut chunk = Vec::new();
    let read = input.take(limits::SEND as u64).read_to_end(&mut chunk);
    read.map_err(|error| Failure::io("cannot read standard input", &error))?;
    Ok(chunk)
}
