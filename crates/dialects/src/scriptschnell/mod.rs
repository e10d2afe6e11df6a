//! The scriptschnell front: conversations with agents, one JSON object per line.

mod settings;

use crate::conn::Fronts;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use swb_engine::chat::Chats;

pub use settings::{AuthMethod, Settings};

/// Label of this front.
pub const LABEL: &str = "scriptschnell";

/// The scriptschnell front.
#[derive(Debug, Clone)]
pub struct ScriptSchnell {
    chats: Chats,
    fronts: Fronts,
    settings: Arc<Settings>,
}

impl ScriptSchnell {
    /// Makes the front; [`ScriptSchnell::listen`] opens its socket.
    pub fn new(chats: Chats, fronts: Fronts, settings: Settings) -> Self {
        Self { chats, fronts, settings: Arc::new(settings) }
    }

    /// Serves the connections of a listening socket until the daemon stops.
    pub fn listen(&self, listener: OwnedFd) -> io::Result<()> {
        let settings = Arc::clone(&self.settings);
        let admit = move |uid, gid, ours| settings.admits(uid, gid, ours);
        let chats = self.chats.clone();
        let serve = move |stream, room| {
            let chats = chats.clone();
            async move { drop((stream, room, chats)) }
        };
        let most = self.settings.max_connections;
        self.fronts.accept_if(listener, self.fronts.stop.clone(), most, admit, serve)
    }
}
