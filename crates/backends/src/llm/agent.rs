//! The loop of an agent: send the conversation to the model, run the tools it calls, and repeat until it calls none.

use super::client::ModelClient;
use super::context_window::ContextWindow;
use super::model_message::{ModelAnswer, ModelRequest, ModelToolCall, StopReason, ToolSpec};
use super::retry::{ModelFailure, RetriedRequest, SentText};
use super::tools::{self, LlmTools};
use super::{anthropic, limits, openai, prompt};
use crate::BackendContext;
use crate::config::{AgentConfig, Api, Price};
use serde_json::Value;
use std::collections::BTreeSet;
use swb_chat::{Progress, Usage};
use swb_engine::chat::{Backend, Boxed, Exchange, Failure};

/// A model with tools in one conversation. The conversation keeps the messages; nothing is stored here.
#[derive(Debug)]
pub(super) struct LlmAgent {
    context: BackendContext,
    config: AgentConfig,
    client: ModelClient,
    tools: Vec<ToolSpec>,
    /// Tools allowed as long as the conversation is open.
    allowed: BTreeSet<String>,
}

impl LlmAgent {
    /// Creates an agent for a model behind an API.
    pub(super) fn new(context: BackendContext, config: AgentConfig, client: ModelClient) -> Self {
        Self { context, config, client, tools: tools::specs(), allowed: BTreeSet::new() }
    }

    async fn answer(&mut self, exchange: &Exchange) -> Result<(), Failure> {
        let system = prompt::system(&self.config, exchange);
        let mut memory = ContextWindow::new(system, exchange.history(), exchange.prompt());
        let mut sent_text = SentText::default();
        for _ in 0..limits::ROUNDS {
            let mut answer = match self.ask(&mut memory, exchange, &mut sent_text).await {
                Ok(answer) => answer,
                Err(ModelFailure::Stopped) => return Ok(()),
                Err(ModelFailure::Failed(why)) => return Err(Failure::Agent(why)),
                Err(ModelFailure::Overflow(why)) => return Err(Failure::Agent(overflow(&why))),
            };
            memory.name(&mut answer.blocks);
            let calls: Vec<ModelToolCall> = answer.calls().cloned().collect();
            memory.append(answer.blocks);
            match answer.stop {
                StopReason::Refused => {
                    return Err(Failure::Agent("the model refuses to answer this".to_owned()));
                }
                StopReason::Length if calls.is_empty() => {
                    self.report(exchange, "the answer was cut off at the maximum number of tokens", None)
                        .await;
                    return Ok(());
                }
                _ if calls.is_empty() => return Ok(()),
                _ => {}
            }
            let mut tools = LlmTools::new(&self.context, exchange, &mut self.allowed);
            let mut outcomes = Vec::new();
            for call in &calls {
                if exchange.stop().is_cancelled() {
                    return Ok(());
                }
                outcomes.push(tools.run(call).await);
            }
            memory.results(outcomes);
        }
        let rounds = limits::ROUNDS;
        Err(Failure::Agent(format!(
            "the model called tools {rounds} times in a row; send another prompt to let it continue"
        )))
    }

    /// Sends one request. If the conversation turns out to be too long, it is shortened and sent again.
    async fn ask(
        &self,
        memory: &mut ContextWindow,
        exchange: &Exchange,
        sent_text: &mut SentText,
    ) -> Result<ModelAnswer, ModelFailure> {
        let answer_tokens = u64::from(self.max_tokens(exchange).unwrap_or(limits::ANSWER_TOKENS));
        let context_tokens = self.context_tokens();
        if memory.fit(context_tokens.saturating_sub(answer_tokens.min(context_tokens / 2))) {
            self.report(exchange, "old tool results were shortened to fit the context window", None).await;
        }
        if memory.is_excessive() {
            memory.shorten_all();
        }
        if memory.is_excessive() {
            return Err(ModelFailure::Overflow(String::new()));
        }
        let mut asking = RetriedRequest::new(&self.client, exchange, sent_text);
        let mut result = asking.ask(&self.body(memory, exchange)).await;
        if matches!(result, Err(ModelFailure::Overflow(_))) && memory.shorten_all() {
            self.report(exchange, "the conversation is too long; retrying without old tool results", None)
                .await;
            result = asking.ask(&self.body(memory, exchange)).await;
        }
        let mut usage = asking.spent();
        if usage.total_tokens() > 0 {
            usage.cost = self.price(exchange).map(|price| cost(&price, &usage));
            exchange.used(usage).await;
        }
        if let Ok(answer) = &result {
            let tokens = answer.usage.input_tokens;
            memory.counted(tokens);
            if tokens > 0 {
                let used = percent(tokens, context_tokens);
                self.report(exchange, &format!("{used} % of the model's context window is used"), Some(used))
                    .await;
            }
        }
        result
    }

    fn body(&self, memory: &ContextWindow, exchange: &Exchange) -> Value {
        let settings = exchange.settings();
        let temperature = exchange.options().temperature.or(settings.temperature).or(self.config.temperature);
        let request = ModelRequest {
            model: self.model(exchange),
            system: memory.system(),
            turns: memory.turns(),
            tools: &self.tools,
            temperature,
            max_tokens: self.max_tokens(exchange),
        };
        let endpoint = self.client.endpoint();
        match endpoint.api {
            Api::Anthropic => anthropic::body(&request),
            Api::OpenAi => openai::body(&request, endpoint.makers_own),
        }
    }

    fn model<'a>(&'a self, exchange: &'a Exchange) -> &'a str {
        exchange.settings().model.as_deref().or(self.config.model.as_deref()).unwrap_or_default()
    }

    /// The price of the configured model; that of other models is unknown.
    fn price(&self, exchange: &Exchange) -> Option<Price> {
        self.config.price.filter(|_| self.config.model.as_deref() == Some(self.model(exchange)))
    }

    fn max_tokens(&self, exchange: &Exchange) -> Option<u32> {
        exchange.options().max_tokens.or(exchange.settings().max_tokens).or(self.config.max_tokens)
    }

    /// The model's context window; by default that of the vendors' current models.
    fn context_tokens(&self) -> u64 {
        let usual = match self.config.api {
            Api::Anthropic => 200_000,
            Api::OpenAi => 128_000,
        };
        self.config.context_tokens.unwrap_or(usual).max(1)
    }

    async fn report(&self, exchange: &Exchange, message: &str, context_usage: Option<u8>) {
        let message = message.to_owned();
        exchange.progress(Progress { message, context_usage, ephemeral: true, verification: false }).await;
    }
}

impl Backend for LlmAgent {
    fn generate<'a>(&'a mut self, exchange: &'a Exchange) -> Boxed<'a, Result<(), Failure>> {
        Box::pin(self.answer(exchange))
    }

    fn clear(&mut self) {
        self.allowed.clear();
    }
}

fn overflow(why: &str) -> String {
    let words = "the conversation is longer than the model's context window; clear it, or start a new one";
    if why.is_empty() { words.to_owned() } else { format!("{words} ({why})") }
}

fn percent(tokens: u64, of: u64) -> u8 {
    u8::try_from((tokens.saturating_mul(100) / of.max(1)).min(100)).unwrap_or(100)
}

fn cost(price: &Price, usage: &Usage) -> f64 {
    let fresh = usage.input_tokens.saturating_sub(usage.cached_tokens);
    let millions = |tokens: u64| tokens as f64 / 1e6;
    millions(fresh) * price.input
        + millions(usage.cached_tokens) * price.cached.unwrap_or(price.input)
        + millions(usage.output_tokens) * price.output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_their_price() {
        let price = Price { input: 3.0, cached: Some(0.3), output: 15.0 };
        let usage =
            Usage { input_tokens: 1_000_000, cached_tokens: 900_000, output_tokens: 100_000, cost: None };
        assert!((cost(&price, &usage) - (0.3 + 0.27 + 1.5)).abs() < 1e-9);
        let uncached = Price { cached: None, ..price };
        assert!((cost(&uncached, &usage) - 4.5).abs() < 1e-9);
    }

    #[test]
    fn context_usage_is_at_most_a_hundred_percent() {
        assert_eq!((percent(10, 200), percent(300, 200), percent(u64::MAX, 0)), (5, 100, 100));
    }
}
