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
    let mut input: Box<dyn Read> = match args.text.as_str() {
        "-" => Box::new(std::io::stdin().lock()),
        text => Box::new(text.as_bytes()),
    };
    // Read before connecting to the daemon: the writer of standard input may be slow.
    let mut chunk = next_chunk(&mut input)?;
    let session = context.session_to_type(args.name)?;
    let mut control = context.connect()?;
    let mut bytes = 0;
    loop {
        bytes += chunk.len();
        // A chunk that is not full is the last; an empty one still checks whether the session exists.
        let last = chunk.len() < limits::SEND;
        let data = Some(Base64(chunk));
        let enter = args.enter && last;
        let request = Send { session: session.clone(), pty: Some(args.pty), text: None, data, enter };
        let _: OkReply = control.request(&Operation::Send(request))?;
        if last {
            break;
        }
        chunk = next_chunk(&mut input)?;
    }
    bytes += usize::from(args.enter);
    context.print_result(&Sent { session, bytes }, |_| String::new())?;
    Ok(0)
}

fn next_chunk(input: &mut dyn Read) -> Result<Vec<u8>, Failure> {
    let mut chunk = Vec::new();
    let read = input.take(limits::SEND as u64).read_to_end(&mut chunk);
    read.map_err(|error| Failure::io("cannot read standard input", &error))?;
    Ok(chunk)
}
