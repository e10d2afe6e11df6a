//! Quiet hours: times of the day, in local time, without notifications.

use serde::Deserialize;
use std::fmt;
use std::path::Path;
use swb_engine::file_access;

/// Minutes of a day.
const DAY: u16 = 24 * 60;

/// A time of the day from one minute to another, which may be after midnight: `22:00-07:00`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct QuietHours {
    from: u16,
    to: u16,
}

impl QuietHours {
    /// Whether a minute of the day is within.
    pub(crate) fn contains(self, minute: u16) -> bool {
        match self.from < self.to {
            true => (self.from..self.to).contains(&minute),
            false => minute >= self.from || minute < self.to,
        }
    }
}

impl TryFrom<String> for QuietHours {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let hours = text.split_once('-').and_then(|(from, to)| {
            let (from, to) = (minute(from)?, minute(to)?);
            (from != to && from < DAY).then_some(Self { from, to })
        });
        hours.ok_or_else(|| format!("'{text}' is not a time of the day such as 22:00-07:00"))
    }
}

/// The minute of the day that `07:30` names.
fn minute(text: &str) -> Option<u16> {
    let (hour, minute) = text.trim().split_once(':')?;
    let number = |text: &str| text.parse::<u16>().ok().filter(|_| text.len() <= 2 && !text.starts_with('+'));
    let (hour, minute) = (number(hour)?, number(minute)?);
    let total = hour.checked_mul(60)?.checked_add(minute)?;
    (minute < 60 && total <= DAY).then_some(total)
}

impl fmt::Display for QuietHours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to } = self;
        write!(f, "{:02}:{:02}-{:02}:{:02}", from / 60, from % 60, to / 60, to % 60)
    }
}

/// The minute of the day on the clocks here; `None` if the time zone cannot be read in time.
pub(crate) async fn local_minute() -> Option<u16> {
    let minute = |_: &Path| {
        let now = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::system());
        u16::try_from(i16::from(now.hour()) * 60 + i16::from(now.minute())).ok()
    };
    // The file that names the time zone.
    file_access::run(Path::new("/etc/localtime"), minute).await.ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hours(text: &str) -> QuietHours {
        QuietHours::try_from(text.to_owned()).unwrap()
    }

    #[test]
    fn hours_may_reach_over_midnight() {
        let night = hours("22:00-07:30");
        let within = |hour: u16, minute: u16| night.contains(hour * 60 + minute);
        assert!(within(22, 0) && within(23, 59) && within(0, 0) && within(7, 29));
        assert!(!within(7, 30) && !within(21, 59) && !within(12, 0));
        let noon = hours("12:00 - 13:00");
        assert!(noon.contains(720) && noon.contains(779) && !noon.contains(780) && !noon.contains(0));
        let evening = hours("18:00-24:00");
        assert!(evening.contains(1439) && !evening.contains(0));
    }

    #[test]
    fn other_texts_are_rejected() {
        for bad in
            ["", "22:00", "22-7", "22:00-22:00", "25:00-07:00", "22:60-07:00", "24:00-07:00", "+2:00-7:00"]
        {
            assert!(QuietHours::try_from(bad.to_owned()).is_err(), "{bad}");
        }
        assert_eq!(hours("9:05-17:00").to_string(), "09:05-17:00");
    }

    #[tokio::test]
    async fn the_local_time_is_known() {
        assert!(local_minute().await.is_some_and(|minute| minute < DAY));
    }
}
