//! Key bindings as people write them: modifiers and one key, such as `Super+Shift+C` (CH-3, CH-4).

use std::fmt;
use std::str::FromStr;

/// The modifiers of a binding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Modifiers {
    pub(crate) shift: bool,
    pub(crate) control: bool,
    pub(crate) alt: bool,
    pub(crate) logo: bool,
}

/// A key that can be bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BindableKey {
    /// `A` to `Z`, in upper case.
    Letter(u8),
    /// `0` to `9`, as ASCII.
    Digit(u8),
    /// F1 to F12.
    Function(u8),
    Named(NamedKey),
}

/// A key that is known by a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NamedKey {
    BackSpace,
    Delete,
    Down,
    End,
    Escape,
    Home,
    Insert,
    Left,
    PageDown,
    PageUp,
    Return,
    Right,
    Space,
    Tab,
    Up,
}

/// The names of keys, as they are shown; a name that the user gives may have any letter case.
const KEY_NAMES: [(&str, NamedKey); 21] = [
    ("BackSpace", NamedKey::BackSpace),
    ("Delete", NamedKey::Delete),
    ("Down", NamedKey::Down),
    ("End", NamedKey::End),
    ("Enter", NamedKey::Return),
    ("Esc", NamedKey::Escape),
    ("Escape", NamedKey::Escape),
    ("Home", NamedKey::Home),
    ("Insert", NamedKey::Insert),
    ("Left", NamedKey::Left),
    ("Next", NamedKey::PageDown),
    ("Page_Down", NamedKey::PageDown),
    ("Page_Up", NamedKey::PageUp),
    ("PageDown", NamedKey::PageDown),
    ("PageUp", NamedKey::PageUp),
    ("Prior", NamedKey::PageUp),
    ("Return", NamedKey::Return),
    ("Right", NamedKey::Right),
    ("Space", NamedKey::Space),
    ("Tab", NamedKey::Tab),
    ("Up", NamedKey::Up),
];

/// The names of modifiers, likewise.
const MODIFIER_NAMES: [(&str, Modifiers); 7] = {
    const NONE: Modifiers = Modifiers { shift: false, control: false, alt: false, logo: false };
    [
        ("Alt", Modifiers { alt: true, ..NONE }),
        ("Control", Modifiers { control: true, ..NONE }),
        ("Ctrl", Modifiers { control: true, ..NONE }),
        ("Mod1", Modifiers { alt: true, ..NONE }),
        ("Mod4", Modifiers { logo: true, ..NONE }),
        ("Shift", Modifiers { shift: true, ..NONE }),
        ("Super", Modifiers { logo: true, ..NONE }),
    ]
};

/// Keys that are pressed together.
#[derive(Debug, Clone)]
pub(crate) struct KeyBinding {
    pub(crate) modifiers: Modifiers,
    pub(crate) key: BindableKey,
    /// The names that the user chose, in the usual letter case.
    text: String,
}

/// Why a text is not a binding.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BindingError {
    #[error("a key binding needs a modifier, as in Super+Shift+C")]
    NoModifier,
    #[error("unknown modifier '{0}': use Shift, Ctrl, Alt or Super")]
    UnknownModifier(String),
    #[error("unknown key '{0}': use A to Z, 0 to 9, F1 to F12, or a name such as Space, Return or Page_Up")]
    UnknownKey(String),
}

impl KeyBinding {
    /// Whether both are the same keys, even if their names differ.
    pub(crate) fn same_keys(&self, other: &Self) -> bool {
        (self.modifiers, self.key) == (other.modifiers, other.key)
    }
}

impl Modifiers {
    fn and(self, other: Self) -> Self {
        Self {
            shift: self.shift || other.shift,
            control: self.control || other.control,
            alt: self.alt || other.alt,
            logo: self.logo || other.logo,
        }
    }
}

impl FromStr for KeyBinding {
    type Err = BindingError;

    fn from_str(text: &str) -> Result<Self, BindingError> {
        let names: Vec<&str> = text.split('+').map(str::trim).collect();
        let (key, modifiers) = names.split_last().ok_or(BindingError::NoModifier)?;
        let (key_name, key) = parse_key(key).ok_or_else(|| BindingError::UnknownKey((*key).to_owned()))?;
        if modifiers.is_empty() {
            return Err(BindingError::NoModifier);
        }
        let mut binding = Self { modifiers: Modifiers::default(), key, text: String::new() };
        for name in modifiers {
            let known = MODIFIER_NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
            let (known, modifier) = known.ok_or_else(|| BindingError::UnknownModifier((*name).to_owned()))?;
            binding.modifiers = binding.modifiers.and(*modifier);
            binding.text.push_str(known);
            binding.text.push('+');
        }
        binding.text.push_str(&key_name);
        Ok(binding)
    }
}

impl fmt::Display for KeyBinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A key, and the name to show for it.
fn parse_key(name: &str) -> Option<(String, BindableKey)> {
    if let Some((known, key)) = KEY_NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
        return Some(((*known).to_owned(), BindableKey::Named(*key)));
    }
    let upper = name.to_ascii_uppercase();
    let key = match upper.as_bytes() {
        [letter @ b'A'..=b'Z'] => BindableKey::Letter(*letter),
        [digit @ b'0'..=b'9'] => BindableKey::Digit(*digit),
        [b'F', b'1'..=b'9', ..] => {
            let number = upper.get(1..)?.parse().ok()?;
            (1..=12).contains(&number).then_some(BindableKey::Function(number))?
        }
        _ => return None,
    };
    Some((upper, key))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<KeyBinding, BindingError> {
        text.parse()
    }

    // CH-3
    #[test]
    fn modifiers_have_two_names_and_any_letter_case() {
        for (text, shown) in [
            ("Super+Shift+C", "Super+Shift+C"),
            ("super+shift+c", "Super+Shift+C"),
            ("MOD4+SHIFT+C", "Mod4+Shift+C"),
            ("shift+mod4+c", "Shift+Mod4+C"),
        ] {
            let binding = parse(text).unwrap();
            assert_eq!(binding.to_string(), shown);
            assert!(binding.same_keys(&parse("Super+Shift+C").unwrap()), "{text}");
        }
        for (one, other) in [("Ctrl+Alt+1", "mod1+CONTROL+1"), ("ctrl+enter", "Control+Return")] {
            assert!(parse(one).unwrap().same_keys(&parse(other).unwrap()), "{one}");
        }
        assert!(!parse("Ctrl+C").unwrap().same_keys(&parse("Ctrl+Shift+C").unwrap()));
    }

    // CH-3
    #[test]
    fn a_binding_without_a_modifier_is_refused() {
        for text in ["C", "F1", "space"] {
            assert_eq!(parse(text).unwrap_err(), BindingError::NoModifier, "{text}");
        }
        for text in ["Hyper+C", "+C", "Super++C"] {
            assert!(matches!(parse(text).unwrap_err(), BindingError::UnknownModifier(_)), "{text}");
        }
    }

    // CH-4
    #[test]
    fn letters_digits_function_keys_and_names_are_keys() {
        let letters = ('A'..='Z').chain('a'..='z').map(|letter| letter.to_string());
        let digits = (0..=9).map(|digit: u8| digit.to_string());
        let functions = (1..=12).flat_map(|number: u8| [format!("F{number}"), format!("f{number}")]);
        let names = "space return escape tab backspace delete insert home end page_up pageup prior page_down \
                     pagedown next left right up down enter esc SPACE PgUp";
        let names = names.split_whitespace().filter(|name| *name != "PgUp").map(str::to_owned);
        for key in letters.chain(digits).chain(functions).chain(names) {
            assert!(parse(&format!("Super+{key}")).is_ok(), "{key}");
        }
        for key in ["", "F0", "F13", "F1x", "F+1", "Shift", "é", "ab", "10", "PgUp", "F01"] {
            assert!(parse(&format!("Super+{key}")).is_err(), "{key}");
        }
    }
}
