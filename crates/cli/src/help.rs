//! The text below the options in help texts, laid out for the width of the terminal.
//!
//! Paragraphs are filled. Indented lines are examples and tables: they stay lines, and what their right column has too much
//! continues below it.

use crate::manual;
use crate::terminal::size;
use clap::Command;

/// The widest text that is read with ease.
const WIDEST: usize = 100;
/// The narrowest: in less, nothing is laid out well.
const NARROWEST: usize = 20;
/// Columns that the right column of a line needs to continue beside the left one.
const RIGHT: usize = 20;

/// A command and those below it with help texts for this terminal.
pub(crate) fn fitted(command: Command) -> Command {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let columns = size::current().map(|size| usize::from(size.cols())).or(columns).unwrap_or(WIDEST);
    // The arguments of commands are defined when the commands are built.
    within(manual::built(command), columns.clamp(NARROWEST, WIDEST))
}

fn within(command: Command, width: usize) -> Command {
    let text = command.get_after_help().map(|text| laid_out(&text.to_string(), width));
    let command = match text {
        Some(text) => command.after_help(text),
        None => command,
    };
    command.term_width(width).mut_subcommands(|command| within(command, width))
}

/// A text in lines of at most `width` columns.
fn laid_out(text: &str, width: usize) -> String {
    let mut out: Vec<String> = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    for run in lines.chunk_by(|line, next| is_filled(line) && is_filled(next) && !line.ends_with(':')) {
        match run {
            [line] if !is_filled(line) => put_line(line, width, &mut out),
            run => fill(&run.join(" "), "", "", width, &mut out),
        }
    }
    out.join("\n")
}

/// Whether a line belongs to a paragraph.
fn is_filled(line: &str) -> bool {
    !line.is_empty() && !line.starts_with(' ')
}

/// A line of an example or of a table.
fn put_line(line: &str, width: usize, out: &mut Vec<String>) {
    if line.chars().count() <= width {
        return out.push(line.to_owned());
    }
    let body = line.trim_start();
    let margin = line.len() - body.len();
    let Some((left, right)) = body.split_once("  ") else {
        return fill(body, &line[..margin], &" ".repeat(margin + 2), width, out);
    };
    let right = right.trim_start();
    let column = line.chars().count() - right.chars().count();
    if column + RIGHT <= width {
        let first = &line[..line.len() - right.len()];
        return fill(right, first, &" ".repeat(column), width, out);
    }
    fill(left, &line[..margin], &" ".repeat(margin + 2), width, out);
    let below = " ".repeat(margin + 4);
    fill(right, &below, &below, width, out);
}

/// Appends words in lines, the first of which begins with `first`, the others with `next`.
fn fill(words: &str, first: &str, next: &str, width: usize, out: &mut Vec<String>) {
    let (mut line, mut bare) = (first.to_owned(), true);
    for word in words.split(' ').filter(|word| !word.is_empty()) {
        if !bare && line.chars().count() + 1 + word.chars().count() > width {
            out.push(std::mem::replace(&mut line, next.to_owned()));
            bare = true;
        }
        if !bare {
            line.push(' ');
        }
        line.push_str(word);
        bare = false;
    }
    out.push(line);
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Examples:\n  swb ls\n  swb chat        continue the latest conversation, or start one\n\n\
                        One sentence that is long.\nAnother one follows it.\n\nKeys:\n  q  quit";

    #[test]
    fn paragraphs_are_filled_and_columns_stay() {
        insta::assert_snapshot!(laid_out(TEXT, 46), @r"
        Examples:
          swb ls
          swb chat        continue the latest
                          conversation, or start one

        One sentence that is long. Another one follows
        it.

        Keys:
          q  quit
        ");
    }

    #[test]
    fn a_narrow_terminal_gets_columns_below_one_another() {
        insta::assert_snapshot!(laid_out(TEXT, 30), @r"
        Examples:
          swb ls
          swb chat
              continue the latest
              conversation, or start
              one

        One sentence that is long.
        Another one follows it.

        Keys:
          q  quit
        ");
    }

    #[test]
    fn no_line_of_any_help_is_too_wide() {
        fn check(command: &Command, width: usize) {
            let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            for line in text.lines() {
                let one_word = line.split_whitespace().count() == 1;
                assert!(one_word || line.chars().count() <= width, "{}: {line}", command.get_name());
            }
            command.get_subcommands().for_each(|below| check(below, width));
        }
        let program = manual::built(<crate::args::SwbCli as clap::CommandFactory>::command());
        assert!(
            program
                .get_subcommands()
                .all(|command| command.get_name() != "run" || command.get_after_help().is_some())
        );
        for width in [40, 80, 100] {
            check(&within(program.clone(), width), width);
        }
    }
}
