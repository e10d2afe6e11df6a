//! The user's own terminal: its modes, its size, its keys, and how it is restored.
//!
//! [`modes`] and [`detach`] are pure: bytes in, decisions out, and a stream cut at any byte gives the same result. [`raw`], [`signals`] and [`size`] touch the real terminal.

pub(crate) mod detach;
pub(crate) mod modes;
pub(crate) mod raw;
pub(crate) mod signals;
pub(crate) mod size;
