//! The Coopfiles of directories that the user trusts.
//!
//! A `coop.toml` comes with a repository and decides which command a session runs, with the user's rights. Our own
//! clients therefore run it only after the user has approved its content once (`swb trust`). The list of approved files
//! belongs to the command line, which writes it; the daemon reads it whenever it matters. Clients of coop's own socket
//! are not asked: its protocol has no such step.

use crate::coopfile::Coopfile;
use crate::errors::{file_access_error, invalid};
use crate::execute::Call;
use crate::limits;
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use swb_engine::file_access;
use swb_wire::control::{ErrorCode, ErrorReply};

/// The name of a directory's Coopfile.
pub const COOPFILE: &str = "coop.toml";

/// The SHA-256 of a Coopfile, in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest(String);

impl Digest {
    /// The digest of a file's content.
    pub fn of(content: &[u8]) -> Self {
        use sha2::Digest as _;
        Self(Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Its digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Directories, each with the digest of the Coopfile that the user has approved there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TrustList(BTreeMap<String, Digest>);

impl TrustList {
    /// Reads the list; a file that does not exist is an empty list.
    pub fn load(path: &Path) -> io::Result<Self> {
        let file = match file_access::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            file => file?,
        };
        let wrong = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why.to_owned());
        if file.metadata()?.mode() & 0o022 != 0 {
            return Err(wrong("other users can write it; remove it, and trust the files again"));
        }
        let mut text = String::new();
        file.take(limits::TRUST_FILE).read_to_string(&mut text)?;
        serde_json::from_str(&text)
            .map_err(|_| wrong("it is not a list of directories and digests; remove it"))
    }

    /// The file's new content.
    pub fn encode(&self) -> Vec<u8> {
        // Strings always have a JSON form.
        serde_json::to_vec_pretty(self).unwrap_or_default()
    }

    /// Adds a directory's Coopfile, or replaces the digest of an earlier one; false if the list is full.
    pub fn add(&mut self, directory: String, digest: Digest) -> bool {
        if !self.0.contains_key(&directory) && !self.has_room_for(&directory) {
            return false;
        }
        self.0.insert(directory, digest);
        true
    }

    /// Whether another directory fits.
    fn has_room_for(&self, directory: &str) -> bool {
        let directories = self.0.keys().map(String::as_str).chain([directory]);
        let bytes: u64 = directories.map(|directory| limits::TRUST_ENTRY + encoded_length(directory)).sum();
        self.0.len() < limits::TRUSTED_COOPFILES && bytes <= limits::TRUST_FILE
    }

    /// Removes a directory; false if it was not in the list.
    pub fn remove(&mut self, directory: &str) -> bool {
        self.0.remove(directory).is_some()
    }

    /// The digest of the Coopfile that the user has approved in a directory.
    pub fn digest(&self, directory: &str) -> Option<&Digest> {
        self.0.get(directory)
    }

    /// All entries, by directory.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Digest)> {
        self.0.iter().map(|(directory, digest)| (directory.as_str(), digest))
    }
}

/// Bytes that a path takes in the file at most.
fn encoded_length(path: &str) -> u64 {
    let length = |byte: u8| match byte {
        b'"' | b'\\' => 2,
        0..b' ' => 6,
        _ => 1,
    };
    path.bytes().map(length).sum()
}

/// What a session runs because of a Coopfile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CoopfileEffects {
    /// The program, instead of the user's shell.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// What `shell` starts, instead of `/bin/sh`.
    pub shell: Option<String>,
    /// Environment variables.
    pub env: BTreeMap<String, String>,
}

impl CoopfileEffects {
    /// The effects of a Coopfile with this text over that of the user's own defaults; the error explains what is invalid.
    pub fn of(text: &str, defaults: &str) -> Result<Self, String> {
        let mut coopfile = Coopfile::default();
        coopfile.merge(defaults).map_err(|error| format!("your own default.toml: {error}"))?;
        coopfile.merge(text)?;
        let Coopfile { command, args, shell, env, .. } = coopfile;
        Ok(Self { command, args, shell, env })
    }
}

impl Call<'_> {
    /// Rejects a session whose command or environment comes from a directory's Coopfile that the user has not approved.
    /// `digest` is that of the text that was merged into `coopfile`; `without` is the result without it.
    pub(crate) async fn check_trust(
        &self,
        directory: &Path,
        digest: Option<Digest>,
        [coopfile, without]: [&Coopfile; 2],
    ) -> Result<(), ErrorReply> {
        let Some(digest) = digest else { return Ok(()) };
        // A front is a protocol of another program, which knows no trust.
        if self.caller.front().is_some() || coopfile.runs_the_same_as(without) {
            return Ok(());
        }
        let list = self.operations.settings.trust_list.clone();
        let path = list.display().to_string();
        let list = file_access::run(&list, TrustList::load).await;
        let list = list.map_err(|error| file_access_error(&error))?;
        let list = list.map_err(|error| invalid(format!("{path}: {error}")))?;
        let what = match directory.to_str().and_then(|directory| list.digest(directory)) {
            Some(trusted) if *trusted == digest => return Ok(()),
            Some(_) => "has changed since you trusted it",
            None => "is not trusted",
        };
        let directory = directory.display();
        let text = format!(
            "{directory}/{COOPFILE} decides what this session runs, and {what}; read the file, then run `swb trust {directory}`"
        );
        Err(ErrorReply::new(ErrorCode::NotTrusted, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_list_is_read_as_it_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("list");
        assert_eq!(TrustList::load(&path).unwrap(), TrustList::default());
        let mut list = TrustList::default();
        assert!(list.add("/w".to_owned(), Digest::of(b"one")));
        assert!(list.add("/w\n2 \"".to_owned(), Digest::of(b"two")));
        std::fs::write(&path, list.encode()).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        assert_eq!(TrustList::load(&path).unwrap(), list);
        assert_eq!(list.digest("/w"), Some(&Digest::of(b"one")));
        assert!(list.remove("/w") && !list.remove("/w"));
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o620)).unwrap();
        assert!(TrustList::load(&path).unwrap_err().to_string().contains("other users"));
    }

    #[test]
    fn a_full_list_still_takes_changes() {
        let mut list = TrustList::default();
        for number in 0..limits::TRUSTED_COOPFILES {
            assert!(list.add(format!("/{number}"), Digest::of(b"")));
        }
        assert!(!list.add("/more".to_owned(), Digest::of(b"")));
        assert!(list.add("/0".to_owned(), Digest::of(b"new")));
        assert!(list.remove("/1") && list.add("/more".to_owned(), Digest::of(b"")));
    }

    #[test]
    fn a_list_is_never_longer_than_what_is_read() {
        let mut list = TrustList::default();
        let path = |number: usize| format!("/{number}{}", "\u{1}\"".repeat(1000));
        let full = (0..).find(|number| !list.add(path(*number), Digest::of(b""))).unwrap();
        let bytes = list.encode().len() as u64;
        assert!(bytes <= limits::TRUST_FILE, "{bytes}");
        assert!(bytes + 9000 > limits::TRUST_FILE && full < limits::TRUSTED_COOPFILES, "{full}: {bytes}");
    }

    #[test]
    fn a_coopfile_is_merged_over_the_defaults_of_the_user() {
        let defaults = "[agent]\ncommand = \"claude\"\nargs = [\"-c\"]\n[env]\nA = \"1\"\n";
        let effects = CoopfileEffects::of("[agent]\nargs = [\"-x\"]\n[env]\nB = \"2\"\n", defaults).unwrap();
        assert_eq!((effects.command.as_deref(), effects.args), (Some("claude"), vec!["-x".to_owned()]));
        assert_eq!(effects.env.into_keys().collect::<String>(), "AB");
        assert!(CoopfileEffects::of("", "[agent").unwrap_err().contains("default.toml"));
    }

    #[test]
    fn the_digest_is_sha_256() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Digest::of(b"").as_str(), empty);
    }
}
