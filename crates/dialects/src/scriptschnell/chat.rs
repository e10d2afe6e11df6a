//! Prompts, approvals and questions.

use super::attachment::SessionAttachment;
use super::errors::{invalid, mapped, not_allowed};
use super::request_handler::{RequestHandler, RequestResult};
use std::collections::BTreeMap;
use swb_chat::{
    Answers, Approval, ApprovalAnswer, ApprovalId, ConversationSettings, Question, QuestionId, Refused,
};
use swb_engine::chat::{ChatError, PromptOptions};
use swb_wire::scriptschnell as wire;
use swb_wire::scriptschnell::{
    AuthorizationResponse, ChatSend, ChatSendOptions, ErrorInfo, QuestionResponse, ServerMessage, StatusReply,
};

impl RequestHandler {
    /// SS-49, SS-50
    pub(super) async fn chat_send(
        &mut self,
        send: ChatSend,
        request_id: Option<String>,
    ) -> Result<(), ErrorInfo> {
        let attached = self.attached(send.session_id.as_deref())?;
        let prompt = send.content.or(send.prompt).unwrap_or_default();
        let options = prompt_options(&send.options.unwrap_or_default())?;
        if self.outbound.running() >= self.settings().max_generations.max(1) {
            return Err(not_allowed(
                "too many generations of this connection are running; wait for one to end",
            ));
        }
        attached.send(request_id, prompt, options).await
    }

    /// SS-55: replies at once; the `chat_send` gets its reply when the generation has stopped (Q-59). Without a
    /// session, nothing is running.
    pub(super) async fn chat_stop(&mut self, which: wire::SessionRef) -> Result<ServerMessage, ErrorInfo> {
        let named = which.session_id.filter(|id| !id.is_empty());
        if named.is_some() || !self.attachments.is_empty() {
            let attached = self.attached(named.as_deref())?;
            mapped(attached.chat.stop(Some(attached.client)).await)?;
        }
        Ok(ServerMessage::ChatStop(StatusReply::of("stopped")))
    }

    /// SS-56
    pub(super) async fn chat_clear(&mut self, which: wire::SessionRef) -> Result<ServerMessage, ErrorInfo> {
        let attached = self.attached(which.session_id.as_deref())?;
        mapped(attached.chat.clear(Some(attached.client)).await)?;
        Ok(ServerMessage::ChatClear(StatusReply::of("cleared")))
    }

    /// SS-61: there is no reply, not even if the approval does not exist.
    pub(super) async fn acknowledge(&mut self, auth_id: Option<String>) -> RequestResult {
        if let Some((attached, approval)) = auth_id.and_then(|id| self.approval(&id))
            && attached.owns()
        {
            // It may have been decided at the same moment.
            let _settled = attached.chat.acknowledge(approval.id).await;
        }
        Ok(None)
    }

    /// SS-60, SS-63
    pub(super) async fn decide(&mut self, response: AuthorizationResponse) -> RequestResult {
        if response.ack == Some(true) {
            return self.acknowledge(response.auth_id).await;
        }
        let found = response.auth_id.as_deref().and_then(|id| self.approval(id));
        let (attached, approval) = found.ok_or_else(not_asked)?;
        let verdict = verdict(&approval, &response)?;
        mapped(attached.chat.decide(Some(attached.client), approval.id, verdict).await)?;
        Ok(None)
    }

    fn approval(&self, id: &str) -> Option<(&SessionAttachment, Approval)> {
        let id = ApprovalId(id.to_owned());
        self.attachments.iter().find_map(|attached| {
            let waiting = attached.chat.view().approvals.into_iter().find(|approval| approval.id == id);
            waiting.map(|approval| (attached, approval))
        })
    }

    /// SS-63, SS-64
    pub(super) async fn answer_question(&mut self, response: QuestionResponse) -> RequestResult {
        let id = QuestionId(response.question_id.clone().unwrap_or_default());
        let found = self.attachments.iter().find_map(|attached| {
            let waiting = attached.chat.view().questions.into_iter().find(|question| question.id == id);
            waiting.map(|question| (attached, question))
        });
        let (attached, question) = found.ok_or_else(not_asked)?;
        let answers = answers(&question, response)?;
        mapped(attached.chat.answer(Some(attached.client), question.id, answers).await)?;
        Ok(None)
    }
}

fn not_asked() -> ErrorInfo {
    super::errors::info(&ChatError::Refused(Refused::NotAsked))
}

fn prompt_options(options: &ChatSendOptions) -> Result<PromptOptions, ErrorInfo> {
    let temperature = options.temperature;
    if temperature.is_some_and(|temperature| !ConversationSettings::TEMPERATURES.contains(&temperature)) {
        return Err(invalid("temperature must be between 0 and 2"));
    }
    let max_tokens = options.max_tokens.filter(|most| *most > 0);
    Ok(PromptOptions { temperature, max_tokens, piped: options.piped.unwrap_or(false) })
}

/// The user's decision: yes or no, or one of the options, which implies it.
fn verdict(approval: &Approval, response: &AuthorizationResponse) -> Result<ApprovalAnswer, ErrorInfo> {
    let chosen = match &response.option {
        None => None,
        Some(id) => {
            let found = approval.request.options.iter().find(|option| option.id == *id);
            Some(found.ok_or_else(|| invalid(format!("unknown option '{id}'")))?)
        }
    };
    let allows = chosen.map(|option| option.kind.allows());
    let approved = match (response.approved, allows) {
        (Some(approved), Some(allows)) if approved != allows => {
            return Err(invalid("approved and option contradict each other"));
        }
        (approved, allows) => approved.or(allows).ok_or_else(|| invalid("approved or option is missing"))?,
    };
    Ok(ApprovalAnswer { approved, option: response.option.clone(), always: response.always.unwrap_or(false) })
}

/// The answers by the position of their question. Of several questions some, or all, may be left unanswered; answers
/// to unknown questions are ignored.
fn answers(question: &Question, response: QuestionResponse) -> Result<Answers, ErrorInfo> {
    let mut lists = [response.answers_map, response.answers].into_iter().flatten();
    let is_empty = |answers: &wire::QuestionAnswers| match answers {
        wire::QuestionAnswers::Named(named) => named.is_empty(),
        wire::QuestionAnswers::Listed(listed) => listed.is_empty(),
    };
    let filled = lists.find(|answers| !is_empty(answers));
    let given: BTreeMap<usize, String> = match (filled, response.answer) {
        (Some(wire::QuestionAnswers::Named(named)), _) => {
            named.into_iter().filter_map(|(key, answer)| Some((position(&key)?, answer))).collect()
        }
        (Some(wire::QuestionAnswers::Listed(listed)), _) => listed.into_iter().enumerate().collect(),
        (None, Some(answer)) => [(0, answer)].into(),
        (None, None) if question.request.multi => return Ok(Answers(BTreeMap::new())),
        (None, None) => return Err(invalid("answer is missing")),
    };
    let count = question.request.items.len().max(1);
    let given: BTreeMap<usize, String> = given.into_iter().filter(|(at, _)| *at < count).collect();
    if given.is_empty() {
        return Err(invalid(format!("no answer to a known question; the keys are q_1 to q_{count}")));
    }
    Ok(Answers(given))
}

/// The position of a question from its key.
fn position(key: &str) -> Option<usize> {
    key.strip_prefix("q_")?.parse::<usize>().ok()?.checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use swb_chat::{ApprovalOption, ApprovalRequest, OptionKind, QuestionItem, QuestionRequest};
    use swb_types::Timestamp;

    fn approval() -> Approval {
        let option = |id: &str, kind| ApprovalOption { id: id.into(), label: id.into(), kind };
        let request = ApprovalRequest {
            tool: "t".into(),
            tool_id: None,
            parameters: serde_json::Value::Null,
            reason: String::new(),
            options: vec![option("y", OptionKind::AllowOnce), option("n", OptionKind::RejectAlways)],
        };
        Approval { id: ApprovalId("a".into()), request, asked_at: Timestamp(0), seen: false }
    }

    // SS-60
    #[test]
    fn a_decision_is_approved_or_an_option() {
        let decide = |approved, option: Option<&str>| {
            let option = option.map(str::to_owned);
            let response = AuthorizationResponse { approved, option, ..AuthorizationResponse::default() };
            verdict(&approval(), &response).map(|verdict| verdict.approved)
        };
        assert_eq!((decide(Some(true), None), decide(Some(false), None)), (Ok(true), Ok(false)));
        assert_eq!((decide(None, Some("y")), decide(None, Some("n"))), (Ok(true), Ok(false)));
        assert_eq!(decide(Some(true), Some("y")), Ok(true));
        for (approved, option) in [(None, None), (Some(true), Some("n")), (Some(true), Some("x"))] {
            assert!(decide(approved, option).is_err());
        }
    }

    // SS-64, SS-65
    #[test]
    fn answers_have_three_shapes() {
        let item = || QuestionItem { question: "q".into(), options: Vec::new() };
        let request = QuestionRequest { text: "t".into(), multi: true, items: vec![item(), item()] };
        let question = Question { id: QuestionId("q".into()), request, asked_at: Timestamp(0) };
        let read =
            |json: &str| answers(&question, serde_json::from_str(json).unwrap()).map(|Answers(all)| all);
        let both = BTreeMap::from([(0, "A".to_owned()), (1, "B".to_owned())]);
        assert_eq!(read(r#"{"answers_map":{"q_1":"A","q_2":"B"}}"#), Ok(both.clone()));
        assert_eq!(read(r#"{"answers":{"q_2":"B","q_1":"A"}}"#), Ok(both.clone()));
        assert_eq!(read(r#"{"answers":["A","B"]}"#), Ok(both));
        assert_eq!(read(r#"{"answer":"A"}"#), Ok([(0, "A".to_owned())].into()));
        let first = Ok(BTreeMap::from([(0, "A".to_owned())]));
        assert_eq!(read(r#"{"answer":"A","answers_map":{},"answers":{}}"#), first, "empty ones do not count");
        assert_eq!(read(r#"{"answers":{"q_1":"A","q_9":"B","x":"C"}}"#), first, "nor do others");
        for none in [r#"{}"#, r#"{"answers":null}"#, r#"{"answers":{}}"#, r#"{"answers_map":[]}"#] {
            assert_eq!(read(none), Ok(BTreeMap::new()), "{none}: nothing is answered");
        }
        for bad in
            [r#"{"answers":{"q_3":"A"}}"#, r#"{"answers":{"q_0":"A"}}"#, r#"{"answers_map":{"x":"A"}}"#]
        {
            assert!(read(bad).is_err(), "{bad}");
        }
        let request = QuestionRequest { text: "t".into(), multi: false, items: Vec::new() };
        let single = Question { id: QuestionId("q".into()), request, asked_at: Timestamp(0) };
        assert!(answers(&single, QuestionResponse::default()).is_err());
    }
}
