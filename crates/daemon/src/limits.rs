//! Every bound of the daemon outside the engine, with its unit and reason.

use std::time::Duration;

/// Connections of agents that wait to be served. Each is taken at once, so more come only if the daemon hangs.
pub(crate) const AGENT_SOCKETS: usize = 64;
/// How long there must be neither sessions nor connections before a daemon that may exit does so: longer than
/// the pauses of a script that works with one session after another.
pub(crate) const IDLE_EXIT: Duration = Duration::from_secs(30);
/// How often connections are counted while there are no sessions: seldom enough to cost nothing.
pub(crate) const IDLE_CHECK: Duration = Duration::from_secs(1);
/// Attempts to reach a keeper: each start is quick, but one that is just ending needs time.
pub(crate) const KEEPER_TRIES: u32 = 20;
/// Pause between two attempts to reach a keeper: all of them together take a second.
pub(crate) const KEEPER_PAUSE: Duration = Duration::from_millis(50);
/// Bytes at which the log file is put aside and the one before it dropped: days of ordinary messages.
pub(crate) const LOG_FILE: u64 = 4 << 20;
/// Lines that wait for a disk or a terminal to accept them: a second of the busiest log.
pub(crate) const LOG_QUEUE: usize = 1024;
/// Bytes of a line; longer ones quote something long that a client has sent.
pub(crate) const LOG_LINE: usize = 16 << 10;
/// How long the daemon waits for a line to be written, once, until lines are written again: too short to be a nuisance.
pub(crate) const LOG_WAIT: Duration = Duration::from_millis(100);
/// How long the end of the daemon waits for the last lines to be written.
pub(crate) const LOG_END: Duration = Duration::from_millis(300);
/// Bytes of the configuration file, which people write.
pub(crate) const CONFIG: u64 = 4 << 20;
/// How long reading the configuration file may take: it may be on a mount that does not respond.
pub(crate) const CONFIG_READ: Duration = Duration::from_secs(5);
/// How long writing the record of the runtime directory may delay the start.
pub(crate) const PLACE_RECORD: Duration = Duration::from_secs(1);
/// Lines of scrollback that can be configured: what the terminal model has room for on a screen of 80
/// columns.
pub(crate) const SCROLLBACK: usize = 25_000;
/// Turns per session that can be configured: their list has to fit into a message.
pub(crate) const TURNS: usize = 10_000;
/// Bytes per turn that can be configured: a turn has to fit into a message of 16 MiB with room for its name.
pub(crate) const TURN_BYTES: usize = 15 << 20;
/// How long all connections together may take to close: a peer that does not read must not hold up a
/// stop.
pub(crate) const GOODBYES: Duration = Duration::from_secs(3);
/// How long the keeper waits for a daemon that replaces its own program; it needs a fraction of a second.
pub(crate) const HANDOVER: Duration = Duration::from_secs(10);
/// How long connections may take to report the end of their sessions when the keeper is gone.
pub(crate) const KEEPER_LOSS: Duration = Duration::from_millis(300);
/// How long a new program may take to print its version before it takes over.
pub(crate) const VERSION_TIMEOUT: Duration = Duration::from_secs(5);
/// How long checking a new program may take altogether: it may be on a disk that does not respond.
pub(crate) const PROGRAM_CHECK: Duration = Duration::from_secs(10);
/// How long work on other threads may delay the end of the daemon; a disk or a name server may never respond.
pub(crate) const LEFT_WORK: Duration = Duration::from_secs(1);
/// Bytes of one of the user's detection profiles; those that come with the program have a few thousand.
pub(crate) const PROFILE: u64 = 1 << 20;
/// Bytes of the file with our process id.
pub(crate) const PID_FILE: u64 = 32;
/// Pause between two checks whether a program has ended.
pub(crate) const COMMAND_CHECK: Duration = Duration::from_millis(10);
/// Bytes of a program's output that are read: what a pipe holds.
pub(crate) const COMMAND_OUTPUT: u64 = 64 * 1024;
/// Sockets that a service manager may pass: a few more than there are fronts.
pub(crate) const PASSED_SOCKETS: u32 = 16;
/// How long systemd may take to answer before the daemon goes on without it: it needs some milliseconds, and the command
/// that starts the daemon waits.
pub(crate) const MANAGER: Duration = Duration::from_millis(700);
/// How long the processes may take to arrive in the scope that systemd has promised.
pub(crate) const SCOPE: Duration = Duration::from_millis(300);
/// Pause between two checks whether they have arrived; they mostly have at the second one.
pub(crate) const SCOPE_CHECK: Duration = Duration::from_millis(5);
/// How long `swb status` waits for a daemon that has just started to know what it has to report: it mostly takes some
/// milliseconds, and a name server that does not respond any time.
pub(crate) const SETTLING: Duration = Duration::from_secs(2);
/// Bytes that describe web servers and tokens: at most 16 servers and 256 tokens, each with paths and labels.
pub(crate) const WEB_MEMORY: u64 = 4 << 20;
/// Notifications that wait for the bus: more than a person reads.
pub(crate) const NOTIFICATIONS: usize = 16;
/// Characters of a notification.
pub(crate) const NOTIFICATION_TEXT: usize = 500;
/// How long the bus may take for each step; it may have to start the notification service.
pub(crate) const NOTIFICATION: Duration = Duration::from_secs(5);
/// How long the end of the client waits for the last notification.
pub(crate) const NOTIFICATIONS_END: Duration = Duration::from_secs(1);
/// Bytes of a line with which the bus confirms who we are.
pub(crate) const BUS_LINE: u64 = 512;
/// Messages of the bus before the reply: one signal is usual.
pub(crate) const BUS_MESSAGES: usize = 64;
/// Bytes of a message of the bus: replies are below a hundred.
pub(crate) const BUS_MESSAGE: usize = 64 * 1024;
/// How long the user's command for notifications may take before it is killed: it has a message to send, not work to do.
pub(crate) const NOTIFY_COMMAND: Duration = Duration::from_secs(10);
/// How long one request to the webhook may take.
pub(crate) const NOTIFY_REQUEST: Duration = Duration::from_secs(10);
/// Pauses before the webhook is tried again. Few: a notification that comes late is worth little.
pub(crate) const NOTIFY_RETRIES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];
