//! Tokens: secrets that clients elsewhere prove their role with.
//!
//! Only a digest of a token is kept. Looking one up compares all of them in constant time. Whoever holds a connection for
//! a token waits for [`Grant::ended`], so that revoking it or its expiry cuts the connection at once.

use crate::errors::invalid;
use crate::execute::Call;
use crate::reply::{OperationResult, done};
use crate::{Caller, limits};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use subtle::ConstantTimeEq;
use swb_engine::file_access;
use swb_types::{Role, Scope, SessionName, Timestamp};
use swb_wire::control::{ErrorCode, ErrorReply, OkReply, Revoke, Token, TokenItem, TokenReply, TokensReply};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// A token as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredToken {
    id: String,
    digest: [u8; 32],
    role: Role,
    session: Option<SessionName>,
    workspace: Option<PathBuf>,
    label: Option<String>,
    created: Timestamp,
    expires: Option<Timestamp>,
}

/// What the holder of a token may do.
#[derive(Debug, Clone)]
pub struct Grant {
    /// On whose behalf its operations are executed.
    pub caller: Caller,
    /// Cancelled when the token is revoked or expires.
    pub ended: CancellationToken,
    /// Distinguishes its connections from those of other tokens.
    pub number: TokenNumber,
}

/// Number of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenNumber(pub u64);

impl TokenNumber {
    fn of(digest: &[u8; 32]) -> Self {
        let [a, b, c, d, e, f, g, h, ..] = *digest;
        Self(u64::from_le_bytes([a, b, c, d, e, f, g, h]))
    }
}

/// All valid tokens.
#[derive(Debug, Default)]
pub struct TokenRegistry {
    entries: Mutex<Vec<Entry>>,
    /// A token was added, which may be the next to expire.
    added: Notify,
}

#[derive(Debug)]
struct Entry {
    token: StoredToken,
    /// Whether it belongs to a web server, which shows it; such tokens are not listed.
    of_server: bool,
    ended: CancellationToken,
}

impl Entry {
    fn new(token: StoredToken, of_server: bool) -> Self {
        Self { token, of_server, ended: CancellationToken::new() }
    }

    fn has_expired(&self, now: Timestamp) -> bool {
        self.token.expires.is_some_and(|expires| expires <= now)
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.ended.cancel();
    }
}

impl TokenRegistry {
    /// What the holder of a token may do; `None` for an unknown one.
    pub fn find(&self, token: &str) -> Option<Grant> {
        let digest = digest(token);
        let now = Timestamp::of(SystemTime::now());
        let entries = self.lock();
        // All of them are compared, so that the time does not reveal how many there are before it.
        let same = entries.iter().fold(None, |found, entry| {
            if bool::from(entry.token.digest.ct_eq(&digest)) { Some(entry) } else { found }
        });
        let entry = same.filter(|entry| !entry.has_expired(now))?;
        let token = &entry.token;
        let scope = match (&token.session, &token.workspace) {
            (Some(session), _) => Scope::Session(session.clone()),
            (None, Some(workspace)) => Scope::Workspace(workspace.clone()),
            (None, None) => Scope::All,
        };
        let caller = Caller::new(token.role, scope).from_elsewhere();
        Some(Grant { caller, ended: entry.ended.clone(), number: TokenNumber::of(&digest) })
    }

    /// Adds the token of a web server, whose holder is an owner.
    pub fn add_owner(&self, token: &str) {
        let digest = digest(token);
        let mut entries = self.lock();
        if entries.iter().any(|entry| entry.of_server && entry.token.digest == digest) {
            return;
        }
        let created = Timestamp::of(SystemTime::now());
        let token = StoredToken {
            id: String::new(),
            digest,
            role: Role::Owner,
            session: None,
            workspace: None,
            label: None,
            created,
            expires: None,
        };
        entries.push(Entry::new(token, true));
    }

    /// Removes the tokens of all web servers.
    pub fn remove_owners(&self) {
        self.lock().retain(|entry| !entry.of_server);
    }

    /// Removes all tokens.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// The tokens to keep across a restart.
    pub fn stored(&self) -> Vec<StoredToken> {
        self.lock().iter().filter(|entry| !entry.of_server).map(|entry| entry.token.clone()).collect()
    }

    /// Adds tokens of an earlier daemon.
    pub fn restore(&self, stored: Vec<StoredToken>) {
        self.lock().extend(stored.into_iter().take(limits::TOKENS).map(|token| Entry::new(token, false)));
    }

    /// Removes tokens that have expired; returns how long it takes until the next one does.
    pub fn expire(&self) -> Option<Duration> {
        let now = Timestamp::of(SystemTime::now());
        let mut entries = self.lock();
        entries.retain(|entry| !entry.has_expired(now));
        let next = entries.iter().filter_map(|entry| entry.token.expires).min()?;
        Some(Duration::from_millis(next.0.saturating_sub(now.0)))
    }

    fn add(&self, token: StoredToken) -> Result<(), ErrorReply> {
        let mut entries = self.lock();
        if entries.iter().filter(|entry| !entry.of_server).count() >= limits::TOKENS {
            let text = format!("there are {} tokens already; revoke some", limits::TOKENS);
            return Err(ErrorReply::new(ErrorCode::LimitReached, text));
        }
        entries.push(Entry::new(token, false));
        self.added.notify_one();
        Ok(())
    }

    fn revoke(&self, named: &str) -> bool {
        let mut entries = self.lock();
        let before = entries.len();
        entries.retain(|entry| {
            entry.of_server || (entry.token.id != named && entry.token.label.as_deref() != Some(named))
        });
        entries.len() < before
    }

    fn items(&self) -> Vec<TokenItem> {
        let item = |token: &StoredToken| TokenItem {
            id: token.id.clone(),
            role: token.role,
            session: token.session.as_ref().map(ToString::to_string),
            workspace: token.workspace.as_ref().map(|path| path.to_string_lossy().into_owned()),
            label: token.label.clone(),
            created: token.created.0,
            expires: token.expires.map(|time| time.0),
        };
        self.lock().iter().filter(|entry| !entry.of_server).map(|entry| item(&entry.token)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A new secret of 256 random bits that can be part of a URL.
pub fn new_token() -> String {
    URL_SAFE_NO_PAD.encode(random::<32>())
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}

/// Random bytes, for secrets.
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        // Fails only when a signal interrupts it before the kernel has collected entropy.
        filled += rustix::rand::getrandom(rest, rustix::rand::GetRandomFlags::empty()).unwrap_or(0);
    }
    bytes
}

impl Call<'_> {
    pub(crate) async fn token(&self, token: Token) -> OperationResult {
        let role = token.role.unwrap_or(Role::Watch);
        if role == Role::Agent {
            return Err(invalid("the role 'agent' is for programs that an agent starts; choose another"));
        }
        let label = token.label.filter(|label| !label.is_empty());
        if label.as_ref().is_some_and(|label| {
            label.chars().count() > limits::TOKEN_LABEL || label.chars().any(char::is_control)
        }) {
            let most = limits::TOKEN_LABEL;
            return Err(invalid(format!("a label has at most {most} characters and no control characters")));
        }
        let (session, workspace) = match (token.session, token.workspace) {
            (Some(_), Some(_)) => return Err(invalid("'session' and 'workspace' exclude each other")),
            (Some(name), None) => (Some(self.session_of_token(&name)?), None),
            (None, Some(path)) => (None, Some(real_workspace(path.into()).await?)),
            (None, None) => (None, None),
        };
        let created = Timestamp::of(SystemTime::now());
        let expires = token.expires.map(|seconds| seconds.checked_mul(1000)?.checked_add(created.0));
        let Some(expires) = expires.map_or(Some(None), |time| time.map(Some)) else {
            return Err(invalid("'expires' is too far in the future"));
        };
        let secret = new_token();
        // A word that is no option on a command line.
        let id: String = random::<5>().iter().map(|byte| format!("{byte:02x}")).collect();
        let stored = StoredToken {
            id: id.clone(),
            digest: digest(&secret),
            role,
            session,
            workspace,
            label: label.clone(),
            created,
            expires: expires.map(Timestamp),
        };
        self.operations.tokens.add(stored)?;
        self.operations.host.remote_access_changed();
        done(&TokenReply { ok: true, token_id: id, token: secret, role, label, expires })
    }

    /// A session that a token can be limited to. A misspelt name would make a token that is good for nothing, or later for
    /// a session that was not meant.
    fn session_of_token(&self, name: &str) -> Result<SessionName, ErrorReply> {
        let name = SessionName::new(name).map_err(|error| invalid(error.to_string()))?;
        let session = self.remembered_session(&name.to_string())?;
        Ok(session.name().clone())
    }

    pub(crate) fn tokens(&self) -> OperationResult {
        self.operations.tokens.expire();
        done(&TokensReply { ok: true, tokens: self.operations.tokens.items() })
    }

    pub(crate) fn revoke(&self, revoke: &Revoke) -> OperationResult {
        if !self.operations.tokens.revoke(&revoke.token) {
            let text = format!("no token '{}'", revoke.token);
            return Err(
                ErrorReply::new(ErrorCode::TokenNotFound, text).with_hint("`swb token ls` lists them")
            );
        }
        self.operations.host.remote_access_changed();
        done(&OkReply::default())
    }
}

/// Sessions have the real path of their workspace; a token may name a link to it.
async fn real_workspace(path: PathBuf) -> Result<PathBuf, ErrorReply> {
    if !path.is_absolute() {
        return Err(invalid("'workspace' has to be an absolute path"));
    }
    let real = file_access::run(&path, file_access::real_path).await;
    let real = real.map_err(|error| invalid(error.to_string()))?;
    real.map_err(|error| invalid(format!("cannot use workspace {}: {error}", path.display())))
}

/// Removes expired tokens as long as the daemon runs.
pub async fn expire_tokens(registry: Arc<TokenRegistry>, changed: impl Fn()) {
    loop {
        let before = registry.stored().len();
        let next = registry.expire();
        if registry.stored().len() < before {
            changed();
        }
        let due = async {
            match next {
                // The clock may be changed, and a machine may sleep.
                Some(next) => tokio::time::sleep(next.min(limits::TOKEN_CHECK)).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = due => {}
            () = registry.added.notified() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(secret: &str, role: Role, expires: Option<u64>) -> StoredToken {
        StoredToken {
            id: format!("id-{secret}"),
            digest: digest(secret),
            role,
            session: None,
            workspace: None,
            label: Some(format!("label-{secret}")),
            created: Timestamp(0),
            expires: expires.map(Timestamp),
        }
    }

    #[test]
    fn a_token_grants_its_role_until_it_is_revoked() {
        let registry = TokenRegistry::default();
        registry.add(stored("a", Role::Watch, None)).unwrap();
        registry.add(stored("b", Role::Drive, None)).unwrap();
        registry.add_owner("c");
        let role = |secret| registry.find(secret).map(|grant| grant.caller.role());
        assert_eq!(
            [role("a"), role("b"), role("c"), role("d")],
            [Some(Role::Watch), Some(Role::Drive), Some(Role::Owner), None]
        );
        let grant = registry.find("b").unwrap();
        assert!(registry.revoke("label-b") && !registry.revoke("id-b"));
        assert!(grant.ended.is_cancelled());
        assert!(registry.revoke("id-a"));
        assert!(registry.items().is_empty(), "the token of a server is not listed");
        registry.remove_owners();
        assert!(role("c").is_none());
    }

    #[test]
    fn an_expired_token_is_unknown_at_once() {
        let registry = TokenRegistry::default();
        registry.add(stored("old", Role::Watch, Some(1))).unwrap();
        assert!(registry.find("old").is_none());
        assert_eq!((registry.expire(), registry.items().len()), (None, 0));
        registry.add(stored("new", Role::Watch, Some(u64::MAX))).unwrap();
        assert!(registry.find("new").is_some() && registry.expire().is_some());
    }

    #[test]
    fn tokens_of_servers_are_not_stored() {
        let registry = TokenRegistry::default();
        registry.add(stored("a", Role::Watch, None)).unwrap();
        registry.add_owner("c");
        let later = TokenRegistry::default();
        later.restore(registry.stored());
        assert!(later.find("a").is_some() && later.find("c").is_none());
    }

    #[test]
    fn new_tokens_are_long_and_differ() {
        let (one, other) = (new_token(), new_token());
        assert!(one.len() >= 43 && one != other, "{one} {other}");
    }
}
