//! The display: [`transcript`] turns events into lines, [`asks`] holds what waits for a decision, [`canvas`] keeps the
//! lines that may still change below those that never do.

pub mod asks;
pub mod canvas;
mod diff;
pub mod transcript;
