//! Helpers shared by the tests of several commands and dialects.

#![allow(dead_code, reason = "each test program uses its own part of this")]

pub(crate) mod agents;
pub(crate) mod broker;
pub(crate) mod chat_server;
pub(crate) mod child;
pub(crate) mod display;
pub(crate) mod hung_mount;
pub(crate) mod models;
pub(crate) mod needs;
pub(crate) mod view;
