//! Sessions behind one [`Engine`] handle, independent of the protocol of their clients.
//!
//! A tour in the order a request travels:
//!
//! 1. [`Engine`] (`api.rs`) is the only entry point: create, find, list, kill, subscribe.
//! 2. The registry (`registry/`) maps each name to the session, wrapper or conversation that has it; it is the only
//!    table of names.
//! 3. Each session is one task (`session/task.rs`) that owns its state; handles send it commands over a
//!    bounded channel and read a published [`SessionView`].
//! 4. Clients use a [`Pty`] (`pty/`): [`Pty::input`] merges input, a [`Cursor`] reads the output in shared memory, with
//!    marks (resizes, restarts, the end) at the offsets where they happened.
//! 5. The screens of all PTYs are kept on a thread of their own (`screen/`); [`Pty::look`] and [`Pty::picture`] read
//!    them.
//! 6. Completed turns, and the buffer that passes them on, are kept by the [`Relay`] (`relay/`).
//! 7. Conversations with agents ([`chat`]) share the names of sessions.
//! 8. The connection to the keeper (`keeper.rs`) turns requests into packets and packets into events for the sessions.
//!
//! The engine reads no environment, no home directory and no configuration file. It knows no dialect: fronts have
//! labels, which the engine compares and never interprets.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests have threads of their own"))]

mod api;
pub mod chat;
mod endpoint;
mod error;
mod event;
pub mod file_access;
mod journal;
mod keeper;
pub mod limits;
mod mounts;
mod optional_state;
mod process;
mod pty;
mod registry;
mod relay;
mod screen;
mod session;
mod spec;
mod sys;

pub use api::{Engine, EngineOptions};
pub use endpoint::{EndpointError, SessionEndpoint};
pub use error::Error;
pub use event::{ChatActivity, EventCursor, EventFollower, EventKind, SessionEvent};
pub use pty::{
    Arrival, Cursor, CursorStep, EndCause, InputError, InputStream, Mark, OutputRing, Pty, Seat, SizeClaim,
    StreamBegin,
};
pub use relay::{
    BadTurnId, CapturedTurn, ClipboardSink, Enrolment, Injector, NewTurn, Relay, RelayError, RelaySession,
    StoredTurn, TextSource, TurnDetails, TurnId, TurnInfo, TurnLimits,
};
pub use screen::{Picture, ScreenView};
pub use session::{
    AgentBusy, AgentChange, AgentWatch, AskOutcome, ClientGuard, DialogError, MoreLines, PasteSupport,
    ProcessPhase, PtyView, RelayedText, RunsText, Session, SessionUid, SessionView, TypedText, TypingError,
    TypingMode, TypingReport, approval_of, chosen, interpreter_of,
};
pub use spec::{RestartPolicy, SessionSpec, ShellSpec, Start};
pub use swb_keeper::{CONFINED_DIR, CONFINING_GUARD, GUARD_NAME, is_unconfined, parent_of};
pub use swb_turns::{Dialog, DialogOption};
