//! One prompt, one answer: for scripts, pipes and `-m`.

use super::connection::ChatConnection;
use super::messages::{self, ServerItem};
use super::open_session::OpenedSession;
use super::{OneShotPrompt, SHELL_AGENT};
use crate::args;
use crate::attach::follow::timespec;
use crate::commands::{turn, wait};
use crate::console::{
    eprint_coloured, eprint_line, eprint_text, print_bytes, print_json, print_text, wants_colours,
};
use crate::context::Context;
use crate::error::{Failure, FailureKind, Outcome};
use crate::limits;
use crate::terminal::signals::Signals;
use crate::terminal::size;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::stdio::{stderr, stdout};
use rustix::termios::isatty;
use serde_json::{Value, json};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::fs::File;
use std::io::{Read, Write};
use std::time::Instant;
use swb_tui::event::ViewEvent;
use swb_tui::input::keys::Key;
use swb_tui::text::{StyledLine, visible};
use swb_tui::view::asks::{DecisionReply, PendingAsk, PendingAsks, answered, verdict};
use swb_tui::view::transcript::{AnswerEnd, Transcript};
use swb_types::SavePolicy;
use swb_wire::control::{Turn, Wait, WaitReply, WaitUntil};
use swb_wire::scriptschnell::{
    AuthorizationAck, ChatEnd, ChatSend, ChatSendOptions, ErrorInfo, Request, ServerMessage, SessionRef,
    SessionSave,
};

/// Exit code of an answer that was stopped.
const STOPPED: u8 = 130;
/// The reason it gives then.
const SHUTDOWN: &str = "server_shutdown";
/// The answer to a question of the agent when there is no user to answer it.
const NO_USER: &str = "(no user is available to answer; decide yourself)";

/// Who decides about approvals.
enum Approver {
    /// The user at the terminal.
    Person(File),
    /// No user: everything is allowed, or nothing.
    Rule(bool),
}

struct OneShotRun {
    link: ChatConnection,
    session: String,
    judge: Approver,
    asks: PendingAsks,
    /// Neither --yes nor --no was given.
    unattended: bool,
    /// The cursor is after a prompt for an answer.
    prompting: bool,
    /// The answer typed so far.
    typed: Vec<u8>,
    /// Progress on standard error, if requested.
    transcript: Option<Transcript>,
    json: bool,
    /// The answer is printed as it is.
    raw: bool,
    /// Standard output is a terminal.
    shown: bool,
    /// The answer so far.
    text: String,
    /// The answer so far is empty or ends with a newline.
    ends_line: bool,
    end: Option<ChatEnd>,
    /// The reason that the daemon gave when it closed the connection.
    closed: Option<String>,
    /// When to stop waiting for the end of an answer that is being stopped.
    stopping: Option<Instant>,
}

/// Sends one message and prints the answer.
pub(super) fn run(
    context: &Context,
    link: ChatConnection,
    opened: OpenedSession,
    prompt: OneShotPrompt,
    args: &args::ChatArgs,
    policy: SavePolicy,
) -> Outcome {
    let json = context.json;
    // A conversation may be about a terminal, whose turns outlive the daemon.
    let newest = wait::newest(context, &opened.name).ok().flatten().unwrap_or(0);
    let mut signals = Signals::catch(&[SIGHUP, SIGINT, SIGTERM])?;
    let watched = args.verbose || (isatty(stderr()) && !json);
    let width = size::current().map_or(80, |size| usize::from(size.cols()).saturating_sub(1));
    let mut run = OneShotRun {
        link,
        session: opened.name.clone(),
        judge: judge(args),
        asks: PendingAsks::default(),
        unattended: !args.yes && !args.no,
        prompting: false,
        typed: Vec::new(),
        transcript: watched.then(|| Transcript::new(width)),
        json,
        raw: args.raw,
        shown: isatty(stdout()),
        text: String::new(),
        ends_line: true,
        end: None,
        closed: None,
        stopping: None,
    };
    if let Some(other) = &opened.instead_of {
        eprint_line(format_args!("[new conversation {}, because {other} is in use]", opened.name));
    }
    // The user has named no conversation, so the name of this one is printed.
    if opened.resumed && args.name.is_none() && !json {
        let agent = opened.agent.as_deref().filter(|agent| !agent.is_empty());
        let answers = agent.map(|agent| format!(", in which {agent} answers")).unwrap_or_default();
        eprint_line(format_args!("[continues conversation {}{answers}; --new starts another]", opened.name));
    }
    // The user has chosen no agent, so the program that runs the input is printed.
    if !opened.resumed && args.agent.is_none() && opened.agent.as_deref() == Some(SHELL_AGENT) && !json {
        eprint_line(format_args!(
            "[no other agent is configured: your shell answers in conversation {}; `swb chat --help` and \
             docs/agents.md describe how to use an agent]",
            opened.name
        ));
    }
    run.print_event(|| {
        json!({"event": "session", "session": opened.name, "directory": opened.directory,
        "resumed": opened.resumed, "agent": opened.agent})
    })?;
    let options = prompt.piped.then(|| ChatSendOptions { piped: Some(true), ..ChatSendOptions::default() });
    let request = ChatSend { content: Some(prompt.text), options, ..ChatSend::default() };
    let sent = run.link.send(&Request::ChatSend(request));
    let mut result = run.until_answered(&sent, &mut signals);
    if matches!(result, Ok(AnswerEnd::Interrupted)) && run.closed.is_none() && run.link.is_closed() {
        result = run.rest_of_turn(context, newest);
    }
    if matches!(&result, Err(failure) if failure.kind() == FailureKind::BrokenPipe) {
        // The reader of the answer is gone; the agent need not continue.
        run.link.notify(&Request::ChatStop(SessionRef::default()));
    }
    let ending = run.judged(result?)?;
    // The daemon saves a new conversation by itself.
    let auto_save = policy == SavePolicy::Always && opened.resumed;
    run.finish(ending, args.save, auto_save)
}

fn judge(args: &args::ChatArgs) -> Approver {
    if args.yes || args.no || !isatty(stderr()) {
        return Approver::Rule(args.yes);
    }
    let terminal = File::options().read(true).write(true).open("/dev/tty");
    terminal.map_or(Approver::Rule(false), Approver::Person)
}

impl OneShotRun {
    fn until_answered(&mut self, sent: &str, signals: &mut Signals) -> Result<AnswerEnd, Failure> {
        loop {
            while let Some(incoming) = self.link.next() {
                match incoming {
                    ServerItem::Answer { id, result } if id == sent => return Ok(self.ending(result)),
                    ServerItem::Answer { .. } => {}
                    ServerItem::Event(event) => self.event(event)?,
                }
            }
            if self.link.is_closed() {
                return Ok(AnswerEnd::Interrupted);
            }
            if self.stopping.is_some_and(|limit| Instant::now() >= limit) {
                return Ok(AnswerEnd::Stopped);
            }
            self.wait(signals)?;
            for _signal in signals.take() {
                // A second Ctrl+C does not wait.
                if self.stopping.is_some() {
                    return Ok(AnswerEnd::Stopped);
                }
                self.stopping = Some(Instant::now() + limits::AGENT_STOP);
                self.link.send(&Request::ChatStop(SessionRef::default()));
            }
        }
    }

    /// After the daemon's death: an agent in a terminal goes on, and the next daemon finds its turn.
    fn rest_of_turn(&mut self, context: &Context, newest: u64) -> Result<AnswerEnd, Failure> {
        let (session, until) = (self.session.clone(), Some(WaitUntil::Turn));
        let request = Wait { session, until, after: Some(newest), ..Wait::default() };
        let Ok(Some(WaitReply { turn_id: Some(turn_id), .. })) = wait::until(context, request, None) else {
            return Ok(AnswerEnd::Interrupted);
        };
        let turn = turn::fetch(context, Turn { turn_id: Some(turn_id), ..Turn::default() }, false)?;
        let rest = rest(&self.text, &turn.text).to_owned();
        self.event(ViewEvent::AnswerText { text: rest, last: false })?;
        Ok(AnswerEnd::Completed)
    }

    fn wait(&mut self, signals: &Signals) -> Result<(), Failure> {
        let mut fds =
            vec![PollFd::new(&self.link, self.link.interest()), PollFd::new(signals, PollFlags::IN)];
        if let (Approver::Person(terminal), Some(_)) = (&self.judge, self.asks.first()) {
            fds.push(PollFd::new(terminal, PollFlags::IN));
        }
        let left =
            self.stopping.map_or(limits::CHAT_ALIVE, |limit| limit.saturating_duration_since(Instant::now()));
        let ready = match poll(&mut fds, Some(&timespec(left))) {
            Ok(ready) => ready,
            Err(Errno::INTR) => 1,
            Err(error) => return Err(error.into()),
        };
        let typed = fds.get(2).is_some_and(|fd| !fd.revents().is_empty());
        drop(fds);
        if ready == 0 && self.stopping.is_none() {
            self.link.notify(&Request::Ping);
        }
        self.link.flush();
        self.link.fill();
        if typed {
            self.read_answer()?;
        }
        Ok(())
    }

    fn ending(&mut self, result: Result<ServerMessage, ErrorInfo>) -> AnswerEnd {
        match result {
            Ok(ServerMessage::ChatSend(end)) => {
                let stopped = end.status == "stopped";
                if let Some(notice) = &end.notice {
                    eprint_line(format_args!("[{}]", visible(notice)));
                }
                self.end = Some(priced(end));
                if stopped { AnswerEnd::Stopped } else { AnswerEnd::Completed }
            }
            Ok(_) => AnswerEnd::Completed,
            Err(error) if error.message.is_empty() => AnswerEnd::Failed(error.code.to_string()),
            Err(error) => AnswerEnd::Failed(error.message),
        }
    }

    /// An answer that this client did not stop was interrupted if the daemon shuts down, too.
    fn judged(&mut self, ending: AnswerEnd) -> Result<AnswerEnd, Failure> {
        let limit = match &ending {
            AnswerEnd::Stopped if self.stopping.is_none() => Instant::now() + limits::CHAT_GOODBYE,
            AnswerEnd::Failed(reason) if reason.contains(swb_types::INTERRUPTED_BY_SHUTDOWN) => {
                self.closed = Some(SHUTDOWN.to_owned());
                return Ok(AnswerEnd::Interrupted);
            }
            _ => return Ok(ending),
        };
        while !self.link.is_closed() && self.closed.is_none() {
            while let Some(incoming) = self.link.next() {
                if let ServerItem::Event(ViewEvent::Closed { reason, .. }) = incoming {
                    self.closed = Some(reason);
                }
            }
            let left = limit.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(ending);
            }
            self.link.wait(left)?;
        }
        self.closed.get_or_insert_with(|| SHUTDOWN.to_owned());
        Ok(AnswerEnd::Interrupted)
    }

    fn event(&mut self, event: ViewEvent) -> Result<(), Failure> {
        self.watch(&event)?;
        match event {
            ViewEvent::AnswerText { text, .. } if text.is_empty() => Ok(()),
            ViewEvent::AnswerText { text, .. } => {
                self.ends_line = text.ends_with('\n');
                if self.text.len() < limits::RESULT {
                    self.text.push_str(&text);
                }
                if self.json {
                    return self.print_event(|| json!({"event": "text", "text": text}));
                }
                self.end_prompt();
                if self.raw { print_bytes(text.as_bytes()) } else { print_text(&text) }
            }
            ViewEvent::Progress { thought: Some(thought), .. } => {
                self.print_event(|| json!({"event": "thought", "text": thought}))
            }
            ViewEvent::Progress { message, context, .. } => {
                self.print_event(|| json!({"event": "progress", "message": message, "context_usage": context}))
            }
            ViewEvent::ToolCalled(tool) => self.print_event(|| {
                json!({"event": "tool_call", "id": tool.id, "name": tool.name, "description": tool.description,
                    "parameters": tool.parameters})
            }),
            ViewEvent::ToolEnded { id, output, error } => {
                self.print_event(|| json!({"event": "tool_result", "id": id, "output": output, "error": error}))
            }
            ViewEvent::Approval(approval) => {
                let ack = AuthorizationAck { auth_id: Some(approval.id.clone()) };
                self.link.notify(&Request::AuthorizationAck(ack));
                self.ask(PendingAsk::Approval(approval))
            }
            ViewEvent::Question(question) => self.ask(PendingAsk::Question(question, Vec::new())),
            ViewEvent::Settled { id } => {
                if self.asks.settle(&id) {
                    self.show_ask()?;
                }
                Ok(())
            }
            ViewEvent::Closed { reason, .. } => {
                self.closed = Some(reason);
                Ok(())
            }
            ViewEvent::Prompt(_) | ViewEvent::Error(_) | ViewEvent::Seat { .. } => Ok(()),
        }
    }

    /// Reports on standard error what is not part of the answer.
    fn watch(&mut self, event: &ViewEvent) -> Result<(), Failure> {
        let printed = matches!(
            event,
            ViewEvent::ToolCalled(_) | ViewEvent::ToolEnded { .. } | ViewEvent::Progress { .. }
        );
        let Some(transcript) = self.transcript.as_mut().filter(|_| printed) else { return Ok(()) };
        transcript.handle(event, Instant::now());
        let text = rendered(&transcript.take(), transcript.width);
        if !text.is_empty() {
            self.begin_line()?;
            eprint_coloured(&text);
        }
        Ok(())
    }

    /// Ends the current line of the terminal if it holds a piece of the answer or a prompt.
    fn begin_line(&mut self) -> Result<(), Failure> {
        self.end_prompt();
        if self.json || self.ends_line || !self.shown || !isatty(stderr()) {
            return Ok(());
        }
        self.ends_line = true;
        print_text("\n")
    }

    fn end_prompt(&mut self) {
        if let (true, Approver::Person(terminal)) = (std::mem::take(&mut self.prompting), &mut self.judge) {
            drop(terminal.write_all(b"\n"));
        }
    }

    // ---- decisions ----

    fn ask(&mut self, ask: PendingAsk) -> Result<(), Failure> {
        let allowed = match &self.judge {
            Approver::Person(_) => {
                return if self.asks.push(ask) { self.show_ask() } else { Ok(()) };
            }
            Approver::Rule(allowed) => *allowed,
        };
        self.decide(&ask, allowed)
    }

    /// Decides in place of the user.
    fn decide(&mut self, ask: &PendingAsk, allowed: bool) -> Result<(), Failure> {
        let reply = match ask {
            PendingAsk::Approval(approval) => {
                let fits = |always| {
                    approval.options.iter().find(|choice| choice.allows == allowed && choice.always == always)
                };
                verdict(approval, fits(false).or_else(|| fits(true)), allowed, false)
            }
            PendingAsk::Question(question, _) => {
                let no_answers = question.items.iter().map(|_| NO_USER.to_owned()).collect::<Vec<_>>();
                answered(question, &no_answers)
            }
        };
        if self.unattended {
            self.begin_line()?;
            eprint_line(format_args!("{}", unattended(ask)));
        }
        self.reply(ask, &reply)
    }

    fn reply(&mut self, ask: &PendingAsk, reply: &DecisionReply) -> Result<(), Failure> {
        self.link.notify(&messages::request(&reply.decision));
        if self.transcript.is_some() {
            self.begin_line()?;
            let mark = if reply.allows { "✓" } else { "✗" };
            let asked = ask.lines().first().map(StyledLine::plain).unwrap_or_default();
            eprint_text(&format!("{asked}\n{mark} {}\n", visible(&reply.said)));
        }
        self.print_event(|| match ask {
            PendingAsk::Approval(approval) => {
                json!({"event": "approval", "id": approval.id, "tool": approval.tool,
                    "parameters": approval.parameters, "reason": approval.reason, "approved": reply.allows})
            }
            PendingAsk::Question(question, _) => {
                json!({"event": "question", "id": question.id, "question": question.text, "answer": reply.said})
            }
        })
    }

    fn show_ask(&mut self) -> Result<(), Failure> {
        self.begin_line()?;
        let (Approver::Person(terminal), Some(ask)) = (&mut self.judge, self.asks.first()) else {
            return Ok(());
        };
        let width = size::current().map_or(80, |size| usize::from(size.cols()).saturating_sub(1));
        let text = format!("{}{}: ", rendered(&ask.lines(), width), visible(&ask.hint()));
        // If the terminal is gone, there is no answer, and the daemon denies after its timeout.
        drop(terminal.write_all(text.as_bytes()));
        self.prompting = true;
        Ok(())
    }

    /// Reads a line from the terminal, which echoes and edits it.
    fn read_answer(&mut self) -> Result<(), Failure> {
        let Approver::Person(terminal) = &mut self.judge else { return Ok(()) };
        let mut bytes = [0; 4096];
        let count = terminal.read(&mut bytes).unwrap_or(0);
        if count == 0 {
            return self.leave_alone();
        }
        self.typed.extend_from_slice(bytes.get(..count).unwrap_or_default());
        while let Some(end) = self.typed.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.typed.drain(..=end).collect();
            self.prompting = false;
            let line = String::from_utf8_lossy(&line).trim().to_owned();
            let Some(ask) = self.asks.first().cloned() else { continue };
            let key = key(&line);
            let reply = key.and_then(|key| self.asks.press(&key)).or_else(|| self.asks.answer(&line));
            if let Some(reply) = reply {
                self.reply(&ask, &reply)?;
            }
            self.show_ask()?;
        }
        Ok(())
    }

    /// The user has closed the input: denies what is pending and what follows.
    fn leave_alone(&mut self) -> Result<(), Failure> {
        self.end_prompt();
        self.judge = Approver::Rule(false);
        while let Some(ask) = self.asks.first().cloned() {
            self.asks.settle(ask.id());
            self.decide(&ask, false)?;
        }
        Ok(())
    }

    // ---- the end ----

    fn finish(mut self, ending: AnswerEnd, save: bool, auto_save: bool) -> Outcome {
        self.end_prompt();
        if !self.json && !self.ends_line {
            print_text("\n")?;
        }
        // A failure to save must not hide the answer.
        let saved = match (save || auto_save) && ending != AnswerEnd::Interrupted {
            true => self.link.ask(&Request::SessionSave(SessionSave::default())).map(drop),
            false => Ok(()),
        };
        let saved = if save { saved } else { Ok(()) };
        if let Some(transcript) = &mut self.transcript {
            let usage = self.end.as_ref().map(messages::usage).unwrap_or_default();
            transcript.end(&AnswerEnd::Completed, &usage, Instant::now());
            let lines: Vec<StyledLine> =
                transcript.take().into_iter().filter(|line| !line.is_empty()).collect();
            eprint_coloured(&rendered(&lines, transcript.width));
        }
        let (status, code, error) = match &ending {
            AnswerEnd::Completed => ("completed", 0, None),
            AnswerEnd::Failed(reason) => ("failed", 1, Some(reason.clone())),
            AnswerEnd::Interrupted => ("interrupted", 1, None),
            AnswerEnd::Stopped => ("stopped", STOPPED, None),
        };
        self.print_event(|| {
            let end = self.end.as_ref();
            json!({"event": "result", "status": status, "session": self.session, "text": self.text,
                "usage": end.and_then(|end| end.usage.as_ref()),
                "context_usage": end.and_then(|end| end.context_usage), "error": error})
        })?;
        match ending {
            AnswerEnd::Failed(reason) => Err(Failure::general(reason)),
            AnswerEnd::Stopped if self.stopping.is_none() => {
                Err(Failure::general("the answer was stopped by another client"))
            }
            AnswerEnd::Interrupted => {
                Err(Failure::new(FailureKind::Disconnected, goodbye(self.closed.as_deref()))
                    .hint(format!("`swb chat {}` shows the incomplete answer", self.session)))
            }
            _ => Ok(saved.map(|()| code)?),
        }
    }

    /// Prints an event for programs, one per line.
    fn print_event(&self, event: impl FnOnce() -> Value) -> Result<(), Failure> {
        if self.json { print_json(&event()) } else { Ok(()) }
    }
}

/// What follows in a whole answer after the part of it that was printed; all of it if that was something else.
fn rest<'a>(printed: &str, whole: &'a str) -> &'a str {
    whole.strip_prefix(printed).or_else(|| whole.strip_prefix(printed.trim_end())).unwrap_or(whole)
}

/// Why the connection was closed, by the reason the daemon gave.
fn goodbye(reason: Option<&str>) -> String {
    match reason {
        None => "the connection to the daemon was lost".to_owned(),
        Some(SHUTDOWN) => "the answer was interrupted: the daemon was shut down".to_owned(),
        Some("timeout") => "the daemon closed the connection: it received nothing for too long".to_owned(),
        Some(other) => format!("the daemon closed the connection: {other}"),
    }
}

/// The end of an answer with its price rounded.
fn priced(mut end: ChatEnd) -> ChatEnd {
    if let Some(usage) = &mut end.usage {
        usage.total_cost = usage.total_cost.map(super::dollars);
    }
    end
}

/// The key that a line stands for. Other words decide nothing: "abort" must not count as "a" (always).
fn key(line: &str) -> Option<Key> {
    let word = ["yes", "no", "always"].iter().any(|word| word.eq_ignore_ascii_case(line));
    let mut characters = line.chars();
    characters.next().filter(|_| word || characters.next().is_none()).map(Key::Char)
}

/// One line about a request that was decided without a user.
fn unattended(ask: &PendingAsk) -> String {
    match ask {
        PendingAsk::Approval(approval) => {
            format!(
                "[denied, because there is no terminal to ask on: {}; --yes approves]",
                visible(&approval.tool)
            )
        }
        PendingAsk::Question(question, _) => {
            let asked = question.items.first().map(|item| item.question.as_str()).unwrap_or_default();
            let asked = asked.lines().next().unwrap_or_default();
            format!("[no terminal to ask on: {}; the agent has to decide itself]", visible(asked))
        }
    }
}

fn rendered(lines: &[StyledLine], width: usize) -> String {
    let coloured = wants_colours() && isatty(stderr());
    lines.iter().flat_map(|line| line.fold(width)).map(|row| row.ansi(coloured) + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_a_closed_connection_is_shown() {
        assert!(goodbye(None).contains("lost"));
        assert!(
            !goodbye(Some("timeout")).contains("lost") && goodbye(Some("x\x1b")).contains("connection: x")
        );
    }

    #[test]
    fn only_whole_words_decide() {
        for (line, wanted) in [("y", 'y'), ("Yes", 'Y'), ("always", 'a'), ("NO", 'N'), ("2", '2')] {
            assert_eq!(key(line), Some(Key::Char(wanted)), "{line}");
        }
        for line in ["", "abort", "yikes", "not", "12", "y n"] {
            assert_eq!(key(line), None, "{line}");
        }
    }
}
