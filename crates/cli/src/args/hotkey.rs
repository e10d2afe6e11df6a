//! The arguments of `hotkey`.

use crate::hotkey::{BackendChoice, KeyBinding};
use clap::Args;

// Arguments of `hotkey`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  swb hotkey                                     Super+Shift+C captures, Super+Shift+V pastes
  swb hotkey --capture Ctrl+Alt+C --paste Ctrl+Alt+V
  swb hotkey --clipboard Super+Shift+X           also copies a turn to the clipboard
  swb hotkey --backend tmux                      Alt+Shift+C and Alt+Shift+V in tmux

KEYS are one or more of Shift, Ctrl, Alt and Super, and one key: A to Z, 0 to 9, F1 to F12, Space,
Return, Escape, Tab, BackSpace, Delete, Insert, Home, End, Page_Up, Page_Down, Left, Right, Up or
Down.

A key acts on the session in the focused window: one that runs there (`swb wrap`) or is shown there
(`swb attach`). The command stays in the foreground and does not start the daemon. It prints one
line for each key; errors are also desktop notifications.

Pasting types the bytes of the turn unchanged: a shell runs each line of them. `swb paste` types text instead.

Exits with 0 on SIGTERM and Ctrl+C; with 1 if no key could be grabbed, or if the display or the
broker is lost, as by `swb upgrade`; with 2 if keys are invalid or equal; with 4 if no broker is running.")]
pub(crate) struct HotkeyArgs {
    /// Keys that copy the latest turn of the focused session to the relay buffer [default: Super+Shift+C, in tmux
    /// Alt+Shift+C]
    #[arg(long, visible_alias = "capture-key", value_name = "KEYS")]
    pub(crate) capture: Option<KeyBinding>,
    /// Keys that type the relay buffer into the focused session [default: Super+Shift+V, in tmux Alt+Shift+V]
    #[arg(long, visible_alias = "paste-key", value_name = "KEYS")]
    pub(crate) paste: Option<KeyBinding>,
    /// Keys that capture and then copy the relay buffer to the clipboard [default: none]
    #[arg(long, visible_alias = "clipboard-key", value_name = "KEYS")]
    pub(crate) clipboard: Option<KeyBinding>,
    /// Where to bind the keys
    #[arg(long, value_enum, default_value_t = BackendChoice::Detect)]
    pub(crate) backend: BackendChoice,
}

#[cfg(test)]
mod tests {
    use super::super::{SwbCli, SwbCommand};
    use clap::Parser;

    // CH-3
    #[test]
    fn invalid_keys_are_usage_errors() {
        for args in [&["--capture", "C"][..], &["--paste", "Hyper+V"], &["--backend", "wayland"]] {
            let error = SwbCli::try_parse_from([&["swb", "hotkey"], args].concat()).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{args:?}");
        }
        let cli = SwbCli::try_parse_from(["swb", "hotkey", "--capture-key", "ctrl+a"]).unwrap();
        let Some(SwbCommand::Hotkey(hotkey)) = cli.command else { panic!("not hotkey") };
        assert_eq!(hotkey.capture.unwrap().to_string(), "Ctrl+A");
    }
}
