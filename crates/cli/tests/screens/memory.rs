//! Output that is meant to hurt.
