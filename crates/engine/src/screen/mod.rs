//! Screens: a terminal model per PTY, off the path of output to clients.
//!
//! The models live on a thread of their own, one `observer::Observer` per PTY. An observer reads the ring like any other
//! reader, but lazily: while a client's terminal is attached it scans for turns at intervals, or lets half a ring
//! accumulate if turns are not detected. Text that has scrolled out of reach is never drawn. A screen that was not used
//! for some seconds is replaced by a [`checkpoint::Checkpoint`] and restored from it on demand. The keeper holds the
//! checkpoint, so it survives this daemon.

mod checkpoint;
mod detection;
mod observer;

pub(crate) use checkpoint::Checkpoint;
pub(crate) use detection::{Finding, UnstoredTurn};

use crate::error::Error;
use crate::limits;
use crate::pty::{Cursor, Pty};
use crate::session::AgentBusy;
use detection::Detection;
use observer::Observer;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use swb_turns::{Dialog, Hook, InputBox, Profile, SoFar};
use swb_types::{Offset, Size};
use swb_vt::{Modes, Options, Screen};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::TaskTracker;

/// A request to an observer.
pub(crate) enum ScreenRequest {
    /// Call `see` with the screen as it is now; with `whole`, not in the middle of a synchronized update.
    View { whole: bool, see: Box<dyn FnOnce(&ScreenView<'_>) + Send> },
    /// The dialog that is shown, if any, and the modes of the terminal that is to answer it.
    Dialog(oneshot::Sender<Option<(Dialog, Modes)>>),
    /// The state of the program's input; `None` if turns are not detected.
    Input(oneshot::Sender<Option<InputState>>),
    /// A report of the program through a hook.
    Hook(Hook),
    /// The bytes that paint the screen, with at most `scrollback` lines before it.
    Picture { scrollback: usize, terminal: bool, reply: oneshot::Sender<Picture> },
    /// The agent's answer so far, if it is giving one.
    SoFar(oneshot::Sender<Option<SoFar>>),
}

/// The screen at one offset of the output.
#[derive(Debug)]
pub struct ScreenView<'a> {
    screen: &'a Screen,
    cursor: &'a Cursor,
}

impl ScreenView<'_> {
    /// The screen.
    pub fn screen(&self) -> &Screen {
        self.screen
    }

    /// It shows all output before this offset.
    pub fn offset(&self) -> Offset {
        self.cursor.offset()
    }
}

/// What the input of a program is like, before and after text is typed.
#[derive(Debug)]
pub(crate) struct InputState {
    /// The input box, if the program has one.
    pub(crate) input: Option<InputBox>,
    /// Text in the input that was not submitted.
    pub(crate) half_typed: Option<String>,
    /// Whether a dialog is shown.
    pub(crate) asks: bool,
    /// The prompt with which it asks for more lines of what it was given.
    pub(crate) continuation: Option<String>,
    /// Why the program takes no prompt at present, as far as that is certain.
    pub(crate) busy: Option<AgentBusy>,
    /// The last rows of the screen.
    pub(crate) shown: String,
}

/// A screen as bytes for a fresh terminal of its size, and the output that follows.
#[derive(Debug)]
pub struct Picture {
    /// The bytes; they contain no queries.
    pub bytes: Vec<u8>,
    /// Continues exactly after the output they show.
    pub cursor: Cursor,
    /// The size of the screen.
    pub size: Size,
}

/// The starting state of an observer.
#[derive(Debug, Default)]
pub(crate) struct ObserverStart {
    /// The screen that an earlier daemon saved.
    pub(crate) checkpoint: Option<Checkpoint>,
    /// The detection profile, and the receiver of findings.
    pub(crate) follow_turns: Option<(Arc<Profile>, mpsc::Sender<Box<Finding>>)>,
}

/// The thread that keeps the screens.
#[derive(Debug, Clone)]
pub(crate) struct Screens {
    thread: Handle,
    tasks: TaskTracker,
    options: Options,
    /// Whether output is followed while no client requests a screen.
    follow: bool,
    trimming: Arc<AtomicBool>,
}

impl Screens {
    /// Starts the thread; it runs as long as the process.
    pub(crate) fn start(options: Options, follow: bool) -> io::Result<Self> {
        // Screens are what most memory is allocated for, and the second thread that does it.
        crate::sys::tune_heap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let thread = runtime.handle().clone();
        std::thread::Builder::new().name("screens".into()).spawn(move || {
            yield_to_others();
            runtime.block_on(std::future::pending::<()>());
        })?;
        Ok(Self { thread, tasks: TaskTracker::new(), options, follow, trimming: Arc::default() })
    }

    /// Observes a PTY until it is released.
    pub(crate) fn observe(
        &self,
        pty: Arc<Pty>,
        looks: mpsc::Receiver<Box<ScreenRequest>>,
        known: ObserverStart,
    ) {
        let ObserverStart { checkpoint, follow_turns } = known;
        let size = pty.size();
        let detection = follow_turns.map(|(profile, findings)| Detection::new(profile, size, findings));
        self.spawn(Box::new(Observer::new(self.clone(), pty, looks, checkpoint, detection)).run());
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn_on(task, &self.thread);
    }

    /// Returns the memory of unused screens to the system, after a delay and once for many.
    fn trim_soon(&self) {
        if !self.trimming.swap(true, Ordering::Relaxed) {
            let trimming = Arc::clone(&self.trimming);
            self.spawn(async move {
                tokio::time::sleep(limits::SCREEN_TRIM).await;
                trimming.store(false, Ordering::Relaxed);
                crate::sys::trim_heap();
                crate::sys::unmap_code();
            });
        }
    }
}

/// Has the kernel prefer the threads on the way of a key and of output to the calling one, which may be far behind a flood.
fn yield_to_others() {
    let Ok(now) = rustix::process::getpriority_process(None) else { return };
    // Without it everything works, only a little slower beside a flood.
    let _lower = rustix::process::setpriority_process(None, now + limits::SCREEN_NICE);
}

impl Pty {
    /// Calls `see` with the screen as it is now, on the screen thread; with `whole`, not in the middle of a synchronized
    /// update.
    pub async fn look<T: Send + 'static>(
        &self,
        whole: bool,
        see: impl FnOnce(&ScreenView<'_>) -> T + Send + 'static,
    ) -> Result<T, Error> {
        let (reply, seen) = oneshot::channel();
        let see = Box::new(move |sight: &ScreenView<'_>| drop(reply.send(see(sight))));
        self.ask(ScreenRequest::View { whole, see }).await?;
        seen.await.map_err(|_| Error::NoScreen)
    }

    /// The screen as bytes, with at most `scrollback` lines before it.
    ///
    /// With `terminal` the cursor's terminal answers the queries after it, see [`Cursor::answers`]: no query is answered
    /// by both the model and that terminal.
    pub async fn picture(&self, scrollback: usize, terminal: bool) -> Result<Picture, Error> {
        let (reply, picture) = oneshot::channel();
        self.ask(ScreenRequest::Picture { scrollback, terminal, reply }).await?;
        picture.await.map_err(|_| Error::NoScreen)
    }

    /// Passes a program's report through a hook to the detector.
    pub async fn hook(&self, hook: Hook) -> Result<(), Error> {
        self.ask(ScreenRequest::Hook(hook)).await
    }

    /// The dialog that its program shows, and the modes in which keys are to be pressed.
    pub(crate) async fn dialog(&self) -> Result<Option<(Dialog, Modes)>, Error> {
        let (reply, shown) = oneshot::channel();
        self.ask(ScreenRequest::Dialog(reply)).await?;
        shown.await.map_err(|_| Error::NoScreen)
    }

    /// The state of its program's input; `None` if turns are not detected.
    pub(crate) async fn input_state(&self) -> Result<Option<InputState>, Error> {
        let (reply, seen) = oneshot::channel();
        self.ask(ScreenRequest::Input(reply)).await?;
        seen.await.map_err(|_| Error::NoScreen)
    }

    /// The agent's answer so far.
    pub async fn answer_so_far(&self) -> Result<Option<SoFar>, Error> {
        let (reply, so_far) = oneshot::channel();
        self.ask(ScreenRequest::SoFar(reply)).await?;
        so_far.await.map_err(|_| Error::NoScreen)
    }

    async fn ask(&self, look: ScreenRequest) -> Result<(), Error> {
        self.looks().send(Box::new(look)).await.map_err(|_| Error::NoScreen)
    }
}
