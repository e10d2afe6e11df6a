//! Integrations: an agent's own hooks that call `swb hook`.
//!
//! [`Integration`] computes, without I/O, what a configuration file becomes when the hooks are added or removed; `edit.rs`
//! applies that to files. A file that cannot be understood is never changed.

pub(crate) mod edit;
mod json_hooks;
mod plugin;
pub(crate) mod program;
mod toml_hooks;

use crate::args::AgentName;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The end of the command in a hook, by which it is recognised.
const HOOK: &str = " hook --event";

/// How an agent gets hooks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Integration {
    pub(crate) agent: AgentName,
}

/// Whether an agent has the hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HookState {
    /// It has all of them.
    Installed,
    /// It has some, or those of another version or place of swb.
    Outdated,
    /// It has none.
    Missing,
}

impl HookState {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Installed => "installed",
            Self::Outdated => "outdated",
            Self::Missing => "not installed",
        }
    }
}

/// The events of claude that get a hook.
const CLAUDE: [&str; 9] = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PermissionRequest",
    "Notification",
    "Stop",
    "StopFailure",
];
/// The events of codex that get a hook.
const CODEX: [&str; 6] =
    ["SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse", "Stop"];
/// The events of gemini that get a hook.
const GEMINI: [&str; 6] =
    ["SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "Notification", "AfterAgent"];

impl Integration {
    /// All agents whose hooks are known.
    pub(crate) const ALL: [Self; 4] = [
        Self { agent: AgentName::Claude },
        Self { agent: AgentName::Codex },
        Self { agent: AgentName::Gemini },
        Self { agent: AgentName::Opencode },
    ];

    pub(crate) fn name(self) -> &'static str {
        match self.agent {
            AgentName::Claude => "claude",
            AgentName::Codex => "codex",
            AgentName::Gemini => "gemini",
            AgentName::Opencode => "opencode",
        }
    }

    /// The file that gets the hooks.
    pub(crate) fn path(self, home: &Path, variable: impl Fn(&str) -> Option<OsString>) -> PathBuf {
        let dir = |name: &str| variable(name).filter(|dir| !dir.is_empty()).map(PathBuf::from);
        match self.agent {
            AgentName::Claude => {
                dir("CLAUDE_CONFIG_DIR").unwrap_or_else(|| home.join(".claude")).join("settings.json")
            }
            AgentName::Codex => dir("CODEX_HOME").unwrap_or_else(|| home.join(".codex")).join("config.toml"),
            AgentName::Gemini => {
                dir("GEMINI_CLI_HOME").unwrap_or_else(|| home.to_owned()).join(".gemini/settings.json")
            }
            AgentName::Opencode => dir("XDG_CONFIG_HOME")
                .unwrap_or_else(|| home.join(".config"))
                .join("opencode/plugin/switchboard.js"),
        }
    }

    /// The file with the hooks, which call `program`.
    pub(crate) fn install(self, text: &str, program: &str) -> Result<String, String> {
        if self.state(Some(text), program)? == HookState::Installed {
            return Ok(text.to_owned());
        }
        let command = format!("{}{HOOK}", quoted(program));
        match self.agent {
            AgentName::Claude => json_hooks::add(text, &CLAUDE, &command, 5),
            // In milliseconds.
            AgentName::Gemini => json_hooks::add(text, &GEMINI, &command, 5000),
            AgentName::Codex => toml_hooks::add(text, &CODEX, &command),
            AgentName::Opencode => plugin::write(text, program),
        }
    }

    /// The file without the hooks; `None` if nothing is left but what we have written.
    pub(crate) fn uninstall(self, text: &str) -> Result<Option<String>, String> {
        let rest = match self.agent {
            AgentName::Claude | AgentName::Gemini => json_hooks::remove(text)?,
            AgentName::Codex => toml_hooks::remove(text)?,
            AgentName::Opencode => plugin::remove(text)?,
        };
        Ok(Some(rest).filter(|rest| !rest.is_empty()))
    }

    /// Whether the file has the hooks that [`Integration::install`] would add.
    pub(crate) fn state(self, text: Option<&str>, program: &str) -> Result<HookState, String> {
        let Some(text) = text else { return Ok(HookState::Missing) };
        let command = format!("{}{HOOK}", quoted(program));
        let (expected, found) = match self.agent {
            AgentName::Claude => (CLAUDE.as_slice(), json_hooks::installed(text)?),
            AgentName::Gemini => (GEMINI.as_slice(), json_hooks::installed(text)?),
            AgentName::Codex => (CODEX.as_slice(), toml_hooks::installed(text)?),
            AgentName::Opencode => return plugin::state(text, program),
        };
        let is_complete = expected.len() == found.len()
            && expected.iter().all(|event| found.iter().any(|hook| hook.0 == *event && hook.1 == command));
        Ok(match (is_complete, found.is_empty()) {
            (true, _) => HookState::Installed,
            (false, true) => HookState::Missing,
            (false, false) => HookState::Outdated,
        })
    }

    /// What the user has to do after the hooks were added.
    pub(crate) fn advice(self) -> &'static str {
        match self.agent {
            AgentName::Codex => "codex asks you to review new hooks when it starts; `/hooks` shows them.",
            AgentName::Claude | AgentName::Gemini | AgentName::Opencode => {
                "Sessions that run already report nothing until the agent is restarted."
            }
        }
    }
}

/// Whether a hook's command is ours, with any path of swb.
fn is_ours(command: &str) -> bool {
    command.trim_end().strip_suffix(HOOK).is_some_and(|program| program.contains("swb"))
}

/// A program as a word of a shell.
fn quoted(program: &str) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || "/._-+@".contains(char);
    match program.chars().all(plain) && !program.is_empty() {
        true => program.to_owned(),
        false => format!("'{}'", program.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Configuration files of users, and what they have in them.
    fn samples(agent: AgentName) -> Vec<&'static str> {
        match agent {
            AgentName::Claude | AgentName::Gemini => vec![
                "",
                "{}",
                "{}\n",
                "{\n  \"theme\": \"dark\",\n  \"model\": \"x\"\n}\n",
                "{\n    // a comment\n    \"a\": [1, 2],\n    \"hooks\": {\n        \"Stop\": [\n            { \"hooks\": [{ \"type\": \"command\", \"command\": \"say done\" }] }\n        ]\n    }\n}\n",
                "{\t\"z\":1,\"a\":2 }",
                "{\r\n  \"a\": 1\r\n}\r\n",
                "{\n  \"hooks\": {\n    \"PreToolUse\": [\n      {\n        \"matcher\": \"Bash\",\n        \"hooks\": [\n          {\n            \"type\": \"command\",\n            \"command\": \"check\"\n          }\n        ]\n      }\n    ]\n  },\n  \"last\": null\n}\n",
            ],
            AgentName::Codex => vec![
                "",
                "model = \"x\"  # mine\n",
                "# comment\nmodel = \"x\"\n\n[projects.\"/w\"]\ntrust_level = \"trusted\"\n# end\n",
                "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"say done\"\n",
                "[hooks]\nStop = [{ hooks = [{ type = \"command\", command = \"say done\" }] }]\n",
                "notify = [\"say\"]\n[features]\nhooks = true\n[hooks.state.a]\nenabled = false\n",
            ],
            AgentName::Opencode => vec![""],
        }
    }

    #[test]
    fn hooks_are_added_once_and_removed_without_a_trace() {
        for integration in Integration::ALL {
            for text in samples(integration.agent) {
                let name = integration.name();
                let before = integration.state(Some(text), "swb").unwrap();
                assert_eq!(before, HookState::Missing, "{name}");
                let added = integration.install(text, "swb").unwrap();
                assert_eq!(
                    integration.state(Some(&added), "swb"),
                    Ok(HookState::Installed),
                    "{name}: {added}"
                );
                assert_eq!(integration.install(&added, "swb").unwrap(), added, "{name}: twice");
                let rest = integration.uninstall(&added).unwrap().unwrap_or_default();
                assert_eq!(integration.state(Some(&rest), "swb"), Ok(HookState::Missing), "{name}: {rest}");
                let own = |text: &str| text.contains("say done");
                assert_eq!((own(&added), own(&rest)), (own(text), own(text)), "{name}: {rest}");
                let without_space = |text: &str| text.split_whitespace().collect::<String>();
                // An empty file is taken for ours; `edit.rs` restores it from its backup.
                let says_nothing = text.chars().all(|char| char.is_whitespace() || "{}".contains(char));
                let expected = if says_nothing { "" } else { text };
                assert_eq!(without_space(&rest), without_space(expected), "{name}: {added}");
            }
        }
    }

    #[test]
    fn another_place_of_swb_replaces_the_old_one() {
        for integration in Integration::ALL {
            let old = integration.install("", "/old place/swb").unwrap();
            assert_eq!(integration.state(Some(&old), "swb"), Ok(HookState::Outdated));
            let new = integration.install(&old, "swb").unwrap();
            assert_eq!(integration.state(Some(&new), "swb"), Ok(HookState::Installed));
            assert!(!new.contains("old place"), "{new}");
        }
    }

    #[test]
    fn files_that_are_not_understood_are_left_alone() {
        let broken = ["{", "[]", "\"x\"", "{\"hooks\": 1}", "{\"hooks\": {\"Stop\": {}}}", "{\"a\": 1} x"];
        for text in broken {
            assert!(Integration::ALL[0].install(text, "swb").is_err(), "{text}");
        }
        for text in ["a = ", "[[a]]\n[a]", "hooks = 1", "[hooks]\nStop = 3"] {
            assert!(Integration::ALL[1].install(text, "swb").is_err(), "{text}");
        }
        let foreign = "export const Mine = async () => ({})\n";
        assert!(Integration::ALL[3].install(foreign, "swb").is_err());
        assert!(Integration::ALL[3].uninstall(foreign).is_err());
    }

    #[test]
    fn the_users_own_directories_are_used() {
        let path = |number: usize, variable: &str, value: &str| {
            let set = |name: &str| (name == variable).then(|| OsString::from(value));
            Integration::ALL[number].path(Path::new("/h"), set).to_string_lossy().into_owned()
        };
        assert_eq!(path(0, "", ""), "/h/.claude/settings.json");
        assert_eq!(path(0, "CLAUDE_CONFIG_DIR", "/c"), "/c/settings.json");
        assert_eq!(path(0, "CLAUDE_CONFIG_DIR", ""), "/h/.claude/settings.json");
        assert_eq!(path(1, "CODEX_HOME", "/c"), "/c/config.toml");
        assert_eq!(path(2, "GEMINI_CLI_HOME", "/g"), "/g/.gemini/settings.json");
        assert_eq!(path(3, "XDG_CONFIG_HOME", "/x"), "/x/opencode/plugin/switchboard.js");
        assert_eq!(path(3, "", ""), "/h/.config/opencode/plugin/switchboard.js");
    }

    #[test]
    fn a_program_is_one_word() {
        assert_eq!(quoted("/usr/bin/swb"), "/usr/bin/swb");
        assert_eq!(quoted("/a b/it's/swb"), "'/a b/it'\\''s/swb'");
        assert!(is_ours("/usr/bin/swb hook --event") && is_ours("'/a b/swb' hook --event"));
        assert!(!is_ours("swb hook --claude") && !is_ours("my-swb-script"));
    }
}
