//! One request to a model: retried while that may help, its reply forwarded as it arrives.

use super::client::{CallError, ModelClient};
use super::model_message::{AnswerPiece, ModelAnswer, StreamError};
use super::sse::SseDecoder;
use super::{anthropic, limits, openai};
use crate::config::Api;
use serde_json::Value;
use std::hash::{BuildHasher, Hasher};
use std::time::Duration;
use swb_chat::{Progress, Usage};
use swb_engine::chat::Exchange;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ModelFailure {
    /// The request failed, with a message for the user.
    Failed(String),
    /// The conversation exceeds the model's context window.
    Overflow(String),
    /// It was cancelled.
    Stopped,
}

/// Tokens used, failed replies included: they are billed, too.
#[derive(Debug, Clone, Copy, Default)]
struct Spent {
    before: Usage,
    now: Usage,
}

impl Spent {
    /// The total.
    fn total(&self) -> Usage {
        let mut total = self.before;
        total.add(&self.now);
        total
    }

    fn begin(&mut self) {
        *self = Self { before: self.total(), now: Usage::default() };
    }
}

/// Whether any text was forwarded.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SentText {
    /// In earlier replies to the same prompt.
    before: bool,
    /// In this reply.
    now: bool,
}

impl SentText {
    /// The text as forwarded: text after tool calls is a paragraph of its own.
    fn forwarded(&mut self, text: String) -> String {
        let first = !std::mem::replace(&mut self.now, true);
        if first && self.before { format!("\n\n{}", text.trim_start_matches('\n')) } else { text }
    }

    /// Begins the next reply.
    fn turn(&mut self) {
        *self = Self { before: self.before || self.now, now: false };
    }
}

/// A request to a model, retried until it succeeds; text is forwarded as it arrives.
pub(super) struct RetriedRequest<'a> {
    client: &'a ModelClient,
    exchange: &'a Exchange,
    sent_text: &'a mut SentText,
    spent: Spent,
}

impl<'a> RetriedRequest<'a> {
    pub(super) fn new(client: &'a ModelClient, exchange: &'a Exchange, sent_text: &'a mut SentText) -> Self {
        Self { client, exchange, sent_text, spent: Spent::default() }
    }

    /// The usage of all requests so far.
    pub(super) fn spent(&self) -> Usage {
        self.spent.total()
    }

    /// Sends the request until it succeeds or retrying cannot help.
    pub(super) async fn ask(&mut self, body: &Value) -> Result<ModelAnswer, ModelFailure> {
        self.sent_text.turn();
        let stop = self.exchange.stop();
        tokio::select! {
            biased;
            () = stop.cancelled() => Err(ModelFailure::Stopped),
            answer = self.ask_with_retries(body) => answer,
        }
    }

    async fn ask_with_retries(&mut self, body: &Value) -> Result<ModelAnswer, ModelFailure> {
        let mut tried = 1;
        loop {
            self.spent.begin();
            let error = match self.attempt(body).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            tried += 1;
            match error {
                // What was forwarded cannot be taken back, and a retry would repeat it.
                CallError::Busy(why, _) | CallError::Final(why) | CallError::Overflow(why)
                    if self.sent_text.now =>
                {
                    let why = format!("the answer broke off: {why}; its beginning is kept");
                    return Err(ModelFailure::Failed(why));
                }
                CallError::Final(why) => return Err(ModelFailure::Failed(why)),
                CallError::Overflow(why) => return Err(ModelFailure::Overflow(why)),
                CallError::Busy(why, after) => match wait_before(tried, after) {
                    Ok(wait) => self.pause(&why, wait).await,
                    Err(then) => return Err(ModelFailure::Failed(format!("{why}{then}"))),
                },
            }
        }
    }

    async fn pause(&self, why: &str, wait: Duration) {
        let message = format!("{why}; trying again in {:.1} s", wait.as_secs_f64());
        self.exchange.progress(Progress { message, ephemeral: true, ..Progress::default() }).await;
        tokio::time::sleep(wait).await;
    }

    /// One try.
    async fn attempt(&mut self, body: &Value) -> Result<ModelAnswer, CallError> {
        let mut incoming = self.client.post(body).await?;
        let (mut decoder, mut reader) =
            (SseDecoder::default(), AnswerReader::new(self.client.endpoint().api));
        let (mut open, mut lost) = (true, None);
        while open && !reader.is_done() {
            match incoming.next().await {
                Ok(Some(bytes)) => decoder.push(bytes.as_ref()),
                end => (open, lost) = (false, end.err()),
            }
            if !open {
                decoder.end();
            }
            let (pieces, result) = read(&mut decoder, &mut reader);
            self.spent.now = reader.usage();
            for piece in pieces {
                self.pass_on(piece).await;
            }
            match result {
                // The last event is cut off; the reply may be complete without it.
                Err(StreamError::Nonsense(_)) if !open => {}
                result => result.map_err(meaning)?,
            }
        }
        if open {
            incoming.drain().await;
        }
        // If the reply is complete, an error of its connection does not matter.
        reader.finish().map_err(|error| lost.unwrap_or_else(|| meaning(error)))
    }

    async fn pass_on(&mut self, piece: AnswerPiece) {
        match piece {
            AnswerPiece::Text(text) => self.exchange.text(self.sent_text.forwarded(text)).await,
            // Thoughts may be repeated.
            AnswerPiece::Thought(text) => self.exchange.thought(text).await,
        }
    }
}

/// How long to wait before a try; if there is none, a note for the error message.
fn wait_before(number: u32, after: Option<Duration>) -> Result<Duration, String> {
    if number > limits::TRIES {
        return Err(format!(" (tried {} times)", limits::TRIES));
    }
    match after {
        Some(after) if after > limits::LONGEST_WAIT => {
            Err(format!("; the server asks to retry after {} s", after.as_secs()))
        }
        Some(after) => Ok(after),
        None => {
            let backoff = limits::BACKOFF * 2u32.pow(number.saturating_sub(2).min(16));
            // Clients that were rejected together should not return together.
            Ok(backoff.min(limits::LONGEST_WAIT).mul_f64(0.75 + 0.5 * chance()))
        }
    }
}

/// A number from 0 to 1.
fn chance() -> f64 {
    let random = std::collections::hash_map::RandomState::new().build_hasher().finish();
    f64::from((random >> 32) as u32) / f64::from(u32::MAX)
}

/// Everything that can be read now: pieces that arrived together are forwarded together.
fn read(decoder: &mut SseDecoder, reader: &mut AnswerReader) -> (Vec<AnswerPiece>, Result<(), StreamError>) {
    let mut pieces: Vec<AnswerPiece> = Vec::new();
    loop {
        let more = match decoder.poll() {
            Ok(Some(data)) => reader.handle(&data),
            Ok(None) => return (pieces, Ok(())),
            Err(error) => Err(error.into()),
        };
        match more {
            Ok(more) => more.into_iter().for_each(|piece| join(&mut pieces, piece)),
            Err(error) => return (pieces, Err(error)),
        }
    }
}

fn join(pieces: &mut Vec<AnswerPiece>, piece: AnswerPiece) {
    match (pieces.last_mut(), piece) {
        (Some(AnswerPiece::Text(known)), AnswerPiece::Text(more))
        | (Some(AnswerPiece::Thought(known)), AnswerPiece::Thought(more)) => {
            known.push_str(&more);
        }
        (_, piece) => pieces.push(piece),
    }
}

/// Classifies an error in a reply.
fn meaning(error: StreamError) -> CallError {
    match error {
        StreamError::Overflow(why) => CallError::Overflow(why),
        StreamError::Busy(_) | StreamError::Early => CallError::Busy(error.to_string(), None),
        error => CallError::Final(error.to_string()),
    }
}

/// Parses a reply of either API.
#[derive(Debug)]
enum AnswerReader {
    Anthropic(anthropic::AnthropicReader),
    OpenAi(openai::OpenAiReader),
}

impl AnswerReader {
    fn new(api: Api) -> Self {
        match api {
            Api::Anthropic => Self::Anthropic(anthropic::AnthropicReader::default()),
            Api::OpenAi => Self::OpenAi(openai::OpenAiReader::default()),
        }
    }

    fn handle(&mut self, data: &str) -> Result<Vec<AnswerPiece>, StreamError> {
        match self {
            Self::Anthropic(reader) => reader.handle(data).map(|piece| piece.into_iter().collect()),
            Self::OpenAi(reader) => reader.handle(data),
        }
    }

    fn is_done(&self) -> bool {
        match self {
            Self::Anthropic(reader) => reader.is_done(),
            Self::OpenAi(reader) => reader.is_done(),
        }
    }

    fn usage(&self) -> Usage {
        match self {
            Self::Anthropic(reader) => reader.usage_so_far(),
            Self::OpenAi(reader) => reader.usage_so_far(),
        }
    }

    fn finish(self) -> Result<ModelAnswer, StreamError> {
        match self {
            Self::Anthropic(reader) => reader.finish(),
            Self::OpenAi(reader) => reader.finish(),
        }
    }
}

/// The results of events, for the tests of both APIs.
#[cfg(test)]
pub(super) fn read_all(api: Api, events: &[Value]) -> (Vec<AnswerPiece>, Result<ModelAnswer, StreamError>) {
    let (mut reader, mut pieces) = (AnswerReader::new(api), Vec::new());
    for event in events {
        match reader.handle(&event.to_string()) {
            Ok(more) => pieces.extend(more),
            Err(error) => return (pieces, Err(error)),
        }
    }
    (pieces, reader.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_up_to_a_limit() {
        let wait = |number| wait_before(number, None).unwrap().as_secs_f64();
        assert!((0.37..=0.63).contains(&wait(2)), "{}", wait(2));
        assert!((2.9..=5.1).contains(&wait(5)), "{}", wait(5));
        assert!(wait_before(limits::TRIES, None).is_ok() && wait_before(limits::TRIES + 1, None).is_err());
        assert_eq!(wait_before(2, Some(Duration::from_secs(7))), Ok(Duration::from_secs(7)));
        let long = wait_before(2, Some(Duration::from_secs(3600))).unwrap_err();
        assert!(long.contains("3600 s"), "{long}");
    }

    #[test]
    fn text_after_tool_calls_is_a_paragraph_of_its_own() {
        let mut sent_text = SentText::default();
        let mut say = |text: &str, turn: bool| {
            if turn {
                sent_text.turn();
            }
            sent_text.forwarded(text.to_owned())
        };
        assert_eq!((say("a", true).as_str(), say("b", false).as_str()), ("a", "b"));
        assert_eq!((say("\nc", true).as_str(), say("\nd", false).as_str()), ("\n\nc", "\nd"));
        sent_text.turn();
        sent_text.turn();
        assert_eq!(sent_text.forwarded("e".to_owned()), "\n\ne");
    }

    #[test]
    fn pieces_that_arrive_together_are_passed_on_together() {
        let mut decoder = SseDecoder::default();
        let delta = |key: &str, text: &str| {
            format!("data: {{\"choices\":[{{\"delta\":{{\"{key}\":\"{text}\"}}}}]}}\n\n")
        };
        let stream =
            delta("reasoning", "a") + &delta("content", "b") + &delta("content", "c") + "data: {\n\n";
        decoder.push(stream.as_bytes());
        let (pieces, result) = read(&mut decoder, &mut AnswerReader::new(Api::OpenAi));
        assert_eq!(pieces, [AnswerPiece::Thought("a".into()), AnswerPiece::Text("bc".into())]);
        assert!(matches!(result, Err(StreamError::Nonsense(_))), "what came before an error is not lost");
    }
}
