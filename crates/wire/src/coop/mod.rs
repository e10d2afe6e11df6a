//! The coop protocol: the commands that coop's clients send.
//!
//! A coop connection has the framing, the messages and the stream mode of the control protocol
//! ([`crate::control`]), which grew out of it; what differs is the list of commands. Fields that a coop client
//! does not send keep their defaults, so its replies show nothing that coop does not define.

use crate::control::{BadMessage, Operation, Tunnel, operation_name, parse_operation};

/// The commands of coop (CO-19 to CO-51), sorted.
pub const COMMANDS: [&str; 13] = [
    "attach",
    "create",
    "detach",
    "kill",
    "logs",
    "ls",
    "restart",
    "serve",
    "sessionkill",
    "sessionls",
    "shell",
    "shutdown",
    "tunnel",
];

/// Reads a command of a coop client; other operations of ours are unknown commands here (CO-49).
pub fn parse_command(body: &[u8]) -> Result<Operation, BadMessage> {
    let name = operation_name(body)?;
    if COMMANDS.binary_search(&name.as_ref()).is_err() {
        return Err(BadMessage::unknown_command(&name));
    }
    match parse_operation(body)? {
        // Our own addition reaches all sessions; coop's command names one.
        Operation::Tunnel(Tunnel { session: None, .. }) => {
            Err(BadMessage::new("invalid tunnel: missing field `session`"))
        }
        operation => Ok(operation),
    }
}
