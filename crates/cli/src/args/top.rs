//! The arguments of `top`.

use clap::Args;

// Arguments of `top`.
#[derive(Debug, Args)]
#[command(after_help = "\
Sessions that wait for you come first, then the others by workspace. The selected one is shown live beside the list.

Keys:
  Enter        attach
  n, Tab       select the next session that waits for you
  y            show what it asks, and answer: y allow, n deny, a number chooses an option
  a            ask its agent: type a line
  r            relay its latest answer to another session
  s            open a shell beside it
  x            kill it
  /            filter by name, workspace, command or state
  j k g G      move; so do the arrow keys, Home and End, PageUp and PageDown
  ?            show the keys
  q            quit

While you are attached to a session, Ctrl+] then s opens this list over it, and q returns.
With --json, the list is printed once, as by `swb ls --json`.")]
pub(crate) struct TopArgs {
    /// Reach another machine through the tunnel that `swb tunnel` opened there
    #[arg(long, value_name = "URL")]
    pub(crate) via: Option<String>,
}
