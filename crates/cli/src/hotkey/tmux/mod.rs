//! tmux: keys bound in the root table, the active pane as the window, and paste buffers as the clipboard (CH-13).
//!
//! A bound key makes the server write a line with the action and the pane to a FIFO of ours.

mod key_names;
mod server;

use super::action::{Hotkey, HotkeyAction};
use super::desktop::{
    ClipboardAccess, Desktop, FocusLookup, FocusedWindow, GrabFailure, KeyEvent, KeyGrabber, PressedAt,
};
use super::process_tree;
use crate::error::Failure;
use crate::limits;
use key_names::tmux_keys;
use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use server::tmux;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use swb_types::Paths;

/// Name of the FIFO, without the process id that follows.
const FIFO_NAME: &str = "hotkey-";

/// Connects to the tmux server of `$TMUX`.
pub(super) fn open(hotkeys: &[Hotkey]) -> Result<Desktop, Failure> {
    Ok(Desktop {
        keys: Box::new(TmuxKeys::open(hotkeys.to_vec())?),
        focus: Box::new(TmuxFocus),
        clipboard: Some(Box::new(TmuxBuffers)),
    })
}

/// Whether tmux can have this binding: terminals do not report Super.
pub(super) fn can_bind(hotkey: &Hotkey) -> bool {
    !hotkey.binding.modifiers.logo
}

/// A key of the root table that is bound to a hotkey.
#[derive(Debug)]
struct BoundKey {
    action: HotkeyAction,
    name: String,
    /// The command that bound it before, if any.
    earlier: Option<Vec<u8>>,
    /// Our binding, as the server shows it.
    ours: Vec<u8>,
}

/// Hotkeys as bindings of the root table.
struct TmuxKeys {
    hotkeys: Vec<Hotkey>,
    bound: Vec<BoundKey>,
    fifo_path: PathBuf,
    fifo: OwnedFd,
    /// Readable when the server has ended.
    server: OwnedFd,
    unfinished: Vec<u8>,
}

impl TmuxKeys {
    fn open(hotkeys: Vec<Hotkey>) -> Result<Self, Failure> {
        if std::env::var_os("TMUX").is_none_or(|tmux| tmux.is_empty()) {
            return Err(Failure::general("no tmux: TMUX is not set").hint("run it inside tmux"));
        }
        let pid = tmux(&["display-message", "-p", "#{pid}"], b"").map_err(|error| {
            Failure::general(format!("no tmux: {error}")).hint("is the tmux server of $TMUX running?")
        })?;
        let pid = String::from_utf8_lossy(&pid).trim().parse().ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| Failure::general("tmux does not report the process of its server"))?;
        let server = pidfd_open(pid, PidfdFlags::empty())
            .map_err(|error| Failure::io("cannot watch the tmux server", &error.into()))?;
        let fifo_path = fifo_path()?;
        let fifo = create_fifo(&fifo_path)
            .map_err(|error| Failure::io(format!("cannot create {}", fifo_path.display()), &error.into()))?;
        Ok(Self { hotkeys, bound: Vec::new(), fifo_path, fifo, server, unfinished: Vec::new() })
    }

    fn bind(&mut self, action: HotkeyAction, name: &str) -> std::io::Result<()> {
        let earlier = binding_of(name).filter(|command| !is_left_over(command, process_tree::parent));
        // If we are gone without having restored the key, it does nothing: the shell creates no file, and does not wait
        // for a reader, because it opens the FIFO for reading as well.
        let fifo = self.fifo_path.display();
        let line = format!("[ ! -p {fifo} ] || echo {} '#{{pane_id}}' 1<>{fifo}", action.name());
        tmux(&["bind-key", "-T", "root", name, "run-shell", "-b", &line], b"")?;
        let ours = binding_of(name).unwrap_or_default();
        self.bound.push(BoundKey { action, name: name.to_owned(), earlier, ours });
        Ok(())
    }

    /// Restores the earlier bindings of the keys that `which` selects.
    fn unbind(&mut self, which: impl Fn(&BoundKey) -> bool) {
        let (selected, others) = std::mem::take(&mut self.bound).into_iter().partition(which);
        self.bound = others;
        let selected: Vec<BoundKey> = selected;
        for BoundKey { name, earlier, ours, .. } in selected {
            // Another program may have bound the key meanwhile: that is not ours to undo.
            if binding_of(&name).is_none_or(|now| now != ours) {
                continue;
            }
            // Without a server there is nothing to restore.
            let _restored = match earlier {
                Some(command) => tmux(&["source-file", "-"], &command),
                None => tmux(&["unbind-key", "-q", "-T", "root", &name], b""),
            };
        }
    }

    fn has_ended(&self) -> bool {
        let mut fds = [rustix::event::PollFd::new(&self.server, rustix::event::PollFlags::IN)];
        let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        rustix::event::poll(&mut fds, Some(&now)).is_ok_and(|ready| ready > 0)
    }
}

impl KeyGrabber for TmuxKeys {
    fn grab(&mut self) -> Result<Vec<GrabFailure>, Failure> {
        let mut failures = Vec::new();
        for hotkey in self.hotkeys.clone() {
            let bound = tmux_keys(&hotkey.binding).iter().try_for_each(|name| self.bind(hotkey.action, name));
            if bound.is_err() {
                self.unbind(|key| key.action == hotkey.action);
                failures.push(GrabFailure { action: hotkey.action, why: "tmux does not accept these keys" });
            }
        }
        Ok(failures)
    }

    fn events(&mut self) -> Result<Vec<KeyEvent>, Failure> {
        if self.has_ended() {
            return Err(Failure::general("the tmux server has ended"));
        }
        let mut buffer = [0; limits::TMUX_READ];
        loop {
            match rustix::io::read(&self.fifo, &mut buffer) {
                Ok(0) | Err(Errno::AGAIN) => break,
                Ok(count) => self.unfinished.extend_from_slice(buffer.get(..count).unwrap_or_default()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(Failure::io("cannot read from tmux", &error.into())),
            }
            if self.unfinished.len() > limits::TMUX_READ {
                break;
            }
        }
        Ok(take_lines(&mut self.unfinished).iter().filter_map(|line| parse_press(line)).collect())
    }

    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.fifo.as_fd(), self.server.as_fd()]
    }

    fn release(&mut self) {
        self.unbind(|_| true);
        let _removed = rustix::fs::unlink(&self.fifo_path);
    }
}

impl Drop for TmuxKeys {
    fn drop(&mut self) {
        self.release();
    }
}

/// The pane in which a key was pressed.
struct TmuxFocus;

impl FocusLookup for TmuxFocus {
    fn focused(&mut self, PressedAt(pane): PressedAt) -> Result<FocusedWindow, Failure> {
        let panes = tmux(&["list-panes", "-a", "-F", "#{pane_id} #{pane_pid}"], b"")
            .map_err(|error| Failure::io("cannot list the panes of tmux", &error))?;
        let pid = String::from_utf8_lossy(&panes).lines().find_map(|line| {
            let (id, pid) = line.split_once(' ')?;
            (id == format!("%{pane}")).then(|| pid.parse().ok())?
        });
        Ok(pid.map_or(FocusedWindow::Unknown("its pane is gone"), FocusedWindow::Process))
    }
}

/// The paste buffers, and through them the clipboard of the terminal.
struct TmuxBuffers;

impl ClipboardAccess for TmuxBuffers {
    fn store(&mut self, content: &[u8]) -> Result<&'static str, String> {
        let stored = tmux(&["load-buffer", "-w", "-"], content);
        stored
            .map(|_| "a tmux paste buffer")
            .map_err(|error| format!("clipboard_failed: cannot fill a tmux buffer: {error}"))
    }
}

/// The command that binds a key of the root table, as the server writes it to configuration files.
fn binding_of(key: &str) -> Option<Vec<u8>> {
    tmux(&["list-keys", "-T", "root", key], b"").ok().filter(|line| !line.is_empty())
}

/// Whether a binding is that of a client which was killed and could not remove it.
fn is_left_over(command: &[u8], parent: impl Fn(u32) -> Option<u32>) -> bool {
    let command = String::from_utf8_lossy(command);
    let after = command.split_once(&format!("/{FIFO_NAME}")).map(|(_, after)| after).unwrap_or_default();
    let digits = after.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    digits.parse().is_ok_and(|pid| parent(pid).is_none())
}

/// A path that a shell and tmux take as it is.
fn fifo_path() -> Result<PathBuf, Failure> {
    let paths = Paths::from_env(|key| std::env::var_os(key).or_else(|| (key == "HOME").then(|| "/".into())));
    let socket = paths.and_then(|paths| paths.clippy_socket());
    let dir = socket.as_deref().and_then(Path::parent).ok_or_else(|| {
        Failure::general("XDG_RUNTIME_DIR is not set, but keys pressed in tmux are reported there")
    })?;
    let path = dir.join(format!("{FIFO_NAME}{}", std::process::id()));
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-".contains(byte);
    match path.to_str() {
        Some(text) if text.as_bytes().iter().all(is_plain) => Ok(path),
        _ => Err(Failure::general(format!(
            "tmux cannot report keys to {}: the path has special characters",
            path.display()
        ))),
    }
}

/// Opened for writing as well, so that it does not end with its last writer.
fn create_fifo(path: &Path) -> Result<OwnedFd, Errno> {
    match rustix::fs::unlink(path) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => return Err(error),
    }
    rustix::fs::mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
    rustix::fs::open(path, OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())
}

/// Removes the complete lines from `bytes`.
fn take_lines(bytes: &mut Vec<u8>) -> Vec<Vec<u8>> {
    let complete = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let lines: Vec<u8> = bytes.drain(..complete).collect();
    if bytes.len() > limits::TMUX_READ {
        bytes.clear();
    }
    lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect()
}

/// A line as `capture %3`.
fn parse_press(line: &[u8]) -> Option<KeyEvent> {
    let (action, pane) = std::str::from_utf8(line).ok()?.split_once(' ')?;
    let action = HotkeyAction::from_name(action)?;
    Some(KeyEvent::Pressed { action, at: PressedAt(pane.strip_prefix('%')?.parse().ok()?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    // CH-13
    #[test]
    fn bindings_of_a_killed_client_are_not_restored() {
        let ours =
            |pid: u32| format!("bind-key -T root M-C run-shell -b \"[ ! -p /r/clippy/hotkey-{pid} ] || x\"");
        let parent = |pid: u32| (pid == 7).then_some(1);
        assert!(is_left_over(ours(8).as_bytes(), parent));
        assert!(!is_left_over(ours(7).as_bytes(), parent), "another client that runs");
        assert!(!is_left_over(b"bind-key -T root M-C display-message hotkey-8", parent));
    }

    // CH-13
    #[test]
    fn lines_name_the_action_and_the_pane() {
        let mut bytes = b"capture %3\npaste %12\nnonsense\ncapt".to_vec();
        let presses: Vec<KeyEvent> =
            take_lines(&mut bytes).iter().filter_map(|line| parse_press(line)).collect();
        let pressed = |action, pane| KeyEvent::Pressed { action, at: PressedAt(pane) };
        assert_eq!(presses, [pressed(HotkeyAction::Capture, 3), pressed(HotkeyAction::Paste, 12)]);
        assert_eq!(bytes, b"capt");
        bytes.resize(limits::TMUX_READ + 1, b'x');
        assert!(take_lines(&mut bytes).is_empty() && bytes.is_empty(), "a line that never ends");
    }
}
