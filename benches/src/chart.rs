//! Charts of the results: bars as SVG, readable on light and dark pages.

use std::fmt::Write;

use crate::peers::Kind;
use crate::report::Metric;

/// The charts: file name, title, and the metrics in it by key.
const CHARTS: [(&str, &str, &[&str]); 5] = [
    ("throughput.svg", "Output that reaches one client", &["throughput-text", "throughput-ansi"]),
    ("cpu.svg", "Processor time per GiB of output", &["cpu-text", "cpu-ansi"]),
    ("echo.svg", "From key to echo", &["echo", "echo-p99", "echo-flood", "echo-flood-p99"]),
    ("start.svg", "Creating and attaching", &["create-command", "reattach"]),
    ("memory.svg", "Memory", &["memory-first", "memory", "memory-after"]),
];

const WIDTH: f64 = 720.0;
const LEFT: f64 = 100.0;
const RIGHT: f64 = 80.0;
const BAR: f64 = 16.0;
const GAP: f64 = 4.0;
const HEAD: f64 = 28.0;

/// The charts whose metrics were taken, by file name.
pub(crate) fn of(metrics: &[Metric]) -> Vec<(&'static str, String)> {
    let mut charts = Vec::new();
    for (file, title, keys) in CHARTS {
        let panels: Vec<&Metric> =
            keys.iter().filter_map(|key| metrics.iter().find(|metric| metric.key() == *key)).collect();
        if !panels.is_empty() {
            charts.push((file, draw(title, &panels)));
        }
    }
    charts
}

fn draw(title: &str, panels: &[&Metric]) -> String {
    let mut body = String::new();
    let mut y = HEAD;
    for panel in panels {
        y = draw_panel(&mut body, panel, y + GAP * 2.0);
    }
    let height = y + GAP * 2.0;
    let style = "text{font:12px system-ui,sans-serif;fill:#57606a}.t{font-weight:600;font-size:15px}\
                 .h{font-weight:600}.b{fill:#8c959f}.s{fill:#1f7a4d}\
                 @media(prefers-color-scheme:dark){text{fill:#9aa4af}.b{fill:#59636e}.s{fill:#3fb950}}";
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{0}\"><style>{style}</style>\n\
         <text class=\"t\" x=\"8\" y=\"20\">{0}</text>\n{body}</svg>\n",
        escaped(title)
    )
}

/// Draws a heading and a bar for each contender; returns where the next panel begins.
fn draw_panel(out: &mut String, metric: &Metric, top: f64) -> f64 {
    let mut y = top + BAR;
    // Writing to a string cannot fail.
    writeln!(out, "<text class=\"h\" x=\"8\" y=\"{y}\">{}</text>", escaped(&metric.heading())).ok();
    y += GAP * 2.0;
    let medians = metric.medians();
    let most = medians.iter().map(|(_, value, _)| *value).fold(0.0, f64::max);
    for (kind, value, text) in medians {
        let share = if most > 0.0 { (value / most).clamp(0.0, 1.0) } else { 0.0 };
        let length = (share * (WIDTH - LEFT - RIGHT)).max(1.0);
        let class = if kind == Kind::Swb { "s" } else { "b" };
        let base = y + BAR - GAP;
        writeln!(
            out,
            "<text x=\"{:.0}\" y=\"{base:.0}\" text-anchor=\"end\">{}</text>\
             <rect class=\"{class}\" x=\"{LEFT}\" y=\"{y:.0}\" width=\"{length:.1}\" height=\"{BAR}\" rx=\"2\"/>\
             <text x=\"{:.1}\" y=\"{base:.0}\">{}</text>",
            LEFT - 8.0,
            escaped(kind.label()),
            LEFT + length + 6.0,
            escaped(&text)
        )
        .ok();
        y += BAR + GAP;
    }
    y
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Values;
    use crate::report::Unit;

    #[test]
    fn a_chart_has_a_bar_for_each_contender_and_the_longest_fills_the_width() {
        let values = Values::from([(Kind::Raw, vec![40.0]), (Kind::Swb, vec![80.0, 80.0])]);
        let metric = Metric::new("echo", "key to <echo>", Unit::Microseconds, values);
        let charts = of(&[metric]);
        let [("echo.svg", chart)] = &charts[..] else { panic!("{charts:?}") };
        assert_eq!(chart.matches("<rect").count(), 2);
        assert!(chart.contains("width=\"540.0\"") && chart.contains("width=\"270.0\""), "{chart}");
        assert!(chart.contains("key to &lt;echo&gt; (µs)"));
    }

    #[test]
    fn nothing_measured_gives_no_chart() {
        assert!(of(&[]).is_empty());
    }
}
