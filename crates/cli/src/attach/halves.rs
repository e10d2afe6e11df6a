//! The two threads of an attachment, and how they take turns.
//!
//! The main thread waits for keys, signals, the daemon and a terminal that was full. While the output is read directly,
//! another thread sleeps on the output itself, because no system call waits for memory and for descriptors. Each locks
//! the attachment for as long as it moves something, so that neither has to wake the other for a key or its echo.

use super::direct::Sleep;
use super::{AttachEnd, AttachWakeup, Attachment};
use crate::error::Failure;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;
use rustix::stdio::stdin;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread::{self, Thread};

/// An attachment that two threads use.
pub(super) struct Halves {
    attachment: Mutex<Attachment>,
    /// The main thread waits for the attachment: keys come before output.
    main_waits: AtomicBool,
    /// Wakes the main thread.
    nudge: OwnedFd,
    /// The output's thread, once it was needed.
    reader: OnceLock<Thread>,
    /// Duplicates for waiting while the attachment is not locked.
    signals: Option<OwnedFd>,
    terminal: OwnedFd,
}

/// What the main thread waits for.
pub(super) struct Interests {
    pub(super) keys: bool,
    /// The terminal was full.
    pub(super) room: bool,
    pub(super) socket: Option<(Arc<UnixStream>, PollFlags)>,
    /// The state of the session, for the title.
    pub(super) title: Option<Arc<OwnedFd>>,
    pub(super) timeout: Option<Timespec>,
}

/// What the output's thread does next.
enum Next {
    Sleep(Sleep),
    /// Until the main thread wakes it.
    Park,
}

impl Halves {
    pub(super) fn new(attachment: Attachment) -> io::Result<Arc<Self>> {
        let signals = attachment.signals.as_ref().map(|signals| signals.as_fd().try_clone_to_owned());
        Ok(Arc::new(Self {
            signals: signals.transpose()?,
            terminal: attachment.screen.as_fd().try_clone_to_owned()?,
            nudge: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            reader: OnceLock::new(),
            main_waits: AtomicBool::new(false),
            attachment: Mutex::new(attachment),
        }))
    }

    /// Runs the attachment until it ends.
    pub(super) fn run(self: &Arc<Self>) -> Result<AttachEnd, Failure> {
        let mut attachment = self.lock();
        // The size may have changed between the request and the first check for signals.
        attachment.send_size();
        loop {
            if let Some(ending) = attachment.ended.take() {
                return ending;
            }
            if let Some(ending) = attachment.pump()? {
                return Ok(ending);
            }
            self.wake_reader(&mut attachment);
            let interests = attachment.interests();
            drop(attachment);
            let woken = self.wait(&interests)?;
            attachment = self.lock();
            attachment.receive_title();
            if let Some(ending) = attachment.turn(&woken)? {
                return Ok(ending);
            }
        }
    }

    /// Ends the other thread's part, and returns the attachment.
    pub(super) fn finish(&self) -> MutexGuard<'_, Attachment> {
        let mut attachment = self.lock();
        attachment.over = true;
        if let Some(direct) = attachment.direct.take() {
            direct.sleep().end();
        }
        if let Some(reader) = self.reader.get() {
            reader.unpark();
        }
        attachment
    }

    fn lock(&self) -> MutexGuard<'_, Attachment> {
        self.main_waits.store(true, Ordering::SeqCst);
        let attachment = self.attachment.lock().unwrap_or_else(PoisonError::into_inner);
        self.main_waits.store(false, Ordering::SeqCst);
        attachment
    }

    /// Lets the output's thread continue, if output is read directly; starts it the first time.
    fn wake_reader(self: &Arc<Self>, attachment: &mut Attachment) {
        if attachment.direct.is_none() {
            return;
        }
        if let Some(reader) = self.reader.get() {
            return reader.unpark();
        }
        let halves = Arc::downgrade(self);
        let started = thread::Builder::new().name("swb-output".to_owned()).spawn(move || follow(&halves));
        match started {
            Ok(handle) => drop(self.reader.set(handle.thread().clone())),
            Err(_) => attachment.stop_direct(),
        }
    }

    /// Moves output to the terminal; `None` if there is nothing left to do.
    fn move_output(&self) -> Option<Next> {
        if self.main_waits.load(Ordering::SeqCst) {
            return Some(Next::Park);
        }
        // After a panic of the main thread there is nothing left to do but to let go.
        let mut attachment = self.attachment.lock().ok()?;
        if attachment.over {
            return None;
        }
        if attachment.direct.is_none() || attachment.screen.is_blocked() {
            return Some(Next::Park);
        }
        let ending = attachment.pump();
        let ends = !matches!(ending, Ok(None));
        if ends {
            attachment.ended = ending.transpose();
        }
        let waits = attachment.screen.is_blocked();
        // The main thread waits until one of the two is writable.
        if ends || waits || attachment.outbox.is_pending() || attachment.direct.is_none() {
            self.nudge();
        }
        match &attachment.direct {
            _ if ends => None,
            // A frame of which a part has arrived comes first: then the main thread wakes this one.
            Some(direct) if !waits && attachment.inbox.is_empty() => Some(Next::Sleep(direct.sleep())),
            _ => Some(Next::Park),
        }
    }

    fn nudge(&self) {
        // It can only fail when the counter is full, and then the main thread is being woken anyway.
        let _nudged = rustix::io::write(&self.nudge, &1u64.to_ne_bytes());
    }

    fn wait(&self, interests: &Interests) -> Result<AttachWakeup, Failure> {
        let standard_input = stdin();
        let mut fds: Vec<PollFd<'_>> = Vec::with_capacity(6);
        fds.push(PollFd::new(&self.nudge, PollFlags::IN));
        if interests.keys {
            fds.push(PollFd::new(&standard_input, PollFlags::IN));
        }
        if let Some(signals) = &self.signals {
            fds.push(PollFd::new(signals, PollFlags::IN));
        }
        if interests.room {
            fds.push(PollFd::new(&self.terminal, PollFlags::OUT));
        }
        if let Some((socket, interest)) = &interests.socket {
            fds.push(PollFd::new(socket, *interest));
        }
        // The last one: its result is not needed, as reading from it never blocks.
        fds.extend(interests.title.as_deref().map(|title| PollFd::new(title, PollFlags::IN)));
        match poll(&mut fds, interests.timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut results = fds.iter().map(PollFd::revents);
        let mut next = |present: bool| {
            if present { results.next().unwrap_or(PollFlags::empty()) } else { PollFlags::empty() }
        };
        if !next(true).is_empty() {
            // How often it was nudged does not matter.
            let _count = rustix::io::read(&self.nudge, &mut [0; 8]);
        }
        let keyboard = next(interests.keys);
        let signal = next(self.signals.is_some());
        next(interests.room);
        let socket = next(interests.socket.is_some());
        let interest = interests.socket.as_ref().map_or(PollFlags::empty(), |(_, interest)| *interest);
        let bad = PollFlags::HUP | PollFlags::ERR;
        Ok(AttachWakeup {
            signal: !signal.is_empty(),
            keyboard: !keyboard.is_empty(),
            readable: interest.contains(PollFlags::IN) && socket.intersects(PollFlags::IN | bad),
            writable: interest.contains(PollFlags::OUT) && socket.intersects(PollFlags::OUT | bad),
        })
    }
}

/// The output's thread. It keeps nothing of the attachment alive while it sleeps: its owner restores the terminal when it
/// drops it.
fn follow(halves: &Weak<Halves>) {
    while let Some(next) = halves.upgrade().and_then(|halves| Watch(&halves).move_output()) {
        match next {
            Next::Sleep(sleep) => sleep.wait(),
            Next::Park => thread::park(),
        }
    }
}

/// Ends the attachment if the output's thread panics: nothing would show the output any more.
struct Watch<'a>(&'a Halves);

impl Watch<'_> {
    fn move_output(&self) -> Option<Next> {
        self.0.move_output()
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.lock().ended = Some(Err(Failure::general("internal error: the output cannot be shown")));
            self.0.nudge();
        }
    }
}
