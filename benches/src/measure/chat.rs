//! How long the first piece of a model's answer takes from its server to the client of a conversation.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{Bench, median};
use crate::model::{Direct, Model, PIECE};
use crate::peers::{Kind, Place, Swb};
use crate::report::{Budget, Metric, Unit};
use crate::wait;

/// Microseconds that the piece may take through `swb` beyond the direct way.
const EXTRA: f64 = 5_000.0;

pub(super) fn take(bench: &mut Bench) -> Result<Vec<Metric>> {
    let model = Model::start()?;
    let place = bench.place()?.beside("chat", &configuration(&model.url()))?;
    let mut stages = vec![(Kind::Raw, Way::Direct(model.direct()?))];
    match Conversation::start(&place) {
        Ok(conversation) => stages.push((Kind::Swb, Way::Swb(conversation))),
        Err(e) => bench.note(format!("{}: {e:#}", Kind::Swb.label())),
    }
    let asks = bench.scale.keys;
    let values = bench.rounds("first piece", &mut stages, |way| {
        let times: Result<Vec<f64>> = (0..asks).map(|_| model.since_sent(way.ask()?)).collect();
        median(&times?)
    });
    let title =
        "first piece of a model's answer, from its server to the client; raw: without anything between";
    let budget = Budget::AtMostPlus { extra: EXTRA, of: Kind::Raw };
    Ok(vec![Metric::new("chat", title, Unit::Microseconds, values).budget(budget)])
}

fn configuration(url: &str) -> String {
    format!(
        "[scriptschnell]\nenabled = true\nmessages_per_second = 100000\n[chat]\nbackend = \"model\"\n[[agents]]\nname = \"model\"\n\
         kind = \"llm\"\nmodel = \"m\"\nbase_url = \"{url}\"\n"
    )
}

/// How the model is asked.
enum Way {
    Direct(Direct),
    Swb(Conversation),
}

impl Way {
    /// Asks once and waits for the end of the answer; when its piece came.
    fn ask(&mut self) -> Result<Instant> {
        match self {
            Self::Direct(direct) => direct.ask(),
            Self::Swb(conversation) => conversation.ask(),
        }
    }
}

/// A client of a daemon's conversation.
struct Conversation {
    reader: BufReader<UnixStream>,
    line: String,
    _swb: Swb,
}

impl Conversation {
    fn start(place: &Place) -> Result<Self> {
        let swb = Swb::start(place)?;
        let socket = place.home().join(".scriptschnell.sock");
        let stream =
            wait::until(wait::STEP, || UnixStream::connect(&socket).ok()).context("no chat socket")?;
        stream.set_read_timeout(Some(wait::STEP))?;
        let mut this = Self { reader: BufReader::new(stream), line: String::new(), _swb: swb };
        this.request("auth_request", &json!({"client_type": "bench"}))?;
        this.request("session_create", &json!({"workspace": dir(&place.dir)}))?;
        Ok(this)
    }

    fn ask(&mut self) -> Result<Instant> {
        // Each prompt begins anew, so that the last is not longer than the first.
        self.request("chat_clear", &json!({}))?;
        self.request("chat_send", &json!({"content": "go"}))?.context("an answer without its piece")
    }

    /// Sends a request and waits for its answer; when the piece came, if it did.
    fn request(&mut self, kind: &str, data: &Value) -> Result<Option<Instant>> {
        let request = json!({"type": kind, "request_id": "r", "data": data});
        self.reader.get_mut().write_all(format!("{request}\n").as_bytes())?;
        let mut heard = None;
        loop {
            self.line.clear();
            anyhow::ensure!(
                self.reader.read_line(&mut self.line)? > 0,
                "the daemon has closed the connection"
            );
            if self.line.contains(PIECE) && heard.is_none() {
                heard = Some(Instant::now());
            }
            let message: Value = serde_json::from_str(&self.line)?;
            if message["request_id"] == "r" {
                anyhow::ensure!(message["type"] != "error", "{kind} was refused: {message}");
                return Ok(heard);
            }
        }
    }
}

fn dir(path: &Path) -> &str {
    path.to_str().unwrap_or("/")
}
