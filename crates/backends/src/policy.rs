//! Which commands and domains need no approval.

/// Whether one of the rules allows a command: the whole command, or a beginning of it followed by ` *`.
///
/// A beginning allows further words, not further commands: whoever allowed `git log *` has not allowed
/// `git log; rm -rf .`. What the shell would take as more than words is therefore never matched by a beginning, not even
/// within quotes, where it would be harmless: reading quotes as the shell does is not worth an error.
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

/// The rule that allows this command and no other, if there is one: a command that ends as rules about beginnings do would
/// allow far more than itself.
pub(crate) fn rule_for(command: &str) -> Option<&str> {
    let rule = command.trim_ascii();
    (!rule.is_empty() && beginning(rule).is_none()).then_some(rule)
}

/// Whether one of the rules allows a domain: itself, or with `*.` in front of it all beneath it.
pub(crate) fn allows_domain(rules: &[String], domain: &str) -> bool {
    let rest = |beneath: &str| domain.strip_suffix(beneath).is_some_and(|rest| rest.ends_with('.'));
    rules.iter().map(|rule| rule.trim().to_lowercase()).any(|rule| match rule.strip_prefix("*.") {
        Some(beneath) => !beneath.is_empty() && rest(beneath),
        None => rule == domain,
    })
}

/// What commands begin with that a rule is about, if it is not about a whole command.
fn beginning(rule: &str) -> Option<&str> {
    rule.strip_suffix(" *").map(str::trim_ascii_end)
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
    fn a_command_becomes_no_rule_about_others() {
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
    fn what_the_shell_takes_as_part_of_a_word_is_not_trimmed() {
        assert!(!allowed(&["ls"], "ls\u{a0}"));
        assert!(!allowed(&["ls"], "\u{2003}ls"));
        assert!(!allowed(&["ls *\u{a0}"], "ls -l"));
    }

    #[test]
    fn domains_are_allowed_alone_or_with_those_beneath() {
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
