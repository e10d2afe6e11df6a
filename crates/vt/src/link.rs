//! The links of a screen: each is kept once, and all of them together are bounded.

use crate::cell::Hyperlink;
use crate::limits;
use std::collections::HashMap;
use std::sync::{Arc, Weak};

#[derive(Debug, Clone, Default)]
pub(crate) struct Links {
    known: HashMap<Hyperlink, Weak<Hyperlink>>,
    bytes: usize,
}

impl Links {
    /// The one copy of a link; nothing when there is no room for another.
    pub(crate) fn intern(&mut self, link: Hyperlink) -> Option<Arc<Hyperlink>> {
        if let Some(known) = self.known.get(&link).and_then(Weak::upgrade) {
            return Some(known);
        }
        let size = link.id.len() + link.uri.len();
        if self.is_full(size) {
            self.known.retain(|_, link| link.strong_count() > 0);
            self.bytes = self.known.keys().map(|link| link.id.len() + link.uri.len()).sum();
            if self.is_full(size) {
                return None;
            }
        }
        let kept = Arc::new(link.clone());
        self.known.insert(link, Arc::downgrade(&kept));
        self.bytes += size;
        Some(kept)
    }

    fn is_full(&self, more: usize) -> bool {
        self.known.len() >= limits::LINKS || self.bytes + more > limits::LINK_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(n: usize) -> Hyperlink {
        Hyperlink { id: String::new(), uri: format!("https://host/{n}") }
    }

    #[test]
    fn links_in_use_are_bounded_and_others_forgotten() {
        let mut links = Links::default();
        let held: Vec<_> = (0..limits::LINKS).filter_map(|n| links.intern(link(n))).collect();
        assert_eq!(held.len(), limits::LINKS);
        assert!(links.intern(link(limits::LINKS)).is_none());
        assert!(Arc::ptr_eq(&links.intern(link(7)).unwrap(), &held[7]));
        drop(held);
        assert!(links.intern(link(limits::LINKS)).is_some());
    }
}
