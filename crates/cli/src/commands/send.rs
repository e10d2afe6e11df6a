//! `swb send`: type into a session without going there.

use crate::args;
use crate::context::Context;
use crate::error::{Failure, Outcome};
use serde::Serialize;
use std::io::Read;
use swb_wire::coop::{Base64, OkReply, Request, Send};

/// Bytes sent with one request. Base64 makes a third more of them, and that has to fit a frame.
const CHUNK: usize = 512 * 1024;

/// What `send` tells programs.
#[derive(Debug, Serialize)]
struct Sent {
    session: String,
    bytes: usize,
}

/// Types the text and returns when the terminal has taken all of it.
pub(super) fn run(context: &Context, args: args::Send) -> Outcome {
    let bytes = input(&args)?;
    let mut control = context.connect()?;
    // An empty text still tells whether there is such a session.
    let chunks = bytes.chunks(CHUNK).chain(bytes.is_empty().then_some(&[][..]));
    for chunk in chunks {
        let request = Send {
            session: args.name.clone(),
            pty: Some(args.pty),
            text: None,
            data: Some(Base64(chunk.to_vec())),
        };
        let _: OkReply = control.request(&Request::Send(request))?;
    }
    context.answer(&Sent { session: args.name, bytes: bytes.len() }, |_| String::new())?;
    Ok(0)
}

fn input(args: &args::Send) -> Result<Vec<u8>, Failure> {
    let mut bytes = if args.text == "-" {
        let mut bytes = Vec::new();
        std::io::stdin()
            .lock()
            .read_to_end(&mut bytes)
            .map_err(|error| Failure::io("cannot read standard input", &error))?;
        bytes
    } else {
        args.text.clone().into_bytes()
    };
    if args.enter {
        bytes.push(b'\r');
    }
    Ok(bytes)
}
