//! `swb screen`: what is on a session's screen.

use crate::args;
use crate::context::Context;
use crate::error::{Failure, Outcome};
use crate::say::print;
use serde::Serialize;
use serde_json::Value;
use std::path::Path;
use swb_types::{Offset, PtyId};
use swb_wire::coop::{Request, Screen, ScreenFormat, ScreenReply};

/// What `screen --json` tells.
#[derive(Debug, Serialize)]
struct Shown {
    session: String,
    pty: PtyId,
    /// Position in the session's output at which the screen looked like this.
    offset: Offset,
    screen: Value,
}

/// Shows the screen, or draws it into a file.
pub(super) fn run(context: &Context, args: args::Screen) -> Outcome {
    let format = format(context.json, &args)?;
    let session = context.session_or_here(args.name)?;
    let request =
        Screen { session, pty: Some(args.pty), scrollback: Some(args.scrollback), format: Some(format) };
    let reply: ScreenReply = context.ask(&Request::Screen(request))?;
    if format == ScreenFormat::Json {
        let screen = reply.screen.unwrap_or_default();
        let shown = Shown { session: reply.session, pty: reply.pty, offset: reply.offset, screen };
        context.answer(&shown, |_| String::new())?;
        return Ok(0);
    }
    let data = reply.data.unwrap_or_default().0;
    match &args.svg {
        Some(file) => write(file, &data)?,
        None => print(&with_newline(data))?,
    }
    Ok(0)
}

fn format(json: bool, args: &args::Screen) -> Result<ScreenFormat, Failure> {
    match (json, args.ansi, &args.svg) {
        (false, false, None) => Ok(ScreenFormat::Text),
        (true, false, None) => Ok(ScreenFormat::Json),
        (false, true, _) => Ok(ScreenFormat::Ansi),
        (false, false, Some(_)) => Ok(ScreenFormat::Svg),
        (true, ..) => Err(Failure::usage("--json goes with no other form of the screen")),
    }
}

/// Writes to a file, or to standard output if it is called `-`.
fn write(file: &Path, data: &[u8]) -> Result<(), Failure> {
    if file == Path::new("-") {
        return print(data);
    }
    std::fs::write(file, data)
        .map_err(|error| Failure::io(format!("cannot write {}", file.display()), &error))
}

fn with_newline(mut text: Vec<u8>) -> Vec<u8> {
    if !text.is_empty() && !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_form_is_asked_for() {
        let args = |ansi, svg: Option<&str>| args::Screen {
            name: None,
            pty: PtyId(0),
            scrollback: 0,
            ansi,
            svg: svg.map(Into::into),
        };
        assert_eq!(format(false, &args(false, None)).unwrap(), ScreenFormat::Text);
        assert_eq!(format(true, &args(false, None)).unwrap(), ScreenFormat::Json);
        assert_eq!(format(false, &args(true, None)).unwrap(), ScreenFormat::Ansi);
        assert_eq!(format(false, &args(false, Some("x"))).unwrap(), ScreenFormat::Svg);
        for both in [args(true, None), args(false, Some("x"))] {
            assert_eq!(format(true, &both).unwrap_err().kind().exit_code(), 2);
        }
    }

    #[test]
    fn text_ends_with_its_line() {
        assert_eq!(with_newline(b"a".to_vec()), b"a\n");
        assert_eq!(with_newline(b"a\n".to_vec()), b"a\n");
        assert_eq!(with_newline(Vec::new()), b"");
    }
}
