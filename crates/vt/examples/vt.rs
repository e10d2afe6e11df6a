//! The model from the command line, for checks against other terminals and for measurements.
//!
//! - `vt show COLS ROWS < BYTES`: the cursor and the text of the screen;
//! - `vt snapshot COLS ROWS < BYTES`: the bytes that lead to that screen;
//! - `vt png COLS ROWS < BYTES`: a picture of that screen, with the feature `png`;
//! - `vt speed COLS ROWS < BYTES`: how fast the bytes are taken, and what snapshots cost;
//! - `vt skip COLS ROWS < BYTES`: how much of the bytes cannot be seen, and how fast that is found.

#![allow(clippy::print_stdout, reason = "a command")]

use std::io::{self, Read, Write};
use std::time::Instant;
use swb_types::Size;
use swb_vt::{Options, QueryFilter, Screen};

fn main() -> io::Result<()> {
    let args: Vec<String> = std::env::args().collect();
    let side = |n: usize| args.get(n).and_then(|side| side.parse().ok()).unwrap_or(0);
    let (Some(verb), Some(size)) = (args.get(1), Size::new(side(2), side(3))) else {
        return Err(io::Error::other("usage: vt show|snapshot|png|speed|skip COLS ROWS"));
    };
    let mut bytes = Vec::new();
    io::stdin().read_to_end(&mut bytes)?;
    let mut screen = Screen::new(size, Options::default());
    match verb.as_str() {
        "show" => {
            screen.feed(&bytes);
            let cursor = screen.cursor();
            println!("{} {}", cursor.row, cursor.col);
            println!("{}", screen.row_texts().join("\n"));
        }
        "snapshot" => {
            screen.feed(&bytes);
            io::stdout().write_all(&screen.snapshot())?;
        }
        #[cfg(feature = "png")]
        "png" => {
            screen.feed(&bytes);
            io::stdout().write_all(&screen.to_png()?)?;
        }
        "skip" => skip(&bytes, size),
        _ => speed(&bytes, size),
    }
    Ok(())
}

fn skip(bytes: &[u8], size: Size) {
    const TIMES: u32 = 10;
    let bytes = bytes.repeat((64 << 20) / bytes.len().max(1) + 1);
    let mut screen = Screen::new(size, Options::default());
    let (mut skipped, mut skipping, mut all) = (0, 0.0, 0.0);
    for _ in 0..TIMES {
        let start = Instant::now();
        skipped = screen.skip(&bytes);
        skipping += start.elapsed().as_secs_f64();
        screen.feed(&bytes[skipped..]);
        all += start.elapsed().as_secs_f64();
    }
    let speed = |seconds: f64| f64::from(TIMES) * bytes.len() as f64 / 1e9 / seconds;
    println!("skipped   {skipped} of {} bytes", bytes.len());
    println!("skip      {:8.2} GB/s", speed(skipping));
    println!("and feed  {:8.2} GB/s", speed(all));
}

fn speed(bytes: &[u8], size: Size) {
    const LINES: usize = 2000;
    let repeats = (64 << 20) / bytes.len().max(1) + 1;
    let megabytes = (repeats * bytes.len()) as f64 / 1e6;
    let mut screen = Screen::new(size, Options { scrollback: LINES });
    let start = Instant::now();
    for _ in 0..repeats {
        for piece in bytes.chunks(16 * 1024) {
            screen.feed(piece);
        }
        screen.take_replies();
        screen.take_events();
    }
    println!("feed      {:8.1} MB/s", megabytes / start.elapsed().as_secs_f64());

    let (mut filter, mut out) = (QueryFilter::new(), Vec::new());
    let start = Instant::now();
    for _ in 0..repeats {
        for piece in bytes.chunks(16 * 1024) {
            out.clear();
            filter.feed(piece, &mut out);
        }
    }
    println!("filter    {:8.1} MB/s", megabytes / start.elapsed().as_secs_f64());

    let start = Instant::now();
    let mut snapshot = Vec::new();
    for _ in 0..10 {
        snapshot = screen.snapshot();
    }
    let each = start.elapsed().as_secs_f64() * 100.0;
    let lines = screen.scrollback_len();
    println!("snapshot  {each:8.2} ms, {} bytes, {lines} lines of scrollback", snapshot.len());

    let start = Instant::now();
    Screen::new(size, Options { scrollback: LINES }).feed(&snapshot);
    println!("restore   {:8.2} ms", start.elapsed().as_secs_f64() * 1000.0);
}
