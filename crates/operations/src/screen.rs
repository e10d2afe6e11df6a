//! The contents of a terminal, as data.

use crate::errors::refused;
use crate::execute::Call;
use crate::reply::{OperationResult, done};
use swb_engine::ScreenView;
use swb_types::{Offset, Size};
use swb_vt::Contents;
use swb_wire::control::{Base64, Screen, ScreenFormat, ScreenReply};

impl Call<'_> {
    pub(crate) async fn screen(&self, screen: Screen) -> OperationResult {
        let (session, pty) = self.remembered_pty(&screen.session, screen.pty())?;
        let mut lines = usize::try_from(screen.scrollback()).unwrap_or(usize::MAX);
        let (format, join) = (screen.format(), screen.join);
        loop {
            let (shown, offset, size, there) =
                pty.look(true, move |sight| render(sight, format, join, lines)).await.map_err(refused)?;
            let mut reply = ScreenReply {
                ok: true,
                session: session.name().to_string(),
                pty: pty.id(),
                offset,
                cols: None,
                rows: None,
                data: None,
                screen: None,
            };
            match shown {
                Shown::Contents(contents) => reply.screen = Some(*contents),
                Shown::Bytes(bytes) => {
                    reply.data = Some(Base64(bytes));
                    (reply.cols, reply.rows) = (Some(size.cols()), Some(size.rows()));
                }
            }
            match done(&reply) {
                // It has to fit one frame; the newest lines matter most.
                Err(_) if there > 0 => lines = there / 2,
                answer => return answer,
            }
        }
    }
}

/// A screen in the requested format.
enum Shown {
    Contents(Box<Contents>),
    Bytes(Vec<u8>),
}

/// Renders a screen with at most `lines` of scrollback; returns how many were included.
fn render(
    sight: &ScreenView<'_>,
    format: ScreenFormat,
    join: bool,
    lines: usize,
) -> (Shown, Offset, Size, usize) {
    let screen = sight.screen();
    let lines = lines.min(screen.scrollback_len());
    let shown = match format {
        ScreenFormat::Json => Shown::Contents(Box::new(screen.contents(lines))),
        ScreenFormat::Text if join => Shown::Bytes(joined_text(screen, lines).into_bytes()),
        ScreenFormat::Text => Shown::Bytes(text_since(screen, lines).into_bytes()),
        ScreenFormat::Ansi => Shown::Bytes(screen.to_ansi(lines)),
        ScreenFormat::Svg => Shown::Bytes(screen.to_svg_with(lines).into_bytes()),
        ScreenFormat::Snapshot => Shown::Bytes(screen.snapshot_limited(lines)),
    };
    (shown, sight.offset(), screen.size(), lines)
}

/// The text of the screen, after that of the given number of scrollback lines.
pub(crate) fn text_since(screen: &swb_vt::Screen, lines: usize) -> String {
    let mut text = String::new();
    for line in screen.scrollback(lines) {
        text.push_str(line.text().trim_end());
        text.push('\n');
    }
    text.push_str(&screen.text());
    text
}

/// The same with each line that the terminal has wrapped as one.
fn joined_text(screen: &swb_vt::Screen, lines: usize) -> String {
    let mut text = String::new();
    for row in screen.scrollback(lines).into_iter().chain(screen.lines()) {
        row.runs.iter().for_each(|run| text.push_str(&run.text));
        if row.wrapped {
            // Blanks at the end of a row are in none of its runs.
            let width: usize = row.runs.iter().map(|run| usize::from(run.width)).sum();
            text.extend(std::iter::repeat_n(' ', usize::from(screen.size().cols()).saturating_sub(width)));
        } else {
            text.truncate(text.trim_end_matches(' ').len());
            text.push('\n');
        }
    }
    text.truncate(text.trim_end_matches('\n').len());
    text
}
