//! Settings of a session, and the defaults.

use super::errors::mapped;
use super::request_handler::RequestHandler;
use crate::limits;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use swb_chat::ConversationSettings;
use swb_engine::chat::{Agent, Chat};
use swb_wire::scriptschnell::{
    ConfigGet, ConfigReply, ConfigSet, ConfigUpdated, ErrorInfo, Scalar, ServerMessage, TypedValue,
};

/// The settings that are sent if the request names none (SS-67).
const KEYS: [&str; 4] = ["model", "working_dir", "temperature", "max_tokens"];

impl RequestHandler {
    /// SS-67; without a session, the defaults (Q-63).
    pub(super) fn config_get(&self, get: ConfigGet) -> Result<ServerMessage, ErrorInfo> {
        let named = get.session_id.as_deref().filter(|id| !id.is_empty());
        let attached = match named {
            Some(_) => Some(self.attached(named)?),
            None => self.attachments.last(),
        };
        let outside = self.workspace.as_deref().unwrap_or(&self.settings().home);
        let dir = attached.map_or(outside, |attached| attached.chat.working_dir());
        let mut own = attached.map(|attached| attached.chat.view().settings).unwrap_or_default();
        // In a session on an existing terminal, the program in it is the agent.
        own.agent = own.answering().map(str::to_owned);
        let workspace = self.front.chats.workspaces().get(dir);
        let defaults = self.front.chats.backends().defaults(&own, &workspace);
        let keys = get.keys.filter(|keys| !keys.is_empty());
        let keys = keys.unwrap_or_else(|| KEYS.map(str::to_owned).to_vec());
        let mut reply = ConfigReply { config: BTreeMap::new(), typed: BTreeMap::new() };
        for key in keys {
            let Some((value, kind)) = setting(&key, &own, &defaults, &dir.display().to_string()) else {
                continue;
            };
            reply.config.insert(key.clone(), value.clone());
            reply.typed.insert(key, TypedValue { value, kind: kind.to_owned() });
        }
        Ok(ServerMessage::ConfigGet(reply))
    }

    /// SS-68, SS-69
    pub(super) async fn config_set(&mut self, set: ConfigSet) -> Result<ServerMessage, ErrorInfo> {
        let attached = self.attached(set.session_id.as_deref())?;
        // Changes that the last owner made before it left are included.
        attached.chat.settle_owner(attached.client).await;
        let mut settings = attached.chat.view().settings;
        let mut updated = BTreeMap::new();
        // The program in an existing terminal answers as long as there is one.
        let chats = &self.front.chats;
        let fixed = settings.program.is_some() && chats.has_terminal(&attached.chat);
        let chosen = |agent: &str| chats.named_agent(agent).ok().filter(|_| !fixed);
        apply(&set, &mut settings, &mut updated, &chosen);
        if let Some(values) = &set.values {
            apply(values, &mut settings, &mut updated, &chosen);
        }
        mapped(attached.chat.configure(Some(attached.client), settings).await)?;
        Ok(ServerMessage::ConfigSet(ConfigUpdated { updated, status: "updated".to_owned() }))
    }

    /// Whether a program on a terminal answers in a conversation, or will.
    pub(super) fn is_on_terminal(&self, chat: &Chat) -> bool {
        let chats = &self.front.chats;
        let (own, workspace) = (chat.view().settings, chats.workspaces().get(chat.working_dir()));
        let chosen = chats.backends().defaults(&own, &workspace).agent;
        let kind = |agent: &Agent| chosen.as_ref() == Some(&agent.name) && agent.kind == "pty";
        chats.has_terminal(chat) || chats.backends().agents().iter().any(kind)
    }
}

/// A setting and its type; `None` if it is unknown. A setting that is left to the agent is null, or an empty name.
fn setting(
    key: &str,
    own: &ConversationSettings,
    defaults: &ConversationSettings,
    dir: &str,
) -> Option<(Value, &'static str)> {
    let text = |own: &Option<String>, default: &Option<String>| {
        let value = own.as_ref().or(default.as_ref()).cloned();
        Some((json!(value.unwrap_or_default()), "string"))
    };
    match key {
        "agent" | "backend" => text(&own.agent, &defaults.agent),
        "max_tokens" => Some((json!(own.max_tokens.or(defaults.max_tokens)), "number")),
        "model" => text(&own.model, &defaults.model),
        "temperature" => Some((json!(own.temperature.or(defaults.temperature)), "number")),
        "working_dir" => Some((json!(dir), "string")),
        _ => None,
    }
}

/// Applies the valid settings; `updated` contains those.
fn apply(
    set: &ConfigSet,
    settings: &mut ConversationSettings,
    updated: &mut BTreeMap<String, Value>,
    chosen: &dyn Fn(&str) -> Option<String>,
) {
    for (key, value) in [("backend", &set.backend), ("agent", &set.agent)] {
        if let Some(Scalar::Text(agent)) = value
            && let Some(agent) = chosen(agent)
        {
            updated.insert(key.to_owned(), json!(agent));
            (settings.agent, settings.program) = (Some(agent), None);
        }
    }
    if let Some(Scalar::Text(model)) = &set.model
        && (1..=limits::CHAT_MODEL).contains(&model.chars().count())
    {
        settings.model = Some(model.clone());
        updated.insert("model".to_owned(), json!(model));
    }
    if let Some(Scalar::Number(temperature)) = set.temperature
        && ConversationSettings::TEMPERATURES.contains(&temperature)
    {
        settings.temperature = Some(temperature);
        updated.insert("temperature".to_owned(), json!(temperature));
    }
    if let Some(Scalar::Number(tokens)) = set.max_tokens
        && tokens.fract() == 0.0
        && (1.0..=f64::from(u32::MAX)).contains(&tokens)
    {
        settings.max_tokens = Some(tokens as u32);
        updated.insert("max_tokens".to_owned(), json!(tokens as u32));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(json: &str) -> (ConversationSettings, Value) {
        let set: ConfigSet = serde_json::from_str(json).unwrap();
        let (mut settings, mut updated) = (ConversationSettings::default(), BTreeMap::new());
        apply(&set, &mut settings, &mut updated, &|agent| (agent == "a").then(|| agent.to_owned()));
        (settings, json!(updated))
    }

    // SS-68
    #[test]
    fn invalid_settings_are_ignored() {
        let all = r#"{"model":"m","temperature":1,"max_tokens":5,"agent":"a","nonsense":[{}]}"#;
        let (settings, updated) = applied(all);
        assert_eq!(updated, json!({"model": "m", "temperature": 1.0, "max_tokens": 5, "agent": "a"}));
        assert_eq!((settings.temperature, settings.max_tokens), (Some(1.0), Some(5)));
        for bad in [
            r#"{"model":5,"temperature":"hot","max_tokens":[],"agent":{}}"#,
            r#"{"model":"","temperature":2.1,"max_tokens":0,"agent":"b"}"#,
            r#"{"temperature":-0.1,"max_tokens":1.5,"model":null,"working_dir":"/x"}"#,
            r#"{"max_tokens":4294967296,"temperature":true}"#,
        ] {
            assert_eq!(applied(bad), (ConversationSettings::default(), json!({})), "{bad}");
        }
    }

    // SS-67
    #[test]
    fn a_setting_is_the_sessions_own_or_the_default() {
        let own = ConversationSettings { model: Some("own".into()), ..ConversationSettings::default() };
        let defaults = ConversationSettings {
            model: Some("d".into()),
            temperature: Some(0.5),
            ..ConversationSettings::default()
        };
        let get = |key| setting(key, &own, &defaults, "/w");
        assert_eq!(get("model"), Some((json!("own"), "string")));
        assert_eq!(get("temperature"), Some((json!(0.5), "number")));
        assert_eq!(get("max_tokens"), Some((Value::Null, "number")));
        assert_eq!(get("working_dir"), Some((json!("/w"), "string")));
        assert_eq!(get("nonsense"), None);
    }
}
