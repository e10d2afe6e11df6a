//! Which commands need no approval.

/// Whether one of the rules allows a command: the whole command, or a beginning of it followed by ` *`.
///
/// A beginning allows further words, not further commands: whoever allowed `git log *` has not allowed
/// `git log; rm -rf .`. What the shell would take as more than words is therefore never matched by a beginning, not even
/// within quotes, where it would be harmless: reading quotes as the shell does is not worth an error.
pub(crate) fn allows(rules: &[String], command: &str) -> bool {
    let command = command.trim();
    rules.iter().map(|rule| rule.trim()).any(|rule| match rule.strip_suffix(" *") {
        _ if rule.is_empty() => false,
        _ if rule == command => true,
        Some(beginning) => match command.strip_prefix(beginning.trim_end()) {
            Some("") => true,
            Some(rest) => rest.starts_with([' ', '\t']) && is_words(rest),
            None => false,
        },
        None => false,
    })
}

/// Whether the shell takes it as nothing but words: no further command, no redirection, nothing that is computed.
fn is_words(rest: &str) -> bool {
    let special = |c: char| {
        matches!(c, ';' | '&' | '|' | '`' | '$' | '<' | '>' | '(' | ')') || c.is_control() && c != '\t'
    };
    !rest.contains(special)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(rules: &[&str], command: &str) -> bool {
        allows(&rules.iter().map(|rule| (*rule).to_owned()).collect::<Vec<_>>(), command)
    }

    #[test]
    fn whole_commands_are_allowed_as_they_are() {
        assert!(allowed(&["cargo test && echo ok"], " cargo test && echo ok\n"));
        assert!(!allowed(&["cargo test"], "cargo test --all"));
        assert!(!allowed(&["cargo test --all"], "cargo test"));
        assert!(!allowed(&["", " ", "*"], "ls"));
        assert!(!allowed(&[], "ls"));
    }

    #[test]
    fn beginnings_allow_further_words() {
        assert!(allowed(&["git log *"], "git log"));
        assert!(allowed(&["git log *"], "git log --oneline -n 5"));
        assert!(!allowed(&["git log *"], "git logs"));
        assert!(!allowed(&["git log *"], "git push"));
        assert!(!allowed(&["git log*"], "git log -p"));
    }

    #[test]
    fn beginnings_do_not_allow_further_commands() {
        for rest in [
            "; rm x", "&& rm x", "& rm x", "| sh", "|| rm x", "`rm x`", "$(rm x)", "> x", ">> x", "< x",
            "\nrm x", "\r\nrm x", "<(rm x)", "$HOME", "${IFS}x", "(rm x)", "'a; b'", "2>x", "x\0y",
        ] {
            assert!(!allowed(&["ls *"], &format!("ls {rest}")), "{rest:?}");
            assert!(!allowed(&["ls *"], &format!("ls -l {rest}")), "{rest:?}");
            assert!(!allowed(&["ls *"], &format!("ls{rest}")), "{rest:?}");
        }
    }
}
