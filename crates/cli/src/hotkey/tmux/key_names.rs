//! The names that tmux has for keys.

use super::super::binding::{BindableKey, KeyBinding, Modifiers, NamedKey};

/// The names under which a binding arrives in tmux.
///
/// A terminal sends Shift and a letter as the upper-case letter; one with extended keys also reports Shift, with either
/// case. tmux takes these for three different keys.
pub(super) fn tmux_keys(binding: &KeyBinding) -> Vec<String> {
    let modifiers = binding.modifiers;
    let with_shift = prefix(modifiers);
    let without_shift = prefix(Modifiers { shift: false, ..modifiers });
    match binding.key {
        BindableKey::Letter(upper) => {
            let (upper, lower) = (char::from(upper), char::from(upper.to_ascii_lowercase()));
            match modifiers {
                Modifiers { shift: true, control: false, .. } => vec![
                    format!("{without_shift}{upper}"),
                    format!("{with_shift}{upper}"),
                    format!("{with_shift}{lower}"),
                ],
                _ => vec![format!("{with_shift}{lower}")],
            }
        }
        // Shift and Tab are one key of terminals.
        BindableKey::Named(NamedKey::Tab) if modifiers.shift => {
            vec![format!("{without_shift}BTab"), format!("{with_shift}Tab")]
        }
        BindableKey::Digit(digit) => vec![format!("{with_shift}{}", char::from(digit))],
        BindableKey::Function(number) => vec![format!("{with_shift}F{number}")],
        BindableKey::Named(name) => vec![format!("{with_shift}{}", key_name(name))],
    }
}

fn prefix(modifiers: Modifiers) -> String {
    let Modifiers { shift, control, alt, logo: _ } = modifiers;
    [(control, "C-"), (alt, "M-"), (shift, "S-")]
        .iter()
        .filter(|(held, _)| *held)
        .map(|(_, name)| *name)
        .collect()
}

fn key_name(name: NamedKey) -> &'static str {
    match name {
        NamedKey::BackSpace => "BSpace",
        NamedKey::Delete => "DC",
        NamedKey::Down => "Down",
        NamedKey::End => "End",
        NamedKey::Escape => "Escape",
        NamedKey::Home => "Home",
        NamedKey::Insert => "IC",
        NamedKey::Left => "Left",
        NamedKey::PageDown => "NPage",
        NamedKey::PageUp => "PPage",
        NamedKey::Return => "Enter",
        NamedKey::Right => "Right",
        NamedKey::Space => "Space",
        NamedKey::Tab => "Tab",
        NamedKey::Up => "Up",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // CH-13
    #[test]
    fn bindings_have_names_in_tmux() {
        for (binding, names) in [
            ("Alt+Shift+C", "M-C M-S-C M-S-c"),
            ("Ctrl+Shift+C", "C-S-c"),
            ("Ctrl+Alt+C", "C-M-c"),
            ("Alt+1", "M-1"),
            ("Shift+F5", "S-F5"),
            ("Alt+Shift+Tab", "M-BTab M-S-Tab"),
            ("Alt+Page_Up", "M-PPage"),
            ("Ctrl+Return", "C-Enter"),
        ] {
            assert_eq!(tmux_keys(&binding.parse().unwrap()).join(" "), names);
        }
    }
}
