//! Characters that have to meet their neighbours to the pixel: lines, blocks, braille.

use super::glyphs::Mask;
use super::{HEIGHT, WIDTH};
use std::ops::Range;

/// The pixel that thin lines go through.
const MIDDLE: (usize, usize) = (WIDTH / 2, HEIGHT / 2);
/// Radius of rounded corners.
const RADIUS: f32 = 4.0;

/// Weights of a line.
const LIGHT: u8 = 1;
const HEAVY: u8 = 2;
const DOUBLE: u8 = 3;

/// U+2500 to U+257F: the weights of the four arms, two bits each, left, right, up and down from the highest.
/// Those without arms are drawn in other ways.
#[rustfmt::skip]
const ARMS: [u8; 128] = [
    0x50, 0xa0, 0x05, 0x0a, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x11, 0x21, 0x12, 0x22,
    0x41, 0x81, 0x42, 0x82, 0x14, 0x24, 0x18, 0x28, 0x44, 0x84, 0x48, 0x88, 0x15, 0x25, 0x19, 0x16,
    0x1a, 0x29, 0x26, 0x2a, 0x45, 0x85, 0x49, 0x46, 0x4a, 0x89, 0x86, 0x8a, 0x51, 0x91, 0x61, 0xa1,
    0x52, 0x92, 0x62, 0xa2, 0x54, 0x94, 0x64, 0xa4, 0x58, 0x98, 0x68, 0xa8, 0x55, 0x95, 0x65, 0xa5,
    0x59, 0x56, 0x5a, 0x99, 0x69, 0x96, 0x66, 0xa9, 0xa6, 0x9a, 0x6a, 0xaa, 0x00, 0x00, 0x00, 0x00,
    0xf0, 0x0f, 0x31, 0x13, 0x33, 0xc1, 0x43, 0xc3, 0x34, 0x1c, 0x3c, 0xc4, 0x4c, 0xcc, 0x35, 0x1f,
    0x3f, 0xc5, 0x4f, 0xcf, 0xf1, 0x53, 0xf3, 0xf4, 0x5c, 0xfc, 0xf5, 0x5f, 0xff, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x40, 0x04, 0x10, 0x01, 0x80, 0x08, 0x20, 0x02, 0x60, 0x06, 0x90, 0x09,
];

/// U+2596 to U+259F: upper left, upper right, lower left and lower right quarter, from the lowest bit.
const QUARTERS: [u8; 10] = [4, 8, 1, 13, 9, 7, 11, 2, 6, 14];

/// The looks of a character that is drawn by hand.
pub(super) fn mask(c: char) -> Option<Mask> {
    let mut cell = Mask::new(0, 0, WIDTH, HEIGHT);
    match c {
        '┄'..='┋' | '╌'..='╏' => dashes(&mut cell, c),
        '╭'..='╰' => corner(&mut cell, matches!(c, '╭' | '╰'), matches!(c, '╭' | '╮')),
        '╱'..='╳' => diagonals(&mut cell, c != '╲', c != '╱'),
        '─'..='╿' => arms(&mut cell, ARMS[c as usize - '─' as usize]),
        '▀'..='▟' => block(&mut cell, c),
        '\u{2800}'..='\u{28ff}' => braille(&mut cell, c as u32 - 0x2800),
        // A corner of dentists, with which programs hang results under what they belong to.
        '⎿' => {
            fill(&mut cell, MIDDLE.0..MIDDLE.0 + 1, 0..HEIGHT * 3 / 4, u8::MAX);
            fill(&mut cell, MIDDLE.0..WIDTH, HEIGHT * 3 / 4 - 1..HEIGHT * 3 / 4, u8::MAX);
        }
        _ => return None,
    }
    Some(cell)
}

fn fill(cell: &mut Mask, columns: Range<usize>, rows: Range<usize>, alpha: u8) {
    for y in rows {
        for x in columns.clone() {
            cell.set(x, y, alpha);
        }
    }
}

/// The pixels across a line of this weight around its middle one.
fn across(weight: u8, middle: usize) -> Range<usize> {
    if weight == LIGHT { middle..middle + 1 } else { middle - 1..middle + 2 }
}

fn arms(cell: &mut Mask, packed: u8) {
    let [left, right, up, down] = [packed >> 6, packed >> 4 & 3, packed >> 2 & 3, packed & 3];
    // An arm covers the middle as far as the crossing arms are wide.
    let reach = |one: u8, two: u8, middle| across(if one.max(two) > LIGHT { HEAVY } else { LIGHT }, middle);
    let (xs, ys) = (reach(up, down, MIDDLE.0), reach(left, right, MIDDLE.1));
    let arms = [
        (left, 0..xs.end, across(left, MIDDLE.1)),
        (right, xs.start..WIDTH, across(right, MIDDLE.1)),
        (up, across(up, MIDDLE.0), 0..ys.end),
        (down, across(down, MIDDLE.0), ys.start..HEIGHT),
    ];
    for (weight, columns, rows) in arms {
        if weight > 0 {
            fill(cell, columns, rows, u8::MAX);
        }
    }
    // Double lines are heavy ones with their middle taken out, up to a line that crosses.
    let crossed =
        |one: u8, two: u8| usize::from([one, two].iter().any(|weight| (LIGHT..DOUBLE).contains(weight)));
    let (by_column, by_row) = (crossed(up, down), crossed(left, right));
    let (x, y) = MIDDLE;
    let hollows = [
        (left, 0..x + 1 - by_column, y..y + 1),
        (right, x + by_column..WIDTH, y..y + 1),
        (up, x..x + 1, 0..y + 1 - by_row),
        (down, x..x + 1, y + by_row..HEIGHT),
    ];
    for (weight, columns, rows) in hollows {
        if weight == DOUBLE {
            fill(cell, columns, rows, 0);
        }
    }
}

/// Lines with gaps: in each group first the horizontal ones, thin before thick.
fn dashes(cell: &mut Mask, c: char) {
    let (n, count) = match c {
        '┄'..='┇' => (c as usize - '┄' as usize, 3),
        '┈'..='┋' => (c as usize - '┈' as usize, 4),
        _ => (c as usize - '╌' as usize, 2),
    };
    let weight = if n % 2 == 0 { LIGHT } else { HEAVY };
    let horizontal = n < 2;
    let length = if horizontal { WIDTH } else { HEIGHT };
    for part in 0..count {
        let (start, end) = (part * length / count, (part + 1) * length / count);
        // Two thirds of each part, and a gap in any case.
        let dash = start..(start + (end - start) * 2 / 3).clamp(start + 1, end - 1);
        if horizontal {
            fill(cell, dash, across(weight, MIDDLE.1), u8::MAX);
        } else {
            fill(cell, across(weight, MIDDLE.0), dash, u8::MAX);
        }
    }
}

/// How much of a pixel a thin line covers at this distance from its middle.
fn covered(distance: f32) -> u8 {
    ((1.0 - distance.abs()).clamp(0.0, 1.0) * 255.0) as u8
}

/// A rounded corner, open to the right or left and down or up.
fn corner(cell: &mut Mask, right: bool, down: bool) {
    let (x0, y0) = (MIDDLE.0 as f32, MIDDLE.1 as f32);
    for y in 0..HEIGHT {
        for x in 0..WIDTH {
            // Counted from the middle towards the open sides.
            let along = if right { x as f32 - x0 } else { x0 - x as f32 };
            let down = if down { y as f32 - y0 } else { y0 - y as f32 };
            let distance = match (along >= RADIUS, down >= RADIUS) {
                (true, true) => continue,
                (true, false) => down,
                (false, true) => along,
                (false, false) => (along - RADIUS).hypot(down - RADIUS) - RADIUS,
            };
            cell.set(x, y, covered(distance));
        }
    }
}

fn diagonals(cell: &mut Mask, rising: bool, falling: bool) {
    let (width, height) = (WIDTH as f32, HEIGHT as f32);
    let length = width.hypot(height);
    for y in 0..HEIGHT {
        for x in 0..WIDTH {
            let (px, py) = (x as f32 + 0.5, y as f32 + 0.5);
            let up = if rising { covered((px * height + py * width - width * height) / length) } else { 0 };
            let down = if falling { covered((px * height - py * width) / length) } else { 0 };
            cell.set(x, y, up.max(down));
        }
    }
}

fn block(cell: &mut Mask, c: char) {
    let eighths = |n: u32, length: usize| (n as usize * length + 4) / 8;
    let n = c as u32 - 0x2580;
    match n {
        0x00 => fill(cell, 0..WIDTH, 0..HEIGHT / 2, u8::MAX),
        0x01..=0x08 => fill(cell, 0..WIDTH, HEIGHT - eighths(n, HEIGHT)..HEIGHT, u8::MAX),
        0x09..=0x0f => fill(cell, 0..eighths(0x10 - n, WIDTH), 0..HEIGHT, u8::MAX),
        0x10 => fill(cell, WIDTH / 2..WIDTH, 0..HEIGHT, u8::MAX),
        0x11..=0x13 => fill(cell, 0..WIDTH, 0..HEIGHT, ((n - 0x10) * 64) as u8),
        0x14 => fill(cell, 0..WIDTH, 0..eighths(1, HEIGHT), u8::MAX),
        0x15 => fill(cell, WIDTH - eighths(1, WIDTH)..WIDTH, 0..HEIGHT, u8::MAX),
        _ => {
            let quarters = QUARTERS.get(n as usize - 0x16).copied().unwrap_or(0);
            for quarter in (0..4).filter(|quarter| quarters & (1 << quarter) != 0) {
                let (x, y) = (quarter % 2 * WIDTH / 2, quarter / 2 * HEIGHT / 2);
                fill(cell, x..x + WIDTH / 2, y..y + HEIGHT / 2, u8::MAX);
            }
        }
    }
}

fn braille(cell: &mut Mask, dots: u32) {
    /// Column and row of each bit's dot: the fourth row came later than the others.
    const PLACES: [(usize, usize); 8] = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3)];
    for (_, (column, row)) in PLACES.iter().enumerate().filter(|(bit, _)| dots & (1 << bit) != 0) {
        let (x, y) = (1 + column * WIDTH / 2, 1 + row * HEIGHT / 4);
        fill(cell, x..x + WIDTH / 2 - 2, y..y + HEIGHT / 4 - 2, u8::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cell as text.
    fn picture(c: char) -> Vec<String> {
        let mask = mask(c).unwrap();
        mask.rows()
            .map(|(_, row)| row.map(|(_, alpha)| if alpha > 127 { '#' } else { '.' }).collect())
            .collect()
    }

    fn edges(c: char) -> [String; 4] {
        let rows = picture(c);
        let column = |x: usize| rows.iter().map(|row| row.as_bytes()[x] as char).collect::<String>();
        [column(0), column(WIDTH - 1), rows[0].clone(), rows[HEIGHT - 1].clone()]
    }

    #[test]
    fn lines_reach_the_edges_they_should_at_the_same_places() {
        let (h, v) = (edges('─'), edges('│'));
        let [left, right, up, down] = edges('┼');
        assert_eq!([&left, &right, &up, &down], [&h[0], &h[1], &v[2], &v[3]]);
        let full = [left, right, up, down];
        for (c, arms) in [('┌', [1, 3]), ('┘', [0, 2]), ('═', [0, 1])] {
            for (side, edge) in edges(c).iter().enumerate() {
                assert_eq!(edge.contains('#'), arms.contains(&side), "{c} {side}");
                assert!(c == '═' || !arms.contains(&side) || *edge == full[side], "{c} {side}");
            }
        }
        for (rounded, plain) in [('╭', '┌'), ('╮', '┐'), ('╯', '┘'), ('╰', '└')] {
            assert_eq!(edges(rounded), edges(plain), "{rounded}");
        }
        assert_eq!(edges('╬')[2], "....#.#...");
        assert_eq!(edges('╔')[1], edges('═')[1]);
        assert_eq!(edges('┃')[2], "....###...");
    }

    #[test]
    fn double_lines_open_into_each_other() {
        let rows = picture('╠');
        let middle: Vec<&str> = rows[MIDDLE.1 - 2..=MIDDLE.1 + 2].iter().map(String::as_str).collect();
        assert_eq!(middle, ["....#.#...", "....#.####", "....#.....", "....#.####", "....#.#..."]);
        let rows = picture('╪');
        assert_eq!(rows[MIDDLE.1], ".....#....");
        assert_eq!(rows[MIDDLE.1 + 1], "##########");
    }

    #[test]
    fn every_drawn_character_shows_something() {
        let drawn = ('\u{2500}'..='\u{259f}').chain('\u{2801}'..='\u{28ff}').chain(['⎿']);
        for c in drawn {
            let ink: usize =
                mask(c).unwrap().rows().map(|(_, row)| row.filter(|(_, alpha)| *alpha > 0).count()).sum();
            assert!(ink > 0, "{c}");
        }
        assert!(mask('a').is_none());
    }

    #[test]
    fn blocks_fill_their_part() {
        let ink = |c| picture(c).concat().matches('#').count();
        let all = WIDTH * HEIGHT;
        for (c, part) in [
            ('█', all),
            ('▀', all / 2),
            ('▄', all / 2),
            ('▌', all / 2),
            ('▐', all / 2),
            ('▚', all / 2),
            ('▙', all * 3 / 4),
            ('▗', all / 4),
        ] {
            assert_eq!(ink(c), part, "{c}");
        }
        assert!(picture('▝')[0].ends_with("#####") && picture('▖')[HEIGHT - 1].starts_with("#####"));
    }
}
