//! The commands of `swb`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod ask_lines;
mod attach;
mod commands;
mod completion;
mod coop;
mod daemon_commands;
mod detect;
mod direct;
mod doctor;
mod events;
mod integration;
mod keys;
mod names;
mod notify;
mod record;
mod repaint;
mod restore;
mod run;
mod screen;
mod shells;
mod transcript;
mod trust;
mod turns;
mod viewer;
