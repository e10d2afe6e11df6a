//! Every bound of the plain data, with its reason.

/// Bytes of a session's name: it has to fit into a file name together with a prefix and a suffix.
pub(crate) const SESSION_NAME: usize = 200;
/// Names in a suggestion: more would be a list, which other commands print.
pub(crate) const SUGGESTED: usize = 3;
