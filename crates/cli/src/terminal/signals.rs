//! Signals that a poll loop can wait for.

use signal_hook::low_level::{pipe, unregister};
use signal_hook::{SigId, flag};
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The signals of this process that a loop handles.
#[derive(Debug)]
pub(crate) struct Signals {
    wake: UnixStream,
    flags: Vec<(i32, Arc<AtomicBool>)>,
    registered: Vec<SigId>,
}

impl Signals {
    /// Starts to catch `numbers`.
    pub(crate) fn catch(numbers: &[i32]) -> io::Result<Self> {
        let (wake, sender) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        sender.set_nonblocking(true)?;
        let mut flags = Vec::with_capacity(numbers.len());
        let mut registered = Vec::with_capacity(numbers.len() * 2);
        for &number in numbers {
            let raised = Arc::new(AtomicBool::new(false));
            // The flag has to be set before the loop wakes.
            registered.push(flag::register(number, Arc::clone(&raised))?);
            registered.push(pipe::register(number, sender.try_clone()?)?);
            flags.push((number, raised));
        }
        Ok(Self { wake, flags, registered })
    }

    /// Takes the signals received since the last call.
    pub(crate) fn take(&mut self) -> Vec<i32> {
        let mut bytes = [0; 64];
        while matches!(self.wake.read(&mut bytes), Ok(count) if count > 0) {}
        let raised =
            |(number, flag): &(i32, Arc<AtomicBool>)| flag.swap(false, Ordering::SeqCst).then_some(*number);
        self.flags.iter().filter_map(raised).collect()
    }
}

impl Drop for Signals {
    /// Gives back the descriptors: one process may attach many times. The signals stay without effect, as before.
    fn drop(&mut self) {
        for id in self.registered.drain(..) {
            unregister(id);
        }
    }
}

impl AsFd for Signals {
    /// Readable after a signal.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use signal_hook::consts::{SIGUSR1, SIGUSR2};

    #[test]
    fn each_signal_is_returned_once() {
        let mut signals = Signals::catch(&[SIGUSR1, SIGUSR2]).unwrap();
        assert!(signals.take().is_empty());
        signal_hook::low_level::raise(SIGUSR2).unwrap();
        assert_eq!(signals.take(), [SIGUSR2]);
        assert!(signals.take().is_empty());
    }
}
