//! A control sequence, taken apart.

use crate::limits;

/// A control sequence without its `ESC [`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Csi {
    /// One of `<=>?`, or 0.
    pub private: u8,
    /// The last intermediate, or 0. No sequence we know has two.
    pub intermediate: u8,
    /// The final byte: what it does.
    pub action: u8,
    params: [u16; limits::CSI_PARAMS],
    /// Bit `n` is set when parameter `n` follows a colon.
    colons: u32,
    len: u8,
}

impl Csi {
    /// Takes the bytes from after `ESC [` to the final one; nothing when they are in a wrong order.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let (&action, mut rest) = bytes.split_last()?;
        let mut csi =
            Self { private: 0, intermediate: 0, action, params: [0; limits::CSI_PARAMS], colons: 0, len: 0 };
        if let Some((&marker @ b'<'..=b'?', tail)) = rest.split_first() {
            csi.private = marker;
            rest = tail;
        }
        while let Some((&intermediate @ 0x20..0x30, head)) = rest.split_last() {
            if csi.intermediate != 0 {
                return None;
            }
            csi.intermediate = intermediate;
            rest = head;
        }
        csi.parse_params(rest).then_some(csi)
    }

    /// Reads a control sequence from the bytes behind its `ESC [`, and how many of them it takes. Nothing unless it is all
    /// there and has nothing but a private marker and parameters, as nearly all have.
    #[inline]
    pub(crate) fn parse_plain(bytes: &[u8]) -> Option<(Self, usize)> {
        let private = *bytes.first().filter(|byte| matches!(byte, b'<'..=b'?')).unwrap_or(&0);
        let start = usize::from(private != 0);
        let mut csi = Self { private, intermediate: 0, action: 0, params: [0; _], colons: 0, len: 0 };
        let (mut n, mut value, mut at) = (0, 0u32, start);
        let bytes = &bytes[..bytes.len().min(limits::CSI_BYTES - 3)];
        while let Some(&byte) = bytes.get(at) {
            at += 1;
            match byte {
                b'0'..=b'9' => value = (value * 10 + u32::from(byte - b'0')).min(u16::MAX.into()),
                b';' | b':' => {
                    csi.params[n] = value as u16;
                    (n, value) = (n + 1, 0);
                    if n == limits::CSI_PARAMS {
                        return None;
                    }
                    csi.colons |= u32::from(byte == b':') << n;
                }
                0x40..=0x7e => {
                    csi.params[n] = value as u16;
                    csi.len = if at == start + 1 { 0 } else { n as u8 + 1 };
                    csi.action = byte;
                    return Some((csi, at));
                }
                _ => return None,
            }
        }
        None
    }

    /// Whether parameters are joined by colons.
    pub(crate) fn has_groups(&self) -> bool {
        self.colons != 0
    }

    fn parse_params(&mut self, bytes: &[u8]) -> bool {
        if bytes.is_empty() {
            return true;
        }
        let mut at = 0;
        for &byte in bytes {
            match byte {
                b'0'..=b'9' => {
                    if let Some(param) = self.params.get_mut(at) {
                        *param = param.saturating_mul(10).saturating_add(u16::from(byte - b'0'));
                    }
                }
                b';' | b':' => {
                    at += 1;
                    if byte == b':' && at < limits::CSI_PARAMS {
                        self.colons |= 1 << at;
                    }
                }
                _ => return false,
            }
        }
        self.len = (at + 1).min(limits::CSI_PARAMS) as u8;
        true
    }

    /// All parameters; empty ones are 0.
    pub fn params(&self) -> &[u16] {
        &self.params[..usize::from(self.len)]
    }

    /// Parameter `n`, or 0.
    pub fn param(&self, n: usize) -> u16 {
        self.params().get(n).copied().unwrap_or(0)
    }

    /// Parameter `n` as a count: neither absent nor 0.
    pub fn count(&self, n: usize) -> usize {
        usize::from(self.param(n).max(1))
    }

    /// The parameters in groups that are joined by colons.
    pub fn groups(&self) -> impl Iterator<Item = &[u16]> {
        let params = self.params();
        let mut at = 0;
        std::iter::from_fn(move || {
            let start = at;
            if start >= params.len() {
                return None;
            }
            at += 1;
            while at < params.len() && self.colons & (1 << at) != 0 {
                at += 1;
            }
            Some(&params[start..at])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_come_in_groups() {
        let csi = Csi::parse(b"1;4:3;;58:2::1:2:300000m").unwrap();
        let groups: Vec<&[u16]> = csi.groups().collect();
        assert_eq!(groups, [&[1][..], &[4, 3], &[0], &[58, 2, 0, 1, 2, 65535]]);
        assert_eq!((csi.private, csi.intermediate, csi.action), (0, 0, b'm'));
    }

    #[test]
    fn markers_and_intermediates_have_their_places() {
        let csi = Csi::parse(b"?2026$p").unwrap();
        assert_eq!((csi.private, csi.intermediate, csi.param(0)), (b'?', b'$', 2026));
        assert_eq!(Csi::parse(b"1?m"), None);
        assert_eq!(Csi::parse(b"$$p"), None);
        assert_eq!(Csi::parse(b"$1p"), None);
        assert_eq!(Csi::parse(b"c").unwrap().params(), &[] as &[u16]);
    }

    #[test]
    fn plain_sequences_are_read_in_one_pass() {
        for text in ["m", "1m", "1;4:3;;58:2::1:2:300000m", "?25h", ";H", "65535;65536;99999999999G", "?;:m"]
        {
            let bytes = format!("{text}rest");
            let (csi, len) = Csi::parse_plain(bytes.as_bytes()).unwrap();
            assert_eq!((Csi::parse(text.as_bytes()), len), (Some(csi), text.len()), "{text}");
        }
        for other in ["", "1", "1;2", "1 q", "1\rm", "1?m", &"1;".repeat(40), &"1".repeat(600)] {
            assert_eq!(Csi::parse_plain(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn too_many_parameters_are_left_out() {
        let csi = Csi::parse(&[b"1;".repeat(100), b"m".to_vec()].concat()).unwrap();
        assert_eq!(csi.params(), [1; limits::CSI_PARAMS]);
    }
}
