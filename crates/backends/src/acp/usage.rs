//! Usage that an agent reports: tokens for each answer, money for the whole session.

use serde::Deserialize;
use serde_json::Value;
use swb_chat::Usage;

/// The tokens of one answer, as reported at its end.
///
/// This is not yet part of the stable protocol, and its text is ambiguous; the agents of Anthropic and OpenAI count
/// each answer separately, so that is what we assume.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Tokens {
    input_tokens: u64,
    output_tokens: u64,
    total_tokens: Option<u64>,
    thought_tokens: Option<u64>,
    cached_read_tokens: Option<u64>,
    cached_write_tokens: Option<u64>,
}

impl Tokens {
    /// Input tokens. Some agents report cached tokens separately; if the total is reached without them, they are already
    /// included.
    fn read(&self) -> u64 {
        let plain = self.input_tokens.saturating_add(self.output_tokens);
        let thoughtful = plain.saturating_add(self.thought_tokens.unwrap_or(0));
        if self.total_tokens.is_some_and(|total| [plain, thoughtful].contains(&total)) {
            return self.input_tokens;
        }
        let cached = [self.cached_read_tokens, self.cached_write_tokens].into_iter().flatten();
        cached.fold(self.input_tokens, u64::saturating_add)
    }
}

/// The usage in the reply to a prompt. Invalid usage is ignored: the answer must not be lost because of it.
pub(super) fn of_answer(usage: Value) -> Option<Usage> {
    let tokens: Tokens = serde_json::from_value(usage).ok()?;
    Some(Usage {
        input_tokens: tokens.read(),
        cached_tokens: tokens.cached_read_tokens.unwrap_or(0),
        output_tokens: tokens.output_tokens,
        cost: None,
    })
}

/// Differences below this are rounding errors.
const NOTHING: f64 = 1e-9;

/// The cost of a session as last reported, in dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct SessionCost(pub(super) f64);

impl SessionCost {
    /// Takes the reported cost of the session; returns how much of it is new. A lower sum means that it counts from
    /// zero again, as some do after a restart.
    pub(super) fn grow(&mut self, total: f64) -> Option<f64> {
        if !total.is_finite() || total < 0.0 {
            return None;
        }
        let before = std::mem::replace(&mut self.0, total);
        let more = if total + NOTHING < before { total } else { total - before };
        (more > NOTHING).then_some(more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(usage: Value) -> (u64, u64, u64) {
        let usage = of_answer(usage).unwrap();
        (usage.input_tokens, usage.cached_tokens, usage.output_tokens)
    }

    #[test]
    fn cached_tokens_are_counted_once() {
        let apart = json!({"inputTokens": 3, "outputTokens": 49, "cachedReadTokens": 400, "cachedWriteTokens": 30,
                           "totalTokens": 482});
        assert_eq!(read(apart), (433, 400, 49));
        let within =
            json!({"inputTokens": 500, "outputTokens": 49, "cachedReadTokens": 400, "totalTokens": 549});
        assert_eq!(read(within), (500, 400, 49));
        let thoughts = json!({"inputTokens": 500, "outputTokens": 49, "cachedReadTokens": 400,
                              "thoughtTokens": 10, "totalTokens": 559});
        assert_eq!(read(thoughts), (500, 400, 49));
        assert_eq!(
            read(json!({"inputTokens": 5, "cachedReadTokens": 4, "cachedWriteTokens": null})),
            (9, 4, 0)
        );
        let huge = json!({"inputTokens": u64::MAX, "outputTokens": u64::MAX, "cachedReadTokens": u64::MAX});
        assert_eq!(read(huge).0, u64::MAX);
        for nonsense in [json!(7), json!({"inputTokens": -1}), json!(null)] {
            assert_eq!(of_answer(nonsense), None);
        }
    }

    #[test]
    fn only_the_increase_of_the_cost_is_new() {
        let mut bill = SessionCost::default();
        assert_eq!((bill.grow(0.5), bill.grow(0.5), bill.grow(2.0)), (Some(0.5), None, Some(1.5)));
        assert_eq!(bill.grow(2.0 - 1e-12), None, "as good as the same");
        assert_eq!(bill.grow(0.25), Some(0.25), "it counts anew");
        assert_eq!((bill.grow(f64::NAN), bill.grow(-1.0), bill), (None, None, SessionCost(0.25)));
    }
}
