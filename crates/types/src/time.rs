//! Timestamps.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::SystemTime;

/// A point in time: milliseconds since 1970, written as RFC 3339 in UTC.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, JsonSchema, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// The time of a clock; 0 for a time before 1970.
    pub fn of(time: SystemTime) -> Self {
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    /// Reads RFC 3339, with any number of fractional digits and any offset; times before 1970 are not kept.
    pub fn parse(text: &str) -> Option<Self> {
        let time: jiff::Timestamp = text.parse().ok()?;
        u64::try_from(time.as_millisecond()).ok().map(Self)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = i64::try_from(self.0).unwrap_or(i64::MAX);
        let time = jiff::Timestamp::from_millisecond(millis).unwrap_or(jiff::Timestamp::MAX);
        write!(f, "{time:.3}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // SS-6
    #[test]
    fn times_are_written_in_rfc_3339() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_705_314_600_123, "2024-01-15T10:30:00.123Z"),
            (4_102_444_799_999, "2099-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(Timestamp(millis).to_string(), text);
            assert_eq!(Timestamp::parse(text), Some(Timestamp(millis)));
        }
        assert_eq!(Timestamp::parse("2024-01-15T10:30:00Z"), Some(Timestamp(1_705_314_600_000)));
        assert_eq!(Timestamp::parse("2024-01-15T10:30:00.123456789Z"), Some(Timestamp(1_705_314_600_123)));
        assert_eq!(Timestamp::parse("2024-01-15T11:30:00+01:00"), Some(Timestamp(1_705_314_600_000)));
        for bad in [
            "",
            "2024",
            "2024-13-01T00:00:00Z",
            "2024-01-15T25:00:00Z",
            "x-y-zTa:b:cZ",
            "2024-01-15T10:30:00",
            "2024-01-15T10:30:00.12%456789Z",
            "1969-12-31T23:59:59Z",
        ] {
            assert_eq!(Timestamp::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_time_no_calendar_has_is_written_as_the_last_one() {
        assert_eq!(Timestamp(u64::MAX).to_string(), "9999-12-30T22:00:00.999Z");
    }
}
