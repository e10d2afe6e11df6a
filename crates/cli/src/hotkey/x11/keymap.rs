//! The keyboard map of the X server: which key codes have a symbol, and which modifier Num Lock is (CH-5).

use super::super::binding::{BindableKey, Modifiers, NamedKey};

/// Symbol of the Num Lock key (`XK_Num_Lock`).
const NUM_LOCK: u32 = 0xff7f;

/// Masks of the modifiers, as the protocol defines them.
const SHIFT: u16 = 1;
const LOCK: u16 = 1 << 1;
const CONTROL: u16 = 1 << 2;
const MOD1: u16 = 1 << 3;
const MOD4: u16 = 1 << 6;
/// All eight modifiers; the bits above are mouse buttons and the keyboard group.
const ALL: u16 = 0xff;

/// The symbols of all keys, and the keys of all modifiers.
#[derive(Debug, Clone, Default)]
pub(super) struct Keymap {
    pub(super) first_keycode: u8,
    /// Symbols of each key: `columns` of them per key.
    pub(super) symbols: Vec<u32>,
    pub(super) columns: u8,
    /// Key codes of each of the eight modifiers, as many of each.
    pub(super) modifier_keys: Vec<u8>,
}

impl Keymap {
    /// The keys that have a symbol, in the first column that has it: without Shift and in the first layout, if possible.
    pub(super) fn keycodes(&self, key: BindableKey) -> Vec<u8> {
        let wanted = symbols(key);
        let columns = usize::from(self.columns);
        let in_column = |column: usize| -> Vec<u8> {
            let keys = (self.first_keycode..=u8::MAX).zip(self.symbols.chunks(columns.max(1)));
            let has = |row: &[u32]| row.get(column).is_some_and(|symbol| wanted.contains(symbol));
            keys.filter(|(_, row)| has(row)).map(|(keycode, _)| keycode).collect()
        };
        (0..columns).map(in_column).find(|keys| !keys.is_empty()).unwrap_or_default()
    }

    /// The sets of modifiers with which a key has to be grabbed: Caps Lock and Num Lock on or off.
    pub(super) fn lock_variants(&self, modifiers: Modifiers) -> Vec<u16> {
        let wanted = mask(modifiers);
        let mut variants = Vec::new();
        for locks in [0, LOCK, self.num_lock(), LOCK | self.num_lock()] {
            let variant = wanted | locks;
            if !variants.contains(&variant) {
                variants.push(variant);
            }
        }
        variants
    }

    /// Whether the state of an event is that of these modifiers, with or without locks.
    pub(super) fn matches(&self, state: u16, modifiers: Modifiers) -> bool {
        let locks = (LOCK | self.num_lock()) & !mask(modifiers);
        state & ALL & !locks == mask(modifiers)
    }

    /// The modifier of Num Lock; 0 if it has none.
    fn num_lock(&self) -> u16 {
        let keys = self.keycodes_of(NUM_LOCK);
        let per_modifier = (self.modifier_keys.len() / 8).max(1);
        let modifiers = self.modifier_keys.chunks(per_modifier).take(8);
        let is_num_lock = |codes: &[u8]| codes.iter().any(|code| keys.contains(code));
        modifiers.enumerate().filter(|(_, codes)| is_num_lock(codes)).map(|(bit, _)| 1 << bit).sum()
    }

    /// The keys that have a symbol in any column.
    fn keycodes_of(&self, symbol: u32) -> Vec<u8> {
        let keys = (self.first_keycode..=u8::MAX).zip(self.symbols.chunks(usize::from(self.columns).max(1)));
        keys.filter(|(_, row)| row.contains(&symbol)).map(|(keycode, _)| keycode).collect()
    }
}

fn mask(modifiers: Modifiers) -> u16 {
    let Modifiers { shift, control, alt, logo } = modifiers;
    let bits = [(shift, SHIFT), (control, CONTROL), (alt, MOD1), (logo, MOD4)];
    bits.into_iter().filter(|(held, _)| *held).map(|(_, bit)| bit).sum()
}

/// The symbols of a key, as `keysymdef.h` numbers them. A letter has one for each case.
fn symbols(key: BindableKey) -> [u32; 2] {
    let one = match key {
        BindableKey::Letter(upper) => return [u32::from(upper.to_ascii_lowercase()), u32::from(upper)],
        BindableKey::Digit(digit) => u32::from(digit),
        BindableKey::Function(number) => 0xffbd + u32::from(number),
        BindableKey::Named(name) => match name {
            NamedKey::BackSpace => 0xff08,
            NamedKey::Delete => 0xffff,
            NamedKey::Down => 0xff54,
            NamedKey::End => 0xff57,
            NamedKey::Escape => 0xff1b,
            NamedKey::Home => 0xff50,
            NamedKey::Insert => 0xff63,
            NamedKey::Left => 0xff51,
            NamedKey::PageDown => 0xff56,
            NamedKey::PageUp => 0xff55,
            NamedKey::Return => 0xff0d,
            NamedKey::Right => 0xff53,
            NamedKey::Space => 0x20,
            NamedKey::Tab => 0xff09,
            NamedKey::Up => 0xff52,
        },
    };
    [one, one]
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOD2: u16 = 1 << 4;

    /// Keys 10 to 13: `a A`, `& 1` as on a French keyboard, `1 NoSymbol`, Num Lock. Num Lock is Mod2.
    fn keymap() -> Keymap {
        let mut modifier_keys = vec![0; 16];
        modifier_keys[2 * 4 + 1] = 13;
        Keymap {
            first_keycode: 10,
            symbols: vec![0x61, 0x41, 0x26, 0x31, 0x31, 0, 0, NUM_LOCK],
            columns: 2,
            modifier_keys,
        }
    }

    fn logo() -> Modifiers {
        Modifiers { logo: true, ..Modifiers::default() }
    }

    // CH-4
    #[test]
    fn keys_are_found_by_their_symbols() {
        let mut map = keymap();
        assert_eq!(map.keycodes(BindableKey::Letter(b'A')), [10]);
        assert_eq!(map.keycodes(BindableKey::Digit(b'1')), [12], "without Shift first");
        map.symbols[4] = 0;
        assert_eq!(map.keycodes(BindableKey::Digit(b'1')), [11]);
        assert!(map.keycodes(BindableKey::Letter(b'B')).is_empty());
        assert!(Keymap::default().keycodes(BindableKey::Letter(b'A')).is_empty());
        assert_eq!(symbols(BindableKey::Function(1)), [0xffbe; 2]);
        assert_eq!(symbols(BindableKey::Function(12)), [0xffc9; 2]);
    }

    // CH-5
    #[test]
    fn locks_do_not_matter() {
        let mut map = keymap();
        assert_eq!(map.lock_variants(logo()), [MOD4, MOD4 | LOCK, MOD4 | MOD2, MOD4 | LOCK | MOD2]);
        for state in map.lock_variants(logo()) {
            assert!(map.matches(state, logo()) && map.matches(state | 1 << 13, logo()));
            assert!(!map.matches(state | SHIFT, logo()) && !map.matches(state & !MOD4, logo()));
        }
        map.modifier_keys.fill(0);
        assert_eq!(map.lock_variants(logo()), [MOD4, MOD4 | LOCK], "no Num Lock");
        // Num Lock on the modifier of Super: it cannot be ignored.
        map.modifier_keys[2 * 6] = 13;
        assert_eq!(map.lock_variants(logo()), [MOD4, MOD4 | LOCK]);
        assert!(map.matches(MOD4, logo()) && !map.matches(0, logo()));
    }
}
