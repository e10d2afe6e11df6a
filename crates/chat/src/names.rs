//! Names for conversations that the user has not named: three words that can be read aloud.

const QUALITIES: [&str; 32] = [
    "amber", "bold", "brave", "bright", "calm", "clear", "crisp", "eager", "early", "fair", "fast", "fond",
    "free", "fresh", "gentle", "glad", "grand", "keen", "kind", "light", "lively", "merry", "mild", "neat",
    "proud", "quick", "quiet", "sharp", "steady", "sunny", "warm", "wise",
];
const COLOURS: [&str; 32] = [
    "azure", "beige", "black", "blue", "bronze", "brown", "coral", "cream", "crimson", "cyan", "ebony",
    "fawn", "gold", "green", "grey", "hazel", "indigo", "ivory", "jade", "lemon", "lilac", "lime", "mauve",
    "ochre", "olive", "pearl", "pink", "plum", "red", "rust", "silver", "white",
];
const ANIMALS: [&str; 32] = [
    "badger", "bear", "bison", "crane", "crow", "deer", "dove", "eagle", "falcon", "finch", "fox", "gull",
    "hare", "hawk", "heron", "ibis", "jay", "kite", "lark", "lynx", "marten", "mole", "moose", "otter",
    "owl", "raven", "robin", "seal", "stork", "swan", "wolf", "wren",
];

/// A name of three lower-case words (SS-32), chosen by the bits of `seed`.
pub fn three_words(seed: u64) -> String {
    let word = |list: &[&'static str; 32], shift: u32| list[(seed >> shift) as usize % list.len()];
    format!("{}-{}-{}", word(&QUALITIES, 0), word(&COLOURS, 5), word(&ANIMALS, 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    // SS-32
    #[test]
    fn names_are_three_lower_case_words() {
        for seed in [0, 1, u64::MAX, 0x1234_5678_9abc_def0] {
            let name = three_words(seed);
            let words: Vec<&str> = name.split('-').collect();
            assert_eq!(words.len(), 3, "{name}");
            assert!(
                words.iter().all(|word| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase()))
            );
        }
        assert_ne!(three_words(0), three_words(1));
        assert_ne!(three_words(0), three_words(1 << 10));
    }
}
