//! Keys grabbed on the root windows (CH-5, CH-6), also after a change of the keyboard layout.

use super::super::action::{Hotkey, HotkeyAction};
use super::super::desktop::{GrabFailure, KeyEvent, KeyGrabber, PressedAt};
use super::held_keys::HeldKeys;
use super::keymap::Keymap;
use super::lost;
use crate::attach::follow::timespec;
use crate::error::Failure;
use crate::limits;
use rustix::event::{PollFd, PollFlags, poll};
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, BorrowedFd};
use std::rc::Rc;
use std::time::Duration;
use x11rb::connection::Connection;
use x11rb::errors::ReplyError;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{ConnectionExt, GrabMode, KeyPressEvent, Mapping, ModMask, Window};
use x11rb::rust_connection::RustConnection;

/// One grab at the X server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct KeyGrab {
    root: Window,
    keycode: u8,
    modifiers: u16,
}

/// Hotkeys as grabs at the X server.
pub(super) struct X11Keys {
    connection: Rc<RustConnection>,
    hotkeys: Vec<Hotkey>,
    keymap: Keymap,
    /// The grabs of each active hotkey.
    active: BTreeMap<HotkeyAction, BTreeSet<KeyGrab>>,
    held: HeldKeys,
}

impl X11Keys {
    pub(super) fn new(connection: Rc<RustConnection>, hotkeys: Vec<Hotkey>) -> Result<Self, Failure> {
        let mut keys = Self {
            connection,
            hotkeys,
            keymap: Keymap::default(),
            active: BTreeMap::new(),
            held: HeldKeys::default(),
        };
        keys.keymap = keys.read_keymap()?;
        Ok(keys)
    }

    fn read_keymap(&self) -> Result<Keymap, Failure> {
        let (first, last) = (self.connection.setup().min_keycode, self.connection.setup().max_keycode);
        let symbols =
            self.connection.get_keyboard_mapping(first, last.saturating_sub(first).saturating_add(1));
        let modifiers = self.connection.get_modifier_mapping();
        let symbols = symbols.map_err(|error| lost(&error))?.reply().map_err(unreadable)?;
        let modifiers = modifiers.map_err(|error| lost(&error))?.reply().map_err(unreadable)?;
        Ok(Keymap {
            first_keycode: first,
            columns: symbols.keysyms_per_keycode,
            symbols: symbols.keysyms,
            modifier_keys: modifiers.keycodes,
        })
    }

    /// The grabs that a hotkey needs with the present keyboard layout.
    fn needed(&self, hotkey: &Hotkey) -> BTreeSet<KeyGrab> {
        let variants = self.keymap.lock_variants(hotkey.binding.modifiers);
        let mut needed = BTreeSet::new();
        for root in self.connection.setup().roots.iter().map(|screen| screen.root) {
            for keycode in self.keymap.keycodes(hotkey.binding.key) {
                needed.extend(variants.iter().map(|&modifiers| KeyGrab { root, keycode, modifiers }));
            }
        }
        needed
    }

    /// Changes the grabs to those that are needed now. A hotkey whose grabs are not all granted gets none: it would
    /// depend on Caps Lock and Num Lock.
    fn reconcile(&mut self) -> Result<Vec<GrabFailure>, Failure> {
        let needed: Vec<(HotkeyAction, BTreeSet<KeyGrab>)> =
            self.hotkeys.iter().map(|hotkey| (hotkey.action, self.needed(hotkey))).collect();
        let held: BTreeSet<KeyGrab> = self.active.values().flatten().copied().collect();
        let kept: BTreeSet<KeyGrab> = needed.iter().flat_map(|(_, grabs)| grabs).copied().collect();
        // Before any new grab: the new keys of one hotkey may be the former keys of another.
        self.ungrab(held.difference(&kept))?;
        self.active.clear();
        let mut failures = Vec::new();
        for (action, grabs) in needed {
            if grabs.is_empty() {
                failures.push(GrabFailure { action, why: "the keyboard layout has no such key" });
            } else if self.grab_all(&grabs, &held)? {
                self.active.insert(action, grabs);
            } else {
                failures.push(GrabFailure { action, why: "another program has grabbed these keys" });
            }
        }
        Ok(failures)
    }

    /// Grabs all of `grabs`, except those that are `held` already, or none of them.
    fn grab_all(&self, grabs: &BTreeSet<KeyGrab>, held: &BTreeSet<KeyGrab>) -> Result<bool, Failure> {
        let mut cookies = Vec::new();
        for grab in grabs.difference(held) {
            let modifiers = ModMask::from(grab.modifiers);
            let cookie = self.connection.grab_key(
                false,
                grab.root,
                modifiers,
                grab.keycode,
                GrabMode::ASYNC,
                GrabMode::ASYNC,
            );
            cookies.push((cookie.map_err(|error| lost(&error))?, grab));
        }
        let mut granted = Vec::new();
        let mut complete = true;
        for (cookie, grab) in cookies {
            match cookie.check() {
                Ok(()) => granted.push(grab),
                Err(ReplyError::X11Error(_)) => complete = false,
                Err(ReplyError::ConnectionError(error)) => return Err(lost(&error)),
            }
        }
        if !complete {
            self.ungrab(granted)?;
            self.ungrab(grabs.intersection(held))?;
        }
        Ok(complete)
    }

    fn ungrab<'a>(&self, grabs: impl IntoIterator<Item = &'a KeyGrab>) -> Result<(), Failure> {
        for grab in grabs {
            let modifiers = ModMask::from(grab.modifiers);
            let cookie = self.connection.ungrab_key(grab.keycode, grab.root, modifiers);
            cookie.map_err(|error| lost(&error))?.ignore_error();
        }
        Ok(())
    }

    /// Follows a change of the keyboard layout.
    fn remap(&mut self) -> Result<Vec<KeyEvent>, Failure> {
        self.keymap = self.read_keymap()?;
        let before: BTreeSet<HotkeyAction> = self.active.keys().copied().collect();
        let failures = self.reconcile()?;
        let lost =
            failures.into_iter().filter(|failure| before.contains(&failure.action)).map(KeyEvent::Lost);
        let restored = self.active.keys().filter(|action| !before.contains(action));
        Ok(lost.chain(restored.map(|action| KeyEvent::Restored(*action))).collect())
    }

    fn is_readable_within(&self, limit: Duration) -> bool {
        let mut fds = [PollFd::new(self.connection.stream(), PollFlags::IN)];
        poll(&mut fds, Some(&timespec(limit))).is_ok_and(|ready| ready > 0)
    }

    /// The hotkey that a key event is about.
    fn action_of(&self, event: &KeyPressEvent) -> Option<HotkeyAction> {
        let has_key = |grabs: &BTreeSet<KeyGrab>| grabs.iter().any(|grab| grab.keycode == event.detail);
        let pressed = |hotkey: &&Hotkey| {
            self.active.get(&hotkey.action).is_some_and(has_key)
                && self.keymap.matches(event.state.into(), hotkey.binding.modifiers)
        };
        self.hotkeys.iter().find(pressed).map(|hotkey| hotkey.action)
    }
}

impl KeyGrabber for X11Keys {
    fn grab(&mut self) -> Result<Vec<GrabFailure>, Failure> {
        self.reconcile()
    }

    fn events(&mut self) -> Result<Vec<KeyEvent>, Failure> {
        let mut events = Vec::new();
        let mut layout_changed = false;
        while let Some(event) = self.connection.poll_for_event().map_err(|error| lost(&error))? {
            match event {
                Event::KeyPress(press) => {
                    let acts = self.held.press(press.detail, press.time);
                    if let Some(action) = self.action_of(&press).filter(|_| acts) {
                        events.push(KeyEvent::Pressed { action, at: PressedAt(press.root) });
                    }
                }
                Event::KeyRelease(release) => self.held.release(release.detail, release.time),
                // One change of the layout causes several of them.
                Event::MappingNotify(change) => layout_changed |= change.request != Mapping::POINTER,
                _ => {}
            }
        }
        if layout_changed {
            events.extend(self.remap()?);
        }
        Ok(events)
    }

    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.connection.stream().as_fd()]
    }

    fn release(&mut self) {
        let grabs = std::mem::take(&mut self.active);
        let released = self.ungrab(grabs.values().flatten());
        // A reply shows that the server has removed them. A server that hangs sends none.
        if released.is_ok()
            && let Ok(cookie) = self.connection.get_input_focus()
            && self.connection.flush().is_ok()
            && self.is_readable_within(limits::HOTKEY_RELEASE)
        {
            drop(cookie.reply());
        }
    }
}

fn unreadable(error: ReplyError) -> Failure {
    match error {
        ReplyError::ConnectionError(error) => lost(&error),
        ReplyError::X11Error(error) => {
            Failure::general(format!("cannot read the keyboard map of the display ({:?})", error.error_kind))
        }
    }
}
