//! The picture of pixels, read back.

use crate::common::{recordings, run, screen};
use std::io::Cursor;
use swb_vt::Screen;

/// Pixels of a cell.
const CELL: (usize, usize) = (10, 20);

struct Picture {
    width: usize,
    height: usize,
    bytes: Vec<u8>,
}

impl Picture {
    fn of(screen: &Screen) -> Self {
        let decoder = png::Decoder::new(Cursor::new(screen.to_png().unwrap()));
        let mut reader = decoder.read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut bytes).unwrap();
        assert_eq!((info.color_type, info.bit_depth), (png::ColorType::Rgb, png::BitDepth::Eight));
        Self { width: info.width as usize, height: info.height as usize, bytes }
    }

    /// The different colours of a cell.
    fn colors(&self, col: usize, row: usize) -> Vec<[u8; 3]> {
        let mut colors = Vec::new();
        for y in row * CELL.1..(row + 1) * CELL.1 {
            for x in col * CELL.0..(col + 1) * CELL.0 {
                let start = 3 * (y * self.width + x);
                let color = [self.bytes[start], self.bytes[start + 1], self.bytes[start + 2]];
                if !colors.contains(&color) {
                    colors.push(color);
                }
            }
        }
        colors
    }
}

#[test]
fn cells_have_their_colours() {
    let mut screen = screen(8, 3, 0);
    screen.feed(
        b"\x1b]11;#102030\x07\x1b[?25l\x1b[38;2;250;0;0m\xe2\x96\x88\x1b[48;2;0;0;250m \
          \x1b[7m \x1b[0m\xe2\x96\x80\x1b[8mx\x1b[0m\x1b[38;2;0;250;0mx",
    );
    let picture = Picture::of(&screen);
    assert_eq!((picture.width, picture.height), (8 * CELL.0, 3 * CELL.1));
    assert_eq!(picture.colors(0, 0), [[250, 0, 0]]);
    assert_eq!(picture.colors(1, 0), [[0, 0, 250]]);
    assert_eq!(picture.colors(2, 0), [[250, 0, 0]]);
    assert_eq!(picture.colors(3, 0).len(), 2);
    assert_eq!(picture.colors(4, 0), [[0x10, 0x20, 0x30]]);
    // Edges of letters are mixed.
    assert!(picture.colors(5, 0).len() > 2);
    assert_eq!(picture.colors(6, 0), [[0x10, 0x20, 0x30]]);
    assert_eq!(picture.colors(0, 2), [[0x10, 0x20, 0x30]]);
}

#[test]
fn the_cursor_and_lines_are_seen_without_text() {
    let mut screen = screen(4, 1, 0);
    screen.feed(b"\x1b[4m \x1b[4:3m \x1b[9m ");
    let picture = Picture::of(&screen);
    for col in 0..4 {
        let colors = picture.colors(col, 0);
        assert_eq!(colors.len(), if col == 3 { 1 } else { 2 }, "{col}: {colors:?}");
    }
    screen.feed(b"\x1b[?25l");
    assert_ne!(picture.bytes, Picture::of(&screen).bytes);
}

#[test]
fn what_the_font_lacks_is_a_box() {
    let pictures = ["\u{5b57}", "\u{1f680}"].map(|text| {
        let mut screen = screen(4, 1, 0);
        screen.feed(text.as_bytes());
        Picture::of(&screen).bytes
    });
    assert_eq!(pictures[0], pictures[1]);
    let mut blank = screen(4, 1, 0);
    blank.feed(b"\x1b[2C");
    assert_ne!(pictures[0], Picture::of(&blank).bytes);
}

#[test]
fn any_screen_becomes_a_picture() {
    for recording in recordings() {
        let mut screen = screen(recording.cols, recording.rows, 0);
        run(&mut screen, &recording.steps);
        let picture = Picture::of(&screen);
        assert!(picture.bytes.windows(3).any(|pixel| pixel[0] > 100), "{}", recording.name);
    }
    let mut screen = screen(1, 1, 0);
    screen.feed("\u{5b57}\u{301}".as_bytes());
    Picture::of(&screen);
}
