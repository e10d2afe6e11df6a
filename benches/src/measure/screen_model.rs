//! How fast the screen model and the detection of turns take output, in this process and by its CPU time.

use std::hint::black_box;

use anyhow::{Context, Result};
use swb_turns::{Detector, Profiles, Time};
use swb_types::{Offset, Size};
use swb_vt::{Options, Screen};

use super::{Bench, Values};
use crate::peers::Kind;
use crate::report::{Budget, Metric, Unit};
use crate::streams::{COLS, ROWS, Stream};
use crate::{proc, stats};

/// Takes one stream and nothing else, for counts of instructions: `swb-bench MODE STREAM MIB`.
pub(crate) const MODE: &str = "feed-screen-model";

/// Bytes that the daemon's observer draws at once.
const PIECE: usize = 128 * 1024;

/// Times that a stream is measured.
const ROUNDS: usize = 5;

/// Bytes per round.
const FULL: usize = 64 << 20;
const QUICK: usize = 8 << 20;

/// MB/s that the model must reach with plain text and with dense sequences.
const TEXT: f64 = 250.0;
const DENSE: f64 = 150.0;

/// MB/s of the model and the detector of a full-screen agent together.
const DETECTED: f64 = 100.0;

pub(super) fn take(bench: &mut Bench) -> Result<Vec<Metric>> {
    let length = if bench.scale.flood < super::Scale::full().flood { QUICK } else { FULL };
    let mut metrics = Vec::new();
    for stream in Stream::ALL {
        let bytes = stream.bytes()?;
        let min = match stream {
            Stream::Text => Some(TEXT),
            Stream::Cells | Stream::Rgb | Stream::Cursor | Stream::Repaint | Stream::Recorded => Some(DENSE),
            Stream::Region | Stream::Utf8 => None,
        };
        let title = format!("screen model: {}", stream.title());
        let rate = rates(length, || {
            draw(stream, &bytes, length);
            Ok(())
        })?;
        metrics.push(metric("model", title, rate, min));
    }
    let bytes = Stream::Recorded.bytes()?;
    let rate = rates(length, || detect(&bytes, length))?;
    metrics.push(metric(
        "detector",
        "screen model and detector: recorded agents".into(),
        rate,
        Some(DETECTED),
    ));
    Ok(metrics)
}

fn metric(key: &'static str, title: String, rates: Vec<f64>, min: Option<f64>) -> Metric {
    let median = stats::median(&rates).unwrap_or_default();
    eprintln!("{title}: {median:.0} MB/s");
    let metric = Metric::new(key, title, Unit::MegabytesPerSecond, Values::from([(Kind::Swb, rates)]));
    match min {
        Some(min) => metric.budget(Budget::AtLeastAbsolute { min }),
        None => metric,
    }
}

/// MB per second of CPU time, one number per round.
fn rates(length: usize, mut work: impl FnMut() -> Result<()>) -> Result<Vec<f64>> {
    let mut rates = Vec::new();
    for _ in 0..ROUNDS {
        let before = proc::cpu_micros(std::process::id())?;
        work()?;
        // Bytes per microsecond are MB per second.
        rates.push(length as f64 / (proc::cpu_micros(std::process::id())? - before));
    }
    Ok(rates)
}

/// The hidden mode.
pub(crate) fn feed(name: &str, mib: &str) -> Result<()> {
    let stream = Stream::named(name).with_context(|| format!("no stream {name:?}"))?;
    draw(stream, &stream.bytes()?, mib.parse::<usize>()? << 20);
    Ok(())
}

/// Draws `length` bytes of a stream.
fn draw(stream: Stream, bytes: &[u8], length: usize) {
    let mut screen = screen();
    screen.feed(stream.stage());
    for piece in pieces(bytes, length) {
        screen.feed(piece);
        // As the observer does: nothing may accumulate.
        black_box((screen.take_events(), screen.take_replies()));
    }
    black_box(screen);
}

/// The same with the detector of an agent that draws the whole screen, in the middle of a turn.
fn detect(bytes: &[u8], length: usize) -> Result<()> {
    let profile = Profiles::built_in()?.named("claude").context("no profile for claude")?;
    let mut screen = screen();
    let mut detector = Detector::new(profile, screen.size());
    let (mut offset, mut now) = (Offset::START, Time(0));
    detector.input(&screen, b"go\r", now);
    for piece in pieces(bytes, length) {
        now = Time(now.0 + 1000);
        detector.output(&mut screen, piece, offset, now);
        offset += piece.len() as u64;
        black_box((detector.take_events(), screen.take_events(), screen.take_replies()));
    }
    Ok(())
}

fn screen() -> Screen {
    Screen::new(Size::new(COLS, ROWS).unwrap_or(Size::DEFAULT), Options::default())
}

fn pieces(bytes: &[u8], length: usize) -> impl Iterator<Item = &[u8]> {
    let mut left = length;
    bytes.chunks(PIECE).cycle().map_while(move |piece| {
        let take = piece.len().min(left);
        left -= take;
        (take > 0).then(|| &piece[..take])
    })
}
