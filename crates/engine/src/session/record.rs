//! The record of each PTY, which the keeper stores for the next daemon.

use crate::limits;
use crate::session::SessionUid;
use crate::spec::{SessionSpec, ShellSpec};
use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use swb_types::PtyId;

/// Version of this record; a daemon skips slots whose record it cannot read.
const VERSION: u32 = 1;

/// The record of one PTY, as JSON in a memfd that the keeper holds unread.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PtyRecord {
    version: u32,
    /// Unique id of the session: distinguishes it from earlier and later ones of the same name.
    pub(crate) uid: SessionUid,
    pub(crate) pty: PtyId,
    /// Its process is not to be started again, regardless of the restart policy: it is being ended, or has ended for
    /// good.
    #[serde(default)]
    pub(crate) dismissed: bool,
    pub(crate) body: RecordBody,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RecordBody {
    /// PTY 0 carries the record of the session.
    Session {
        spec: Arc<SessionSpec>,
        created: u64,
        next_pty: u32,
        /// It is being killed; its name is free already.
        ending: bool,
    },
    Shell {
        spec: ShellSpec,
    },
}

impl PtyRecord {
    pub(crate) fn new(uid: SessionUid, pty: PtyId, dismissed: bool, body: RecordBody) -> Self {
        Self { version: VERSION, uid, pty, dismissed, body }
    }

    pub(crate) fn to_memfd(&self) -> io::Result<OwnedFd> {
        swb_keeper::sealed_memfd("swb-record", &serde_json::to_vec(self)?)
    }

    pub(crate) fn from_memfd(fd: &OwnedFd) -> io::Result<Self> {
        let record: Self = serde_json::from_slice(&swb_keeper::read_memfd(fd, limits::STORED)?)?;
        if record.version != VERSION {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "unknown record version"));
        }
        Ok(record)
    }
}
