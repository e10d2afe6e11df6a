//! `swb record`: record a session's output with its timing to a file.

use crate::args;
use crate::attach::follow::{FollowedItem, OutputFollower};
use crate::attach::{Pictures, Position, ResumePoint};
use crate::cast::{CastHeader, CastWriter, Term};
use crate::console::eprint_line;
use crate::context::Context;
use crate::error::{Failure, Outcome};
use crate::session::open_stream;
use crate::table;
use crate::terminal::signals::Signals;
use rustix::stdio::stderr;
use rustix::termios::isatty;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::Instant;
use swb_types::{PtyId, Size};
use swb_wire::control::{Attached, Operation, SessionItem};

/// Records until the session ends or the user interrupts it.
pub(super) fn run(context: &Context, mut args: args::RecordArgs) -> Outcome {
    args.name = context.session(args.name)?;
    // Install the handlers before the file is created, so that none is left half-written.
    let signals = Signals::catch(&[SIGINT, SIGTERM, SIGHUP])?;
    let route = ResumePoint {
        socket: context.paths.control_socket(),
        session: args.name.clone(),
        pty: args.pty,
        watch: true,
        // A player shows only the screen, so the scrollback is left out.
        pictures: Some(Pictures { scrollback: Some(0) }),
        sizes: true,
        input: None,
        sized: false,
        remote: context.remote.clone(),
        direct: false,
    };
    let (socket, attached) = open_stream(context, &Operation::Attach(route.request(None, None)), None)?;
    let header = header(context, &args, &attached)?;
    let mut recording = Recording::create(&args.file, args.force, &header)?;
    let follower = OutputFollower::new(
        socket,
        route,
        Position::new(attached.offset.unwrap_or_default(), true),
        signals,
    )?;
    let file = args.file.display();
    print_status(format_args!("recording session '{}' to {file}; Ctrl+C stops", args.name));
    recording.follow(follower)?;
    print_status(format_args!("recorded {:.1} s to {file}", recording.begun.elapsed().as_secs_f64()));
    Ok(0)
}

/// Prints progress if standard error is a terminal; programs that read it expect errors only.
fn print_status(line: std::fmt::Arguments<'_>) {
    if isatty(stderr()) {
        eprint_line(format_args!("swb: {line}"));
    }
}

fn header(context: &Context, args: &args::RecordArgs, attached: &Attached) -> Result<CastHeader, Failure> {
    let sessions = context.sessions()?;
    let named = |session: &&SessionItem| session.name == args.name;
    let there = |session: &&SessionItem| session.workspace == args.name;
    let session = sessions.iter().find(named).or_else(|| sessions.iter().find(there));
    Ok(CastHeader {
        version: 3,
        term: Term {
            cols: attached.cols.unwrap_or(Size::DEFAULT.cols()),
            rows: attached.rows.unwrap_or(Size::DEFAULT.rows()),
            kind: std::env::var("TERM").ok().filter(|kind| !kind.is_empty()),
        },
        timestamp: table::now(),
        command: session.and_then(|session| command(session, args.pty)),
        title: session.map_or(&args.name, |session| &session.name).clone(),
    })
}

/// The command that runs on a terminal of a session.
fn command(session: &SessionItem, pty: PtyId) -> Option<String> {
    match &session.details {
        Some(details) if pty == PtyId::AGENT => Some(table::command_line(&details.argv)),
        _ => session.ptys.iter().find(|item| item.id == pty).map(|item| item.command.clone()),
    }
}

/// A recording in progress.
struct Recording {
    sink: Box<dyn Write>,
    writer: CastWriter,
    begun: Instant,
    lines: Vec<String>,
}

impl Recording {
    fn create(path: &Path, force: bool, header: &CastHeader) -> Result<Self, Failure> {
        let sink: Box<dyn Write> =
            if path == Path::new("-") { Box::new(io::stdout()) } else { Box::new(create(path, force)?) };
        let lines = vec![header.line()];
        let mut recording = Self { sink, writer: CastWriter::default(), begun: Instant::now(), lines };
        recording.write()?;
        Ok(recording)
    }

    fn follow(&mut self, mut follower: OutputFollower) -> Result<(), Failure> {
        loop {
            let item = follower.next_item()?;
            let at = self.begun.elapsed();
            match &item {
                FollowedItem::Data(range) => {
                    self.writer.output(at, follower.bytes(range.clone()), &mut self.lines);
                }
                FollowedItem::Picture | FollowedItem::Signalled => self.writer.gap(at, &mut self.lines),
                FollowedItem::Resized(cols, rows) => self.writer.resized(at, *cols, *rows, &mut self.lines),
                FollowedItem::Exited(code) => self.writer.exited(at, *code, &mut self.lines),
            }
            self.write()?;
            if matches!(item, FollowedItem::Exited(_) | FollowedItem::Signalled) {
                return Ok(());
            }
        }
    }

    /// Writes whole lines, each with one call: the file is valid even if this process is killed.
    fn write(&mut self) -> Result<(), Failure> {
        for line in self.lines.drain(..) {
            self.sink
                .write_all(line.as_bytes())
                .and_then(|()| self.sink.flush())
                .map_err(|error| Failure::io("cannot write the recording", &error))?;
        }
        Ok(())
    }
}

/// Creates the file. It contains everything that was on the screen, so only its owner may read it.
fn create(path: &Path, force: bool) -> Result<File, Failure> {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    if force {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    let file = options.open(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Failure::general(format!("{} already exists", path.display())).hint("--force overwrites it")
        }
        _ => Failure::io(format!("cannot write {}", path.display()), &error),
    })?;
    // Opening an existing file does not change its mode.
    if force && file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        file.set_permissions(Permissions::from_mode(0o600))
            .map_err(|error| Failure::io(format!("cannot protect {}", path.display()), &error))?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn a_recording_is_private_and_overwrites_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.cast");
        let mode = || std::fs::metadata(&path).unwrap().mode() & 0o777;
        create(&path, false).unwrap().write_all(b"old").unwrap();
        assert_eq!(mode(), 0o600);
        let refused = create(&path, false).unwrap_err();
        assert!(refused.render("swb").contains("already exists\nhint: --force overwrites it"));
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        create(&path, true).unwrap().write_all(b"n").unwrap();
        assert_eq!((std::fs::read(&path).unwrap(), mode()), (b"n".to_vec(), 0o600));
    }
}
