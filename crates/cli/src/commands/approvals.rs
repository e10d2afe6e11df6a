//! `swb approvals`: list, approve and deny the requests of agents in all sessions.

use crate::args::{self, ApprovalsCommand};
use crate::context::Context;
use crate::error::{Failure, Outcome};
use crate::limits;
use crate::table::{self, now, short_path};
use crate::watch_list;
use serde::Serialize;
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;
use swb_vt::printable;
use swb_wire::control::{
    Approval, ApprovalItem, ApprovalKind, ApprovalReply, Approvals, ApprovalsReply, Operation,
};

/// Names of the parameters that show best what a tool works on.
const DESCRIPTIVE: [&str; 10] =
    ["subject", "command", "cmd", "file_path", "path", "filePath", "url", "domain", "query", "pattern"];

/// The output of `approve --json` and `deny --json`.
#[derive(Debug, Serialize)]
struct Decided {
    id: String,
    session: String,
    approved: bool,
    option: Option<String>,
}

/// Lists approvals, shows one, or approves or denies it.
pub(super) fn run(context: &Context, args: args::ApprovalsArgs) -> Outcome {
    match args.command {
        None => list(context, args.watch),
        Some(ApprovalsCommand::Ls { watch }) => list(context, watch || args.watch),
        Some(_) if args.watch => Err(Failure::usage("--watch is for `ls` only")),
        Some(ApprovalsCommand::Show { id }) => show(context, &id),
        Some(ApprovalsCommand::Approve { id, always, option }) => decide(context, &id, true, option, always),
        Some(ApprovalsCommand::Deny { id, option }) => decide(context, &id, false, option, false),
    }
}

fn list(context: &Context, watch: bool) -> Outcome {
    let home = &context.paths.home;
    if watch {
        return watch_list::run(context, || waiting(context), |list| text(list, now(), home));
    }
    context.print_result(&waiting(context)?, |list| text(list, now(), home))?;
    Ok(0)
}

fn waiting(context: &Context) -> Result<Vec<ApprovalItem>, Failure> {
    let reply: ApprovalsReply = context.query(&Operation::Approvals(Approvals {}))?;
    Ok(reply.approvals)
}

fn show(context: &Context, id: &str) -> Outcome {
    let id = named(&waiting(context)?, id)?.id.clone();
    let request = Approval { approval: id, ack: true, ..Approval::default() };
    let reply: ApprovalReply = context.query(&Operation::Approval(request))?;
    context.print_result(&reply.approval, |approval| details(approval, now(), &context.paths.home))?;
    Ok(0)
}

fn decide(context: &Context, id: &str, approved: bool, option: Option<String>, always: bool) -> Outcome {
    let waiting = waiting(context)?;
    let approval = named(&waiting, id)?;
    let request = Approval {
        approval: approval.id.clone(),
        approved: Some(approved),
        option: option.clone(),
        always,
        ack: false,
    };
    let _decided: ApprovalReply = context.execute(&Operation::Approval(request))?;
    let (id, session) = (approval.id.clone(), approval.session.clone());
    context.print_result(&Decided { id, session, approved, option }, |decided| {
        let verb = if approved { "Approved" } else { "Denied" };
        format!("{verb} {} in '{}'.\n", printable(&approval.tool), printable(&decided.session))
    })?;
    Ok(0)
}

/// Finds an approval by its id or its session, or by the beginning of either, if only one is pending there.
fn named<'a>(waiting: &'a [ApprovalItem], wanted: &str) -> Result<&'a ApprovalItem, Failure> {
    let by = |fits: &dyn Fn(&ApprovalItem) -> bool| -> Vec<&'a ApprovalItem> {
        waiting.iter().filter(|one| fits(one)).collect()
    };
    let begins = |id: &str| {
        let bare = id.split_once('-').map_or(id, |(_, bare)| bare);
        !wanted.is_empty() && (id.starts_with(wanted) || bare.starts_with(wanted))
    };
    let exact = by(&|one| one.id == wanted);
    let session = by(&|one| one.session == wanted);
    let beginning = by(&|one| begins(&one.id));
    let of_session = by(&|one| !wanted.is_empty() && one.session.starts_with(wanted));
    let found = [exact, session, beginning, of_session].into_iter().find(|found| !found.is_empty());
    match found.as_deref() {
        Some([one]) => Ok(one),
        Some(several) => {
            let ids: Vec<&str> = several.iter().map(|one| one.id.as_str()).collect();
            Err(Failure::usage(format!("'{wanted}' is ambiguous: {}", ids.join(", ")))
                .hint("use the full id"))
        }
        None => Err(Failure::general(format!("there is no pending approval '{wanted}'"))
            .hint("`swb approvals` lists pending approvals")),
    }
}

fn text(list: &[ApprovalItem], now: u64, home: &Path) -> String {
    if list.is_empty() {
        return "No pending approvals.\n".to_owned();
    }
    let rows: Vec<[String; 6]> = list
        .iter()
        .map(|one| {
            [
                one.id.clone(),
                one.session.clone(),
                table::age(now.saturating_sub(one.asked_at / 1000)),
                short_path(&one.workspace, home),
                one.tool.clone(),
                what(one),
            ]
        })
        .collect();
    let hint = match rows.iter().any(|[.., what]| what.ends_with('…')) {
        true => "Some requests are shortened (…); `swb approvals show ID` shows all of one.\n",
        false => "",
    };
    table::layout(["ID", "SESSION", "AGE", "WORKSPACE", "TOOL", "WHAT"], &rows) + hint + &warnings(list)
}

/// What the user has to know about the confinement of commands: the daemon adds it to the reason.
fn warnings(list: &[ApprovalItem]) -> String {
    let commands = list.iter().filter(|one| one.kind == ApprovalKind::Chat);
    let warned = commands.flat_map(|one| one.reason.lines().skip(1).map(move |line| (&one.id, line)));
    warned.fold(String::new(), |text, (id, line)| text + &format!("{}: {}\n", printable(id), printable(line)))
}

/// The request on one line.
pub(crate) fn what(approval: &ApprovalItem) -> String {
    let description = DESCRIPTIVE.iter().find_map(|key| match approval.parameters.get(key)? {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            let words: Option<Vec<String>> =
                words.iter().map(|word| word.as_str().map(str::to_owned)).collect();
            words.map(|words| table::command_line(&words))
        }
        _ => None,
    });
    let description =
        description.filter(|text| !text.trim().is_empty()).unwrap_or_else(|| approval.reason.clone());
    let line = printable(description.trim());
    let line = match line.char_indices().nth(limits::APPROVAL_WIDTH) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.into_owned(),
    };
    if is_cut(approval) { format!("{line} (cut)") } else { line }
}

/// Whether a part of a dialog is not on the screen of its terminal.
fn is_cut(approval: &ApprovalItem) -> bool {
    approval.cut && approval.kind == ApprovalKind::Terminal
}

fn details(approval: &ApprovalItem, now: u64, home: &Path) -> String {
    let mut text = String::new();
    let age = table::age(now.saturating_sub(approval.asked_at / 1000));
    let from = if approval.kind == ApprovalKind::Terminal { "terminal of" } else { "session" };
    let field = |text: &mut String, name: &str, value: &str| {
        // Writing to a string cannot fail.
        let name = if name.is_empty() { String::new() } else { format!("{name}:") };
        let _ = writeln!(text, "{name:<11}{}", printable(value));
    };
    field(&mut text, "Approval", &approval.id);
    field(&mut text, "Asked by", &format!("{from} '{}', {age} ago", approval.session));
    field(&mut text, "Directory", &short_path(&approval.workspace, home));
    field(&mut text, "Tool", &approval.tool);
    let mut reason = approval.reason.lines();
    field(&mut text, "Reason", reason.next().unwrap_or_default());
    // Indented, so that no line of a dialog can imitate a field.
    reason.for_each(|line| field(&mut text, "", line));
    match &approval.parameters {
        Value::Object(map) if !map.is_empty() => {
            text.push_str("Parameters:\n");
            map.iter().for_each(|(key, value)| parameter(&mut text, key, value));
        }
        Value::Null | Value::Object(_) => {}
        other => field(&mut text, "Parameters", &other.to_string()),
    }
    if is_cut(approval) {
        text.push_str("  (cut: the dialog does not fit its terminal; `swb attach` shows the rest)\n");
    } else if approval.cut {
        text.push_str("  (some values are shortened)\n");
    }
    if !approval.options.is_empty() {
        text.push_str("Options:\n");
    }
    for option in &approval.options {
        let (id, label) = (printable(&option.id), printable(&option.label));
        let _ = writeln!(text, "  {id}  {label} ({})", printable(&option.kind));
    }
    text
}

/// A parameter with its name; a text of several lines is printed below the name.
fn parameter(text: &mut String, key: &str, value: &Value) {
    let shown = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let lines: Vec<_> = shown.lines().map(printable).collect();
    let _ = match lines.as_slice() {
        [] => writeln!(text, "  {}:", printable(key)),
        [line] => writeln!(text, "  {}: {line}", printable(key)),
        lines => writeln!(text, "  {}:\n    {}", printable(key), lines.join("\n    ")),
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use swb_wire::control::ChoiceItem;

    fn approval(id: &str, session: &str, tool: &str, parameters: Value) -> ApprovalItem {
        ApprovalItem {
            id: id.into(),
            session: session.into(),
            workspace: "/home/u/api".into(),
            tool: tool.into(),
            parameters,
            reason: "it writes".into(),
            asked_at: 100_000,
            ..ApprovalItem::default()
        }
    }

    fn list() -> Vec<ApprovalItem> {
        vec![
            approval("auth-3f9a01", "api", "execute_command", json!({"command": "rm -rf x\x1b[2J"})),
            approval(
                "auth-3f9b02",
                "web",
                "write_file",
                json!({"content": "one\ntwo", "mode": "", "path": "a.txt"}),
            ),
            approval("auth-77", "web", "odd", json!(null)),
        ]
    }

    #[test]
    fn people_get_a_table() {
        insta::assert_snapshot!(text(&list(), 160, Path::new("/home/u")), @r"
        ID           SESSION  AGE  WORKSPACE  TOOL             WHAT
        auth-3f9a01  api      1m   ~/api      execute_command  rm -rf x\u{1b}[2J
        auth-3f9b02  web      1m   ~/api      write_file       a.txt
        auth-77      web      1m   ~/api      odd              it writes
        ");
        assert_eq!(text(&[], 0, Path::new("/")), "No pending approvals.\n");
    }

    #[test]
    fn warnings_about_the_confinement_follow_the_table() {
        let mut warned = approval("auth-1", "api", "execute_command", json!({"command": "make"}));
        warned.reason = "it runs\nUnix sockets are open\x1b[2J".into();
        let mut dialog = approval("auth-2", "api", "dialog", json!(null));
        (dialog.kind, dialog.reason) = (ApprovalKind::Terminal, "one\ntwo".into());
        let shown = text(&[warned, dialog], 160, Path::new("/home/u"));
        assert!(shown.ends_with("\nauth-1: Unix sockets are open\\u{1b}[2J\n"), "{shown}");
    }

    #[test]
    fn a_dialog_that_is_not_all_on_the_screen_is_cut() {
        let mut tall =
            approval("term-1", "api", "Bash command", json!({"subject": "make", "question": "Go on?"}));
        (tall.kind, tall.cut) = (ApprovalKind::Terminal, true);
        assert_eq!(what(&tall), "make (cut)");
        assert!(details(&tall, 160, Path::new("/")).contains("(cut: the dialog does not fit"), "{tall:?}");
    }

    #[test]
    fn people_get_the_details_of_one() {
        let mut one = list().remove(1);
        one.reason = "it writes\nThe .git is writable.\nTool: x\x1b".into();
        one.options =
            vec![ChoiceItem { id: "o1".into(), label: "Yes\x1b".into(), kind: "allow_once".into() }];
        insta::assert_snapshot!(details(&one, 160, Path::new("/home/u")), @r"
        Approval:  auth-3f9b02
        Asked by:  session 'web', 1m ago
        Directory: ~/api
        Tool:      write_file
        Reason:    it writes
                   The .git is writable.
                   Tool: x\u{1b}
        Parameters:
          content:
            one
            two
          mode:
          path: a.txt
        Options:
          o1  Yes\u{1b} (allow_once)
        ");
    }

    #[test]
    fn approvals_are_found_by_id_or_session_or_a_beginning() {
        let list = list();
        for (wanted, id) in [
            ("auth-77", "auth-77"),
            ("77", "auth-77"),
            ("3f9b", "auth-3f9b02"),
            ("api", "auth-3f9a01"),
            ("ap", "auth-3f9a01"),
        ] {
            assert_eq!(named(&list, wanted).unwrap().id, id, "{wanted}");
        }
        for several in ["3f9", "auth-", "web", "we"] {
            assert_eq!(named(&list, several).unwrap_err().kind().exit_code(), 2, "{several}");
        }
        for unknown in ["", "x", "auth-3f9a011"] {
            assert_eq!(named(&list, unknown).unwrap_err().kind().exit_code(), 1, "{unknown}");
        }
    }
}
