//! Authentication: whether clients have to prove their identity, and whether they have.

use super::settings::{AuthMethod, ScriptschnellSettings};
use crate::limits;
use hmac::{Hmac, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;
use swb_wire::scriptschnell::Auth;
use tokio::time::Instant;

/// The result of an authentication request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// The client has to sign this nonce first.
    Challenge(String),
    /// The client is rejected for this reason.
    Refused(&'static str),
    /// The client is authenticated.
    Welcome,
}

/// The state of a connection's authentication.
#[derive(Debug, Default)]
pub(super) struct Gate {
    /// The challenge that was sent, and its expiry.
    challenge: Option<(String, Instant)>,
}

/// Whether a request tries to prove the client's identity, rightly or wrongly.
pub(super) fn is_attempt(settings: &ScriptschnellSettings, auth: &Auth) -> bool {
    needs_proof(settings) && (auth.token.is_some() || auth.signature.is_some())
}

/// SS-18; file modes and peer credentials were checked when the client connected.
fn needs_proof(settings: &ScriptschnellSettings) -> bool {
    settings.require_auth && !matches!(settings.auth_method, AuthMethod::File | AuthMethod::Peercred)
}

impl Gate {
    /// Handles an authentication request; `nonce` returns an unpredictable text.
    pub(super) fn judge(
        &mut self,
        settings: &ScriptschnellSettings,
        auth: &Auth,
        now: Instant,
        nonce: impl FnOnce() -> Option<String>,
    ) -> Admission {
        if !needs_proof(settings) {
            return Admission::Welcome;
        }
        let Some(secret) = settings.token.as_deref().filter(|token| !token.is_empty()) else {
            return Admission::Refused(
                "authentication is impossible: the server has no token; set scriptschnell.token",
            );
        };
        match settings.auth_method {
            AuthMethod::Challenge => self.challenge(secret, auth, now, nonce),
            _ => token(secret, auth),
        }
    }

    /// SS-20: each challenge can be answered once, and expires.
    fn challenge(
        &mut self,
        secret: &str,
        auth: &Auth,
        now: Instant,
        nonce: impl FnOnce() -> Option<String>,
    ) -> Admission {
        let (Some(answered), Some(signature)) = (&auth.nonce, &auth.signature) else {
            let Some(nonce) = nonce() else {
                return Admission::Refused("cannot create a challenge: no random numbers are available");
            };
            self.challenge = Some((nonce.clone(), now + limits::CHAT_CHALLENGE));
            return Admission::Challenge(nonce);
        };
        let asked = self.challenge.take();
        let Some((nonce, _)) = asked.filter(|(nonce, until)| nonce == answered && now < *until) else {
            return Admission::Refused("unknown or expired challenge; request another one");
        };
        let signed = unhex(signature).is_some_and(|signature| {
            // Any secret is a valid key.
            let mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes());
            mac.is_ok_and(|mac| mac.chain_update(nonce.as_bytes()).verify_slice(&signature).is_ok())
        });
        if signed { Admission::Welcome } else { Admission::Refused("wrong signature") }
    }
}

/// SS-19
fn token(secret: &str, auth: &Auth) -> Admission {
    let given = auth.token.as_deref().unwrap_or_default();
    if bool::from(given.as_bytes().ct_eq(secret.as_bytes())) {
        Admission::Welcome
    } else {
        Admission::Refused("missing or wrong token")
    }
}

/// 32 random bytes in hexadecimal.
pub(super) fn nonce() -> Option<String> {
    let mut bytes = [0; 32];
    let filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    (filled == Ok(bytes.len())).then(|| bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = text.chars().map(|digit| digit.to_digit(16)).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    digits.chunks(2).map(|pair| u8::try_from(pair[0] * 16 + pair[1]).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn settings(auth_method: AuthMethod) -> ScriptschnellSettings {
        ScriptschnellSettings {
            require_auth: true,
            auth_method,
            token: Some("secret".into()),
            ..ScriptschnellSettings::default()
        }
    }

    fn given(token: &str) -> Auth {
        Auth { token: Some(token.to_owned()), ..Auth::default() }
    }

    fn judge(settings: &ScriptschnellSettings, auth: &Auth) -> Admission {
        Gate::default().judge(settings, auth, Instant::now(), || Some("n".into()))
    }

    // SS-18, SS-19
    #[test]
    fn a_token_is_required_only_if_configured() {
        assert_eq!(judge(&ScriptschnellSettings::default(), &given("wrong")), Admission::Welcome);
        let token = settings(AuthMethod::Token);
        assert_eq!(judge(&token, &given("secret")), Admission::Welcome);
        for wrong in [given("secre"), given("secret "), given(""), Auth::default()] {
            assert!(matches!(judge(&token, &wrong), Admission::Refused(_)));
        }
        let none = ScriptschnellSettings { token: Some(String::new()), ..token };
        assert!(matches!(judge(&none, &given("")), Admission::Refused(_)));
        assert_eq!(judge(&settings(AuthMethod::File), &Auth::default()), Admission::Welcome);
    }

    // SS-20
    #[test]
    fn a_challenge_is_valid_once_and_expires() {
        let settings = settings(AuthMethod::Challenge);
        let start = Instant::now();
        // HMAC-SHA256("secret", "abc")
        let right = "9946dad4e00e913fc8be8e5d3f7e110a4a9e832f83fb09c345285d78638d8a0e";
        let answer = |nonce: &str, signature: &str| Auth {
            nonce: Some(nonce.to_owned()),
            signature: Some(signature.to_owned()),
            ..Auth::default()
        };
        let asked = || {
            let mut gate = Gate::default();
            let first = gate.judge(&settings, &Auth::default(), start, || Some("abc".into()));
            assert_eq!(first, Admission::Challenge("abc".into()));
            gate
        };
        let mut gate = asked();
        assert_eq!(gate.judge(&settings, &answer("abc", right), start, || None), Admission::Welcome);
        let again = gate.judge(&settings, &answer("abc", right), start, || None);
        assert!(matches!(again, Admission::Refused(_)));
        let late = start + Duration::from_secs(61);
        for (nonce, signature, when) in
            [("abc", "00", start), ("abc", "zz", start), ("abd", right, start), ("abc", right, late)]
        {
            let refused = asked().judge(&settings, &answer(nonce, signature), when, || None);
            assert!(matches!(refused, Admission::Refused(_)), "{nonce} {signature}");
        }
        let nobody = Gate::default().judge(&settings, &answer("abc", right), start, || None);
        assert!(matches!(nobody, Admission::Refused(_)));
    }

    #[test]
    fn challenges_are_unpredictable() {
        let (a, b) = (nonce().unwrap(), nonce().unwrap());
        assert!(a.len() == 64 && a != b);
    }
}
