//! Wrong tokens, counted per address: each further one gets its reply later, and no other client is delayed.

use crate::limits;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The wrong tokens of all addresses.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    addresses: Mutex<HashMap<IpAddr, Count>>,
}

#[derive(Debug, Clone, Copy)]
struct Count {
    failures: u32,
    last: Instant,
}

impl Failures {
    /// Counts a wrong token; returns how long its answer has to wait.
    pub(crate) fn count(&self, address: IpAddr, now: Instant) -> Duration {
        let mut addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        if addresses.len() >= limits::FAILURE_ADDRESSES && !addresses.contains_key(&address) {
            let forgotten =
                |count: &Count| now.saturating_duration_since(count.last) > limits::FAILURE_MEMORY;
            addresses.retain(|_, count| !forgotten(count));
            if addresses.len() >= limits::FAILURE_ADDRESSES {
                // Too many addresses at once to count each: the newest get the longest delay.
                return limits::FAILURE_DELAY_MOST;
            }
        }
        let count = addresses.entry(address).or_insert(Count { failures: 0, last: now });
        if now.saturating_duration_since(count.last) > limits::FAILURE_MEMORY {
            count.failures = 0;
        }
        count.failures = count.failures.saturating_add(1);
        count.last = now;
        if count.failures.is_power_of_two() {
            tracing::warn!(%address, attempts = count.failures, "a web client sent a wrong token");
        }
        delay(count.failures)
    }

    /// Forgets the failures of an address that has shown a valid token.
    pub(crate) fn clear(&self, address: IpAddr) {
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner).remove(&address);
    }
}

fn delay(failures: u32) -> Duration {
    let factor = 1u32.checked_shl(failures.saturating_sub(1).min(16)).unwrap_or(u32::MAX);
    limits::FAILURE_DELAY.saturating_mul(factor).min(limits::FAILURE_DELAY_MOST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn each_failure_of_an_address_waits_longer_up_to_a_bound() {
        let (failures, now) = (Failures::default(), Instant::now());
        let [one, other] = [1, 2].map(|last| IpAddr::from(Ipv4Addr::new(10, 0, 0, last)));
        let delays = [(); 6].map(|()| failures.count(one, now).as_millis());
        assert_eq!(delays, [100, 200, 400, 800, 1500, 1500]);
        assert_eq!(failures.count(other, now).as_millis(), 100);
        failures.clear(one);
        assert_eq!(failures.count(one, now).as_millis(), 100);
        let later = now + limits::FAILURE_MEMORY + Duration::from_secs(1);
        assert_eq!(failures.count(other, later).as_millis(), 100);
    }

    #[test]
    fn the_number_of_remembered_addresses_is_bounded() {
        let (failures, now) = (Failures::default(), Instant::now());
        for number in 0..limits::FAILURE_ADDRESSES as u32 + 50 {
            failures.count(IpAddr::from(Ipv4Addr::from_bits(number)), now);
        }
        assert_eq!(failures.addresses.lock().unwrap().len(), limits::FAILURE_ADDRESSES);
    }
}
