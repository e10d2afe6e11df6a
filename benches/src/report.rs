//! Budgets, verdicts, and the table.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::measure::Values;
use crate::peers::Kind;
use crate::stats::{median, paired};

/// What a number counts.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Unit {
    Kibibytes,
    MegabytesPerSecond,
    Microseconds,
    Milliseconds,
    Percent,
    SecondsPerGibibyte,
    Ticks,
}

impl Unit {
    fn label(self) -> &'static str {
        match self {
            Self::Kibibytes => "KiB",
            Self::MegabytesPerSecond => "MB/s",
            Self::Microseconds => "µs",
            Self::Milliseconds => "ms",
            Self::Percent => "%",
            Self::SecondsPerGibibyte => "s/GiB",
            Self::Ticks => "clock ticks",
        }
    }

    fn format(self, value: f64) -> String {
        match self {
            Self::MegabytesPerSecond | Self::Microseconds | Self::Ticks => format!("{value:.0}"),
            Self::Kibibytes | Self::Percent | Self::SecondsPerGibibyte => format!("{value:.1}"),
            Self::Milliseconds => format!("{value:.2}"),
        }
    }
}

/// What `swb` has to reach.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Budget {
    /// At most this, independent of the others.
    Absolute { max: f64 },
    /// At least this, independent of the others.
    AtLeastAbsolute { min: f64 },
    /// At most this multiple of the best program that does the same.
    AtMostBestPeer { factor: f64 },
    /// At least this multiple of another contender.
    AtLeast { factor: f64, of: Kind },
    /// At most this multiple of another contender.
    AtMost { factor: f64, of: Kind },
    /// At most this much more than another contender.
    AtMostPlus { extra: f64, of: Kind },
}

/// How `swb` stands to its budget.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Verdict {
    /// The ratio, difference or value that was compared.
    pub(crate) measured: f64,
    pub(crate) pass: bool,
}

impl Budget {
    fn judge(self, values: &Values) -> Option<Verdict> {
        let swb = values.get(&Kind::Swb)?;
        let against = |of: Kind, f: fn(f64, f64) -> f64| paired(swb, values.get(&of)?, f);
        let verdict = |measured: Option<f64>, pass: &dyn Fn(f64) -> bool| {
            measured.map(|measured| Verdict { measured, pass: pass(measured) })
        };
        match self {
            Self::Absolute { max } => verdict(median(swb), &|m| m <= max),
            Self::AtLeastAbsolute { min } => verdict(median(swb), &|m| m >= min),
            Self::AtMostBestPeer { factor } => {
                let peers = Kind::KEEPERS.into_iter().filter(|kind| *kind != Kind::Swb);
                // The largest ratio is the one to the best.
                let ratios = peers.filter_map(|peer| against(peer, |a, b| a / b));
                verdict(ratios.reduce(f64::max), &|m| m <= factor)
            }
            Self::AtLeast { factor, of } => verdict(against(of, |a, b| a / b), &|m| m >= factor),
            Self::AtMost { factor, of } => verdict(against(of, |a, b| a / b), &|m| m <= factor),
            Self::AtMostPlus { extra, of } => verdict(against(of, |a, b| a - b), &|m| m <= extra),
        }
    }

    fn describe(self, unit: Unit) -> String {
        match self {
            Self::Absolute { max } => format!("≤ {max} {}", unit.label()),
            Self::AtLeastAbsolute { min } => format!("≥ {min} {}", unit.label()),
            Self::AtMostBestPeer { factor } => format!("≤ {factor} × the best peer"),
            Self::AtLeast { factor, of } => format!("≥ {factor} × {}", of.label()),
            Self::AtMost { factor, of } => format!("≤ {factor} × {}", of.label()),
            Self::AtMostPlus { extra, of } => format!("≤ {} + {extra} {}", of.label(), unit.label()),
        }
    }

    fn describe_measured(self, unit: Unit, measured: f64) -> String {
        match self {
            Self::Absolute { .. } | Self::AtLeastAbsolute { .. } => {
                format!("{} {}", unit.format(measured), unit.label())
            }
            Self::AtLeast { .. } | Self::AtMost { .. } | Self::AtMostBestPeer { .. } => {
                format!("{measured:.2} ×")
            }
            Self::AtMostPlus { .. } => format!("+ {} {}", unit.format(measured), unit.label()),
        }
    }
}

/// One row of the table.
#[derive(Debug)]
pub(crate) struct Metric {
    key: String,
    title: String,
    unit: Unit,
    values: Values,
    budget: Option<Budget>,
}

impl Metric {
    pub(crate) fn new(key: impl Into<String>, title: impl Into<String>, unit: Unit, values: Values) -> Self {
        Self { key: key.into(), title: title.into(), unit, values, budget: None }
    }

    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// Its title with the unit.
    pub(crate) fn heading(&self) -> String {
        format!("{} ({})", self.title, self.unit.label())
    }

    /// The medians of the contenders that have a column, with the text that is shown for them.
    pub(crate) fn medians(&self) -> Vec<(Kind, f64, String)> {
        let median = |kind: Kind| self.values.get(&kind).and_then(|rounds| median(rounds));
        let medians = Kind::ALL.into_iter().filter_map(|kind| Some((kind, median(kind)?)));
        medians.map(|(kind, value)| (kind, value, self.unit.format(value))).collect()
    }

    pub(crate) fn budget(self, budget: Budget) -> Self {
        Self { budget: Some(budget), ..self }
    }

    /// Whether there is a budget that was missed or could not be judged.
    pub(crate) fn missed(&self) -> bool {
        self.budget.is_some_and(|b| !b.judge(&self.values).is_some_and(|v| v.pass))
    }

    fn row(&self) -> String {
        let mut row = format!("| {} |", self.heading());
        for kind in Kind::ALL {
            let value = self.values.get(&kind).and_then(|v| median(v));
            // Writing to a string cannot fail.
            write!(row, " {} |", value.map_or("—".into(), |v| self.unit.format(v))).ok();
        }
        let Some(budget) = self.budget else {
            return row + " | | |";
        };
        let (measured, word) = match budget.judge(&self.values) {
            Some(v) => {
                (budget.describe_measured(self.unit, v.measured), if v.pass { "pass" } else { "**FAIL**" })
            }
            None => ("—".into(), "—"),
        };
        write!(row, " {} | {measured} | {word} |", budget.describe(self.unit)).ok();
        row
    }

    fn json(&self) -> Value {
        let values: serde_json::Map<String, Value> = self
            .values
            .iter()
            .map(|(kind, rounds)| (kind.label().into(), json!({"median": median(rounds), "rounds": rounds})))
            .collect();
        let verdict = self.budget.map(|budget| {
            let verdict = budget.judge(&self.values);
            json!({
                "budget": budget.describe(self.unit),
                "measured": verdict.map(|v| v.measured),
                "pass": verdict.map(|v| v.pass),
            })
        });
        json!({
            "key": self.key, "title": self.title, "unit": self.unit.label(),
            "contenders": values, "verdict": verdict,
        })
    }
}

/// All that a run found out.
pub(crate) struct Report {
    /// Conditions of the run, one line each.
    pub(crate) conditions: Vec<String>,
    pub(crate) metrics: Vec<Metric>,
    pub(crate) notes: Vec<String>,
}

impl Report {
    /// The table, with what one must know to read it.
    pub(crate) fn markdown(&self) -> String {
        let mut lines = Vec::new();
        let heads: Vec<&str> = Kind::ALL.iter().map(|k| k.label()).collect();
        lines.push(format!("| measure | {} | budget for swb | swb is at | verdict |", heads.join(" | ")));
        lines.push(format!("|---|{}---|---|---|", "--:|".repeat(heads.len())));
        lines.extend(self.metrics.iter().map(Metric::row));
        lines.push(String::new());
        lines.extend(self.conditions.iter().chain(&self.notes).map(|line| format!("- {line}")));
        lines.join("\n")
    }

    /// The same with the values of every round.
    pub(crate) fn json(&self) -> Value {
        let metrics: Vec<Value> = self.metrics.iter().map(Metric::json).collect();
        json!({"conditions": self.conditions, "metrics": metrics, "notes": self.notes})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metric(budget: Budget, swb: &[f64], relay: &[f64]) -> Metric {
        let mut values = Values::new();
        for (kind, rounds) in [(Kind::Swb, swb), (Kind::Relay, relay)] {
            if !rounds.is_empty() {
                values.insert(kind, rounds.to_vec());
            }
        }
        Metric::new("m", "a measure", Unit::Milliseconds, values).budget(budget)
    }

    #[test]
    fn budgets_are_judged_at_their_edge() {
        let of = Kind::Relay;
        assert!(!metric(Budget::AtLeast { factor: 0.5, of }, &[1.0], &[2.0]).missed());
        assert!(metric(Budget::AtLeast { factor: 0.5, of }, &[0.9], &[2.0]).missed());
        assert!(!metric(Budget::AtMost { factor: 1.5, of }, &[3.0], &[2.0]).missed());
        assert!(metric(Budget::AtMost { factor: 1.5, of }, &[3.1], &[2.0]).missed());
        assert!(!metric(Budget::AtMostPlus { extra: 10.0, of }, &[12.0], &[2.0]).missed());
        assert!(metric(Budget::AtMostPlus { extra: 10.0, of }, &[12.1], &[2.0]).missed());
        assert!(!metric(Budget::Absolute { max: 1.0 }, &[1.0], &[]).missed());
        assert!(!metric(Budget::AtLeastAbsolute { min: 1.0 }, &[1.0], &[]).missed());
        assert!(metric(Budget::AtLeastAbsolute { min: 1.0 }, &[0.9], &[]).missed());
    }

    #[test]
    fn a_budget_without_numbers_is_missed_and_shown_as_unknown() {
        let metric = metric(Budget::AtMost { factor: 1.5, of: Kind::Relay }, &[], &[2.0]);
        assert!(metric.missed());
        assert_eq!(
            metric.row(),
            "| a measure (ms) | — | 2.00 | — | — | — | — | — | ≤ 1.5 × ideal relay | — | — |"
        );
    }

    #[test]
    fn every_row_has_as_many_cells_as_the_heading() {
        let judged = metric(Budget::Absolute { max: 1.0 }, &[2.0], &[]);
        let plain = Metric::new("p", "plain", Unit::Percent, Values::new());
        let report = Report { conditions: vec![], metrics: vec![judged, plain], notes: vec![] };
        let cells: Vec<usize> =
            report.markdown().lines().filter(|l| !l.is_empty()).map(|l| l.matches('|').count()).collect();
        assert_eq!(cells, [12; 4]);
    }
}
