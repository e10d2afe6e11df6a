//! `swb token`: secrets that let clients elsewhere do some things and not others.

use super::serve;
use crate::args::{self, TokenCommand};
use crate::console::eprint_text;
use crate::context::{self, Context};
use crate::error::Outcome;
use crate::table::{self, now, short_path};
use serde::Serialize;
use std::io::IsTerminal;
use std::path::Path;
use swb_types::Role;
use swb_vt::printable;
use swb_wire::control::{OkReply, Operation, Revoke, Token, TokenItem, TokenReply, Tokens, TokensReply};

/// The output of `token add --json`.
#[derive(Debug, Serialize)]
struct Added {
    id: String,
    token: String,
    role: Role,
    label: Option<String>,
    expires: Option<u64>,
}

/// Lists tokens, creates one or revokes one.
pub(super) fn run(context: &Context, args: args::TokenArgs) -> Outcome {
    match args.command.unwrap_or(TokenCommand::Ls) {
        TokenCommand::Ls => {
            let reply: TokensReply = context.query(&Operation::Tokens(Tokens {}))?;
            context.print_result(&reply.tokens, |all| text(all, now(), &context.paths.home))?;
        }
        TokenCommand::Add { role, session, workspace, expires, label } => {
            let workspace = workspace.map(|dir| context::workspace(Some(&dir))).transpose()?;
            let expires = expires.map(|time| time.as_secs());
            let session = session.map(|name| context.session(name)).transpose()?;
            let token = Token { role: Some(role), session, workspace, expires, label };
            let TokenReply { token_id: id, token, role, label, expires, .. } =
                context.execute(&Operation::Token(token))?;
            let added = Added { id, token, role, label, expires };
            context.print_result(&added, |added| format!("{}\n", added.token))?;
            // For people; a script reads the token alone.
            if std::io::stdout().is_terminal() {
                for url in serve::addresses_for(context, &added.token)? {
                    eprint_text(&format!("{url}\n"));
                }
            }
        }
        TokenCommand::Revoke { token } => {
            let _ok: OkReply = context.execute(&Operation::Revoke(Revoke { token }))?;
        }
    }
    Ok(0)
}

fn text(all: &[TokenItem], now: u64, home: &Path) -> String {
    if all.is_empty() {
        return "No tokens. `swb token add` creates one.\n".to_owned();
    }
    let rows: Vec<[String; 5]> = all.iter().map(|one| row(one, now, home)).collect();
    table::layout(["ID", "ROLE", "LABEL", "EXPIRES", "LIMITED TO"], &rows)
}

fn row(one: &TokenItem, now: u64, home: &Path) -> [String; 5] {
    let expires = one.expires.map(|time| format!("in {}", table::age((time / 1000).saturating_sub(now))));
    let limited = match (&one.session, &one.workspace) {
        (Some(session), _) => format!("session {session}"),
        (None, Some(workspace)) => short_path(workspace, home),
        (None, None) => "-".to_owned(),
    };
    [
        one.id.clone(),
        one.role.to_string(),
        one.label.as_deref().map_or_else(|| "-".to_owned(), |label| printable(label).into_owned()),
        expires.unwrap_or_else(|| "never".to_owned()),
        limited,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_get_a_table() {
        let item = |id: &str, role| TokenItem {
            id: id.to_owned(),
            role,
            session: None,
            workspace: None,
            label: None,
            created: 0,
            expires: None,
        };
        let tablet = TokenItem {
            label: Some("tablet".into()),
            expires: Some(7_300_000),
            session: Some("api".into()),
            ..item("abc", Role::Watch)
        };
        let desk = TokenItem { workspace: Some("/home/u/api".into()), ..item("def", Role::Drive) };
        insta::assert_snapshot!(text(&[tablet, desk], 100, Path::new("/home/u")), @r"
        ID   ROLE   LABEL   EXPIRES  LIMITED TO
        abc  watch  tablet  in 2h    session api
        def  drive  -       never    ~/api
        ");
        assert!(text(&[], 0, Path::new("/")).contains("swb token add"));
    }
}
