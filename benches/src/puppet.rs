//! The program that runs inside every session, and the strings it is moved by.
//!
//! The puppet connects to the run's gate (a Unix socket) as its first act and then obeys lines that come
//! through it. Whatever it does to its terminal is thus started and timed without a shell, and without
//! using the terminal that is being measured. It ends when the gate closes.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

use crate::flood::{Style, Text};
use crate::wait;

/// First argument of the hidden mode.
pub(crate) const MODE: &str = "__puppet";

/// Where puppets report to.
pub(crate) struct Gate {
    exe: PathBuf,
    path: PathBuf,
    listener: UnixListener,
}

impl Gate {
    /// Opens a gate in the directory.
    pub(crate) fn open(exe: &Path, dir: &Path) -> Result<Self> {
        let path = dir.join("gate");
        let listener =
            UnixListener::bind(&path).with_context(|| format!("cannot bind {}", path.display()))?;
        Ok(Self { exe: exe.into(), path, listener })
    }

    /// The command line of a puppet of this gate.
    pub(crate) fn argv(&self, name: &str) -> Vec<OsString> {
        vec![self.exe.clone().into(), MODE.into(), self.path.clone().into(), name.into()]
    }

    /// Waits for the puppet of that name; returns when it connected.
    pub(crate) fn wait(&self, name: &str) -> Result<(Puppet, Instant)> {
        let end = wait::step();
        while wait::readable([&self.listener], end)?[0] {
            let (stream, _) = self.listener.accept()?;
            let heard = Instant::now();
            stream.set_read_timeout(Some(wait::STEP))?;
            let mut puppet = Puppet { lines: BufReader::new(stream), marks: 0 };
            // Another name is a late comer from a session that was given up.
            if puppet.answer()? == name {
                return Ok((puppet, heard));
            }
        }
        bail!("the session's program did not start in time")
    }
}

/// The strings of one puppet.
pub(crate) struct Puppet {
    lines: BufReader<UnixStream>,
    marks: u32,
}

impl Puppet {
    /// Has it write a mark of its own to the terminal; returns what the mark looks like there.
    pub(crate) fn mark(&mut self) -> Result<Vec<u8>> {
        let mark = self.new_mark();
        self.order(&format!("mark {mark}"))?;
        Ok(mark.into_bytes())
    }

    /// Has it write that many bytes of text and then a mark, which is returned at once.
    pub(crate) fn flood(&mut self, bytes: u64) -> Result<Vec<u8>> {
        self.flood_in(Style::Text, bytes)
    }

    /// The same in another style.
    pub(crate) fn flood_in(&mut self, style: Style, bytes: u64) -> Result<Vec<u8>> {
        let mark = self.new_mark();
        self.order(&format!("flood {} {bytes} {mark}", style.name()))?;
        Ok(mark.into_bytes())
    }

    /// How long the puppet was busy with the flood.
    pub(crate) fn flood_time(&mut self) -> Result<Duration> {
        Ok(Duration::from_nanos(self.answer()?.parse().context("unexpected answer")?))
    }

    /// Has it write without end, until [`Puppet::stop`].
    pub(crate) fn flood_on(&mut self) -> Result<()> {
        self.order("flood-on")
    }

    /// Ends an endless flood.
    pub(crate) fn stop(&mut self) -> Result<()> {
        self.order("stop")?;
        self.answer().map(drop)
    }

    /// Has it switch to raw mode and write back every byte that it reads.
    pub(crate) fn echo(&mut self) -> Result<()> {
        self.order("echo")?;
        self.answer().map(drop)
    }

    fn new_mark(&mut self) -> String {
        self.marks += 1;
        format!("@{}@", self.marks)
    }

    fn order(&mut self, line: &str) -> Result<()> {
        writeln!(self.lines.get_mut(), "{line}").context("the session's program is gone")
    }

    fn answer(&mut self) -> Result<String> {
        let mut line = String::new();
        if self.lines.read_line(&mut line).context("the session's program does not answer")? == 0 {
            bail!("the session's program is gone");
        }
        Ok(line.trim_end().into())
    }
}

/// The hidden mode: obeys until the gate closes.
pub(crate) fn run(gate: &Path, name: &str) -> Result<()> {
    let gate = UnixStream::connect(gate)?;
    writeln!(&gate, "{name}")?;
    let mut orders = BufReader::new(gate.try_clone()?);
    // Not `io::stdout()`, which would cut the output into lines.
    let terminal = File::from(rustix::stdio::stdout().try_clone_to_owned()?);
    let mut line = String::new();
    loop {
        line.clear();
        if orders.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match words[..] {
            ["mark", mark] => write_mark(&terminal, mark)?,
            ["flood", style, bytes, mark] => {
                let style = Style::named(style).context("unknown style")?;
                flood(&terminal, &gate, style, bytes.parse()?, mark)?;
            }
            ["flood-on"] => flood_on(&terminal, &gate)?,
            ["stop"] => writeln!(&gate, "stopped")?,
            ["echo"] => echo(&terminal, &gate)?,
            _ => bail!("unknown order {line:?}"),
        }
    }
}

/// On a line of its own, so that also a contender with a screen model shows it in one piece.
fn write_mark(mut terminal: &File, mark: &str) -> io::Result<()> {
    terminal.write_all(format!("\n{mark}\n").as_bytes())
}

fn flood(mut terminal: &File, mut gate: &UnixStream, style: Style, bytes: u64, mark: &str) -> io::Result<()> {
    let text = Text::new(style);
    let start = Instant::now();
    for piece in text.pieces(bytes) {
        terminal.write_all(piece)?;
    }
    write_mark(terminal, mark)?;
    writeln!(gate, "{}", start.elapsed().as_nanos())
}

/// Stops as soon as anything comes through the gate, and leaves it there.
fn flood_on(mut terminal: &File, gate: &UnixStream) -> io::Result<()> {
    for piece in Text::new(Style::Text).endless() {
        terminal.write_all(piece)?;
        if wait::readable([gate], Instant::now())?[0] {
            break;
        }
    }
    Ok(())
}

fn echo(terminal: &File, mut gate: &UnixStream) -> io::Result<()> {
    let mut input = File::from(rustix::stdio::stdin().try_clone_to_owned()?);
    let mut output = terminal.try_clone()?;
    make_raw(&input)?;
    std::thread::spawn(move || {
        let mut buf = [0; 4096];
        while let Ok(n @ 1..) = input.read(&mut buf) {
            if output.write_all(&buf[..n]).is_err() {
                return;
            }
        }
    });
    writeln!(gate, "echoing")
}

/// Switches off everything a terminal does to the bytes that pass.
pub(crate) fn make_raw(terminal: &File) -> io::Result<()> {
    let mut modes = tcgetattr(terminal)?;
    modes.make_raw();
    Ok(tcsetattr(terminal, OptionalActions::Now, &modes)?)
}
