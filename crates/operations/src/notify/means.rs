//! The means of notification: a bounded queue for each, and what it did. What sends is the daemon's.

use crate::limits;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use swb_wire::control::{MeansItem, NotificationItem};
use tokio::sync::{mpsc, oneshot};

/// A notification that a means has to send.
#[derive(Debug)]
pub struct Delivery {
    /// What to send.
    pub item: Arc<NotificationItem>,
    means: Arc<Means>,
    /// Waits for the result of a test.
    tester: Option<oneshot::Sender<Result<(), String>>>,
}

impl Delivery {
    /// Reports whether it was sent.
    pub fn finish(self, result: Result<(), String>) {
        self.means.count(&result);
        if let Some(tester) = self.tester {
            // It may have given up.
            let _sent = tester.send(result);
        }
    }
}

/// One means of notification.
#[derive(Debug)]
pub(crate) struct Means {
    name: &'static str,
    detail: String,
    done: Mutex<Done>,
}

#[derive(Debug, Default)]
struct Done {
    sent: u64,
    failed: u64,
    error: Option<String>,
}

impl Means {
    pub(crate) fn new(name: &'static str, detail: String) -> Arc<Self> {
        Arc::new(Self { name, detail, done: Mutex::default() })
    }

    pub(crate) fn count(&self, result: &Result<(), String>) {
        let mut done = self.lock();
        match result {
            Ok(()) => done.sent += 1,
            Err(error) => {
                done.failed += 1;
                tracing::warn!(means = self.name, %error, "cannot send a notification");
                done.error = Some(error.clone());
            }
        }
    }

    pub(crate) fn item(&self) -> MeansItem {
        let done = self.lock();
        MeansItem {
            means: self.name.to_owned(),
            detail: self.detail.clone(),
            sent: done.sent,
            failed: done.failed,
            error: done.error.clone(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Done> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The queue of one means.
#[derive(Debug, Clone)]
pub(crate) struct Queue {
    pub(crate) means: Arc<Means>,
    sender: mpsc::Sender<Delivery>,
}

impl Queue {
    pub(crate) fn new(name: &'static str, detail: String) -> (Self, mpsc::Receiver<Delivery>) {
        let (sender, receiver) = mpsc::channel(limits::NOTIFY_QUEUE);
        (Self { means: Means::new(name, detail), sender }, receiver)
    }

    /// Queues a notification; it is dropped if too many wait.
    pub(crate) fn send(&self, item: &Arc<NotificationItem>) {
        let delivery = Delivery { item: Arc::clone(item), means: Arc::clone(&self.means), tester: None };
        if self.sender.try_send(delivery).is_err() {
            self.means.count(&Err("too many notifications are waiting to be sent".to_owned()));
        }
    }

    /// Sends a test and waits for the result.
    pub(crate) async fn test(&self, item: &Arc<NotificationItem>) -> Result<(), String> {
        let (tester, result) = oneshot::channel();
        let (item, means) = (Arc::clone(item), Arc::clone(&self.means));
        let queued = self.sender.try_send(Delivery { item, means, tester: Some(tester) });
        queued.map_err(|_| "too many notifications are waiting to be sent".to_owned())?;
        match tokio::time::timeout(limits::NOTIFY_TEST, result).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err("the daemon is stopping".to_owned()),
            Err(_) => Err(format!("no result within {} s", limits::NOTIFY_TEST.as_secs())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swb_wire::control::{EventBody, EventItem, NotificationKind};

    fn item() -> Arc<NotificationItem> {
        let event = EventItem { cursor: "1-1".into(), at: 0, session: None, what: EventBody::Closed };
        let (notification, text) = (NotificationKind::Ended, "a ended".to_owned());
        Arc::new(NotificationItem { event, notification, text, count: 1, seconds: None, machine: "m".into() })
    }

    #[tokio::test]
    async fn a_full_queue_drops_notifications_and_counts_them() {
        let (queue, mut waiting) = Queue::new("command", "x".to_owned());
        for _ in 0..limits::NOTIFY_QUEUE + 2 {
            queue.send(&item());
        }
        assert_eq!((queue.means.item().failed, waiting.len()), (2, limits::NOTIFY_QUEUE));
        waiting.recv().await.unwrap().finish(Ok(()));
        waiting.recv().await.unwrap().finish(Err("refused".to_owned()));
        let item = queue.means.item();
        assert_eq!((item.sent, item.failed, item.error.as_deref()), (1, 3, Some("refused")));
    }

    #[tokio::test]
    async fn a_test_waits_for_its_result() {
        let (queue, mut waiting) = Queue::new("command", "x".to_owned());
        let item = item();
        let sent = async { waiting.recv().await.unwrap().finish(Ok(())) };
        let (result, ()) = tokio::join!(queue.test(&item), sent);
        assert_eq!(result, Ok(()));
        let dropped = async { drop(waiting.recv().await) };
        let (result, ()) = tokio::join!(queue.test(&item), dropped);
        assert!(result.is_err());
    }
}
