//! Randomness for names and secrets.

pub(crate) use swb_operations::tokens::random as bytes;

/// Random characters of an alphabet, each equally likely.
pub(crate) fn word(alphabet: &[u8], length: usize) -> String {
    let mut word = String::new();
    // The largest multiple of the alphabet's size that fits a byte: bytes from there on would favour the first letters.
    let fair = 256 - 256 % alphabet.len().max(1);
    while word.len() < length {
        for byte in bytes::<16>() {
            let letter = alphabet.get(usize::from(byte) % alphabet.len().max(1));
            if let Some(letter) = letter.filter(|_| usize::from(byte) < fair && word.len() < length) {
                word.push(char::from(*letter));
            }
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_of_their_alphabet() {
        let word = word(b"abc", 200);
        assert!(word.len() == 200 && word.chars().all(|letter| "abc".contains(letter)));
        assert!("abc".chars().all(|letter| word.contains(letter)));
    }
}
