//! What `swb doctor` checks, and how the findings are shown.
//!
//! Groups of checks run beside each other, each on a thread of its own, and a common deadline bounds them: a mount or a
//! program that does not respond becomes a finding. No check changes anything, and none starts a daemon.

mod agents;
mod hooks;
mod machine;
mod processes;
mod terminal;

use crate::context::Context;
use crate::limits;
use crate::start_daemon;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};
use swb_types::Paths;
use swb_vt::printable;
use unicode_width::UnicodeWidthStr;

/// How serious a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    Ok,
    /// Something works less well than it could.
    Warning,
    /// Something does not work.
    Problem,
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// What was checked.
    name: &'static str,
    status: Level,
    message: String,
    /// What to do about it.
    hint: Option<String>,
}

impl Finding {
    fn ok(name: &'static str, message: impl Into<String>) -> Self {
        Self { name, status: Level::Ok, message: message.into(), hint: None }
    }

    fn warning(name: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { name, status: Level::Warning, message: message.into(), hint: Some(hint.into()) }
    }

    fn problem(name: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { name, status: Level::Problem, message: message.into(), hint: Some(hint.into()) }
    }
}

/// All findings; the output of `doctor --json`.
#[derive(Debug, Serialize)]
pub(crate) struct DoctorReport {
    /// Whether there is no problem.
    ok: bool,
    problems: usize,
    warnings: usize,
    /// Version of this program.
    version: &'static str,
    checks: Vec<Finding>,
}

/// What the checks need to know; each has a copy of its own.
#[derive(Debug, Clone)]
struct DoctorContext {
    paths: Paths,
    config_file: PathBuf,
    /// Whether the user has named the configuration file.
    config_named: bool,
    /// This program.
    exe: PathBuf,
}

type Group = (&'static str, fn(&DoctorContext) -> Vec<Finding>);

/// In the order in which they are shown.
const GROUPS: [Group; 8] = [
    ("directories", machine::directories),
    ("configuration", machine::configuration),
    ("daemon", processes::check),
    ("logout", machine::logout),
    ("terminal", terminal::check),
    ("agents", agents::check),
    ("hooks", hooks::check),
    ("confinement", machine::confinement),
];

/// Runs all checks.
pub(crate) fn examine(context: &Context) -> DoctorReport {
    let place = DoctorContext {
        paths: context.paths.clone(),
        config_file: context.config_path(),
        config_named: context.config_file.is_some(),
        exe: start_daemon::own_program(),
    };
    DoctorReport::new(run_all(&GROUPS, &place, limits::DOCTOR))
}

fn run_all(groups: &[Group], place: &DoctorContext, limit: Duration) -> Vec<Finding> {
    let deadline = Instant::now() + limit;
    let running: Vec<(&'static str, Receiver<Vec<Finding>>)> = groups
        .iter()
        .map(|(name, check)| {
            let (sender, receiver) = sync_channel(1);
            let (place, check) = (place.clone(), *check);
            std::thread::spawn(move || drop(sender.send(check(&place))));
            (*name, receiver)
        })
        .collect();
    let wait = |(name, findings): (&'static str, Receiver<Vec<Finding>>)| {
        let left = deadline.saturating_duration_since(Instant::now());
        findings.recv_timeout(left).unwrap_or_else(|_| vec![unfinished(name, limit)])
    };
    running.into_iter().flat_map(wait).collect()
}

fn unfinished(name: &'static str, limit: Duration) -> Finding {
    Finding::problem(
        name,
        format!("the check did not end within {} s", limit.as_secs()),
        "a directory or a program that it needs does not respond: is a network mount away?",
    )
}

impl DoctorReport {
    fn new(checks: Vec<Finding>) -> Self {
        let count = |level| checks.iter().filter(|finding| finding.status == level).count();
        let (problems, warnings) = (count(Level::Problem), count(Level::Warning));
        Self { ok: problems == 0, problems, warnings, version: env!("CARGO_PKG_VERSION"), checks }
    }

    /// 0 without problems.
    pub(crate) fn exit_code(&self) -> u8 {
        u8::from(!self.ok)
    }

    /// The report for people, on a terminal of so many columns.
    pub(crate) fn text(&self, coloured: bool, columns: usize) -> String {
        let width = self.checks.iter().map(|finding| finding.name.len()).max().unwrap_or(0);
        let mut out = String::new();
        for finding in &self.checks {
            let (word, colour) = match finding.status {
                Level::Ok => ("ok     ", "32"),
                Level::Warning => ("warning", "33"),
                Level::Problem => ("problem", "1;31"),
            };
            let word = if coloured { format!("\x1b[{colour}m{word}\x1b[m") } else { word.to_owned() };
            out.push_str(&format!("{word}  {:width$}  ", finding.name));
            // Behind the level and the name; where there is no room, behind the level.
            let indent = if columns >= 2 * (LEVEL + width) { LEVEL + width + 2 } else { LEVEL };
            wrap(&mut out, &finding.message, LEVEL + width + 2, indent, columns);
            if let Some(hint) = &finding.hint {
                out.push_str(&format!("{:indent$}-> ", ""));
                wrap(&mut out, hint, indent + 3, indent + 3, columns);
            }
        }
        out.push_str(&format!("\n{}\n", self.summary()));
        out
    }

    fn summary(&self) -> String {
        let count = |count: usize, what: &str| match count {
            0 => format!("no {what}s"),
            1 => format!("1 {what}"),
            more => format!("{more} {what}s"),
        };
        let line = format!("{}, {}.", count(self.problems, "problem"), count(self.warnings, "warning"));
        line.replacen("no ", "No ", usize::from(self.problems == 0))
    }
}

/// Columns of the word for the level, with the space after it.
const LEVEL: usize = 9;

/// Appends the words of a text that begins in column `at`, with later lines in column `indent`, and ends the line.
fn wrap(out: &mut String, text: &str, at: usize, indent: usize, columns: usize) {
    let text = printable(text);
    let mut column = at;
    for (index, word) in text.split_whitespace().enumerate() {
        let width = word.width();
        if index > 0 && column + 1 + width >= columns {
            out.push_str(&format!("\n{:indent$}", ""));
            column = indent;
        } else if index > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += width;
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> DoctorContext {
        let paths = Paths::from_env(|key| (key == "HOME").then(|| "/nowhere".into())).unwrap();
        DoctorContext {
            config_file: paths.config_file(),
            paths,
            config_named: false,
            exe: "/bin/false".into(),
        }
    }

    #[test]
    fn a_check_that_hangs_is_a_problem_and_holds_up_no_other() {
        let groups: [Group; 2] = [
            ("stuck", |_| {
                std::thread::park_timeout(Duration::from_secs(600));
                Vec::new()
            }),
            ("quick", |_| vec![Finding::ok("quick", "fine")]),
        ];
        let findings = run_all(&groups, &place(), Duration::from_millis(200));
        assert_eq!((findings[0].name, findings[0].status), ("stuck", Level::Problem));
        // The second one had its result long before.
        assert_eq!(findings[1], Finding::ok("quick", "fine"));
    }

    #[test]
    fn people_see_what_to_do() {
        let report = DoctorReport::new(vec![
            Finding::ok("daemon", "pid 5"),
            Finding::warning("linger", "sessions end", "`loginctl enable-linger`"),
        ]);
        insta::assert_snapshot!(report.text(false, 80), @"
        ok       daemon  pid 5
        warning  linger  sessions end
                         -> `loginctl enable-linger`

        No problems, 1 warning.
        ");
        assert_eq!(report.exit_code(), 0);
        let report = DoctorReport::new(vec![Finding::problem("home", "a\x1b[2Jb", "x")]);
        assert_eq!(report.exit_code(), 1);
        assert!(
            !report.text(true, 80).contains("\x1b[2J")
                && report.text(true, 20).ends_with("1 problem, no warnings.\n")
        );
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!((&json["ok"], &json["checks"][0]["status"]), (&false.into(), &"problem".into()));
    }

    #[test]
    fn long_texts_are_wrapped_behind_the_name() {
        let finding = Finding::warning("hooks", "one two three four five six seven", "do this and do that");
        insta::assert_snapshot!(DoctorReport::new(vec![finding]).text(false, 40), @"
        warning  hooks  one two three four five
                        six seven
                        -> do this and do that

        No problems, 1 warning.
        ");
    }
}
