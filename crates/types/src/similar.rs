//! Names that resemble one another, for "did you mean" in messages.

use crate::limits;

/// A question that names the known names which resemble `name`; `None` if none does.
pub fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let mut found: Vec<(usize, &str)> =
        known.into_iter().filter_map(|one| Some((distance(name, one)?, one))).collect();
    found.sort_unstable();
    found.dedup();
    // What is further off than another name is not meant.
    let closest = found.first().map_or(0, |(distance, _)| *distance);
    found.retain(|(distance, _)| *distance == closest);
    let names: Vec<String> =
        found.iter().take(limits::SUGGESTED).map(|(_, name)| format!("'{name}'")).collect();
    match names.as_slice() {
        [] => None,
        [one] => Some(format!("did you mean {one}?")),
        [rest @ .., last] => Some(format!("did you mean {} or {last}?", rest.join(", "))),
    }
}

/// How far a name is from what was written, if it may be meant: the beginning of a name is closest, then come typing errors.
fn distance(written: &str, known: &str) -> Option<usize> {
    let (written, known) = (written.to_lowercase(), known.to_lowercase());
    if written.is_empty() || written == known {
        return (!written.is_empty()).then_some(0);
    }
    if known.starts_with(&written) {
        return Some(1);
    }
    let length = written.chars().count();
    // The lengths bound the work for any text of a client.
    if length > crate::SessionName::MAX_LEN || length.abs_diff(known.chars().count()) > length {
        return None;
    }
    let allowed = (length / 3).max(1);
    let edits = strsim::osa_distance(&written, &known);
    // A single letter resembles everything.
    (length > 1 && edits <= allowed).then_some(1 + edits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_errors_and_beginnings_are_recognised() {
        let known = ["api", "apple-pie", "build", "build-2", "z"];
        let meant = |name| did_you_mean(name, known);
        assert_eq!(meant("aip").as_deref(), Some("did you mean 'api'?"), "letters swapped");
        assert_eq!(meant("appel-pie").as_deref(), Some("did you mean 'apple-pie'?"));
        assert_eq!(meant("BUILD-2").as_deref(), Some("did you mean 'build-2'?"));
        assert_eq!(meant("buil").as_deref(), Some("did you mean 'build' or 'build-2'?"));
        assert_eq!(meant("ap").as_deref(), Some("did you mean 'api' or 'apple-pie'?"));
        for name in ["", "x", "nobody", "database"] {
            assert_eq!(meant(name), None, "{name}");
        }
        assert_eq!(did_you_mean(&"a".repeat(1 << 20), known), None);
    }

    #[test]
    fn few_names_are_suggested() {
        let known: Vec<String> = (0..10).map(|n| format!("api-{n}")).collect();
        let meant = did_you_mean("api", known.iter().map(String::as_str)).unwrap();
        assert_eq!(meant, "did you mean 'api-0', 'api-1' or 'api-2'?");
    }
}
