//! Reads standard input.

use crate::error::Failure;
use std::io::{self, Read};

/// Reads to the end; fails if that is more than `most` bytes.
pub(crate) fn read(most: usize) -> Result<Vec<u8>, Failure> {
    to_end(io::stdin().lock(), most)
}

/// Reads a text to the end; fails if that is more than `most` bytes.
pub(crate) fn text(most: usize) -> Result<String, Failure> {
    String::from_utf8(read(most)?).map_err(|_| Failure::general("standard input is not valid UTF-8"))
}

fn to_end(input: impl Read, most: usize) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    input
        .take((most as u64).saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::io("cannot read standard input", &error))?;
    if bytes.len() > most {
        return Err(Failure::general(format!("standard input is longer than {most} bytes")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endless_input_is_not_read_to_its_end() {
        assert_eq!(to_end(&b"abc"[..], 3).unwrap(), b"abc");
        let refused = to_end(io::repeat(b'x'), 1 << 20).unwrap_err();
        assert_eq!(refused.to_string(), "standard input is longer than 1048576 bytes");
    }
}
