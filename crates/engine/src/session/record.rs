//! What the keeper stores about each PTY so that the next daemon knows what it is.

use crate::limits;
use crate::spec::{SessionSpec, ShellSpec};
use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use swb_types::PtyId;

/// Version of this record; a daemon leaves slots alone whose record it cannot read.
const VERSION: u32 = 1;

/// The record of one PTY, as JSON in a memfd that the keeper holds unread.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PtyRecord {
    version: u32,
    /// Tells sessions apart that bear the same name one after the other.
    pub(crate) uid: u64,
    pub(crate) pty: PtyId,
    /// Its process is not to be started again, whatever the policy says: it is being ended, or has ended for
    /// good.
    #[serde(default)]
    pub(crate) dismissed: bool,
    pub(crate) body: RecordBody,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RecordBody {
    /// PTY 0 carries what is known of the session.
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
    pub(crate) fn new(uid: u64, pty: PtyId, dismissed: bool, body: RecordBody) -> Self {
        Self { version: VERSION, uid, pty, dismissed, body }
    }

    pub(crate) fn to_memfd(&self) -> io::Result<OwnedFd> {
        swb_keeper::sealed_memfd("swb-record", &serde_json::to_vec(self)?)
    }

    pub(crate) fn from_memfd(fd: &OwnedFd) -> io::Result<Self> {
        let record: Self = serde_json::from_slice(&swb_keeper::read_memfd(fd, limits::STORED)?)?;
        if record.version != VERSION {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a record of another version"));
        }
        Ok(record)
    }
}
