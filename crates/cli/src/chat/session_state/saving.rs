//! When the conversation is saved: as it goes on, when the user leaves and agrees, or on request only.

use super::{ChatState, RequestPurpose};
use swb_tui::input::keys::Key;
use swb_types::SavePolicy;
use swb_wire::scriptschnell::{Request, SessionSave};

impl ChatState {
    /// Whether the session is known to be in memory only.
    pub(in crate::chat) fn is_unsaved(&self) -> bool {
        self.fresh && !self.saved && self.save != SavePolicy::Always
    }

    pub(super) fn was_saved(&mut self) {
        (self.saved, self.changed) = (true, false);
    }

    /// Saves a conversation that the daemon does not save by itself: one that existed before.
    pub(super) fn auto_save(&mut self) {
        if self.save == SavePolicy::Always && !self.fresh && self.owner {
            self.send(Request::SessionSave(SessionSave::default()), RequestPurpose::AutoSave);
        }
    }

    /// Leaves, unless the user has to be asked whether to save the conversation.
    pub(super) fn leave(&mut self) {
        let asks = self.save == SavePolicy::Ask && self.changed && self.owner && !self.away;
        (self.asked_to_save, self.leaving) = (asks, !asks);
    }

    /// Handles the answer to that question. Keys that leave mean no.
    pub(super) fn decide_saving(&mut self, key: &Key) {
        match key {
            Key::Char('y' | 'Y') | Key::Enter => {
                self.asked_to_save = false;
                self.send(Request::SessionSave(SessionSave::default()), RequestPurpose::SaveAndLeave);
            }
            Key::Char('n' | 'N') | Key::Ctrl('c' | 'd') => self.leaving = true,
            Key::Escape => self.asked_to_save = false,
            _ => {}
        }
    }
}
