//! Opening terminals: `attach`, `shell` and `logs`.

use crate::create::markers;
use crate::errors::{invalid, refused};
use crate::execute::Call;
use crate::reply::{OperationResult, Then, follow};
use crate::terminal::{NewClient, OpenTerminal, Opening, is_terminal};
use std::sync::Arc;
use swb_engine::{Arrival, ProcessPhase, Pty, Session, ShellSpec};
use swb_types::{Offset, PtyId, Size, SizePolicy};
use swb_wire::control::{Attach, Attached, Base64, Logs, LogsReply, Shell, StreamOptions};

impl Call<'_> {
    pub(crate) async fn attach(&self, attach: Attach) -> OperationResult {
        let options = self.allowed(attach.stream_options());
        let session = match options.wants_offsets() || options.repaint {
            // Our own clients may attach to an ended session to see its output.
            true => self.remembered_session(&attach.session)?,
            false => self.session(&attach.session)?,
        };
        let pty = session.pty(attach.pty()).map_err(refused)?.pty;
        let (cols, rows) = attach.size();
        let size = Size::or_current(cols, rows, pty.size());
        if !options.watch && pty.id() == PtyId::AGENT {
            let size = Some(size).filter(|_| pty.size_policy() != SizePolicy::Manual);
            session.start(size).await.ok();
        }
        let client = self.enter(&session, &pty, attach.size(), &options).await;
        let mut answer = self.stream(session, &pty, client, options, None).await?;
        if let Then::Terminal(terminal) = &mut answer.then
            && options.watch
            && !attach.watch
        {
            terminal.output.limit_to(self.caller.role());
        }
        Ok(answer)
    }

    pub(crate) async fn shell(&self, shell: Shell) -> OperationResult {
        let session = self.session(&shell.session)?;
        let options = shell.stream_options();
        let (cols, rows) = shell.size();
        let size = Size::or_current(cols, rows, Size::DEFAULT);
        let argv = match (shell.argv, &shell.command) {
            (Some(argv), _) if !argv.is_empty() => argv,
            (_, Some(command)) => command.split_whitespace().map(str::to_owned).collect(),
            // CO-27, CO-34
            (_, None) => vec![session.shell().unwrap_or("/bin/sh").to_owned()],
        };
        if argv.is_empty() {
            return Err(invalid("command is empty; name a program or leave the field out"));
        }
        // CO-36
        if shell.force_new == Some(false)
            && let Some(pty) = running_shell(&session, &argv)
        {
            let client = self.enter(&session, &pty, (cols, rows), &options).await;
            let id = Some(pty.id());
            return self.stream(session, &pty, client, options, id).await;
        }
        let env = shell.env.or_else(|| {
            let mut env = session.env().clone();
            env.extend(markers(session.name().as_str(), session.workspace(), session.created()));
            Some(env)
        });
        let pty = session.open_shell(ShellSpec { argv, env, size }).await.map_err(refused)?;
        let client = self.enter(&session, &pty, (cols, rows), &options).await;
        let id = Some(pty.id());
        self.stream(session, &pty, client, options, id).await
    }

    /// Gives a client that types its say in the size of a terminal: those of our own protocol by the rule for sizes, those
    /// of others by setting it (CO-32). An ended session cannot be resized.
    async fn enter(
        &self,
        session: &Session,
        pty: &Arc<Pty>,
        (cols, rows): (u16, u16),
        options: &StreamOptions,
    ) -> NewClient {
        let size = Size::or_current(cols, rows, pty.size());
        if options.watch {
            return NewClient { window: Some(size), ..NewClient::default() };
        }
        let numbered = options.input.and_then(|stream| pty.input_stream(stream));
        let again = match &numbered {
            Some(stream) => !stream.begin().is_new,
            None => options.resume.is_some(),
        };
        let arrival = if again { Arrival::Again } else { Arrival::New };
        let window = (cols > 0 || rows > 0).then_some(size);
        let claim = if options.repaint {
            pty.claim_size(window, arrival)
        } else {
            session.fit(pty.id(), size).await.ok();
            pty.note_window(window, arrival)
        };
        NewClient { window, claim: Some(claim), numbered }
    }

    /// A caller that may not send input only watches.
    fn allowed(&self, options: StreamOptions) -> StreamOptions {
        StreamOptions { watch: options.watch || !self.caller.may_type(), ..options }
    }

    /// Opens a terminal; `pty_id` is sent to clients of `shell` (CO-34).
    async fn stream(
        &self,
        session: Session,
        pty: &Arc<Pty>,
        client: NewClient,
        options: StreamOptions,
        pty_id: Option<PtyId>,
    ) -> OperationResult {
        let head = pty.head();
        // Output for another size is no continuation of what a window shows.
        let resized = |offset: &Offset| {
            client.window.is_some() && !options.sizes && *offset > Offset::START && pty.resized_since(*offset)
        };
        let kept = |offset: &Offset| {
            (pty.oldest()..=head).contains(offset) && !pty.has_answered_behind(*offset) && !resized(offset)
        };
        let opening = match options.resume.filter(|offset| kept(offset) || !options.repaint) {
            Some(resume) => Opening::Output(pty.cursor(resume.min(head))),
            None if options.repaint => {
                let lines =
                    options.scrollback.map_or(usize::MAX, |lines| lines.try_into().unwrap_or(usize::MAX));
                Opening::Picture(pty.picture(lines, is_terminal(&options)).await.map_err(refused)?)
            }
            None => {
                let from = pty.oldest().max(head.saturating_sub(options.history()));
                Opening::Output(pty.cursor(from))
            }
        };
        let from = opening.offset();
        let mut reply = Attached { pty: pty_id, ..Attached::default() };
        if options.wants_offsets() {
            let pid = session.pty(pty.id()).map_or(0, |view| view.pid);
            let size = pty.size();
            reply.pty = Some(pty.id());
            reply.offset = Some(from);
            reply.head = Some(head.max(from));
            reply.pid = Some(pid.max(0) as u32);
            (reply.cols, reply.rows) = (Some(size.cols()), Some(size.rows()));
        }
        let terminal = OpenTerminal::new(self, session, pty, opening, head, client, options);
        reply.input = terminal.input.count();
        follow(&reply, Then::Terminal(Box::new(terminal)))
    }

    pub(crate) fn logs(&self, logs: &Logs) -> OperationResult {
        let (session, pty) = self.pty(&logs.session, logs.pty.unwrap_or(PtyId::AGENT))?;
        let head = pty.head();
        let (mut data, end) = pty.history(head.saturating_sub(LogsReply::MAX_DATA as u64));
        // From here on the output waits for this reader, however long the reply takes.
        let options = StreamOptions { watch: true, ..StreamOptions::default() };
        let opening = Opening::Output(pty.cursor(end));
        let client = NewClient::default();
        let terminal =
            logs.follow.then(|| OpenTerminal::new(self, session, &pty, opening, end, client, options));
        // Output that arrived while we copied may have made it too long for a reply.
        let surplus = data.len().saturating_sub(LogsReply::MAX_DATA);
        data.drain(..surplus);
        if let Some(lines) = logs.tail_lines {
            let from = tail(&data, lines);
            data.drain(..from);
        }
        let then = terminal.map_or(Then::Nothing, |terminal| Then::Terminal(Box::new(terminal)));
        follow(&LogsReply { ok: true, log_data: Base64(data) }, then)
    }
}

fn running_shell(session: &Session, argv: &[String]) -> Option<Arc<Pty>> {
    let view = session.view();
    let shells =
        view.ptys.iter().filter(|view| view.pty.id() != PtyId::AGENT && view.phase == ProcessPhase::Running);
    shells.filter(|view| *view.argv == *argv).map(|view| Arc::clone(&view.pty)).next()
}

/// Offset of the last `lines` lines of `data`; a line break at the very end starts no line.
fn tail(data: &[u8], lines: u64) -> usize {
    let body = data.strip_suffix(b"\n").unwrap_or(data);
    let breaks = body.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n');
    match usize::try_from(lines).ok().and_then(|lines| lines.checked_sub(1)) {
        None => data.len(),
        Some(skip) => breaks.map(|(at, _)| at + 1).nth(skip).unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tail_counts_lines_from_the_end() {
        let data = b"one\r\ntwo\r\nthree\r\n";
        assert_eq!(&data[tail(data, 1)..], b"three\r\n");
        assert_eq!(&data[tail(data, 2)..], b"two\r\nthree\r\n");
        assert_eq!(tail(data, 9), 0);
        assert_eq!(tail(data, 0), data.len());
        assert_eq!(tail(b"", 3), 0);
        assert_eq!(&b"a\nb"[tail(b"a\nb", 1)..], b"b");
    }
}
