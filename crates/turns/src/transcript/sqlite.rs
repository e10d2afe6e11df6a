//! The newest rows of an SQLite database, read from its file format.
//!
//! An agent's database is read while the agent writes it, and it may have been written by a program that we confine. A
//! library would take locks that delay the agent, write to its shared memory, and run what the file's schema contains.
//! This reads tables only, in the database file and its write-ahead log, and takes no lock: a page that is written meanwhile
//! is damaged, and what is damaged is left out.

use crate::limits;
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;

/// Reads a part of a database file, as much as the slice holds; `false` if it is not there.
pub type ReadPart<'a> = &'a dyn Fn(u64, &mut [u8]) -> bool;

const MAGIC: &[u8] = b"SQLite format 3\0";
/// Bytes before the first page's tree.
const FILE_HEADER: usize = 100;
const LOG_HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
/// Kinds of pages of a table's tree.
const INNER: u8 = 5;
const LEAF: u8 = 13;
/// Levels of a tree: far more than a database of any size has.
const DEPTH: usize = 20;

/// A database file and its write-ahead log.
pub(super) struct Database<'a> {
    file: ReadPart<'a>,
    log: &'a [u8],
    /// Where the newest version of a page begins in the log.
    logged: HashMap<u32, usize>,
    page_size: usize,
    /// Bytes of a page without those that extensions reserve.
    usable: usize,
    pages_left: Cell<usize>,
}

/// A table: its tree, and the names of its columns.
struct Table {
    root: u32,
    columns: Vec<String>,
}

impl<'a> Database<'a> {
    /// `None` if it is no database.
    pub(super) fn open(file: ReadPart<'a>, log: &'a [u8]) -> Option<Self> {
        let mut header = [0; FILE_HEADER];
        if !file(0, &mut header) || !header.starts_with(MAGIC) {
            return None;
        }
        let page_size = match number(&header, 16, 2)? {
            1 => 65536,
            size => size,
        };
        let reserved = usize::from(header[20]);
        let usable = page_size.checked_sub(reserved).filter(|usable| *usable >= 480)?;
        if !page_size.is_power_of_two() {
            return None;
        }
        let logged = pages_of_log(log, page_size);
        Some(Self { file, log, logged, page_size, usable, pages_left: Cell::new(limits::STORE_PAGES) })
    }

    /// The texts in these columns of the newest rows of a table, the oldest first. Other values are empty.
    pub(super) fn newest<const N: usize>(&self, table: &str, columns: [&str; N]) -> Option<Vec<[String; N]>> {
        let table = self.table(table)?;
        let place = |name: &str| table.columns.iter().position(|column| column == name);
        let places = columns.map(place);
        if places.contains(&None) {
            return None;
        }
        let mut rows = Vec::new();
        self.each_row(table.root, |record| {
            rows.push(places.map(|place| place.and_then(|place| text(record, place)).unwrap_or_default()));
            true
        });
        rows.reverse();
        Some(rows)
    }

    /// Finds a table in the schema, which is a table itself: type, name, table, root page and SQL.
    fn table(&self, name: &str) -> Option<Table> {
        let mut found = None;
        self.each_row(1, |record| {
            let is_it =
                text(record, 0).as_deref() == Some("table") && text(record, 1).as_deref() == Some(name);
            if is_it && let (Some(root), Some(sql)) = (integer(record, 3), text(record, 4)) {
                found = Some(Table { root, columns: column_names(&sql) });
            }
            found.is_none()
        });
        found
    }

    /// Calls `each` with the newest rows of a table, the newest first, until it returns `false`.
    fn each_row(&self, root: u32, mut each: impl FnMut(&[u8]) -> bool) {
        let (mut rows, mut bytes) = (0, 0);
        let mut open = vec![(root, DEPTH)];
        while let Some((number, depth)) = open.pop() {
            let Some(page) = self.page(number) else { continue };
            let Some(tree) = TreePage::parse(&page, if number == 1 { FILE_HEADER } else { 0 }) else {
                continue;
            };
            if tree.is_leaf {
                for at in tree.cells.iter().rev() {
                    let Some(record) = self.record(&page, *at) else { continue };
                    rows += 1;
                    bytes += record.len();
                    let enough = rows > limits::STORE_ROWS || bytes > limits::STORE_BYTES;
                    if enough || !each(&record) {
                        return;
                    }
                }
            } else if let Some(depth) = depth.checked_sub(1) {
                let left = tree.cells.iter().filter_map(|at| page_number(&page, *at));
                open.extend(left.chain(tree.right).map(|child| (child, depth)));
            }
        }
    }

    fn page(&self, number: u32) -> Option<Vec<u8>> {
        self.pages_left.set(self.pages_left.get().checked_sub(1)?);
        if let Some(at) = self.logged.get(&number) {
            return self.log.get(*at..*at + self.page_size).map(<[u8]>::to_vec);
        }
        let offset = u64::from(number.checked_sub(1)?) * self.page_size as u64;
        let mut page = vec![0; self.page_size];
        (self.file)(offset, &mut page).then_some(page)
    }

    /// The record of a cell: its beginning is on the page, the rest on a chain of other pages.
    fn record<'p>(&self, page: &'p [u8], cell: usize) -> Option<Cow<'p, [u8]>> {
        let (length, after) = varint(page, cell)?;
        let (_row_id, start) = varint(page, after)?;
        let length = usize::try_from(length).ok().filter(|length| *length <= limits::STORE_ROW_BYTES)?;
        let largest = self.usable - 35;
        if length <= largest {
            return page.get(start..start + length).map(Cow::Borrowed);
        }
        let least = (self.usable - 12) * 32 / 255 - 23;
        let wanted = least + (length - least) % (self.usable - 4);
        let here = if wanted <= largest { wanted } else { least };
        let mut record = page.get(start..start + here)?.to_vec();
        let mut next = page_number(page, start + here)?;
        while record.len() < length {
            let more = self.page(next)?;
            let wanted = (length - record.len()).min(self.usable - 4);
            record.extend_from_slice(more.get(4..4 + wanted)?);
            next = page_number(&more, 0)?;
        }
        Some(Cow::Owned(record))
    }
}

/// A page of a table's tree.
struct TreePage {
    is_leaf: bool,
    /// Where its cells begin.
    cells: Vec<usize>,
    /// The last child of an inner page.
    right: Option<u32>,
}

impl TreePage {
    /// `header` is where the page's header begins.
    fn parse(page: &[u8], header: usize) -> Option<Self> {
        let is_leaf = match *page.get(header)? {
            LEAF => true,
            INNER => false,
            _ => return None,
        };
        let count = number(page, header + 3, 2)?;
        let (right, first) = match is_leaf {
            true => (None, header + 8),
            false => (Some(page_number(page, header + 8)?), header + 12),
        };
        let cells = (0..count).map_while(|n| number(page, first + 2 * n, 2)).collect();
        Some(Self { is_leaf, cells, right })
    }
}

/// The pages of the log whose transactions are complete. Frames of an earlier use of the file have another salt, and one that is
/// being written has a wrong checksum.
fn pages_of_log(log: &[u8], page_size: usize) -> HashMap<u32, usize> {
    let (mut complete, mut pending) = (HashMap::new(), Vec::new());
    let Some(mut sum) = LogChecksum::of_header(log, page_size) else { return complete };
    let frames = log.get(LOG_HEADER..).unwrap_or_default().chunks_exact(FRAME_HEADER + page_size);
    for (n, frame) in frames.enumerate() {
        let (header, page) = frame.split_at(FRAME_HEADER);
        if header.get(8..16) != log.get(16..24) || !sum.continues(header, page) {
            break;
        }
        let Some(number) = page_number(header, 0) else { break };
        pending.push((number, LOG_HEADER + n * (FRAME_HEADER + page_size) + FRAME_HEADER));
        // The last frame of a transaction has the size of the database.
        if header.get(4..8) != Some(&[0; 4]) {
            complete.extend(pending.drain(..));
        }
    }
    complete
}

/// The checksum over all frames of a log so far.
struct LogChecksum {
    big_endian: bool,
    sums: (u32, u32),
}

impl LogChecksum {
    fn of_header(log: &[u8], page_size: usize) -> Option<Self> {
        let header = log.get(..LOG_HEADER)?;
        let big_endian = match number(header, 0, 4)? {
            0x377f_0682 => false,
            0x377f_0683 => true,
            _ => return None,
        };
        let mut sum = Self { big_endian, sums: (0, 0) };
        sum.add(&header[..24]);
        (number(header, 8, 4)? == page_size && sum.is(&header[24..])).then_some(sum)
    }

    fn continues(&mut self, header: &[u8], page: &[u8]) -> bool {
        self.add(&header[..8]);
        self.add(page);
        self.is(&header[16..])
    }

    fn add(&mut self, bytes: &[u8]) {
        let (words, _) = bytes.as_chunks::<4>();
        let (pairs, _) = words.as_chunks::<2>();
        let word = if self.big_endian { u32::from_be_bytes } else { u32::from_le_bytes };
        let (mut one, mut two) = self.sums;
        for [first, second] in pairs {
            one = one.wrapping_add(word(*first)).wrapping_add(two);
            two = two.wrapping_add(word(*second)).wrapping_add(one);
        }
        self.sums = (one, two);
    }

    fn is(&self, bytes: &[u8]) -> bool {
        let (one, two) = self.sums;
        bytes == [one.to_be_bytes(), two.to_be_bytes()].concat()
    }
}

/// The names of the columns in the SQL that creates a table.
fn column_names(sql: &str) -> Vec<String> {
    let Some((_, inner)) = sql.split_once('(') else { return Vec::new() };
    let mut depth = 0_usize;
    let parts = inner.split(|c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    let first_word = |part: &str| {
        let word = part.split_whitespace().next().unwrap_or_default();
        word.trim_matches(['`', '"', '\'', '[', ']', ')']).to_owned()
    };
    parts.map(first_word).collect()
}

/// The text in a column of a record.
fn text(record: &[u8], column: usize) -> Option<String> {
    let (kind, value) = value(record, column)?;
    (kind >= 13 && kind % 2 == 1).then(|| String::from_utf8_lossy(value).into_owned())
}

/// The number in a column of a record, as far as it can be that of a page.
fn integer(record: &[u8], column: usize) -> Option<u32> {
    let (kind, value) = value(record, column)?;
    match kind {
        1..=4 => u32::try_from(number(value, 0, value.len())?).ok(),
        9 => Some(1),
        _ => None,
    }
}

/// The kind and the bytes of a column's value.
fn value(record: &[u8], column: usize) -> Option<(u64, &[u8])> {
    let (header, mut at) = varint(record, 0)?;
    let header = usize::try_from(header).ok()?;
    let mut start = header;
    for n in 0..=column {
        if at >= header {
            break;
        }
        let (kind, next) = varint(record, at)?;
        let length = match kind {
            0 | 8..=11 => 0,
            1..=4 => kind,
            5 => 6,
            6 | 7 => 8,
            _ => (kind - 12) / 2,
        };
        let end = start.checked_add(usize::try_from(length).ok()?)?;
        if n == column {
            return Some((kind, record.get(start..end)?));
        }
        (at, start) = (next, end);
    }
    None
}

/// A number of up to nine bytes, seven bits each but for the last, and where it ends.
fn varint(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let mut value = 0_u64;
    for n in 0..9 {
        let byte = *bytes.get(at + n)?;
        if n == 8 {
            value = value << 8 | u64::from(byte);
        } else {
            value = value << 7 | u64::from(byte & 0x7f);
        }
        if n == 8 || byte < 0x80 {
            return Some((value, at + n + 1));
        }
    }
    None
}

/// A number of up to four bytes.
fn number(bytes: &[u8], at: usize, length: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    Some(bytes.iter().fold(0, |value, byte| value << 8 | usize::from(*byte)))
}

fn page_number(bytes: &[u8], at: usize) -> Option<u32> {
    u32::try_from(number(bytes, at, 4)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::Connection;
    use std::path::Path;

    /// A database in a directory, written by SQLite.
    struct Written {
        directory: tempfile::TempDir,
        connection: Connection,
    }

    impl Written {
        fn new(page_size: u32, journal: &str) -> Self {
            let directory = tempfile::tempdir().unwrap();
            let connection = Connection::open(directory.path().join("a.db")).unwrap();
            let sql = format!(
                "PRAGMA page_size = {page_size}; PRAGMA journal_mode = {journal}; PRAGMA wal_autocheckpoint = 0;
                 CREATE TABLE other (a); CREATE INDEX of_other ON other (a);
                 CREATE TABLE `part` (\n\t`id` text PRIMARY KEY,\n\t`n` integer NOT NULL,
                     `sum` numeric(10, 2) DEFAULT (1 + 2), \"data\" text NOT NULL,
                     CONSTRAINT `sums` CHECK (`sum` IN (1, 2, 3)));
                 ALTER TABLE part ADD COLUMN later text;"
            );
            connection.execute_batch(&sql).unwrap();
            Self { directory, connection }
        }

        /// Adds a row; its text has this many bytes.
        fn add(&self, n: usize, length: usize) {
            let data = format!("{n}:{}", "ä".repeat(length / 2));
            let sql = "INSERT INTO part (id, n, data, later) VALUES (?1, ?2, ?3, NULL)";
            self.connection.execute(sql, (format!("id {n}"), i64::try_from(n).unwrap(), data)).unwrap();
        }

        fn run(&self, sql: &str) {
            self.connection.execute_batch(sql).unwrap();
        }

        fn rows(&self) -> Vec<[String; 2]> {
            let mut select = self.connection.prepare("SELECT data, id FROM part ORDER BY rowid").unwrap();
            let rows = select.query_map((), |row| Ok([row.get(0)?, row.get(1)?])).unwrap();
            rows.map(Result::unwrap).collect()
        }

        fn bytes(&self) -> [Vec<u8>; 2] {
            let at =
                |name: &str| std::fs::read(Path::new(self.directory.path()).join(name)).unwrap_or_default();
            [at("a.db"), at("a.db-wal")]
        }
    }

    fn read([file, log]: &[Vec<u8>; 2]) -> Option<Vec<[String; 2]>> {
        let part = |offset: u64, bytes: &mut [u8]| {
            let from = usize::try_from(offset).unwrap();
            let found = from.checked_add(bytes.len()).and_then(|to| file.get(from..to));
            found.map(|found| bytes.copy_from_slice(found)).is_some()
        };
        Database::open(&part, log)?.newest("part", ["data", "id"])
    }

    #[test]
    fn rows_are_those_that_sqlite_reads() {
        for (page_size, journal) in [(512, "wal"), (4096, "wal"), (4096, "delete"), (65536, "wal")] {
            let written = Written::new(page_size, journal);
            assert_eq!(read(&written.bytes()), Some(vec![]), "{page_size} {journal}");
            for n in 0..300 {
                written.add(n, n * n % 5000);
            }
            assert_eq!(read(&written.bytes()).unwrap(), written.rows(), "{page_size} {journal}");
            written.run("PRAGMA wal_checkpoint(TRUNCATE)");
            written.run(
                "UPDATE part SET data = data || ' changed' WHERE n % 7 = 0; DELETE FROM part WHERE n % 5 = 0",
            );
            written.add(300, 100_000);
            assert_eq!(read(&written.bytes()).unwrap(), written.rows(), "{page_size} {journal}");
            // The next transactions overwrite the beginning of the log.
            written.run("PRAGMA wal_checkpoint(FULL)");
            written.add(301, 10);
            assert_eq!(read(&written.bytes()).unwrap(), written.rows(), "{page_size} {journal}");
        }
    }

    #[test]
    fn only_complete_transactions_count() {
        let written = Written::new(512, "wal");
        written.run("PRAGMA wal_checkpoint(TRUNCATE)");
        let mut states = vec![written.rows()];
        for n in 0..20 {
            written.add(n, 3000);
            states.push(written.rows());
        }
        let [file, log] = written.bytes();
        let mut last = 0;
        for end in (0..=log.len()).step_by(97).chain([log.len()]) {
            let rows = read(&[file.clone(), log[..end].to_vec()]).unwrap();
            let state = states.iter().position(|state| *state == rows).expect("a state that was committed");
            assert!(state >= last);
            last = state;
        }
        assert_eq!(last, 20);
        let mut damaged = log;
        let middle = damaged.len() / 2;
        damaged[middle] ^= 1;
        let rows = read(&[file, damaged]).unwrap();
        assert!(states[..20].contains(&rows), "what follows a damaged frame does not count");
    }

    #[test]
    fn the_newest_rows_are_read_and_no_more() {
        let written = Written::new(4096, "wal");
        written.run("BEGIN");
        for n in 0..limits::STORE_ROWS + 100 {
            written.add(n, 10);
        }
        written.run("COMMIT");
        let (found, all) = (read(&written.bytes()).unwrap(), written.rows());
        assert_eq!(found, all[100..]);
        written.add(100_000, limits::STORE_ROW_BYTES + 2);
        assert_eq!(read(&written.bytes()).unwrap(), all[100..], "a row that is too long is left out");
        for n in 200_000..200_008 {
            written.add(n, limits::STORE_ROW_BYTES - 100);
        }
        let count = read(&written.bytes()).unwrap().len();
        assert!((1..8).contains(&count), "{count}");
    }

    #[test]
    fn damaged_files_do_no_harm() {
        assert_eq!(read(&[vec![], vec![]]), None);
        assert_eq!(read(&[b"SQLite format 3\0".to_vec(), vec![]]), None);
        let written = Written::new(512, "wal");
        for n in 0..60 {
            written.add(n, 40 * n);
        }
        written.run("PRAGMA wal_checkpoint(TRUNCATE)");
        let [file, _] = written.bytes();
        let mut seed = 1_u64;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(seed >> 33).unwrap() % below
        };
        for _ in 0..2000 {
            let mut damaged = file.clone();
            for _ in 0..1 + random(8) {
                let at = 16 + random(damaged.len() - 16);
                damaged[at] = [0, 1, 5, 13, 0x7f, 0x80, 0xff][random(7)];
            }
            damaged.truncate(damaged.len() - random(2) * random(damaged.len()));
            let _rows = read(&[damaged, vec![]]);
        }
        // Pages that are their own children end.
        for kind in [INNER, LEAF] {
            let mut circle = file.clone();
            for page in circle.chunks_exact_mut(512).skip(1) {
                page.fill(0);
                page[..12].copy_from_slice(&[kind, 0, 0, 0, 120, 0, 0, 0, 0, 0, 0, 3]);
            }
            let _rows = read(&[circle, vec![]]);
        }
    }

    #[test]
    fn names_of_columns_are_in_the_sql() {
        assert_eq!(column_names("CREATE TABLE t (a, [b] int, 'c' x(1,2), \"d\")"), ["a", "b", "c", "d"]);
        assert!(column_names("CREATE VIRTUAL TABLE t").is_empty());
    }
}
