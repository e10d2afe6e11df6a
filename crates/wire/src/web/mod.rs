//! What clients on the web send and receive, specified in `docs/protocols/web.md`.
//!
//! * [`request`]: operations over `/api/control`, each with an id;
//! * [`terminal`]: text messages of an open terminal, and the query that opens it;
//! * [`url`]: percent-encoding, query parameters, and the host of an authority.

pub mod request;
pub mod terminal;
pub mod url;
