//! Conversations: the agents behind them, `swb chat`, approvals and history.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../support/mod.rs"]
mod support;

mod acp;
mod agent_swb;
mod answering;
mod client;
mod history;
mod llm;
mod pty;
mod queue;
mod reading;
mod saving;
mod shell;
mod typing;
