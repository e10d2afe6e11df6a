//! A recording as an animated SVG: pure, output and times go in, a document comes out.
//!
//! Each row has a track of the contents that it shows one after the other, and so has the cursor; only what changes is
//! in the document twice. Style sheets make each content visible at its time. Without animations, the last screen shows.

use crate::limits;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;
use swb_types::Size;
use swb_vt::{Options, Screen, SvgPieces};

/// Space around the screen, and the radius of its corners.
const MARGIN: usize = 12;
const RADIUS: usize = 8;
/// Fonts in which the cells of common systems fit.
const FONTS: &str = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace";

/// A recording that is being turned into a picture.
#[derive(Debug)]
pub(crate) struct Animation {
    screen: Screen,
    /// The rows, and after them the cursor.
    tracks: Vec<Track>,
    background: String,
    size: (usize, usize),
    /// Time between two pictures; grows when there are too many.
    interval: Duration,
    /// The time of the output that the screen shows.
    now: Duration,
    /// Whether the screen has changed since its last picture.
    changed: bool,
    /// Bytes in all tracks.
    bytes: usize,
}

/// What is shown at one place, from when on; each differs from the one before.
#[derive(Debug, Default)]
struct Track(Vec<(Duration, String)>);

impl Track {
    /// Shows `content` from `at` on; returns by how many bytes the track has grown.
    fn show(&mut self, at: Duration, content: String) -> usize {
        let shown = self.0.last().map_or("", |(_, content)| content.as_str());
        if shown == content {
            return 0;
        }
        let bytes = content.len();
        self.0.push((at, content));
        bytes
    }

    /// Merges contents that begin in the same interval: the last one stays.
    fn thin(&mut self, interval: Duration) {
        let mut thinned = Self::default();
        for (at, content) in self.0.drain(..) {
            let at = floor(at, interval);
            if thinned.0.last().is_some_and(|(last, _)| *last == at) {
                thinned.0.pop();
            }
            thinned.show(at, content);
        }
        *self = thinned;
    }

    fn bytes(&self) -> usize {
        self.0.iter().map(|(_, content)| content.len()).sum()
    }
}

fn floor(at: Duration, interval: Duration) -> Duration {
    let interval = interval.as_micros().max(1);
    let micros = at.as_micros() / interval * interval;
    Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
}

impl Animation {
    /// Begins with an empty screen.
    pub(crate) fn new(size: Size) -> Self {
        Self {
            screen: Screen::new(size, Options { scrollback: 0 }),
            tracks: Vec::new(),
            background: String::new(),
            size: (0, 0),
            interval: limits::ANIMATION_FRAME,
            now: Duration::ZERO,
            changed: true,
            bytes: 0,
        }
    }

    /// The time of what follows. What came before belongs to a picture of its own if enough time has passed.
    pub(crate) fn advance(&mut self, at: Duration) {
        if floor(at, self.interval) > floor(self.now, self.interval) {
            self.picture();
        }
        self.now = self.now.max(at);
    }

    /// Output of the program.
    pub(crate) fn feed(&mut self, output: &[u8]) {
        self.screen.feed(output);
        // A program's queries get no answer here.
        drop(self.screen.take_replies());
        drop(self.screen.take_events());
        self.changed = true;
    }

    /// The terminal has another size from here on.
    pub(crate) fn resize(&mut self, size: Size) {
        self.screen.resize(size);
        self.changed = true;
    }

    fn picture(&mut self) {
        if !std::mem::take(&mut self.changed) {
            return;
        }
        let SvgPieces { size, background, rows, cursor } = self.screen.svg_pieces(0);
        self.background = background;
        self.size = (self.size.0.max(size.0), self.size.1.max(size.1));
        let at = floor(self.now, self.interval);
        // The cursor has the first track, so that rows can be added.
        let contents: Vec<String> = std::iter::once(cursor).chain(rows).collect();
        let count = contents.len().max(self.tracks.len());
        self.tracks.resize_with(count, Track::default);
        let padded = contents.into_iter().chain(std::iter::repeat(String::new()));
        for (track, content) in self.tracks.iter_mut().zip(padded) {
            self.bytes += track.show(at, content);
        }
        while self.bytes > limits::ANIMATION_BYTES && self.interval < Duration::from_secs(3600) {
            self.interval *= 2;
            self.tracks.iter_mut().for_each(|track| track.thin(self.interval));
            self.bytes = self.tracks.iter().map(Track::bytes).sum();
        }
    }

    /// The document.
    pub(crate) fn finish(mut self) -> String {
        self.picture();
        let total = self.now.saturating_add(limits::ANIMATION_HOLD);
        let mut styles = Styles { total, names: BTreeMap::new() };
        let mut body = String::new();
        // The cursor last, above the text.
        self.tracks.rotate_left(1);
        for track in &self.tracks {
            styles.draw(track, &mut body);
        }
        let (width, height) = (self.size.0 + 2 * MARGIN, self.size.1 + 2 * MARGIN);
        let (background, style) = (self.background, styles.sheet());
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"{FONTS}\" font-size=\"15\">\n<style>{style}</style>\n\
             <rect width=\"100%\" height=\"100%\" rx=\"{RADIUS}\" fill=\"{background}\"/>\n\
             <g transform=\"translate({MARGIN},{MARGIN})\">\n{body}</g>\n</svg>\n"
        )
    }
}

/// The style sheet, with one animation for each span of time in which something is shown.
struct Styles {
    total: Duration,
    names: BTreeMap<(Duration, Duration), usize>,
}

impl Styles {
    fn draw(&mut self, track: &Track, body: &mut String) {
        let ends = track.0.iter().skip(1).map(|(at, _)| *at).chain([self.total]);
        for ((from, content), to) in track.0.iter().zip(ends) {
            if content.is_empty() {
                continue;
            }
            // Writing to a string cannot fail.
            let _written = if from.is_zero() && to == self.total {
                writeln!(body, "<g>{content}</g>")
            } else {
                let next = self.names.len();
                let name = *self.names.entry((*from, to)).or_insert(next);
                let class = if to == self.total { "s e" } else { "s" };
                writeln!(body, "<g class=\"{class}\" style=\"animation-name:k{name}\">{content}</g>")
            };
        }
    }

    fn sheet(&self) -> String {
        let seconds = self.total.as_secs_f64();
        let mut sheet = format!(
            ".s{{visibility:hidden;animation:{seconds:.2}s step-end infinite}}.e{{visibility:visible}}\
             @media(prefers-reduced-motion:reduce){{.s{{animation:none}}}}"
        );
        let percent = |at: Duration| at.as_secs_f64() / seconds * 100.0;
        for ((from, to), name) in &self.names {
            let (hidden, shown) = ("{visibility:hidden}", "{visibility:visible}");
            let _written = write!(sheet, "@keyframes k{name}{{");
            let _written = match from.is_zero() {
                true => write!(sheet, "0%{shown}"),
                false => write!(sheet, "0%{hidden}{:.3}%{shown}", percent(*from)),
            };
            if *to < self.total {
                let _written = write!(sheet, "{:.3}%{hidden}", percent(*to));
            }
            sheet.push('}');
        }
        sheet
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn animated(events: &[(u64, &str)]) -> String {
        let mut animation = Animation::new(Size::new(10, 2).unwrap());
        for (at, output) in events {
            animation.advance(Duration::from_millis(*at));
            animation.feed(output.as_bytes());
        }
        animation.finish()
    }

    #[test]
    fn each_row_has_its_own_times() {
        let svg = animated(&[(0, "\x1b[?25lone"), (1000, "\r\ntwo"), (2000, "\rTWO")]);
        // Five seconds with the hold at the end: what never changes is not animated.
        assert!(svg.contains(".s{visibility:hidden;animation:5.00s step-end infinite}"), "{svg}");
        assert_eq!(svg.matches(">one</text>").count(), 1);
        assert!(svg.contains("<g><text x=\"0\" y=\"14\""), "{svg}");
        assert!(svg.contains(
            "@keyframes k0{0%{visibility:hidden}20.000%{visibility:visible}40.000%{visibility:hidden}}"
        ));
        assert!(svg.contains("@keyframes k1{0%{visibility:hidden}40.000%{visibility:visible}}"), "{svg}");
        assert!(
            svg.contains("<g class=\"s e\" style=\"animation-name:k1\">"),
            "the last screen shows without animations"
        );
    }

    #[test]
    fn output_of_a_moment_is_one_picture() {
        let svg = animated(&[(0, "\x1b[?25la"), (10, "\rb"), (20, "\rc"), (500, "\rd")]);
        assert!(!svg.contains(">a</text>") && !svg.contains(">b</text>"), "{svg}");
        assert!(svg.contains(">c</text>") && svg.contains(">d</text>"), "{svg}");
    }

    #[test]
    fn a_long_recording_has_fewer_pictures_instead_of_more_bytes() {
        let mut animation = Animation::new(Size::new(80, 24).unwrap());
        for step in 0..4000_u64 {
            animation.advance(Duration::from_millis(step * 100));
            animation.feed(format!("\x1b[H\x1b[3{}m{}", step % 8, format!("{step} ").repeat(200)).as_bytes());
        }
        let interval = animation.interval;
        let svg = animation.finish();
        assert!(interval > limits::ANIMATION_FRAME, "{interval:?}");
        assert!(svg.len() < 2 * limits::ANIMATION_BYTES, "{}", svg.len());
        assert!(svg.contains("3999"), "the end is always there");
    }

    #[test]
    fn text_and_sizes_of_a_recording_do_no_harm() {
        let mut animation = Animation::new(Size::new(5, 1).unwrap());
        animation.feed("<a>&\u{1b}]0;<script>\u{7}".as_bytes());
        animation.advance(Duration::from_secs(1));
        animation.resize(Size::new(u16::MAX, 2).unwrap());
        animation.advance(Duration::MAX);
        animation.resize(Size::new(1, 1).unwrap());
        let svg = animation.finish();
        assert!(svg.contains("&lt;a&gt;&amp;") && !svg.contains("<script>"), "{svg}");
        assert!(animated(&[]).ends_with("</svg>\n"));
    }
}
