//! Sizes: a watcher with a terminal of another size sees a part of the screen and changes nothing.

use super::{EXE, known, script, wait_for_text};
use serde_json::json;
use swb_testkit::{ScreenClient, Swb, stays, wait_for};
use swb_vt::{Screen, Style};

/// Fills the screen with coloured columns; then puts a word at a position (`row;column word`).
const DRAWS: &str = "stty -echo; i=1; while [ $i -le 24 ]; do printf \"\\033[$i;1H\\033[3$((i%8));4$(((i+3)%8))m\"; \
    printf '%s' \"row $i abcdefghijklmnopqrstuvwxyz-0123456789-ABCDEFGHIJKLMNOPQRSTUVWXYZ\"; i=$((i+1)); done; \
    printf '\\033[m\\033[3;5H\\033[1;4mready'; while read at word; do printf \"\\033[${at}H$word\"; done";

fn watch(swb: &Swb, (cols, rows): (u16, u16)) -> ScreenClient {
    ScreenClient::with(swb, "x", &json!({"watch": true, "repaint": true, "cols": cols, "rows": rows}))
}

/// The cells of a row that are not blank at the end, with their looks.
pub(super) fn cells(screen: &Screen, row: usize) -> Vec<(char, Style)> {
    let lines = screen.lines();
    let runs = lines.get(row).map_or(&[][..], |line| &line.runs);
    let cell = |c: char, style: &Style| {
        let rest = is_wide(c).then(|| (SPACER, style.clone()));
        std::iter::once((c, style.clone())).chain(rest)
    };
    runs.iter().flat_map(|run| run.text.chars().flat_map(|c| cell(c, &run.style))).collect()
}

/// Cells without blank ones at the end.
fn trimmed(mut cells: Vec<(char, Style)>) -> Vec<(char, Style)> {
    let used = cells.iter().rposition(|cell| *cell != (' ', Style::default())).map_or(0, |last| last + 1);
    cells.truncate(used);
    cells
}

/// The second cell of a wide character.
const SPACER: char = '\0';

/// Whether one of the characters that the tests use takes two cells.
fn is_wide(c: char) -> bool {
    ('\u{4e00}'..'\u{a000}').contains(&c)
}

/// Insists that the watcher's screen is the part of the session's with the cursor in it.
#[track_caller]
fn assert_part(watcher: &Screen, session: &Screen, when: &str) {
    if let Some(difference) = difference(watcher, session) {
        panic!("{when}: {difference}");
    }
}

/// What is wrong with a screen that is to show the part of the session's with the cursor in it.
pub(super) fn difference(watcher: &Screen, session: &Screen) -> Option<String> {
    let (size, cursor) = (watcher.size(), session.cursor());
    let start = |at: u16, len: u16| usize::from((at + 1).saturating_sub(len));
    let (left, top) = (start(cursor.col, size.cols()), start(cursor.row, size.rows()));
    for row in 0..usize::from(size.rows()) {
        let inside = top + row < usize::from(session.size().rows());
        let whole = if inside { cells(session, top + row) } else { Vec::new() };
        let mut part: Vec<_> = whole.into_iter().skip(left).take(size.cols().into()).collect();
        // Half a wide character cannot be shown.
        if let Some(first) = part.first_mut().filter(|cell| cell.0 == SPACER) {
            first.0 = ' ';
        }
        if let Some(last) = part.last_mut().filter(|cell| is_wide(cell.0)) {
            last.0 = ' ';
        }
        let (shown, part) = (trimmed(cells(watcher, row)), trimmed(part));
        if shown != part {
            let col = shown.iter().zip(&part).take_while(|(one, two)| one == two).count();
            let text = |cells: &[(char, Style)]| cells.iter().map(|cell| cell.0).collect::<String>();
            return Some(format!(
                "row {row} of {size} from column {col}: {:?} of {:?}\nis to be {:?} of {:?}",
                shown.get(col),
                text(&shown),
                part.get(col),
                text(&part)
            ));
        }
    }
    let place = |row: u16, col: u16| (usize::from(row), usize::from(col));
    let (row, col) = place(cursor.row, cursor.col);
    let shown = watcher.cursor();
    let same = place(shown.row, shown.col) == (row - top, col - left) && shown.visible == cursor.visible;
    (!same).then(|| format!("the cursor {shown:?} of {cursor:?}"))
}

pub(super) fn size(swb: &Swb) -> (u64, u64) {
    let session = swb.session("x").unwrap();
    (session["cols"].as_u64().unwrap(), session["rows"].as_u64().unwrap())
}

#[test]
fn a_watcher_of_another_size_sees_the_part_with_the_cursor() {
    let swb = Swb::start(EXE);
    script(&swb, "x", DRAWS);
    wait_for_text(&swb, "x", "ready");
    let mut observer = ScreenClient::observe(&swb, "x");
    let mut watchers: Vec<ScreenClient> =
        [(40, 10), (10, 3), (120, 40), (80, 10), (40, 24), (200, 5)].map(|size| watch(&swb, size)).into();
    let places = ["1;1 top", "24;60 corner", "12;40 middle", "24;1 bottom", "1;70 right", "5;5 last"];
    for (round, place) in places.into_iter().enumerate() {
        swb.ok(&["send", "x", place, "--enter"]);
        let word = place.split_once(' ').unwrap().1;
        wait_for_text(&swb, "x", word);
        let (session, offset) = known(&swb, "x");
        for (n, watcher) in watchers.iter_mut().enumerate() {
            watcher
                .until(word, |watcher| watcher.offset() == offset && watcher.screen().text().contains(word));
            assert_part(watcher.screen(), &session, &format!("{place}, watcher {n}"));
            // Then it looks through a smaller or larger window.
            let (cols, rows) = (9 + 11 * n as u16 + round as u16, 2 + 7 * n as u16 + round as u16);
            let pictures = watcher.pictures();
            watcher.resize(cols, rows);
            watcher.until("another picture", |watcher| watcher.pictures() > pictures);
            assert_part(watcher.screen(), &session, &format!("{place}, watcher {n}, {cols}×{rows}"));
        }
    }
    stays("the size", || size(&swb) == (80, 24));
    observer.settle();
    assert_eq!(observer.count("resized"), 0);
}

#[test]
fn a_watcher_gets_output_once_the_sizes_are_the_same() {
    let swb = Swb::start(EXE);
    script(&swb, "x", DRAWS);
    let mut person = ScreenClient::attach(&swb, "x");
    person.until_text("ready");
    let mut watcher = watch(&swb, (100, 30));
    watcher.until_text("ready");
    person.resize(100, 30);
    wait_for("the new size", || (size(&swb) == (100, 30)).then_some(()));
    person.type_in(b"28;90 now\n");
    person.until_text("now");
    let same = |watcher: &ScreenClient| watcher.screen().contents(0) == person.screen().contents(0);
    watcher.until("the whole screen", |watcher| watcher.offset() == person.offset() && same(watcher));
    // From here on there is output, and no picture.
    let pictures = watcher.pictures();
    for round in 0..5 {
        person.type_in(format!("{};3 round-{round}\n", round + 1).as_bytes());
        person.until_text(&format!("round-{round}"));
    }
    watcher.until_text("round-4");
    watcher.read_to(person.offset());
    assert_eq!(watcher.pictures(), pictures);
    assert_eq!(watcher.screen().contents(0), person.screen().contents(0));

    // And a part again when they differ.
    watcher.resize(20, 5);
    watcher.until("a part", |watcher| watcher.pictures() > pictures + 1);
    watcher.settle();
    assert!(watcher.screen().text().contains("round-4"), "{:?}", watcher.screen().text());
    stays("the size", || size(&swb) == (100, 30));
}

/// All lines of scrollback and screen, without blank ones at the end.
fn text(screen: &Screen) -> Vec<String> {
    let mut lines: Vec<String> = screen.scrollback(usize::MAX).iter().map(|line| line.text()).collect();
    lines.extend(screen.row_texts());
    let lines: Vec<String> = lines.iter().map(|line| line.trim_end().to_owned()).collect();
    let used = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    lines[..used].to_vec()
}

#[test]
fn narrowing_and_widening_damages_no_line() {
    let swb = Swb::start(EXE);
    let words = "of a text that is longer than a narrow window but not than a wide one";
    script(&swb, "x", &format!("stty -echo; seq -f 'line %.0f {words}' 1 300; printf ready; exec cat"));
    let mut person = ScreenClient::attach(&swb, "x");
    person.until_text("ready");
    let before = text(&known(&swb, "x").0);
    let mut expected: Vec<String> = (1..=300).map(|n| format!("line {n} {words}")).collect();
    expected.push("ready".to_owned());
    assert_eq!(before, expected);
    for (n, narrow) in [(20, 24), (33, 7), (79, 50)].into_iter().enumerate() {
        for (cols, rows) in [narrow, (80, 24)] {
            person.resize(cols, rows);
            wait_for("the new size", || (size(&swb) == (cols.into(), rows.into())).then_some(()));
        }
        person.until("both sizes", |person| person.count("resized") == 2 * (n + 1));
        assert_eq!(text(&known(&swb, "x").0), expected, "after {narrow:?}");
        assert_eq!(text(person.screen()), expected, "after {narrow:?}");
        if n == 1 {
            swb.kill_daemon();
            person.reconnect();
        }
    }
}
