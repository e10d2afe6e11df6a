//! Manual pages: what clap knows about a command, and the text below its options as sections of their own.
//!
//! Examples and tables keep their lines; everything else is filled.

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use std::io;

/// The name of the manual that the pages belong to.
const MANUAL: &str = "Switchboard Manual";
/// The section for text that has no heading.
const NOTES: &str = "NOTES";
/// The section that comes last.
const EXAMPLES: &str = "EXAMPLES";

/// The definition of a command with everything that clap derives, such as the names of its pages.
pub(crate) fn built(mut program: Command) -> Command {
    program.build();
    program
}

/// The command at a path such as `token add`, by name or alias.
pub(crate) fn find<'a>(program: &'a Command, path: &[String]) -> Option<&'a Command> {
    path.iter().try_fold(program, |command, name| command.find_subcommand(name))
}

/// The visible commands: the program, its commands, and theirs.
pub(crate) fn all(program: &Command) -> Vec<&Command> {
    let below = program.get_subcommands().filter(|command| !command.is_hide_set()).flat_map(all);
    std::iter::once(program).chain(below).collect()
}

/// The file of a command's page.
pub(crate) fn file_name(command: &Command) -> String {
    format!("{}.1", page_name(command))
}

fn page_name(command: &Command) -> &str {
    command.get_display_name().unwrap_or_else(|| command.get_name())
}

/// The page of a command in roff.
pub(crate) fn page(program: &Command, command: &Command) -> io::Result<Vec<u8>> {
    let version = program.get_version().unwrap_or_default();
    let head = Man::new(command.clone().after_help(None::<&str>).after_long_help(None::<&str>))
        .title(page_name(command))
        .source(format!("{} {version}", program.get_name()))
        .manual(MANUAL);
    let mut out = Vec::new();
    head.render(&mut out)?;
    let after = command.get_after_long_help().or_else(|| command.get_after_help());
    let after = after.map(ToString::to_string).unwrap_or_default();
    out.extend_from_slice(sections(&after, &see_also(program, command)).as_bytes());
    Ok(out)
}

/// The pages of the program and of the commands below this one.
fn see_also(program: &Command, command: &Command) -> String {
    let below = command.get_subcommands().filter(|below| !below.is_hide_set()).map(page_name);
    let above = (page_name(program) != page_name(command)).then(|| page_name(program));
    let pages: Vec<String> = above.into_iter().chain(below).map(|name| format!("{name}(1)")).collect();
    pages.join(", ")
}

/// A part of a section.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Block {
    /// Lines that are filled.
    Text(Vec<String>),
    /// Lines that stay as they are, without their common indentation.
    Lines(Vec<String>),
}

/// The text below the options as sections.
fn sections(text: &str, see_also: &str) -> String {
    let mut roff = Roff::default();
    for (heading, blocks) in parse(text) {
        roff.control("SH", [heading.as_str()]);
        for (index, block) in blocks.iter().enumerate() {
            if index > 0 {
                roff.control("PP", []);
            }
            write(&mut roff, block);
        }
    }
    if !see_also.is_empty() {
        roff.control("SH", ["SEE ALSO"]).text([roman(see_also)]);
    }
    // As typed: roff would print a typographic quote, which shells do not understand. No control line begins with one.
    roff.to_roff().replace('\'', "\\(aq")
}

fn write(roff: &mut Roff, block: &Block) {
    match block {
        Block::Text(lines) => {
            for line in lines {
                roff.text([roman(line.as_str())]);
            }
        }
        Block::Lines(lines) => {
            roff.control("RS", ["4"]).control("nf", []);
            for line in lines {
                roff.text([roman(line.as_str())]);
            }
            roff.control("fi", []).control("RE", []);
        }
    }
}

/// Cuts the text into sections by the headings that the help texts have.
fn parse(text: &str) -> Vec<(String, Vec<Block>)> {
    let mut sections: Vec<(String, Vec<Block>)> = Vec::new();
    let mut add = |heading: &str, block| match sections.iter_mut().find(|(own, _)| own == heading) {
        Some((_, blocks)) => blocks.push(block),
        None => sections.push((heading.to_owned(), vec![block])),
    };
    for paragraph in text.split("\n\n") {
        let lines: Vec<&str> = paragraph.lines().filter(|line| !line.trim().is_empty()).collect();
        let (heading, lines) = match lines.split_first() {
            Some((&"Examples:", rest)) => (EXAMPLES, rest),
            Some((&"Environment:", rest)) => ("ENVIRONMENT", rest),
            Some((first, _)) if first.starts_with("Exit codes:") => ("EXIT STATUS", &lines[..]),
            _ => (NOTES, &lines[..]),
        };
        for run in lines.chunk_by(|one, next| is_indented(one) == is_indented(next)) {
            let indented = run.first().is_some_and(|line| is_indented(line));
            let block = if indented { Block::Lines(outdented(run)) } else { Block::Text(owned(run)) };
            add(heading, block);
        }
    }
    // As in other manuals: examples after everything else, notes before them.
    sections.sort_by_key(|(heading, _)| match heading.as_str() {
        EXAMPLES => 2,
        NOTES => 1,
        _ => 0,
    });
    sections
}

fn is_indented(line: &str) -> bool {
    line.starts_with(' ')
}

fn owned(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

fn outdented(lines: &[&str]) -> Vec<String> {
    let margin = |line: &&str| line.len() - line.trim_start_matches(' ').len();
    let least = lines.iter().map(margin).min().unwrap_or(0);
    lines.iter().map(|line| line[least..].to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::SwbCli;
    use clap::CommandFactory;

    #[test]
    fn examples_keep_their_lines_and_text_is_filled() {
        let text = "Examples:\n  swb a 'x' --b\n    more\n\nA note\nof two lines.\n\nExit codes:\n  0  fine";
        insta::assert_snapshot!(sections(text, "swb(1)"), @r#"
        .SH "EXIT STATUS"
        Exit codes:
        .PP
        .RS 4
        .nf
        0  fine
        .fi
        .RE
        .SH NOTES
        A note
        of two lines.
        .SH EXAMPLES
        .RS 4
        .nf
        swb a \(aqx\(aq \-\-b
          more
        .fi
        .RE
        .SH "SEE ALSO"
        swb(1)
        "#);
        assert_eq!(sections("", ""), "");
    }

    #[test]
    fn each_command_has_a_page() {
        let program = built(SwbCli::command());
        let path = |words: &[&str]| -> Vec<String> { words.iter().map(|word| (*word).to_owned()).collect() };
        let add = find(&program, &path(&["token", "add"])).unwrap();
        assert_eq!(file_name(add), "swb-token-add.1");
        assert_eq!(find(&program, &path(&["list"])).map(Command::get_name), Some("ls"), "an alias");
        assert!(find(&program, &path(&["ls", "more"])).is_none());
        let files: Vec<String> = all(&program).into_iter().map(file_name).collect();
        assert!(files.contains(&"swb.1".to_owned()) && files.contains(&"swb-token-add.1".to_owned()));
        for command in all(&program) {
            let page = String::from_utf8(page(&program, command).unwrap()).unwrap();
            assert!(page.contains(".TH swb") && page.contains(MANUAL), "{page}");
            assert!(!page.contains(".SH EXTRA"), "{page}");
        }
    }
}
