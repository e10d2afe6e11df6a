//! `swb notify`: how notifications are sent, and about which sessions.

use crate::args::{self, NotifyCommand};
use crate::context::Context;
use crate::error::Outcome;
use crate::table::{self, now};
use serde::Serialize;
use swb_vt::printable;
use swb_wire::control::{
    Mute, MuteReply, NotificationKind, Notifications, NotificationsReply, NotifyTest, NotifyTestReply,
    Operation, TestItem,
};

/// The output of `notify mute --json` and `notify unmute --json`.
#[derive(Debug, Serialize)]
struct Muted {
    session: String,
    muted: bool,
    until: Option<u64>,
}

/// The output of `notify status --json`: the reply without the field `ok`.
#[derive(Debug, Serialize)]
struct Status {
    on: Vec<NotificationKind>,
    finished_after: u64,
    means: Vec<swb_wire::control::MeansItem>,
    quiet_hours: Vec<String>,
    quiet: bool,
    muted: Vec<swb_wire::control::MuteItem>,
}

/// Shows the notifications, mutes a session, or tries the means out.
pub(super) fn run(context: &Context, args: args::NotifyArgs) -> Outcome {
    match args.command.unwrap_or(NotifyCommand::Status) {
        NotifyCommand::Status => {
            let NotificationsReply { on, finished_after, means, quiet_hours, quiet, muted, .. } =
                context.query(&Operation::Notifications(Notifications {}))?;
            let status = Status { on, finished_after, means, quiet_hours, quiet, muted };
            context.print_result(&status, |status| status_text(status, now()))?;
        }
        NotifyCommand::Mute { name, time } => {
            let seconds = time.map(|time| time.as_secs());
            mute(context, Mute { session: context.session(name)?, seconds, off: false })?;
        }
        NotifyCommand::Unmute { name } => {
            mute(context, Mute { session: context.session(name)?, off: true, ..Mute::default() })?;
        }
        NotifyCommand::Test => {
            let reply: NotifyTestReply = context.execute(&Operation::NotifyTest(NotifyTest {}))?;
            context.print_result(&reply.results, |results| test_text(results))?;
            return Ok(u8::from(reply.results.iter().any(|result| result.error.is_some())));
        }
    }
    Ok(0)
}

fn mute(context: &Context, mute: Mute) -> Result<(), crate::error::Failure> {
    let MuteReply { session, muted, until, .. } = context.execute(&Operation::Mute(mute))?;
    context.print_result(&Muted { session, muted, until }, |muted| mute_text(muted, now()))
}

fn mute_text(muted: &Muted, now: u64) -> String {
    let session = printable(&muted.session);
    match (muted.muted, muted.until) {
        (false, _) => format!("Notifications about {session} are sent again.\n"),
        (true, None) => {
            format!("No notifications about {session}; `swb notify unmute {session}` ends that.\n")
        }
        (true, Some(until)) => format!("No notifications about {session} for {}.\n", left(until, now)),
    }
}

fn left(until: u64, now: u64) -> String {
    table::age((until.div_ceil(1000)).saturating_sub(now))
}

fn status_text(status: &Status, now: u64) -> String {
    let mut kinds: Vec<String> = status.on.iter().map(|kind| kind.as_str().to_owned()).collect();
    for kind in &mut kinds {
        if kind == NotificationKind::Finished.as_str() {
            *kind = format!("finished after {} s or more", status.finished_after);
        }
    }
    let mut text =
        format!("On:           {}\n", if kinds.is_empty() { "nothing".to_owned() } else { kinds.join(", ") });
    if !status.quiet_hours.is_empty() {
        let quiet = if status.quiet { " (now)" } else { "" };
        text.push_str(&format!("Quiet hours:  {}{quiet}\n", status.quiet_hours.join(", ")));
    }
    if !status.muted.is_empty() {
        let muted = status.muted.iter().map(|mute| match mute.until {
            Some(until) => format!("{} (for {})", printable(&mute.session), left(until, now)),
            None => printable(&mute.session).into_owned(),
        });
        text.push_str(&format!("Muted:        {}\n", muted.collect::<Vec<_>>().join(", ")));
    }
    if status.means.is_empty() {
        return text
            + "Nothing is configured that could show a notification; see [notifications] in docs/configuration.md.\n";
    }
    let rows: Vec<[String; 5]> = status
        .means
        .iter()
        .map(|means| {
            let error =
                means.error.as_deref().map_or_else(|| "-".to_owned(), |error| printable(error).into_owned());
            let detail = printable(&means.detail).into_owned();
            [means.means.clone(), detail, means.sent.to_string(), means.failed.to_string(), error]
        })
        .collect();
    text + "\n" + &table::layout(["MEANS", "DETAIL", "SENT", "FAILED", "LAST ERROR"], &rows)
}

fn test_text(results: &[TestItem]) -> String {
    if results.is_empty() {
        return "Nothing is configured that could show a notification; see [notifications] in docs/configuration.md.\n"
            .to_owned();
    }
    let line = |result: &TestItem| {
        let outcome = result
            .error
            .as_deref()
            .map_or_else(|| "sent".to_owned(), |error| format!("failed: {}", printable(error)));
        format!("{} ({}): {outcome}\n", result.means, printable(&result.detail))
    };
    results.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use swb_wire::control::{MeansItem, MuteItem};

    #[test]
    fn people_get_the_state_of_their_notifications() {
        let means = |name: &str, detail: &str, failed, error: Option<&str>| MeansItem {
            means: name.to_owned(),
            detail: detail.to_owned(),
            sent: 3,
            failed,
            error: error.map(str::to_owned),
        };
        let status = Status {
            on: vec![NotificationKind::Asking, NotificationKind::Finished],
            finished_after: 30,
            means: vec![
                means("terminal", "auto", 0, None),
                means("webhook", "example.net", 1, Some("connection refused")),
            ],
            quiet_hours: vec!["22:00-07:00".to_owned()],
            quiet: true,
            muted: vec![
                MuteItem { session: "api".into(), until: Some(4_600_000) },
                MuteItem { session: "web".into(), until: None },
            ],
        };
        insta::assert_snapshot!(status_text(&status, 1000), @r"
        On:           asking, finished after 30 s or more
        Quiet hours:  22:00-07:00 (now)
        Muted:        api (for 1h), web

        MEANS     DETAIL       SENT  FAILED  LAST ERROR
        terminal  auto         3     0       -
        webhook   example.net  3     1       connection refused
        ");
    }

    #[test]
    fn results_are_sentences() {
        let muted = |muted, until| mute_text(&Muted { session: "api".into(), muted, until }, 100);
        assert_eq!(muted(true, Some(7_300_000)), "No notifications about api for 2h.\n");
        assert_eq!(muted(false, None), "Notifications about api are sent again.\n");
        assert!(muted(true, None).contains("swb notify unmute api"));
        let failed =
            TestItem { means: "command".into(), detail: "x".into(), error: Some("exit code 3".into()) };
        assert_eq!(test_text(&[failed]), "command (x): failed: exit code 3\n");
        assert!(test_text(&[]).contains("[notifications]"));
    }
}
