//! Questions to the user.

use super::ToolOutput;
use super::arguments::AskUser;
use swb_chat::{Answers, QuestionItem, QuestionRequest};
use swb_engine::chat::Exchange;

/// Asks the model's questions.
pub(super) async fn ask(exchange: &Exchange, ask: AskUser) -> Result<ToolOutput, String> {
    let request = request(ask);
    let items = request.items.clone();
    let answers = exchange.ask(request).await.map_err(|why| why.to_string())?;
    Ok(ToolOutput::text(result_for_model(&items, &answers)))
}

/// A list of one question is treated as a single question.
fn request(ask: AskUser) -> QuestionRequest {
    let mut items: Vec<QuestionItem> = ask
        .questions
        .into_iter()
        .flatten()
        .map(|item| QuestionItem { question: item.question, options: item.options.unwrap_or_default() })
        .collect();
    let about = ask.question.unwrap_or_default();
    if items.is_empty() {
        items.push(QuestionItem { question: about.clone(), options: ask.options.unwrap_or_default() });
    }
    let multi = items.len() > 1;
    let text = match (multi, &items[..]) {
        (false, [only]) => only.question.clone(),
        _ if about.is_empty() => "The agent has some questions".to_owned(),
        _ => about,
    };
    QuestionRequest { text, multi, items }
}

fn result_for_model(items: &[QuestionItem], answers: &Answers) -> String {
    let answer = |at: usize| answers.0.get(&at).map_or("(no answer)", String::as_str);
    match items {
        [_] => answer(0).to_owned(),
        items => {
            let line = |(at, item): (usize, &QuestionItem)| format!("{}\n> {}\n", item.question, answer(at));
            items.iter().enumerate().map(line).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn request_of(value: Value) -> QuestionRequest {
        request(serde_json::from_value(value).unwrap())
    }

    #[test]
    fn a_list_of_one_question_is_a_single_question() {
        let options = ["a", "b"];
        let plain = request_of(json!({"question": "which?", "options": options}));
        let listed = request_of(
            json!({"question": "about", "questions": [{"question": "which?", "options": options}]}),
        );
        assert_eq!(plain, listed);
        assert!(!plain.multi && plain.text == "which?" && plain.items[0].options == options);
        assert_eq!(result_for_model(&plain.items, &Answers::single("b")), "b");
        assert_eq!(result_for_model(&plain.items, &Answers::default()), "(no answer)");
    }

    #[test]
    fn the_result_lists_questions_with_their_answers() {
        let several = request_of(json!({"questions": [{"question": "one?"}, {"question": "two?"}]}));
        assert!(several.multi && several.items.len() == 2 && !several.text.is_empty());
        let answers = Answers([(1, "2".to_owned())].into());
        assert_eq!(result_for_model(&several.items, &answers), "one?\n> (no answer)\ntwo?\n> 2\n");
    }
}
