//! Points in time as they are kept and told.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::SystemTime;

const DAY: u64 = 86_400;

/// A point in time: milliseconds since 1970, told as RFC 3339 in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// What a clock shows; 0 if it shows a time before 1970.
    pub fn of(time: SystemTime) -> Self {
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    /// Reads what [`Display`](fmt::Display) writes, with any number of fractional digits and `Z`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_suffix(['Z', 'z'])?;
        let (date, time) = text.split_once(['T', 't', ' '])?;
        let mut date = date.splitn(3, '-').map(str::parse::<u64>);
        let (year, month, day) = (date.next()?.ok()?, date.next()?.ok()?, date.next()?.ok()?);
        let (clock, fraction) = time.split_once('.').unwrap_or((time, ""));
        let mut clock = clock.splitn(3, ':').map(str::parse::<u64>);
        let (hour, minute, second) = (clock.next()?.ok()?, clock.next()?.ok()?, clock.next()?.ok()?);
        let sensible = (1970..=9999).contains(&year)
            && (1..=12).contains(&month)
            && (1..=31).contains(&day)
            && hour < 24
            && minute < 60
            && second <= 60
            && fraction.bytes().all(|digit| digit.is_ascii_digit());
        let millis = fraction.bytes().chain(*b"000").take(3).fold(0, |sum, d| sum * 10 + u64::from(d - b'0'));
        sensible.then(|| {
            let seconds = days_before(year, month, day) * DAY + hour * 3600 + minute * 60 + second;
            Self(seconds * 1000 + millis)
        })
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, millis) = (self.0 / 1000, self.0 % 1000);
        let (year, month, day) = date_of(seconds / DAY);
        let (hour, minute, second) = (seconds % DAY / 3600, seconds % 3600 / 60, seconds % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
    }
}

/// Days from 1970-01-01 to a date. Years are counted from March on, so that the odd day comes last.
fn days_before(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    let leap_days = year / 4 - year / 100 + year / 400;
    (year * 365 + leap_days + (month * 153 + 2) / 5 + day - 1).saturating_sub(719_468)
}

fn date_of(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = (era * 400 + year, if month < 10 { month + 3 } else { month - 9 });
    (if month <= 2 { year + 1 } else { year }, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    // SS-6
    #[test]
    fn times_are_told_in_rfc_3339() {
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
        for bad in [
            "",
            "2024",
            "2024-13-01T00:00:00Z",
            "2024-01-15T25:00:00Z",
            "x-y-zTa:b:cZ",
            "2024-01-15T10:30:00",
        ] {
            assert_eq!(Timestamp::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn every_day_has_its_date() {
        let mut last = (0, 0, 0);
        for day in 0..200_000 {
            let date = date_of(day);
            assert!(date > last);
            assert_eq!(days_before(date.0, date.1, date.2), day);
            last = date;
        }
    }
}
