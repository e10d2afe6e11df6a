//! `[notifications]`: what is reported, how and when.

use super::quiet::QuietHours;
use crate::limits;
use serde::Deserialize;
use swb_wire::control::{NotificationKind, TerminalMeans};

/// `[notifications]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct NotificationsConfig {
    /// What is reported: `asking`, `finished`, `ended`.
    pub on: Vec<NotificationKind>,
    /// Seconds that an agent has to work before its end is reported.
    pub finished_after: u64,
    /// How terminals are notified in which `swb attach` runs.
    pub terminal: TerminalMeans,
    /// Whether the desktop shows notifications.
    pub desktop: bool,
    /// A program and its arguments; it gets the notification as JSON on standard input.
    pub command: Vec<String>,
    /// A URL to which the notification is sent as JSON.
    pub webhook: Option<String>,
    /// Times of the day without notifications, in local time.
    pub quiet_hours: Vec<QuietHours>,
}

impl Default for NotificationsConfig {
    fn default() -> Self {
        use NotificationKind::{Asking, Ended, Finished};
        Self {
            on: vec![Asking, Finished, Ended],
            finished_after: 30,
            terminal: TerminalMeans::Auto,
            desktop: false,
            command: Vec::new(),
            webhook: None,
            quiet_hours: Vec::new(),
        }
    }
}

impl NotificationsConfig {
    /// What is wrong with the settings.
    pub fn problem(&self) -> Option<String> {
        if self.on.contains(&NotificationKind::Test) {
            return Some("notifications.on must contain only asking, finished and ended".to_owned());
        }
        if self.finished_after > limits::FINISHED_AFTER {
            let most = limits::FINISHED_AFTER;
            return Some(format!(
                "notifications.finished_after must be at most {most} seconds, not {}",
                self.finished_after
            ));
        }
        if self.command.first().is_some_and(String::is_empty) {
            return Some("notifications.command must begin with the name of a program".to_owned());
        }
        if self.quiet_hours.len() > limits::QUIET_HOURS {
            return Some(format!(
                "notifications.quiet_hours has more than {} entries; merge some",
                limits::QUIET_HOURS
            ));
        }
        let url = self.webhook.as_deref().unwrap_or("http://");
        let is_web = url.starts_with("http://") || url.starts_with("https://");
        (!is_web || url.chars().any(|char| char.is_control() || char == ' '))
            .then(|| "notifications.webhook must be a URL that begins with http:// or https://".to_owned())
    }

    /// The host of the webhook: the rest of its URL may contain a secret.
    pub fn webhook_host(&self) -> Option<&str> {
        let (_, rest) = self.webhook.as_deref()?.split_once("://")?;
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        Some(authority.rsplit_once('@').map_or(authority, |(_, host)| host))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> NotificationsConfig {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn invalid_settings_are_explained() {
        assert_eq!(parse(""), NotificationsConfig::default());
        assert_eq!(NotificationsConfig::default().problem(), None);
        let problem = |text: &str| parse(text).problem();
        assert!(problem("on = [\"test\"]").is_some());
        assert!(problem("finished_after = 100000000").is_some());
        assert!(problem("command = [\"\"]").is_some());
        assert!(problem("webhook = \"file:///etc/passwd\"").is_some());
        assert!(problem("webhook = \"http://a/\\u0007\"").is_some());
        assert_eq!(problem("webhook = \"https://example.net/x\"\ncommand = [\"a\", \"\"]"), None);
        for bad in ["on = [\"x\"]", "terminal = \"x\"", "quiet_hours = [\"x\"]", "comand = []"] {
            assert!(toml::from_str::<NotificationsConfig>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_the_host_of_a_webhook_is_shown() {
        let host = |url: &str| {
            let config = NotificationsConfig { webhook: Some(url.to_owned()), ..Default::default() };
            config.webhook_host().map(str::to_owned)
        };
        assert_eq!(host("https://u:secret@example.net:8443/hook?key=s").as_deref(), Some("example.net:8443"));
        assert_eq!(host("http://example.net").as_deref(), Some("example.net"));
    }
}
