//! A model's API: its address and its key.

use super::anthropic;
use crate::config::{AgentConfig, Api};
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use std::collections::BTreeMap;
use swb_engine::chat::Failure;

/// A model's API.
#[derive(Debug, Clone)]
pub(super) struct Endpoint {
    /// The protocol.
    pub(super) api: Api,
    /// The URL of requests.
    pub(super) url: Url,
    /// The headers of each request; the key is marked as sensitive.
    pub(super) headers: HeaderMap,
    /// It is the vendor's own server.
    pub(super) makers_own: bool,
    /// The variable with the key, for messages.
    pub(super) key_variable: String,
}

impl Endpoint {
    /// The API of an agent.
    pub(super) fn new(agent: &AgentConfig, env: &BTreeMap<String, String>) -> Result<Self, Failure> {
        let missing = |what: String| Failure::NotConfigured(format!("the agent '{}' {what}", agent.name));
        let (maker, default_url) = match agent.api {
            Api::Anthropic => ("Anthropic", "https://api.anthropic.com"),
            Api::OpenAi => ("OpenAI", "https://api.openai.com/v1"),
        };
        let key_variable = agent.key_variable().unwrap_or_default();
        let key = env.get(key_variable).map(|key| key.trim()).filter(|key| !key.is_empty());
        if key.is_none() && agent.base_url.is_none() {
            return Err(missing(format!(
                "needs a key for the API of {maker}: set {key_variable} in the environment of the daemon, or name another \
                 variable with api_key_env"
            )));
        }
        let base = agent.base_url.as_deref().unwrap_or(default_url);
        let url = address(agent.api, base).ok_or_else(|| {
            missing("has an invalid base_url; it must start with http:// or https://".into())
        })?;
        let headers = headers(agent.api, key)
            .ok_or_else(|| missing(format!("has a key in {key_variable} that cannot be sent in a header")))?;
        let makers_own = agent.base_url.is_none();
        Ok(Self { api: agent.api, url, headers, makers_own, key_variable: key_variable.to_owned() })
    }

    /// The server's name, for messages.
    pub(super) fn server(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        self.url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// Whether it is on this machine, where no proxy is used.
    pub(super) fn is_local(&self) -> bool {
        match self.url.host_str() {
            Some("localhost") => true,
            Some(host) => {
                let bare = host.trim_start_matches('[').trim_end_matches(']');
                bare.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
            }
            None => false,
        }
    }
}

/// The URL of requests. Base URLs are accepted with and without the version, as in the vendors' own programs.
fn address(api: Api, base: &str) -> Option<Url> {
    let mut url = Url::parse(base.trim()).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    let path = url.path().trim_end_matches('/').to_owned();
    let versioned = match api {
        Api::Anthropic => path.ends_with("/v1"),
        Api::OpenAi => !path.is_empty(),
    };
    let version = if versioned { "" } else { "/v1" };
    let what = match api {
        Api::Anthropic => "/messages",
        Api::OpenAi => "/chat/completions",
    };
    url.set_path(&format!("{path}{version}{what}"));
    Some(url)
}

fn headers(api: Api, key: Option<&str>) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if api == Api::Anthropic {
        let version = HeaderName::from_static("anthropic-version");
        headers.insert(version, HeaderValue::from_static(anthropic::VERSION));
    }
    if let Some(key) = key {
        let (name, text) = match api {
            Api::Anthropic => (HeaderName::from_static("x-api-key"), key.to_owned()),
            Api::OpenAi => (AUTHORIZATION, format!("Bearer {key}")),
        };
        let mut value = HeaderValue::from_str(&text).ok()?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Some(headers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::AgentKind;

    fn agent(api: Api, base_url: Option<&str>) -> AgentConfig {
        let mut agent = AgentConfig::of_command("smith", AgentKind::Llm, Vec::new());
        (agent.api, agent.base_url) = (api, base_url.map(str::to_owned));
        agent
    }

    fn env(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn addresses_are_understood_with_and_without_a_version() {
        for (api, base, wanted) in [
            (Api::Anthropic, "http://h:1", "http://h:1/v1/messages"),
            (Api::Anthropic, "http://h:1/v1/", "http://h:1/v1/messages"),
            (Api::Anthropic, "https://h/proxy", "https://h/proxy/v1/messages"),
            (Api::OpenAi, "http://h:1", "http://h:1/v1/chat/completions"),
            (Api::OpenAi, "http://h:1/v1", "http://h:1/v1/chat/completions"),
            (Api::OpenAi, "https://h/api/paas/v4/", "https://h/api/paas/v4/chat/completions"),
        ] {
            assert_eq!(address(api, base).map(String::from).as_deref(), Some(wanted));
        }
        assert_eq!(address(Api::OpenAi, "ftp://h"), None);
        assert_eq!(address(Api::OpenAi, "localhost:80"), None);
    }

    #[test]
    fn only_the_vendors_own_servers_require_a_key() {
        let error =
            Endpoint::new(&agent(Api::Anthropic, None), &env(&[("ANTHROPIC_API_KEY", " ")])).unwrap_err();
        let Failure::NotConfigured(words) = error else { panic!("{error:?}") };
        assert!(words.contains("'smith'") && words.contains("ANTHROPIC_API_KEY"), "{words}");
        let mut named = agent(Api::OpenAi, None);
        named.api_key_env = Some("MY_KEY".into());
        let error = Endpoint::new(&named, &env(&[("OPENAI_API_KEY", "x")])).unwrap_err();
        assert!(error.to_string().contains("MY_KEY"), "{error}");

        let own = Endpoint::new(&named, &env(&[("MY_KEY", "secret\n")])).unwrap();
        assert!(own.makers_own && own.headers[AUTHORIZATION] == "Bearer secret");
        assert!(!format!("{own:?}").contains("secret"), "keys are not shown");
        let other = Endpoint::new(&agent(Api::Anthropic, Some("http://127.0.0.1:5")), &env(&[])).unwrap();
        assert!(!other.makers_own && other.is_local() && !other.headers.contains_key("x-api-key"));
        assert_eq!(other.headers["anthropic-version"], "2023-06-01");
        let bad = Endpoint::new(&named, &env(&[("MY_KEY", "a\u{7f}b")])).unwrap_err();
        assert!(bad.to_string().contains("cannot be sent"), "{bad}");
    }

    #[test]
    fn local_servers_are_recognised() {
        let local =
            |base: &str| Endpoint::new(&agent(Api::OpenAi, Some(base)), &env(&[])).unwrap().is_local();
        assert!(local("http://localhost:1") && local("http://[::1]:1") && local("http://127.9.9.9"));
        assert!(!local("http://example.org") && !local("http://10.0.0.1"));
    }
}
