//! `swb screen`: show the screen of a session.

use crate::args;
use crate::console::{print_bytes, print_coloured, print_text};
use crate::context::Context;
use crate::error::{Failure, Outcome};
use crate::fonts;
use rustix::stdio::stdout;
use rustix::termios::isatty;
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;
use std::path::Path;
use swb_types::{Offset, PtyId, Size};
use swb_wire::control::{Operation, Screen, ScreenFormat, ScreenReply};

/// The output of `screen --json`.
#[derive(Debug, Serialize)]
struct Shown {
    session: String,
    pty: PtyId,
    /// Position in the session's output at which the screen was taken.
    offset: Offset,
    screen: Value,
}

/// Prints the screen, or writes an image of it to a file.
pub(super) fn run(context: &Context, args: args::ScreenArgs) -> Outcome {
    let format = format(context.json, &args)?;
    if args.png.as_deref() == Some(Path::new("-")) && isatty(stdout()) {
        return Err(Failure::usage("a PNG image is not written to a terminal")
            .hint("name a file, or redirect standard output"));
    }
    let session = context.session_or_here(args.name)?;
    let (pty, scrollback) = (Some(args.pty), Some(args.scrollback));
    let request = Screen { session, pty, scrollback, format: Some(format), join: false };
    let reply: ScreenReply = context.query(&Operation::Screen(request))?;
    let size = reply.cols.zip(reply.rows).and_then(|(cols, rows)| Size::new(cols, rows));
    let data = reply.data.unwrap_or_default().0;
    match (&args.svg, &args.png) {
        (Some(file), _) if file == Path::new("-") && isatty(stdout()) => print_text(&text(&data))?,
        (Some(file), _) => write(file, &data)?,
        (_, Some(file)) => {
            write(file, &draw(&data, size.unwrap_or(Size::DEFAULT), args.scrollback, &context.paths.home)?)?;
        }
        _ if format == ScreenFormat::Text => print_text(&text(&with_newline(data)))?,
        // As for `logs`: a program gets what the session's terminal shows, links included.
        _ if format != ScreenFormat::Json && isatty(stdout()) => print_coloured(&with_newline(data))?,
        _ if format != ScreenFormat::Json => print_bytes(&with_newline(data))?,
        _ => {
            let screen = reply.screen.unwrap_or_default();
            let shown = Shown { session: reply.session, pty: reply.pty, offset: reply.offset, screen };
            context.print_result(&shown, |_| String::new())?;
        }
    }
    Ok(0)
}

fn format(json: bool, args: &args::ScreenArgs) -> Result<ScreenFormat, Failure> {
    let format = match args {
        args::ScreenArgs { ansi: true, .. } => ScreenFormat::Ansi,
        args::ScreenArgs { svg: Some(_), .. } => ScreenFormat::Svg,
        // Drawn here, so that the daemon needs no font.
        args::ScreenArgs { png: Some(_), .. } => ScreenFormat::Snapshot,
        _ if json => return Ok(ScreenFormat::Json),
        _ => ScreenFormat::Text,
    };
    if json {
        return Err(Failure::usage("--json cannot be combined with --ansi, --svg or --png"));
    }
    Ok(format)
}

/// Draws the screen that a snapshot produces, below up to this many lines of scrollback. An installed font is read only if
/// the built-in one lacks a character.
fn draw(snapshot: &[u8], size: Size, scrollback: u64, home: &Path) -> Result<Vec<u8>, Failure> {
    let scrollback = usize::try_from(scrollback).unwrap_or(usize::MAX);
    let mut screen = swb_vt::Screen::new(size, swb_vt::Options::default());
    screen.feed(snapshot);
    let lines = screen.scrollback(scrollback);
    let text = lines.iter().map(swb_vt::ScreenLine::text).chain([screen.text()]).collect::<String>();
    let font = text.chars().any(swb_vt::needs_font).then(|| fonts::further(home)).flatten();
    let options = swb_vt::PngOptions { scrollback, font: font.as_deref() };
    screen.to_png_with(options).map_err(|error| Failure::io("cannot draw the screen", &error))
}

/// Writes to a file, or to standard output if its name is `-`.
fn write(file: &Path, data: &[u8]) -> Result<(), Failure> {
    if file == Path::new("-") {
        return print_bytes(data);
    }
    std::fs::write(file, data)
        .map_err(|error| Failure::io(format!("cannot write {}", file.display()), &error))
}

fn text(data: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(data)
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
    fn only_one_format_may_be_given() {
        let plain = || args::ScreenArgs {
            name: None,
            pty: PtyId(0),
            scrollback: 0,
            ansi: false,
            svg: None,
            png: None,
            via: None,
        };
        assert_eq!(format(false, &plain()).unwrap(), ScreenFormat::Text);
        assert_eq!(format(true, &plain()).unwrap(), ScreenFormat::Json);
        let file = Some("x".into());
        for (args, expected) in [
            (args::ScreenArgs { ansi: true, ..plain() }, ScreenFormat::Ansi),
            (args::ScreenArgs { svg: file.clone(), ..plain() }, ScreenFormat::Svg),
            (args::ScreenArgs { png: file, ..plain() }, ScreenFormat::Snapshot),
        ] {
            assert_eq!(format(false, &args).unwrap(), expected);
            assert_eq!(format(true, &args).unwrap_err().kind().exit_code(), 2);
        }
    }

    #[test]
    fn a_picture_is_a_png_file() {
        let draw = |snapshot: &[u8], scrollback| {
            super::draw(snapshot, Size::new(20, 3).unwrap(), scrollback, Path::new("/nowhere")).unwrap()
        };
        let png = draw(b"\x1b[31mhello", 0);
        assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
        assert_ne!(png, draw(b"", 0));
        let height = |png: &[u8]| u32::from_be_bytes(png[20..24].try_into().unwrap());
        let lines = b"1\r\n2\r\n3\r\n4\r\n5";
        assert_eq!([0, 1, 9].map(|lines_above| height(&draw(lines, lines_above))), [60, 80, 100]);
    }

    #[test]
    fn text_ends_with_its_line() {
        assert_eq!(with_newline(b"a".to_vec()), b"a\n");
        assert_eq!(with_newline(b"a\n".to_vec()), b"a\n");
        assert_eq!(with_newline(Vec::new()), b"");
    }
}
