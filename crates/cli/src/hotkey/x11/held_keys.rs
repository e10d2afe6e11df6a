//! Distinguishes presses from repetitions: a key that is held down acts once.
//!
//! The X server repeats a held key as a release and a press with the same time. Some servers send presses alone. While a
//! grabbed key is down, all keys are reported here; when it is released, no other key is any longer, so the releases of
//! the others are not seen.

use crate::limits;

/// The keys that are down.
#[derive(Debug, Default)]
pub(super) struct HeldKeys {
    /// In the order in which they were pressed. The first one has the grab.
    down: Vec<u8>,
    /// The key that was released last, and when.
    released: Option<(u8, u32)>,
    /// When a key acted last. Times are milliseconds that start again at 0 after 49 days.
    acted: u32,
}

impl HeldKeys {
    /// A key was pressed at `time`; returns whether it acts.
    pub(super) fn press(&mut self, keycode: u8, time: u32) -> bool {
        let is_down = self.down.contains(&keycode);
        if !is_down {
            self.down.push(keycode);
        }
        // A program that presses keys may release and press one within a millisecond; no key repeats as soon as that.
        let may_repeat = time.wrapping_sub(self.acted) >= limits::KEY_REPEAT;
        let acts = !(is_down || may_repeat && self.released == Some((keycode, time)));
        if acts {
            self.acted = time;
        }
        acts
    }

    /// A key was released at `time`.
    pub(super) fn release(&mut self, keycode: u8, time: u32) {
        self.released = Some((keycode, time));
        if self.down.first() == Some(&keycode) {
            self.down.clear();
        } else {
            self.down.retain(|down| *down != keycode);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const C: u8 = 54;
    const V: u8 = 55;

    #[test]
    fn a_held_key_acts_once() {
        let mut keys = HeldKeys::default();
        assert!(keys.press(C, 1000));
        for time in [1660, 1700, 1740] {
            keys.release(C, time);
            assert!(!keys.press(C, time), "{time}");
        }
        keys.release(C, 2000);
        assert!(keys.press(C, 2001));
        assert!(!keys.press(C, 2700), "a press without a release");
        keys.release(C, 2800);
        assert!(keys.press(C, 2900));
    }

    #[test]
    fn keys_pressed_by_programs_are_not_repetitions() {
        let mut keys = HeldKeys::default();
        for _ in 0..3 {
            assert!(keys.press(C, u32::MAX));
            keys.release(C, u32::MAX);
        }
        assert!(keys.press(C, 1));
        keys.release(C, 660);
        assert!(!keys.press(C, 660));
    }

    #[test]
    fn a_second_key_acts_while_the_first_one_is_down() {
        let mut keys = HeldKeys::default();
        assert!(keys.press(C, 1) && keys.press(V, 2));
        keys.release(V, 3);
        assert!(keys.press(V, 4));
        keys.release(C, 5);
        // The release of V is not reported, because the grab has ended with C.
        assert!(keys.press(V, 900));
    }
}
