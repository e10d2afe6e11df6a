//! The list of sessions on a full screen: what it shows, and what keys do in it. No I/O.
//!
//! [`Top`] owns the state. The program gives it sessions ([`Top::set_sessions`]), approvals and keys ([`Top::handle_key`]),
//! executes a [`TopAction`], and draws with [`draw`] into a buffer; [`changes`] turns two buffers into bytes for a
//! terminal.

mod dialog;
mod list;
mod paint;
mod row;
mod state;
mod view;

pub use dialog::TopDialog;
pub use paint::{TerminalLook, changes};
pub use ratatui::buffer::Buffer;
pub use ratatui::layout::Rect;
pub use row::{ApprovalChoice, ApprovalRow, SessionRow, SessionState, last_line};
pub use state::{Decision, Notice, Top, TopAction};
pub use view::{Preview, draw, preview_area};

#[cfg(test)]
mod tests;
