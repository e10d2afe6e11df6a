//! Pictures of the list. With `$SWB_PICTURES`, a directory, they are written there: `docs/screenshots/top-*.png`.

use crate::stage::{DIALOG, EXE, Stage};
use crate::support::agents::{AGENT, becomes, said};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
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

/// A program of that name for sessions to run, written as a shell script.
fn program(swb: &Swb, name: &str, script: &str) {
    let file = swb.paths().home.join("bin").join(name);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
}

/// Starts a session below the home directory with one of these programs.
fn start(swb: &Swb, name: &str, place: &str, command: &[&str]) {
    let place = swb.paths().home.join(place);
    std::fs::create_dir_all(&place).unwrap();
    let path = format!("{}:/usr/bin:/bin", swb.paths().home.join("bin").display());
    let args = [&["run", "-d", "-n", name, "-w", place.to_str().unwrap(), "--profile"], command].concat();
    let run = swb.command(&args).env("PATH", path).output().unwrap();
    assert!(run.status.success(), "{}", said(&run));
}

/// A day's work in three directories.
fn office() -> Swb {
    let swb = Swb::start(EXE);
    let wait = "exec sleep 600";
    program(&swb, "mkdocs", &format!("printf '\\033[32m12 pages\\033[m written to build/site\\n'; {wait}"));
    program(
        &swb,
        "tsc",
        &format!("for f in cart user order; do echo \"  compiled src/$f.ts\"; done; {wait}"),
    );
    program(&swb, "stern", &format!("echo 'GET /orders 200 4ms'; echo 'GET /cart 200 2ms'; {wait}"));
    program(&swb, "migrate", "echo 'error: relation \"orders\" already exists'; exit 2");
    program(&swb, "codex", AGENT);
    program(&swb, "claude", DIALOG);
    start(&swb, "docs", "src/shop", &["generic", "--", "mkdocs", "serve"]);
    start(&swb, "watch", "src/shop", &["generic", "--", "tsc", "--watch"]);
    start(&swb, "logs", "ops", &["generic", "--", "stern", "shop"]);
    start(&swb, "migrate", "ops", &["generic", "--", "migrate", "up"]);
    for name in ["web", "review"] {
        start(&swb, name, "src/web", &["shell", "--", "codex"]);
        becomes(&swb, name, "ready");
    }
    swb.ok(&["ask", "review", "the diff of today", "--timeout", "60"]);
    swb.ok(&["send", "web", "slow", "--enter"]);
    start(&swb, "api", "src/shop", &["claude", "--", "claude"]);
    becomes(&swb, "api", "asking");
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
                && ["GET /cart", "12 pages", "already exists"]
                    .iter()
                    .all(|line| screen.contains(line) || rows < 40)
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
