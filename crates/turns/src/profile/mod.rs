//! What is known about each program, as data: its titles, its input line and its dialogs.
//!
//! The files are in `profiles/`; a user's files are read the same way and replace those of the same
//! name or command. A user's file is validated when it is loaded, so that a detector never sees an invalid pattern.

mod dialogs;
mod file;

pub(crate) use dialogs::Dialogs;

use crate::limits;
use crate::pattern::compile;
use crate::transcript::TranscriptFormat;
use regex::Regex;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// Why a profile is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {key}: {reason}")]
#[non_exhaustive]
pub struct ProfileError {
    /// The file, as the caller named it.
    pub file: String,
    /// The key, with its table, or where in the file.
    pub key: String,
    /// What is wrong with it.
    pub reason: String,
}

/// How a program shows its answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProgramKind {
    /// It writes lines and prompts.
    Line,
    /// It repaints the screen around an input box.
    Screen,
}

/// Patterns of which any may match.
#[derive(Debug, Clone, Default)]
pub(crate) struct Patterns(Vec<Regex>);

impl Patterns {
    pub(crate) fn any(&self, text: &str) -> bool {
        self.0.iter().any(|regex| regex.is_match(text))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Regex> {
        self.0.iter()
    }

    /// The end of the first match at the start of the text.
    pub(crate) fn prefix(&self, text: &str) -> Option<usize> {
        self.0
            .iter()
            .filter_map(|regex| regex.find(text))
            .find(|found| found.start() == 0)
            .map(|found| found.end())
    }
}

/// Patterns that map a text to a state.
#[derive(Debug, Clone, Default)]
pub(crate) struct Says {
    pub(crate) working: Patterns,
    pub(crate) ready: Patterns,
    pub(crate) asking: Patterns,
}

/// The line with the cursor at a prompt.
#[derive(Debug, Clone, Default)]
pub(crate) struct Prompt {
    pub(crate) ready: Patterns,
    pub(crate) continuation: Patterns,
    pub(crate) asking: Patterns,
    /// The line as it was written, escape sequences included, where this distinguishes a prompt from output.
    pub(crate) raw: Option<regex::bytes::Regex>,
    /// What the program writes between output that does not end its line and the prompt, escape sequences included.
    pub(crate) unfinished: Option<regex::bytes::Regex>,
    /// Silence after which the prompt alone is trusted.
    pub(crate) quiet: Duration,
    /// A line the program writes above its prompt: it and what follows are not part of the answer.
    pub(crate) header: Option<Regex>,
    /// Whether the prompt stays the same: another text that matches is trusted only after a longer silence.
    pub(crate) steady: bool,
    /// Any text matches while bracketed paste is on.
    pub(crate) any_while_pasting: bool,
    /// Whether a command without output is a turn; by the line rules alone it is not (CT-12).
    pub(crate) empty_turns: bool,
}

/// The layout of the screen.
#[derive(Debug, Clone, Default)]
pub(crate) struct View {
    pub(crate) anchor: Option<Regex>,
    pub(crate) anchor_above: Option<Regex>,
    pub(crate) body: Option<Regex>,
    pub(crate) busy_above: Patterns,
    pub(crate) busy_below: Patterns,
    pub(crate) asking: Patterns,
    /// The same for options without numbers.
    pub(crate) menu: Patterns,
    /// A row that names the keys of what has replaced the input box.
    pub(crate) overlay: Patterns,
    /// Whether that may be a window over the screen, with the input box still below it.
    pub(crate) windows: bool,
    pub(crate) done_above: Patterns,
    pub(crate) counter_below: Option<Regex>,
    pub(crate) echo: Option<Regex>,
    pub(crate) chrome: Patterns,
    /// The row that ends an answer: not part of it if a blank row, or nothing, follows.
    pub(crate) footer: Patterns,
    /// The first row of a note that is not part of an answer; the rows below that are indented further belong to it.
    pub(crate) notes: Patterns,
    /// Lines of an answer that will still change, such as the note that a command runs.
    pub(crate) unstable: Patterns,
    /// Rows whose text is drawn later, such as the mark of an item: what is left of them in the end was never shown.
    pub(crate) undrawn: Patterns,
    /// Number of lines at the end of an answer that may be redrawn.
    pub(crate) live_lines: Option<usize>,
    /// Silence after which the screen alone is trusted.
    pub(crate) quiet: Duration,
    pub(crate) bullets: String,
    pub(crate) indent: usize,
}

/// Everything known about one program.
#[derive(Debug, Clone)]
pub struct Profile {
    name: String,
    commands: Vec<String>,
    greeting: Patterns,
    pub(crate) kind: ProgramKind,
    /// How often Esc must be pressed to interrupt; 0 if it does not interrupt.
    pub(crate) escape_presses: u8,
    /// Names of the keys that empty the input.
    clear_keys: String,
    /// What the program's own commands begin with.
    command_prefixes: Vec<String>,
    transcript: Option<TranscriptFormat>,
    pub(crate) title: Says,
    pub(crate) notify: Says,
    pub(crate) prompt: Prompt,
    pub(crate) view: View,
    pub(crate) dialogs: Dialogs,
}

impl Profile {
    /// Parses a profile; `file` is its name in errors.
    ///
    /// # Errors
    /// When it is not TOML, has unknown or missing keys, or a pattern does not compile.
    pub fn parse(file: &str, text: &str) -> Result<Self, ProfileError> {
        let error =
            |key: &str, reason: String| ProfileError { file: file.to_owned(), key: key.to_owned(), reason };
        if text.len() > limits::PROFILE_BYTES {
            return Err(error("file", format!("larger than {} bytes", limits::PROFILE_BYTES)));
        }
        file::File::read(text).and_then(file::File::check).map_err(|(key, reason)| error(&key, reason))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it repaints the screen or writes lines.
    pub fn kind(&self) -> ProgramKind {
        self.kind
    }

    /// The format of its session files, if it writes any that can be read.
    pub fn transcript(&self) -> Option<TranscriptFormat> {
        self.transcript
    }

    /// Names of the keys that interrupt it, to be pressed one after the other.
    pub fn interrupt_keys(&self) -> Vec<&'static str> {
        match self.escape_presses {
            0 => vec!["C-c"],
            presses => vec!["Escape"; usize::from(presses)],
        }
    }

    /// Names of the keys that clear the input.
    pub fn clear_keys(&self) -> Vec<&str> {
        self.clear_keys.split_whitespace().collect()
    }

    /// Whether the program takes a submitted text for one of its commands rather than for a prompt.
    pub fn is_command(&self, text: &str) -> bool {
        let text = visible_start(text);
        self.command_prefixes.iter().any(|prefix| text.starts_with(prefix.as_str()))
    }
}

/// Whether a program takes a submitted text for a command; one without a profile is expected to take the usual ones.
pub fn is_command(profile: Option<&Profile>, text: &str) -> bool {
    match profile {
        Some(profile) => profile.is_command(text),
        None => file::COMMAND_PREFIXES.iter().any(|prefix| visible_start(text).starts_with(prefix)),
    }
}

/// A text from the first character on that a program cannot ignore: agents skip blanks before a command, or may from
/// their next release on, and what is typed for a user has no control characters. Some also skip characters of no width.
fn visible_start(text: &str) -> &str {
    let invisible = |c: char| matches!(c, '\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    text.trim_start_matches(|c: char| c.is_whitespace() || c.is_control() || invisible(c))
}

/// The available profiles: those of the user, then the built-in ones.
#[derive(Debug, Clone)]
pub struct Profiles {
    all: Vec<Arc<Entry>>,
}

/// A profile and what it is chosen by. The patterns of a built-in one are compiled when it is first used: those of all
/// programs take longer than the rest of a daemon's start, and most daemons see two or three programs.
#[derive(Debug)]
struct Entry {
    name: String,
    commands: Vec<String>,
    kind: ProgramKind,
    profile: LazyLock<Arc<Profile>, Box<dyn FnOnce() -> Arc<Profile> + Send>>,
}

impl Entry {
    fn built_in(file: &'static str, text: &'static str) -> Result<Self, ProfileError> {
        let read = file::File::read(text).map_err(|(key, reason)| ProfileError {
            file: file.to_owned(),
            key,
            reason,
        })?;
        let compile = move || {
            let profile = Profile::parse(file, text);
            Arc::new(profile.unwrap_or_else(|_| unreachable!("a built-in profile is valid, as a test shows")))
        };
        Ok(Self {
            name: read.name,
            commands: read.commands,
            kind: read.kind,
            profile: LazyLock::new(Box::new(compile)),
        })
    }

    fn loaded(profile: Profile) -> Self {
        Self {
            name: profile.name.clone(),
            commands: profile.commands.clone(),
            kind: profile.kind,
            profile: LazyLock::new(Box::new(move || Arc::new(profile))),
        }
    }

    fn profile(&self) -> Arc<Profile> {
        Arc::clone(&self.profile)
    }
}

const BUILT_IN: [(&str, &str); 11] = [
    ("claude.toml", include_str!("../../profiles/claude.toml")),
    ("codex.toml", include_str!("../../profiles/codex.toml")),
    ("gemini.toml", include_str!("../../profiles/gemini.toml")),
    ("opencode.toml", include_str!("../../profiles/opencode.toml")),
    ("aider.toml", include_str!("../../profiles/aider.toml")),
    ("shell.toml", include_str!("../../profiles/shell.toml")),
    ("python.toml", include_str!("../../profiles/python.toml")),
    ("node.toml", include_str!("../../profiles/node.toml")),
    ("sqlite.toml", include_str!("../../profiles/sqlite.toml")),
    ("gdb.toml", include_str!("../../profiles/gdb.toml")),
    ("generic.toml", include_str!("../../profiles/generic.toml")),
];

impl Profiles {
    /// The built-in profiles.
    ///
    /// # Errors
    /// Never, as a test shows; the type is that of the checks they go through.
    pub fn built_in() -> Result<Self, ProfileError> {
        let all = BUILT_IN.iter().map(|(file, text)| Entry::built_in(file, text).map(Arc::new));
        Ok(Self { all: all.collect::<Result<_, _>>()? })
    }

    /// Adds a user's profile before all others.
    ///
    /// # Errors
    /// See [`Profile::parse`].
    pub fn add(&mut self, file: &str, text: &str) -> Result<(), ProfileError> {
        self.all.insert(0, Arc::new(Entry::loaded(Profile::parse(file, text)?)));
        Ok(())
    }

    /// The profile with this name.
    pub fn named(&self, name: &str) -> Option<Arc<Profile>> {
        self.all.iter().find(|entry| entry.name == name).map(|entry| entry.profile())
    }

    /// The profile for a command, by its file name; that of the interpreter if the script's
    /// name is unknown. `generic` for unknown commands.
    ///
    /// # Panics
    /// Never: `generic` is built in.
    pub fn for_command<'a>(&self, argv: impl IntoIterator<Item = &'a str>) -> Option<Arc<Profile>> {
        let mut words = argv.into_iter();
        let first = words.next().map(base_name).unwrap_or_default();
        // `env claude`, `npx codex`, `node /usr/lib/…/gemini.js`, `uv run aider`.
        let runners = ["env", "npx", "bunx", "node", "bun", "uv", "uvx", "pipx", "python", "python3", "nice"];
        let others =
            words.filter(|word| !word.starts_with('-') && !word.contains('=')).take(3).map(base_name);
        let candidates = runners.contains(&first.as_str()).then(|| others.collect::<Vec<_>>());
        let by_argument = candidates.into_iter().flatten().find_map(|name| {
            self.by_command(&name).filter(|entry| entry.kind == ProgramKind::Screen || entry.name == "aider")
        });
        let entry = by_argument.or_else(|| self.by_command(&first));
        entry.map(Entry::profile).or_else(|| self.named("generic"))
    }

    /// The profile of an unnamed program, by the rows and the title it shows when it starts.
    pub fn for_screen<'a>(&self, shown: impl Iterator<Item = &'a str> + Clone) -> Option<Arc<Profile>> {
        let greets = |profile: &Arc<Profile>| shown.clone().any(|text| profile.greeting.any(text));
        self.iter().find(greets)
    }

    /// All profiles; of those with the same name, the first is in force.
    pub fn iter(&self) -> impl Iterator<Item = Arc<Profile>> {
        self.all.iter().map(|entry| entry.profile())
    }

    /// Their names, sorted.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.all.iter().map(|entry| entry.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    fn by_command(&self, name: &str) -> Option<&Entry> {
        let runs = |entry: &&Arc<Entry>| entry.commands.iter().any(|command| command == name);
        self.all.iter().find(runs).map(Arc::as_ref)
    }
}

/// `/usr/bin/python3.11` is `python3`, `-bash` is `bash`, `gemini.js` is `gemini`.
fn base_name(word: &str) -> String {
    let name = word.rsplit('/').next().unwrap_or(word).trim_start_matches('-');
    let name = name.split_once('.').map_or(name, |(name, _)| name);
    name.to_lowercase()
}

fn patterns(key: &str, list: &[String]) -> Result<Patterns, (String, String)> {
    if list.len() > limits::PATTERNS {
        return Err((key.to_owned(), format!("more than {} patterns", limits::PATTERNS)));
    }
    let compiled =
        list.iter().enumerate().map(|(n, text)| compile(text).map_err(|why| (format!("{key}[{n}]"), why)));
    Ok(Patterns(compiled.collect::<Result<_, _>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built_in() -> Profiles {
        Profiles::built_in().unwrap()
    }

    fn chosen(argv: &str) -> String {
        built_in().for_command(argv.split(' ')).unwrap().name().to_owned()
    }

    #[test]
    fn built_in_profiles_are_valid() {
        for (file, text) in BUILT_IN {
            Profile::parse(file, text).unwrap();
        }
    }

    #[test]
    fn the_command_selects_the_profile() {
        for (argv, name) in [
            ("claude", "claude"),
            ("/usr/local/bin/codex --no-alt-screen", "codex"),
            ("node /usr/lib/node_modules/gemini.js", "gemini"),
            ("node", "node"),
            ("node server.js", "node"),
            ("-bash", "shell"),
            ("python3.11 -i", "python"),
            ("python3 -m aider", "aider"),
            ("env FOO=1 claude", "claude"),
            ("some-tool", "generic"),
        ] {
            assert_eq!(chosen(argv), name, "{argv}");
        }
    }

    #[test]
    fn a_users_profile_replaces_a_built_in_one() {
        let mut profiles = built_in();
        let text = "name = \"mine\"\ncommands = [\"bash\"]\nkind = \"line\"\n[prompt]\nready = ['^% ']\n";
        profiles.add("mine.toml", text).unwrap();
        assert_eq!(profiles.for_command(["bash"]).unwrap().name(), "mine");
        assert_eq!(profiles.for_command(["zsh"]).unwrap().name(), "shell");
    }

    #[test]
    fn a_text_is_a_command_by_its_beginning() {
        let is_command = |profile: &str, text| built_in().named(profile).unwrap().is_command(text);
        for (profile, text) in [
            ("claude", "!ls"),
            ("claude", "/clear"),
            ("claude", "# remember"),
            ("codex", "!ls"),
            ("codex", "  \n !ls"),
            ("codex", "\u{1}\u{7f}!ls"),
            ("codex", "\u{feff} \u{200b}!ls"),
            ("gemini", "/quit"),
            ("gemini", "@README.md"),
            ("opencode", "!ls"),
            ("aider", "/run ls"),
            ("generic", ":q"),
        ] {
            assert!(is_command(profile, text), "{profile}: {text}");
        }
        for text in ["[from api, turn 3]\n!ls", "see !ls", "a/b", ""] {
            assert!(!built_in().iter().any(|profile| profile.is_command(text)), "{text}");
        }
    }

    #[test]
    fn errors_name_file_and_key() {
        let bad = |text: &str| Profile::parse("my.toml", text).unwrap_err().to_string();
        let error = bad("name = \"x\"\nkind = \"line\"\n[prompt]\nready = ['ok', '(']\n");
        assert!(error.starts_with("my.toml: prompt.ready[1]: "), "{error}");
        let error = bad("name = \"x\"\nkind = \"line\"\nnonsense = 1\n");
        assert!(error.contains("line 3") && error.contains("nonsense"), "{error}");
        let error = bad("name = \"x\"\nkind = \"screen\"\n");
        assert!(error.contains("screen.anchor"), "{error}");
        let error = bad("name = \"x\"\nkind = \"line\"\n");
        assert!(error.contains("prompt"), "{error}");
        let error = bad("name = \"x\"\nkind = \"line\"\n[screen]\nquiet_ms = 60000\n");
        assert!(error.contains("screen.quiet_ms: must be from 400 to 3000"), "{error}");
        assert!(bad("name = \"\"\nkind = \"line\"\n").contains("name"));
        assert!(bad("kind = \"other\"").contains("line 1"));
        let error = bad("name = \"x\"\nkind = \"line\"\nclear_keys = \"C-u Nonsense\"\n");
        assert!(error.contains("clear_keys: unknown key `Nonsense`"), "{error}");
        let error = bad("name = \"x\"\nkind = \"line\"\ntranscript = \"word\"\n");
        assert!(error.contains("line 3") && error.contains("claude"), "{error}");
        let error = bad("name = \"x\"\nkind = \"line\"\ncommand_prefixes = [\"/\", \" \"]\n");
        assert!(error.contains("command_prefixes: must not contain"), "{error}");
    }
}
