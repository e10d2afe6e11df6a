//! `swb history`: conversations with agents and their messages.

mod export;
mod transcript;

use crate::args::{self, ExportFormat, HistoryCommand, HistoryScope};
use crate::chat::dollars;
use crate::context::{self, Context};
use crate::error::{Failure, FailureKind, Outcome};
use crate::table::{self, now, short_path};
use rustix::stdio::stdout;
use rustix::termios::isatty;
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;
use swb_types::did_you_mean;
use swb_vt::printable;
use swb_wire::control::{
    Conversation, ConversationItem, ConversationReply, Forget, History, HistoryReply, HitItem, OkReply,
    Operation,
};

/// The output of `rm --json`.
#[derive(Debug, Serialize)]
struct Removed {
    removed: Vec<String>,
}

/// Lists conversations, searches them, shows one or removes some.
pub(super) fn run(context: &Context, args: args::HistoryArgs) -> Outcome {
    match args.command {
        None => list(context, &args.scope),
        Some(HistoryCommand::Ls(scope)) if scope == HistoryScope::default() => list(context, &args.scope),
        Some(HistoryCommand::Ls(scope)) => list(context, &scope),
        Some(_) if args.scope != HistoryScope::default() => {
            Err(Failure::usage("--all and --workspace before a subcommand apply to `ls` only"))
        }
        Some(HistoryCommand::Search { words, workspace, limit }) => {
            let workspace = workspace.map(|dir| context::workspace(Some(&dir))).transpose()?;
            search(context, &words.join(" "), workspace, limit)
        }
        Some(HistoryCommand::Show { name }) => show(context, name),
        Some(HistoryCommand::Export { name, format, output }) => {
            let format = match (context.json, format) {
                (true, Some(ExportFormat::Markdown)) => {
                    return Err(Failure::usage("--json cannot be combined with --format markdown"));
                }
                (true, _) => ExportFormat::Json,
                (false, format) => format.unwrap_or(ExportFormat::Markdown),
            };
            export::write(&whole(context, name)?, format, output.as_deref())?;
            Ok(0)
        }
        Some(HistoryCommand::Rm { names }) => remove(context, names),
    }
}

fn list(context: &Context, scope: &HistoryScope) -> Outcome {
    let workspace = match scope.all {
        true => None,
        false => Some(context::workspace(scope.workspace.as_deref())?),
    };
    let mut all: Vec<ConversationItem> = Vec::new();
    loop {
        let offset = Some(all.len() as u64);
        let wanted = History { workspace: workspace.clone(), offset, ..History::default() };
        let page: HistoryReply = context.query(&Operation::History(wanted))?;
        let more = page.more && !page.conversations.is_empty();
        all.extend(page.conversations.into_iter().map(priced));
        if !more {
            break;
        }
    }
    context.print_result(&all, |all| text(all, now(), &context.paths.home, scope.all))?;
    Ok(0)
}

fn search(context: &Context, words: &str, workspace: Option<String>, limit: Option<u64>) -> Outcome {
    let wanted = History { workspace, search: Some(words.to_owned()), limit, ..History::default() };
    let mut found: HistoryReply = context.query(&Operation::History(wanted))?;
    for hit in &mut found.hits {
        hit.conversation = priced(std::mem::take(&mut hit.conversation));
    }
    let bold = !context.json && isatty(stdout());
    context.print_coloured_result(&found.hits, |hits| hits_text(hits, now(), bold))?;
    // As `grep` does.
    Ok(u8::from(found.hits.is_empty()))
}

/// A conversation with all of its messages.
fn whole(context: &Context, name: String) -> Result<ConversationReply, Failure> {
    let session = context.conversation_in_history(name)?;
    let mut whole: ConversationReply = ask_for(context, &session, None)?;
    while let Some(cursor) = whole.next.clone() {
        whole.extend(ask_for(context, &session, Some(cursor))?);
    }
    whole.conversation = priced(whole.conversation);
    Ok(whole)
}

fn show(context: &Context, session: String) -> Outcome {
    let whole = whole(context, session)?;
    context.print_result(&whole, |whole| transcript::text(whole, &context.paths.home))?;
    Ok(0)
}

/// A conversation with its price rounded.
fn priced(item: ConversationItem) -> ConversationItem {
    ConversationItem { cost: item.cost.map(dollars), ..item }
}

fn ask_for(context: &Context, session: &str, cursor: Option<String>) -> Result<ConversationReply, Failure> {
    let wanted = Conversation { session: session.to_owned(), cursor };
    context.query(&Operation::Conversation(wanted)).map_err(|failure| known(context, failure, session))
}

fn remove(context: &Context, names: Vec<String>) -> Outcome {
    for session in &names {
        let forget = Operation::Forget(Forget { session: session.clone() });
        let _: OkReply = context.execute(&forget).map_err(|failure| known(context, failure, session))?;
    }
    context.print_result(&Removed { removed: names }, |_| String::new())?;
    Ok(0)
}

/// Replaces the hint of a missing session by a similar name, and where conversations are listed.
fn known(context: &Context, failure: Failure, name: &str) -> Failure {
    match failure.kind() {
        FailureKind::NoSession => {
            let names = context.conversations().unwrap_or_default();
            let meant = did_you_mean(name, names.iter().map(String::as_str));
            let listed = "`swb history --all` lists the conversations".to_owned();
            let hint: Vec<String> = meant.into_iter().chain([listed]).collect();
            Failure::new(FailureKind::NoSession, format!("there is no conversation '{name}'"))
                .hint(hint.join(" "))
        }
        _ => failure,
    }
}

fn text(all: &[ConversationItem], now: u64, home: &Path, everywhere: bool) -> String {
    if all.is_empty() && everywhere {
        return "No conversations. `swb chat` starts one.\n".to_owned();
    }
    if all.is_empty() {
        return "No conversations in this directory. `swb history --all` lists those of all directories.\n"
            .to_owned();
    }
    let rows: Vec<[String; 7]> = all.iter().map(|one| row(one, now, home)).collect();
    match everywhere {
        true => {
            table::layout(["NAME", "AGENT", "STATUS", "CHANGED", "MESSAGES", "WORKSPACE", "TITLE"], &rows)
        }
        false => {
            let rows: Vec<[String; 6]> = rows
                .into_iter()
                .map(|[name, agent, status, changed, count, _, title]| {
                    [name, agent, status, changed, count, title]
                })
                .collect();
            table::layout(["NAME", "AGENT", "STATUS", "CHANGED", "MESSAGES", "TITLE"], &rows)
        }
    }
}

fn row(one: &ConversationItem, now: u64, home: &Path) -> [String; 7] {
    let status = match (one.running, one.live, one.saved) {
        (true, ..) => "working",
        (false, true, true) => "live, saved",
        (false, true, false) => "live",
        (false, false, _) => "saved",
    };
    [
        one.session.clone(),
        one.agent.clone().unwrap_or_else(|| "-".to_owned()),
        status.to_owned(),
        table::age(now.saturating_sub(one.updated / 1000)),
        one.messages.to_string(),
        short_path(&one.workspace, home),
        one.title.clone(),
    ]
}

fn hits_text(hits: &[HitItem], now: u64, bold: bool) -> String {
    if hits.is_empty() {
        return "No message contains all these words.\n".to_owned();
    }
    let mut text = String::new();
    for hit in hits {
        let name = printable(&hit.conversation.session);
        let ago = table::age(now.saturating_sub(hit.at / 1000));
        let (role, title) = (printable(&hit.role), printable(&hit.conversation.title));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name} #{} {role}, {ago} ago: {title}", hit.number);
        let _ = writeln!(text, "    {}", excerpt(&hit.excerpt, bold));
    }
    text
}

/// An excerpt on one line, with the matches in bold.
fn excerpt(text: &str, bold: bool) -> String {
    let (begin, end) = if bold { ("\x1b[1m", "\x1b[22m") } else { ("", "") };
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        for piece in word.split_inclusive(['\u{2}', '\u{3}']) {
            line.push_str(&printable(piece.trim_end_matches(['\u{2}', '\u{3}'])));
            line.push_str(match piece.chars().last() {
                Some('\u{2}') => begin,
                Some('\u{3}') => end,
                _ => "",
            });
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conversation(session: &str, live: bool) -> ConversationItem {
        ConversationItem {
            session: session.into(),
            title: "fix the\x1b race".into(),
            workspace: "/home/u/api".into(),
            messages: 4,
            agent: live.then(|| "claude".to_owned()),
            updated: 60_000,
            live,
            ..ConversationItem::default()
        }
    }

    #[test]
    fn people_get_a_table() {
        let all = [conversation("brave-blue-otter", true), conversation("api", false)];
        let home = Path::new("/home/u");
        insta::assert_snapshot!(text(&all, 180, home, true), @r"
        NAME              AGENT   STATUS  CHANGED  MESSAGES  WORKSPACE  TITLE
        brave-blue-otter  claude  live    2m       4         ~/api      fix the\u{1b} race
        api               -       saved   2m       4         ~/api      fix the\u{1b} race
        ");
        insta::assert_snapshot!(text(&all[1..], 180, home, false), @r"
        NAME  AGENT  STATUS  CHANGED  MESSAGES  TITLE
        api   -      saved   2m       4         fix the\u{1b} race
        ");
        assert!(text(&[], 0, home, false).contains("--all"));
    }

    #[test]
    fn matches_are_bold() {
        let hit = HitItem {
            conversation: conversation("api", false),
            number: 3,
            role: "user".into(),
            at: 60_000,
            excerpt: "…the \u{2}race\u{3}\n  con\x1bdition (\u{2}race\u{3})".into(),
        };
        insta::assert_snapshot!(hits_text(std::slice::from_ref(&hit), 180, false), @r"
        api #3 user, 2m ago: fix the\u{1b} race
            …the race con\u{1b}dition (race)
        ");
        assert!(hits_text(&[hit], 180, true).contains("the \x1b[1mrace\x1b[22m con"));
    }
}
