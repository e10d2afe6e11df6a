//! What a key does, and the set of bindings that the user chose (CH-2).

use super::binding::KeyBinding;
use std::fmt;

/// What happens when a binding is pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum HotkeyAction {
    /// Copies the latest turn of the focused session to the relay buffer.
    Capture,
    /// Types the relay buffer into the focused session.
    Paste,
    /// Captures, then copies the relay buffer to the clipboard.
    Clipboard,
}

impl HotkeyAction {
    pub(super) const ALL: [Self; 3] = [Self::Capture, Self::Paste, Self::Clipboard];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Capture => "capture",
            Self::Paste => "paste",
            Self::Clipboard => "clipboard",
        }
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.name() == name)
    }
}

/// A binding and what it does.
#[derive(Debug, Clone)]
pub(super) struct Hotkey {
    pub(super) action: HotkeyAction,
    pub(super) binding: KeyBinding,
}

impl fmt::Display for Hotkey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.action.name(), self.binding)
    }
}

/// Two actions that have the same keys.
pub(super) fn equal_pair(hotkeys: &[Hotkey]) -> Option<(&Hotkey, &Hotkey)> {
    hotkeys.iter().enumerate().find_map(|(at, first)| {
        let second = hotkeys.iter().skip(at + 1).find(|other| other.binding.same_keys(&first.binding))?;
        Some((first, second))
    })
}

/// The line that names the active bindings.
pub(super) fn ready_line(active: &[&Hotkey]) -> String {
    let names: Vec<String> = active.iter().map(ToString::to_string).collect();
    format!("ready: {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hotkeys(bindings: [&str; 3]) -> Vec<Hotkey> {
        let pairs = HotkeyAction::ALL.into_iter().zip(bindings);
        pairs.map(|(action, text)| Hotkey { action, binding: text.parse().unwrap() }).collect()
    }

    // CH-2
    #[test]
    fn bindings_must_differ() {
        assert!(equal_pair(&hotkeys(["Super+C", "Super+V", "Super+X"])).is_none());
        let same = hotkeys(["Super+C", "Super+V", "mod4+c"]);
        let (first, second) = equal_pair(&same).unwrap();
        assert_eq!((first.action, second.action), (HotkeyAction::Capture, HotkeyAction::Clipboard));
    }

    #[test]
    fn the_ready_line_names_bindings() {
        let all = hotkeys(["Super+Shift+C", "super+shift+v", "ctrl+f1"]);
        let active: Vec<&Hotkey> = all.iter().collect();
        assert_eq!(
            ready_line(&active),
            "ready: capture Super+Shift+C, paste Super+Shift+V, clipboard Ctrl+F1"
        );
    }
}
