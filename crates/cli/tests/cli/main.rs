//! The commands of `swb`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod attach;
mod commands;
mod coop;
mod daemon_commands;
mod detect;
mod direct;
mod events;
mod keys;
mod record;
mod repaint;
mod restore;
mod run;
mod screen;
mod transcript;
mod trust;
mod turns;
mod viewer;
