//! Which commands and domains need no approval.

/// Whether one of the rules allows a command: a rule is a whole command, or a prefix followed by ` *`.
///
/// A prefix allows further words, not further commands: a user who allowed `git log *` has not allowed
/// `git log; rm -rf .`. Shell syntax beyond plain words therefore never matches a prefix, not even within quotes, where
/// it would be harmless: parsing quotes as the shell does is not worth the risk of a mistake.
pub(crate) fn allows(rules: &[String], command: &str) -> bool {
    let command = command.trim_ascii();
    rules.iter().map(|rule| rule.trim_ascii()).any(|rule| match beginning(rule) {
        _ if rule.is_empty() => false,
        _ if rule == command => true,
        Some(beginning) => match command.strip_prefix(beginning) {
            Some("") => true,
            Some(rest) => rest.starts_with([' ', '\t']) && is_words(rest),
            None => false,
        },
        None => false,
    })
}

/// The rule that allows exactly this command, if one can be written: a command that itself ends in ` *` would be read as
/// a prefix and allow far more.
pub(crate) fn rule_for(command: &str) -> Option<&str> {
    let rule = command.trim_ascii();
    (!rule.is_empty() && beginning(rule).is_none()).then_some(rule)
}

/// Whether one of the rules allows a domain: `example.com` matches itself, `*.example.com` its subdomains.
pub(crate) fn allows_domain(rules: &[String], domain: &str) -> bool {
    let rest = |beneath: &str| domain.strip_suffix(beneath).is_some_and(|rest| rest.ends_with('.'));
    rules.iter().map(|rule| rule.trim().to_lowercase()).any(|rule| match rule.strip_prefix("*.") {
        Some(beneath) => !beneath.is_empty() && rest(beneath),
        None => rule == domain,
    })
}

/// The prefix of a rule; `None` if the rule is a whole command.
fn beginning(rule: &str) -> Option<&str> {
    rule.strip_suffix(" *").map(str::trim_ascii_end)
}

/// Whether the shell reads this as plain words only: no further command, redirection or expansion.
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
    fn a_whole_command_allows_only_itself() {
        assert!(allowed(&["cargo test && echo ok"], " cargo test && echo ok\n"));
        assert!(!allowed(&["cargo test"], "cargo test --all"));
        assert!(!allowed(&["cargo test --all"], "cargo test"));
        assert!(!allowed(&["", " ", "*"], "ls"));
        assert!(!allowed(&[], "ls"));
    }

    #[test]
    fn a_saved_command_never_becomes_a_prefix_rule() {
        for command in ["find *", "find *\n", "find  *", "find \\\n *", ""] {
            assert_eq!(rule_for(command), None, "{command:?}");
        }
        for command in ["find . -name *.rs", "*", "ls *\u{a0}", "ls\t*", "echo '* *'", "ls *\u{b}"] {
            let rule = rule_for(command).unwrap();
            assert!(allowed(&[rule], command), "{command:?}");
            assert!(!allowed(&[rule], &format!("{command} -delete")), "{command:?}");
            assert!(!allowed(&[rule], "ls . -delete"), "{command:?}");
        }
        assert_eq!(rule_for(" cargo test\n"), Some("cargo test"));
    }

    #[test]
    fn characters_that_are_part_of_a_word_are_not_trimmed() {
        assert!(!allowed(&["ls"], "ls\u{a0}"));
        assert!(!allowed(&["ls"], "\u{2003}ls"));
        assert!(!allowed(&["ls *\u{a0}"], "ls -l"));
    }

    #[test]
    fn a_domain_rule_matches_itself_or_its_subdomains() {
        let allowed = |rule: &str, domain| allows_domain(&[rule.to_owned()], domain);
        assert!(allowed("docs.rs", "docs.rs") && allowed(" Docs.RS ", "docs.rs"));
        assert!(allowed("*.example.com", "a.example.com") && allowed("*.example.com", "b.a.example.com"));
        for (rule, domain) in [
            ("docs.rs", "evil.docs.rs"),
            ("docs.rs", "docs.rs.evil.com"),
            ("*.example.com", "example.com"),
            ("*.example.com", "evilexample.com"),
            ("*.", "a."),
            ("*", "docs.rs"),
            ("", "docs.rs"),
        ] {
            assert!(!allowed(rule, domain), "{rule} {domain}");
        }
    }

    #[test]
    fn prefixes_allow_further_words() {
        assert!(allowed(&["git log *"], "git log"));
        assert!(allowed(&["git log *"], "git log --oneline -n 5"));
        assert!(!allowed(&["git log *"], "git logs"));
        assert!(!allowed(&["git log *"], "git push"));
        assert!(!allowed(&["git log*"], "git log -p"));
    }

    #[test]
    fn prefixes_do_not_allow_further_commands() {
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
