//! What an epoll event of the keeper is about.

use crate::id::SlotId;
use rustix::event::epoll::EventData;

/// Where an event comes from: the listener, the daemon, a signal, or something of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// A connection waits to be accepted.
    Listener,
    /// The daemon sent something, left, or its socket has room again.
    Daemon,
    /// A daemon this keeper has started ended.
    DaemonProcess,
    /// A client has connected to a socket that is held for the daemon.
    Backlog,
    /// A signal asks the keeper to end.
    Terminate,
    /// A PTY has output, or was hung up.
    Master(SlotId),
    /// A child ended.
    Process(SlotId),
    /// A child became its program, or could not.
    Started(SlotId),
}

impl Source {
    /// The word the kernel returns with each event: the kind in its upper half, the slot in the lower.
    pub(crate) fn data(self) -> EventData {
        let (kind, slot) = match self {
            Self::Listener => (0, 0),
            Self::Daemon => (1, 0),
            Self::DaemonProcess => (2, 0),
            Self::Master(SlotId(slot)) => (3, slot),
            Self::Process(SlotId(slot)) => (4, slot),
            Self::Started(SlotId(slot)) => (5, slot),
            Self::Backlog => (6, 0),
            Self::Terminate => (7, 0),
        };
        EventData::new_u64(kind << 32 | u64::from(slot))
    }

    /// Reads the word back; nothing if [`Source::data`] did not make it.
    pub(crate) fn of(data: EventData) -> Option<Self> {
        let slot = SlotId(data.u64() as u32);
        Some(match data.u64() >> 32 {
            0 => Self::Listener,
            1 => Self::Daemon,
            2 => Self::DaemonProcess,
            3 => Self::Master(slot),
            4 => Self::Process(slot),
            5 => Self::Started(slot),
            6 => Self::Backlog,
            7 => Self::Terminate,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_survives_its_event() {
        use Source::*;
        let slot = SlotId(8191);
        let own = [Listener, Daemon, DaemonProcess, Backlog, Terminate];
        for source in own.into_iter().chain([Master(slot), Process(slot), Started(slot)]) {
            assert_eq!(Source::of(source.data()), Some(source));
        }
        assert_eq!(Source::of(EventData::new_u64(8 << 32)), None);
    }
}
