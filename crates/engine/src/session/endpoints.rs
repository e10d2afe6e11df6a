//! Opening and closing the endpoints of a session.

use super::task::SessionTask;
use crate::endpoint::EndpointError;
use crate::error::Error;
use crate::keeper::KEY_ENDPOINT;
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use swb_keeper::SlotId;

impl SessionTask {
    /// Opens the endpoints and stores the session's record with the keeper. `kept` has the descriptors that an earlier
    /// daemon left; without `strict` an endpoint that cannot be opened is only logged, as the session exists anyway.
    pub(super) fn enter(&self, kept: &mut BTreeMap<u16, OwnedFd>, strict: bool) -> Result<(), Error> {
        let slot = self.agent_slot();
        // First, so that the next daemon finds and removes what is opened here if this one dies.
        self.store();
        let required = |label: &str| strict && self.spec().required.iter().any(|required| required == label);
        let exclusive = strict && self.spec().exclusive_name;
        let taken = |error: &EndpointError| exclusive && matches!(error, EndpointError::Taken(_));
        for (index, endpoint) in self.context.endpoints.iter().enumerate() {
            let label = endpoint.label();
            if !self.session.is_offered_to(label) {
                continue;
            }
            let key = KEY_ENDPOINT + index as u16;
            match endpoint.open(&self.session, kept.remove(&key)) {
                Ok(fd) => self.context.keeper.hold(slot, key, fd),
                Err(error) if required(label) || taken(&error) => {
                    self.close_endpoints();
                    return Err(Error::Endpoint(error.to_string()));
                }
                Err(error) => {
                    tracing::warn!(session = %self.session.name(), front = label, %error, "cannot open its endpoint");
                }
            }
        }
        Ok(())
    }

    /// Removes the endpoints that an earlier daemon left of a session that has ended.
    pub(super) fn clear_endpoints(&self, slot: SlotId, kept: &mut BTreeMap<u16, OwnedFd>) {
        for (index, endpoint) in self.context.endpoints.iter().enumerate() {
            if self.session.is_offered_to(endpoint.label()) {
                let key = KEY_ENDPOINT + index as u16;
                endpoint.clear(&self.session, kept.remove(&key));
                self.context.keeper.drop_held(slot, key);
            }
        }
    }

    /// Opens the endpoints of a new session; fails if a required one cannot be opened, or another program has one.
    pub(crate) fn open(&self) -> Result<(), Error> {
        let offered = |label: &String| {
            self.session.is_offered_to(label)
                && self.context.endpoints.iter().any(|endpoint| endpoint.label() == label)
        };
        let missing = self.spec().required.iter().find(|label| !offered(label));
        let outcome = match missing {
            Some(label) => Err(Error::Endpoint(format!("the {label} front is not offered by this daemon"))),
            None => self.enter(&mut BTreeMap::new(), true),
        };
        outcome.inspect_err(|_| self.context.keeper.free_slot(self.agent_slot()))
    }

    pub(super) fn close_endpoints(&self) {
        for (index, endpoint) in self.context.endpoints.iter().enumerate() {
            if self.session.is_offered_to(endpoint.label()) {
                endpoint.close(&self.session);
                self.context.keeper.drop_held(self.agent_slot(), KEY_ENDPOINT + index as u16);
            }
        }
    }
}
