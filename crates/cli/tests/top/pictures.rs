//! Pictures of the list. With `$SWB_PICTURES`, a directory, they are written there: `docs/screenshots/top-*.png`.

use crate::stage::{EXE, Stage, agent, asks};
use std::path::PathBuf;
use swb_testkit::Swb;

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];

/// Draws what the terminal shows; writes it if a directory is given.
fn keep(name: &str, stage: &Stage) {
    let screen = stage.screen();
    let png = screen.to_png().unwrap();
    if let Some(directory) = std::env::var_os("SWB_PICTURES") {
        let size = screen.size();
        let file = PathBuf::from(directory).join(format!("{name}-{}x{}.png", size.cols(), size.rows()));
        std::fs::write(file, png).unwrap();
    }
}

/// A day's work in three directories.
fn office() -> Swb {
    let swb = Swb::start(EXE);
    let place = |name: &str| swb.workspace(name).to_str().unwrap().to_owned();
    for (name, workspace, script) in [
        ("docs", "src/shop", "printf '\\033[32m12 pages\\033[m written to build/site\\n'; exec sleep 600"),
        (
            "watch",
            "src/shop",
            "for f in cart user order; do echo \"  compiled src/$f.ts\"; done; exec sleep 600",
        ),
        ("logs", "ops", "echo 'GET /orders 200 4ms'; echo 'GET /cart 200 2ms'; exec sleep 600"),
        ("migrate", "ops", "echo 'error: relation \"orders\" already exists'; exit 2"),
    ] {
        swb.ok(&["run", "-d", "-n", name, "-w", &place(workspace), "--", "sh", "-c", script]);
    }
    for name in ["web", "review"] {
        agent(&swb, name);
    }
    swb.ok(&["ask", "review", "the diff of today", "--timeout", "60"]);
    swb.ok(&["send", "web", "slow", "--enter"]);
    asks(&swb, "api", "src/shop");
    swb
}

#[test]
fn top_list() {
    let swb = office();
    for (cols, rows) in SIZES {
        let mut stage = Stage::top(&swb, cols, rows);
        stage.until("everything", |screen| {
            screen.contains("❯ 1. Yes")
                && screen.contains("working")
                && screen.contains("y answer")
                && screen.contains("GET /cart")
        });
        keep("top", &stage);
    }
}

#[test]
fn top_approval() {
    let swb = office();
    for (cols, rows) in SIZES {
        let mut stage = Stage::top(&swb, cols, rows);
        stage.until("everything", |screen| screen.contains("❯ 1. Yes") && screen.contains("y answer"));
        stage.press("y");
        stage.until_text("api asks");
        keep("top-approval", &stage);
    }
}

#[test]
fn top_help_and_tiny() {
    let swb = office();
    for (cols, rows) in [(80, 24), (20, 5)] {
        let mut stage = Stage::top(&swb, cols, rows);
        stage.until_text("api");
        if rows > 5 {
            stage.press("?");
            stage.until_text("relay its latest answer");
        }
        keep("top-keys", &stage);
    }
}
