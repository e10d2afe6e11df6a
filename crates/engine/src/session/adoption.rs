//! Adopting a session that an earlier daemon created.

use super::ProcessPhase;
use super::pty_state::PtyState;
use super::record::{PtyRecord, RecordBody};
use super::task::{SessionContext, SessionTask};
use crate::keeper::{self, AdoptedSlot, KEY_ASIDE, KEY_INPUT, KEY_SCREEN, KeeperEvent};
use crate::optional_state::OptionalState;
use crate::pty::Pty;
use crate::screen::{Checkpoint, ObserverStart};
use crate::session::SessionUid;
use crate::spec::{ShellSpec, Start};
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;
use swb_keeper::SlotId;
use swb_types::{Offset, PtyId, Size};

/// A session as a former daemon left it: its PTYs' records and slots.
pub(crate) struct SessionAdoption {
    pub(crate) uid: SessionUid,
    pub(crate) slots: BTreeMap<PtyId, (SlotId, PtyRecord, AdoptedSlot)>,
}

impl SessionAdoption {
    /// Whether it is a live session: not if it was being killed, as its name is free already, and not if only its output
    /// is left.
    fn is_live(&self) -> bool {
        let Some((_, record, adopted)) = self.slots.get(&PtyId::AGENT) else { return false };
        let RecordBody::Session { spec, ending, .. } = &record.body else { return false };
        let stays_down = !spec.restart.auto || record.dismissed;
        let over = adopted.exit.is_some() && stays_down && self.slots.len() == 1;
        !ending && !over
    }
}

impl SessionTask {
    /// Rebuilds a session from what a former daemon left; nothing if it never started.
    pub(crate) fn adopt(adoption: SessionAdoption, context: SessionContext) -> Option<Self> {
        let live = adoption.is_live();
        let SessionAdoption { uid, mut slots } = adoption;
        let (slot, record, adopted) = slots.remove(&PtyId::AGENT)?;
        let RecordBody::Session { spec, created, next_pty, ending } = record.body else {
            return None;
        };
        let mut task = Self::bare(spec.name.clone(), Arc::clone(&spec), uid, created, context);
        // Its creator got no reply yet, or has killed it before it started.
        let unborn = adopted.ring.is_none() && (spec.start == Start::Now || ending);
        if unborn && slots.is_empty() {
            let mut kept = adopted.held;
            task.clear_endpoints(slot, &mut kept);
            task.context.keeper.free_slot(slot);
            return None;
        }
        task.next_pty = next_pty;
        let stays_down = !spec.restart.auto || record.dismissed;
        let ended = adopted.exit.is_some() && stays_down;
        let mut dismissed: Vec<PtyId> =
            (unborn || record.dismissed).then_some(PtyId::AGENT).into_iter().collect();
        let mut kept = task.adopt_terminal(PtyId::AGENT, slot, &spec.argv, None, adopted, spec.size);
        for (pty, (slot, record, adopted)) in slots {
            if let RecordBody::Shell { spec } = record.body {
                let (argv, size) = (spec.argv.clone(), spec.size);
                task.adopt_terminal(pty, slot, &argv, Some(spec), adopted, size);
                dismissed.extend(record.dismissed.then_some(pty));
            }
        }
        dismissed.into_iter().for_each(|id| task.dismiss(id));
        if ending {
            task.begin_ending(Duration::ZERO, None);
        }
        if live {
            task.context.registry.adopt(task.session.clone());
        }
        if live && !ended && !task.agent_is_over() {
            // Cannot fail, as no endpoint is required.
            let _entered = task.enter(&mut kept, false);
        } else {
            task.clear_endpoints(slot, &mut kept);
        }
        task.publish();
        Some(task)
    }

    fn adopt_terminal(
        &mut self,
        id: PtyId,
        slot: SlotId,
        argv: &[String],
        shell: Option<ShellSpec>,
        mut state: AdoptedSlot,
        size: Size,
    ) -> BTreeMap<u16, OwnedFd> {
        let phase = match (&state.ring, state.starting) {
            (None, _) => ProcessPhase::Waiting,
            (_, true) => ProcessPhase::Starting,
            _ => ProcessPhase::Running,
        };
        let running = state.ring.and_then(keeper::open_ring).map(|ring| (ring, state.master));
        if state.held.remove(&KEY_ASIDE).is_some() {
            self.context.keeper.note_aside(slot, OptionalState::Screen(slot));
        }
        let checkpoint = state.held.remove(&KEY_SCREEN).and_then(|memory| {
            let screen = OptionalState::Screen(slot);
            let checkpoint = self.context.keeper.adopt_state(screen, memory, Checkpoint::open)?;
            checkpoint
                .inspect_err(|error| tracing::warn!(%slot, %error, "cannot read the screen's checkpoint"))
                .ok()
        });
        if id == PtyId::AGENT {
            // After an orderly stop its output is still there, but its turns were dropped (CB-57).
            let head = running.as_ref().map_or(Offset::START, |(ring, _)| Offset(ring.head().0));
            self.turns_to = (!self.context.continues).then_some(head);
        }
        let known = match id {
            PtyId::AGENT => self.known(checkpoint),
            _ => ObserverStart { checkpoint, ..ObserverStart::default() },
        };
        let (keeper, screens) = (self.context.keeper.clone(), &self.context.screens);
        let counts = state.held.remove(&KEY_INPUT);
        let pty = Pty::adopt((id, slot, size), keeper, screens, running, counts.as_ref(), known);
        let mut terminal = PtyState::new(pty, argv, shell, phase);
        terminal.pid = state.pid;
        self.add_terminal(terminal);
        if let Some(status) = state.exit {
            // It ended while no daemon ran: its task handles that as any other end.
            let _sent = self.keeper_event_sender.try_send(Box::new((slot, KeeperEvent::Exited { status })));
        }
        state.held
    }
}
