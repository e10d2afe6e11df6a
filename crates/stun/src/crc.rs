//! The checksum of the FINGERPRINT attribute: CRC-32 as in ISO 3309. Bit by bit, because messages are short and rare.

/// The CRC-32 of several pieces, one after the other.
pub(crate) fn crc32(pieces: &[&[u8]]) -> u32 {
    const POLYNOMIAL: u32 = 0xedb8_8320;
    let mut crc = u32::MAX;
    for byte in pieces.iter().copied().flatten() {
        crc ^= u32::from(*byte);
        for _bit in 0..8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ POLYNOMIAL } else { crc >> 1 };
        }
    }
    !crc
}

#[cfg(test)]
mod tests {
    use super::crc32;

    #[test]
    fn the_usual_check_value_is_found() {
        assert_eq!(crc32(&[b"1234", b"56789"]), 0xcbf4_3926);
        assert_eq!(crc32(&[]), 0);
    }
}
