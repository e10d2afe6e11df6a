//! Sends notifications: to the desktop, to the user's command, to a webhook. What is sent and when is decided in
//! `operations/notify/`; terminals take theirs from there.

mod command;
mod webhook;

use crate::desktop::Desktop;
use command::UserCommand;
use std::collections::BTreeMap;
use std::sync::Arc;
use swb_dialects::Fronts;
use swb_engine::Engine;
use swb_operations::notify::{Delivery, Notifications};
use tokio::sync::mpsc;
use webhook::Webhook;

/// Starts the means of notification that are configured, and what feeds them.
pub(crate) fn open(
    notifications: Notifications,
    engine: &Engine,
    fronts: &Fronts,
    env: BTreeMap<String, String>,
    umask: u32,
) -> Arc<Notifications> {
    let config = notifications.config().clone();
    if config.desktop {
        serve_desktop(notifications.add_means("desktop", "notify".to_owned()));
    }
    if let Some(program) = config.command.first() {
        let queue = notifications.add_means("command", program.clone());
        let command = UserCommand::new(config.command.clone(), env, umask);
        Messenger::Command(command).serve(fronts, queue);
    }
    if let Some(url) = &config.webhook {
        let queue = notifications.add_means("webhook", config.webhook_host().unwrap_or_default().to_owned());
        Messenger::Webhook(Webhook::new(url.clone())).serve(fronts, queue);
    }
    let notifications = Arc::new(notifications);
    let (running, engine, stop) = (Arc::clone(&notifications), engine.clone(), fronts.stop.clone());
    fronts.tasks.spawn(async move {
        tokio::select! {
            () = running.run(&engine) => {}
            () = stop.cancelled() => {}
        }
    });
    notifications
}

/// What sends notifications, one after the other.
enum Messenger {
    Command(UserCommand),
    Webhook(Webhook),
}

impl Messenger {
    fn serve(self, fronts: &Fronts, mut queue: mpsc::Receiver<Delivery>) {
        let stop = fronts.stop.clone();
        fronts.tasks.spawn(async move {
            let all = async {
                while let Some(delivery) = queue.recv().await {
                    let result = match &self {
                        Self::Command(command) => command.run(&delivery.item).await,
                        Self::Webhook(webhook) => webhook.post(&delivery.item).await,
                    };
                    delivery.finish(result);
                }
            };
            tokio::select! {
                () = all => {}
                () = stop.cancelled() => {}
            }
        });
    }
}

/// The session bus may hang, so it has a thread of its own, which ends with the daemon.
fn serve_desktop(mut queue: mpsc::Receiver<Delivery>) {
    let show = move || {
        while let Some(delivery) = queue.blocking_recv() {
            let result = match Desktop::from_env() {
                Some(desktop) => desktop.show(&delivery.item.text).map_err(|error| error.to_string()),
                None => Err("no session bus: DBUS_SESSION_BUS_ADDRESS is not set".to_owned()),
            };
            delivery.finish(result);
        }
    };
    if let Err(error) = std::thread::Builder::new().name("swb-desktop".to_owned()).spawn(show) {
        tracing::warn!(%error, "no desktop notifications: cannot start a thread");
    }
}
