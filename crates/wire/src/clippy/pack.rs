//! The part of MessagePack that messages need: reads maps with known keys, writes small maps.
//!
//! Values borrow from their frame. No memory is allocated for a declared length, and nested values are skipped by
//! counting, so nesting needs no stack.

use rmp::Marker;
use rmp::decode::{RmpRead, read_marker};
use rmp::encode;

/// Every key that the protocol defines.
const KEYS: [&str; 23] = [
    "type",
    "id",
    "version",
    "role",
    "session",
    "pid",
    "pattern",
    "content",
    "interrupted",
    "timestamp",
    "turn_id",
    "limit",
    "sink",
    "path",
    "status",
    "error",
    "size",
    "byte_length",
    "truncated",
    "has_turn",
    "client_pids",
    "sessions",
    "turns",
];

/// The bytes are not MessagePack, or end too early.
#[derive(Debug)]
pub(super) struct Bad;

/// A value, as far as the protocol uses it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value<'a> {
    Array {
        count: u32,
        items: &'a [u8],
    },
    Bin(&'a [u8]),
    Bool(bool),
    Map,
    Nil,
    /// Negative integers, floating point and extensions: no field has them.
    Other,
    Str(&'a [u8]),
    Unsigned(u64),
}

impl<'a> Value<'a> {
    pub(super) fn bool(self) -> Option<bool> {
        if let Self::Bool(value) = self { Some(value) } else { None }
    }

    /// Content is sent as `bin` or as `str` (CB-18).
    pub(super) fn bytes(self) -> Option<&'a [u8]> {
        if let Self::Bin(bytes) | Self::Str(bytes) = self { Some(bytes) } else { None }
    }

    /// Absent and nil are the same.
    pub(super) fn is_nil(self) -> bool {
        matches!(self, Self::Nil)
    }

    pub(super) fn str(self) -> Option<&'a str> {
        if let Self::Str(bytes) = self { std::str::from_utf8(bytes).ok() } else { None }
    }

    pub(super) fn u32(self) -> Option<u32> {
        self.u64().and_then(|value| u32::try_from(value).ok())
    }

    pub(super) fn u64(self) -> Option<u64> {
        if let Self::Unsigned(value) = self { Some(value) } else { None }
    }
}

/// Reads an array of integers; those that are none are left out.
pub(super) fn uints(value: Value<'_>) -> Vec<u32> {
    let Value::Array { count, mut items } = value else { return Vec::new() };
    (0..count).map_while(|_| read_value(&mut items).ok()).filter_map(Value::u32).collect()
}

/// The known fields of one map.
#[derive(Debug)]
pub(super) struct Fields<'a>([Value<'a>; KEYS.len()]);

impl<'a> Fields<'a> {
    /// Reads a whole map; the bytes after it stay in `bytes`. If a key occurs twice, the last one counts.
    pub(super) fn read(bytes: &mut &'a [u8]) -> Result<Self, Bad> {
        let pairs = match read_marker(bytes).map_err(|_| Bad)? {
            Marker::FixMap(pairs) => u32::from(pairs),
            Marker::Map16 => u32::from(bytes.read_data_u16().map_err(|_| Bad)?),
            Marker::Map32 => bytes.read_data_u32().map_err(|_| Bad)?,
            _ => return Err(Bad),
        };
        let mut fields = [Value::Nil; KEYS.len()];
        for _ in 0..pairs {
            let key = read_value(bytes)?;
            let value = read_value(bytes)?;
            let slot = key.str().and_then(|key| KEYS.iter().position(|known| *known == key));
            if let Some(slot) = slot.and_then(|slot| fields.get_mut(slot)) {
                *slot = value;
            }
        }
        Ok(Self(fields))
    }

    /// The value of a key of [`KEYS`]; nil when it is absent.
    pub(super) fn get(&self, key: &str) -> Value<'a> {
        let slot = KEYS.iter().position(|known| *known == key);
        debug_assert!(slot.is_some(), "{key} is not in the list");
        slot.and_then(|slot| self.0.get(slot)).copied().unwrap_or(Value::Nil)
    }
}

/// Reads one value and everything in it.
fn read_value<'a>(bytes: &mut &'a [u8]) -> Result<Value<'a>, Bad> {
    let (value, inside) = read_head(bytes)?;
    let items = *bytes;
    let mut pending = inside;
    while pending > 0 {
        // Each round consumes at least a byte and adds less than 2^33, so this ends and does not overflow.
        pending = pending - 1 + read_head(bytes)?.1;
    }
    Ok(match value {
        Value::Array { count, .. } => {
            Value::Array { count, items: items.get(..items.len() - bytes.len()).unwrap_or_default() }
        }
        other => other,
    })
}

/// Reads a value up to its nested values, and returns their number.
fn read_head<'a>(bytes: &mut &'a [u8]) -> Result<(Value<'a>, u64), Bad> {
    let marker = read_marker(bytes).map_err(|_| Bad)?;
    let value = match marker {
        Marker::Null => Value::Nil,
        Marker::True => Value::Bool(true),
        Marker::False => Value::Bool(false),
        Marker::FixPos(value) => Value::Unsigned(value.into()),
        Marker::FixNeg(_) => Value::Other,
        Marker::U8 | Marker::U16 | Marker::U32 | Marker::U64 => Value::Unsigned(unsigned(marker, bytes)?),
        Marker::I8 | Marker::I16 | Marker::I32 | Marker::I64 => {
            u64::try_from(signed(marker, bytes)?).map_or(Value::Other, Value::Unsigned)
        }
        Marker::FixStr(_) | Marker::Str8 | Marker::Str16 | Marker::Str32 => {
            Value::Str(counted(marker, bytes)?)
        }
        Marker::Bin8 | Marker::Bin16 | Marker::Bin32 => Value::Bin(counted(marker, bytes)?),
        Marker::FixArray(_) | Marker::Array16 | Marker::Array32 => {
            let count = length(marker, bytes)?;
            return Ok((Value::Array { count, items: &[] }, count.into()));
        }
        Marker::FixMap(_) | Marker::Map16 | Marker::Map32 => {
            return Ok((Value::Map, 2 * u64::from(length(marker, bytes)?)));
        }
        Marker::F32 | Marker::F64 => skip(bytes, if marker == Marker::F32 { 4 } else { 8 })?,
        Marker::FixExt1 => skip(bytes, 2)?,
        Marker::FixExt2 => skip(bytes, 3)?,
        Marker::FixExt4 => skip(bytes, 5)?,
        Marker::FixExt8 => skip(bytes, 9)?,
        Marker::FixExt16 => skip(bytes, 17)?,
        Marker::Ext8 | Marker::Ext16 | Marker::Ext32 => {
            let len = length(marker, bytes)?;
            skip(bytes, 1)?;
            skip(bytes, len)?
        }
        Marker::Reserved => return Err(Bad),
    };
    Ok((value, 0))
}

fn unsigned(marker: Marker, bytes: &mut &[u8]) -> Result<u64, Bad> {
    match marker {
        Marker::U8 => bytes.read_data_u8().map(u64::from),
        Marker::U16 => bytes.read_data_u16().map(u64::from),
        Marker::U32 => bytes.read_data_u32().map(u64::from),
        _ => bytes.read_data_u64(),
    }
    .map_err(|_| Bad)
}

fn signed(marker: Marker, bytes: &mut &[u8]) -> Result<i64, Bad> {
    match marker {
        Marker::I8 => bytes.read_data_i8().map(i64::from),
        Marker::I16 => bytes.read_data_i16().map(i64::from),
        Marker::I32 => bytes.read_data_i32().map(i64::from),
        _ => bytes.read_data_i64(),
    }
    .map_err(|_| Bad)
}

fn length(marker: Marker, bytes: &mut &[u8]) -> Result<u32, Bad> {
    match marker {
        Marker::FixStr(len) | Marker::FixArray(len) | Marker::FixMap(len) => Ok(len.into()),
        Marker::Str8 | Marker::Bin8 | Marker::Ext8 => bytes.read_data_u8().map(u32::from),
        Marker::Str16 | Marker::Bin16 | Marker::Ext16 | Marker::Array16 | Marker::Map16 => {
            bytes.read_data_u16().map(u32::from)
        }
        _ => bytes.read_data_u32(),
    }
    .map_err(|_| Bad)
}

fn counted<'a>(marker: Marker, bytes: &mut &'a [u8]) -> Result<&'a [u8], Bad> {
    let len = length(marker, bytes)?;
    take(bytes, len)
}

fn take<'a>(bytes: &mut &'a [u8], len: u32) -> Result<&'a [u8], Bad> {
    let (taken, rest) = bytes.split_at_checked(len as usize).ok_or(Bad)?;
    *bytes = rest;
    Ok(taken)
}

fn skip<'a>(bytes: &mut &'a [u8], len: u32) -> Result<Value<'a>, Bad> {
    take(bytes, len).map(|_| Value::Other)
}

/// Appends one map, key by key.
#[derive(Debug)]
pub(super) struct MapWriter<'a> {
    out: &'a mut Vec<u8>,
    /// Position of the count. It is one byte, because no message has more than 15 fields.
    start: usize,
}

/// First byte of a map without keys; the number of keys is added to it.
const EMPTY_MAP: u8 = 0x80;

impl<'a> MapWriter<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        let start = out.len();
        out.push(EMPTY_MAP);
        Self { out, start }
    }

    pub(super) fn bin(&mut self, key: &str, value: &[u8]) {
        self.bin_head(key, value.len());
        self.out.extend_from_slice(value);
    }

    /// Writes the head of content that the caller appends; nothing else may follow.
    pub(super) fn bin_head(&mut self, key: &str, len: usize) {
        self.key(key);
        sure(encode::write_bin_len(self.out, saturated(len)));
    }

    pub(super) fn bool(&mut self, key: &str, value: bool) {
        self.key(key);
        sure(encode::write_bool(self.out, value));
    }

    pub(super) fn str(&mut self, key: &str, value: &str) {
        self.key(key);
        sure(encode::write_str(self.out, value));
    }

    pub(super) fn uint(&mut self, key: &str, value: impl Into<u64>) {
        self.key(key);
        sure(encode::write_uint(self.out, value.into()));
    }

    /// Appends an array of integers.
    pub(super) fn uints(&mut self, key: &str, values: &[u32]) {
        self.key(key);
        sure(encode::write_array_len(self.out, saturated(values.len())));
        for value in values {
            sure(encode::write_uint(self.out, u64::from(*value)));
        }
    }

    /// Appends an array of maps.
    pub(super) fn maps<T>(&mut self, key: &str, items: &[T], write: impl Fn(&T, &mut MapWriter<'_>)) {
        self.key(key);
        sure(encode::write_array_len(self.out, saturated(items.len())));
        for item in items {
            write(item, &mut MapWriter::new(self.out));
        }
    }

    fn key(&mut self, key: &str) {
        if let Some(count) = self.out.get_mut(self.start) {
            debug_assert!(*count < EMPTY_MAP + 15, "too many fields");
            *count += 1;
        }
        sure(encode::write_str(self.out, key));
    }
}

/// A length that does not fit is detected when the whole message is measured.
fn saturated(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

/// A `Vec` takes every write.
fn sure<T, E>(written: Result<T, E>) {
    debug_assert!(written.is_ok(), "writing to memory");
}
