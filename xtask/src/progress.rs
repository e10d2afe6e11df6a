//! Shows that a long step still runs: a line now and then, with what runs at the moment.

use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time between two lines: seldom enough to be read, often enough to show that it does not hang.
const INTERVAL: Duration = Duration::from_secs(20);

/// The program that runs at the moment, for the line.
static RUNNING: Mutex<String> = Mutex::new(String::new());

/// Notes what runs now.
pub(crate) fn runs(what: String) {
    *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) = what;
}

/// Prints lines about a step until it is dropped.
pub(crate) struct Progress {
    /// Its end stops the thread.
    stop: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    pub(crate) fn of(step: &str) -> Self {
        Self::with(step, INTERVAL, |line| println!("{line}"))
    }

    fn with(step: &str, interval: Duration, print: impl Fn(String) + Send + 'static) -> Self {
        let (stop, stopped) = sync_channel::<()>(1);
        let (step, began) = (step.to_owned(), Instant::now());
        let thread = std::thread::spawn(move || {
            while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner).clone();
                print(line(&step, began.elapsed(), &running));
            }
        });
        Self { stop: Some(stop), thread: Some(thread) }
    }
}

fn line(step: &str, elapsed: Duration, running: &str) -> String {
    let (minutes, seconds) = (elapsed.as_secs() / 60, elapsed.as_secs() % 60);
    let running = if running.is_empty() { String::new() } else { format!(", running {running}") };
    format!("== {step}: {minutes}:{seconds:02} so far{running}")
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_step_is_seen_to_run() {
        let (sender, lines) = sync_channel(16);
        let progress =
            Progress::with("lints", Duration::from_millis(1), move |line| drop(sender.try_send(line)));
        let first = lines.recv_timeout(Duration::from_secs(30)).unwrap();
        assert!(first.starts_with("== lints: 0:0"), "{first}");
        drop(progress);
        // The thread has ended: nothing more comes.
        assert!(lines.iter().count() < 10_000);
        assert_eq!(
            line("fuzz", Duration::from_secs(95), "cargo clippy"),
            "== fuzz: 1:35 so far, running cargo clippy"
        );
    }
}
