//! Images in a text, by their names: a path in a message, or an address in Markdown.

/// Endings of the names of images.
const ENDINGS: [&str; 11] =
    ["png", "jpg", "jpeg", "gif", "webp", "bmp", "svg", "tif", "tiff", "heic", "avif"];

/// What stands before the name of an image.
pub const MARK: &str = "▣ ";

/// The names of the images whose paths are in a text, each once, in their order. Terminals paste a file that is dropped
/// onto them as a path in quotes, with backslashes, or as an address.
pub fn names(text: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for path in words(text) {
        let is_path = path.contains('/') && path.rsplit_once('.').is_some_and(|(_, ending)| is_image(ending));
        let name = name_of(&path);
        if is_path && !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The last part of a path or an address.
pub(crate) fn name_of(path: &str) -> String {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    if path.contains("://") { name.replace("%20", " ") } else { name.to_owned() }
}

fn is_image(ending: &str) -> bool {
    ENDINGS.contains(&ending.to_ascii_lowercase().as_str())
}

/// The words of a text as a shell separates them.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    let mut escaped = false;
    for c in text.chars() {
        let Some(word) = words.last_mut() else { break };
        match c {
            _ if std::mem::take(&mut escaped) => word.push(c),
            '\\' if quote != Some('\'') => escaped = true,
            // An apostrophe within a word is none that quotes.
            '\'' | '"' if quote == Some(c) => quote = None,
            '\'' | '"' if quote.is_none() && word.is_empty() => quote = Some(c),
            '\n' => {
                quote = None;
                words.push(String::new());
            }
            c if c.is_whitespace() && quote.is_none() => words.push(String::new()),
            c => word.push(c),
        }
    }
    let trimmed = |word: String| word.trim_matches([',', ';', ':', '(', ')', '.', '!', '?']).to_owned();
    words.into_iter().filter(|word| !word.is_empty()).map(trimmed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pasted_paths_are_images() {
        for (text, wanted) in [
            ("look at /tmp/a/shot.png, please", vec!["shot.png"]),
            ("'/tmp/with blank/a b.JPG'", vec!["a b.JPG"]),
            (r"/tmp/with\ blank/a\ b.webp", vec!["a b.webp"]),
            ("file:///tmp/a%20b.gif ./x.svg", vec!["a b.gif", "x.svg"]),
            ("/a/one.png /b/one.png", vec!["one.png"]),
            ("main.rs shot.png don't", vec![]),
            ("it's in ~/x.png", vec!["x.png"]),
            ("\"unclosed\n/a/b.png", vec!["b.png"]),
            ("", vec![]),
        ] {
            assert_eq!(names(text), wanted, "{text}");
        }
    }
}
