//! When a shown age changes: the only thing that happens without an event.

use crate::limits;
use std::time::Duration;

const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// How long nothing changes on a screen that shows the ages of these moments; all times in Unix milliseconds. Changes are
/// gathered into ticks of the clock.
pub(super) fn until_change(moments: impl Iterator<Item = u64>, now: u64) -> Option<Duration> {
    let next = moments.filter(|since| *since > 0).map(|since| next_change(since, now)).min()?;
    let tick = u64::try_from(limits::TOP_TICK.as_millis()).unwrap_or(u64::MAX);
    let due = next.div_ceil(tick).saturating_mul(tick);
    Some(Duration::from_millis(due.saturating_sub(now)))
}

/// When the age of `since` reads differently.
fn next_change(since: u64, now: u64) -> u64 {
    let age = now.saturating_sub(since);
    let step = match age {
        0..HOUR => MINUTE,
        HOUR..DAY => HOUR,
        _ => DAY,
    };
    since.saturating_add((age / step + 1).saturating_mul(step))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(since: &[u64], now: u64) -> Option<u64> {
        let since: Vec<u64> = since.iter().map(|since| since * 1000).collect();
        until_change(since.into_iter(), now * 1000).map(|wait| wait.as_secs())
    }

    #[test]
    fn the_clock_ticks_only_when_an_age_changes() {
        let day = 86_400;
        assert_eq!(seconds(&[], 7), None);
        assert_eq!(seconds(&[0], 7), None, "unknown");
        assert_eq!(seconds(&[day], day + 12), Some(48));
        assert_eq!(seconds(&[day + 5], day + 12), Some(58), "gathered into one tick");
        assert_eq!(seconds(&[day, day + 10], day + 3605), Some(5), "minutes become an hour");
        assert_eq!(seconds(&[day], day + 3605), Some(3595));
        assert_eq!(seconds(&[day], 3 * day), Some(day));
        assert_eq!(seconds(&[2 * day], day), Some(day + 60), "a clock that was set back");
    }
}
