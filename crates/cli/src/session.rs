//! Creating sessions and attaching to them: what several commands share.

use crate::attach::notification::TerminalNotifier;
use crate::attach::stream_protocol::ControlStream;
use crate::attach::{
    self, AroundSession, AttachEnd, AttachOptions, KeyboardUse, Pictures, Position, ReplayedOutput,
    ResumePoint,
};
use crate::console::eprint_line;
use crate::context::{self, Context};
use crate::control_client::ControlClient;
use crate::error::{Failure, FailureKind, Outcome};
use crate::limits;
use crate::start_daemon;
use crate::terminal::detach::DetachKey;
use crate::terminal::size;
use crate::top::{self, ListStart, TopChoice};
use rustix::process::{Pid, getpid};
use rustix::stdio::stdout;
use rustix::termios::isatty;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Instant;
use swb_types::{Offset, PtyId, Size};
use swb_vt::ColourFilter;
use swb_wire::control::{Attached, Create, Created, Operation, Shell};

/// What to attach to, and how.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    /// Name or workspace.
    pub(crate) session: String,
    /// Whether that is what the user typed: the beginning of a name is enough.
    pub(crate) typed: bool,
    /// Which terminal.
    pub(crate) pty: PtyId,
    /// Whether to watch only.
    pub(crate) watch: bool,
    /// The detach key, if it is not the configured one.
    pub(crate) detach_key: Option<String>,
    /// Maximum number of scrollback lines to restore; `None` for all.
    pub(crate) scrollback: Option<u64>,
    /// Whether the session is new, so that no client has seen its output.
    pub(crate) fresh: bool,
    /// Whether this terminal has just shown a session: only the list was open in between.
    pub(crate) returning: bool,
}

impl Target {
    /// The command of an existing session.
    pub(crate) fn existing(session: String) -> Self {
        Self {
            session,
            typed: false,
            pty: PtyId::AGENT,
            watch: false,
            detach_key: None,
            scrollback: None,
            fresh: false,
            returning: false,
        }
    }

    /// Another session on the same terminal, chosen in the list.
    fn switched(&self, session: String) -> Self {
        let (watch, detach_key) = (self.watch, self.detach_key.clone());
        Self { watch, detach_key, returning: true, ..Self::existing(session) }
    }

    /// The same session once more, after the list; its scrollback is on the terminal already.
    fn again(self) -> Self {
        Self { typed: false, fresh: false, returning: true, scrollback: Some(0), ..self }
    }

    /// How to connect to its stream, and to reconnect. A terminal gets pictures of the screen; anything else gets
    /// the output as the program wrote it.
    fn route(&self, context: &Context) -> ResumePoint {
        ResumePoint {
            socket: context.paths.control_socket(),
            session: self.session.clone(),
            pty: self.pty,
            watch: self.watch,
            pictures: isatty(stdout()).then_some(Pictures { scrollback: self.scrollback }),
            sizes: false,
            input: (!self.watch).then(input_stream).flatten(),
            sized: size::current().is_some(),
            remote: context.remote.clone(),
            direct: !self.watch,
        }
    }

    /// Where the stream begins. The output of a new session is shown from its first byte.
    fn start(&self) -> Option<Offset> {
        self.fresh.then_some(Offset(0))
    }
}

/// A name for a stream of input that no other has; `None` without randomness. Every program can hold it as a number.
fn input_stream() -> Option<u64> {
    let mut bytes = [0; 8];
    let flags = rustix::rand::GetRandomFlags::empty();
    let count = rustix::rand::getrandom(&mut bytes, flags).ok()?;
    let name = u64::from_ne_bytes(bytes) >> 11;
    (count == bytes.len() && name != 0).then_some(name)
}

/// Creates a session without attaching.
pub(crate) fn create(context: &Context, request: Create) -> Result<Created, Failure> {
    context.execute(&Operation::Create(request))
}

/// Creates a session and attaches until it ends or the user detaches; returns its exit code.
pub(crate) fn create_and_go(context: &Context, request: Create, detach_key: Option<String>) -> Outcome {
    let mut target = Target { detach_key, fresh: true, ..Target::existing(String::new()) };
    // Checked first, so that an invalid key leaves no session behind.
    let _valid = keys(context, &target)?;
    let (control, created) = context.begin::<Created>(&Operation::Create(request))?;
    target.session = created.session;
    visit(context, Visit::Attach(target), Some(control))
}

/// The request for a session that runs `argv` as if it had been started by this process.
pub(crate) fn from_here(workspace: String, argv: Vec<String>) -> Create {
    let size = size::current().unwrap_or(Size::DEFAULT);
    let mut env = context::environment();
    if let Some(pwd) = env.get_mut("PWD")
        && Path::new(pwd).canonicalize().ok().as_deref() != Some(Path::new(&workspace))
    {
        // Programs trust PWD; the caller's own spelling of the same directory may stay.
        pwd.clone_from(&workspace);
    }
    Create {
        workspace,
        argv: Some(argv),
        env: Some(env),
        umask: Some(context::umask()),
        cols: Some(size.cols()),
        rows: Some(size.rows()),
        announce: true,
        ..Create::default()
    }
}

/// Attaches to a session until it ends or the user detaches; returns its exit code.
pub(crate) fn go(context: &Context, target: &Target) -> Outcome {
    visit(context, Visit::Attach(target.clone()), None)
}

/// Does what the user chose in the list; returns the exit code.
pub(crate) fn follow_choice(context: &Context, choice: TopChoice) -> Outcome {
    match Visit::chosen(choice, &Target::existing(String::new())) {
        Ok(visit_next) => visit(context, visit_next, None),
        Err(code) => Ok(code.unwrap_or(0)),
    }
}

/// A terminal of a session to be shown next.
enum Visit {
    Attach(Target),
    Shell { target: Target, argv: Vec<String>, force_new: Option<bool> },
}

impl Visit {
    /// What a choice in the list leads to on a terminal that has shown `before`; else how this process ends, or `None` if the
    /// user only left the list.
    fn chosen(choice: TopChoice, before: &Target) -> Result<Self, Option<u8>> {
        match choice {
            TopChoice::Attach(session) => Ok(Self::Attach(before.switched(session))),
            TopChoice::Shell(session) => Ok(Self::Shell {
                target: Target { fresh: true, watch: false, ..before.switched(session) },
                argv: vec![context::shell()],
                force_new: Some(true),
            }),
            TopChoice::Ended(code) => Err(Some(code)),
            TopChoice::Quit => Err(None),
        }
    }
}

/// Shows a terminal, over the connection `open` if there is one, and those the user chooses in the list over it, until the
/// end.
fn visit(context: &Context, mut next: Visit, mut open: Option<ControlClient>) -> Outcome {
    loop {
        let (target, plan) = match next {
            Visit::Attach(mut target) => match named_plan(context, &mut target, open.take()) {
                Err(failure) if target.returning && failure.kind() == FailureKind::NoSession => {
                    eprint_line(format_args!("[session {} has ended]", target.session));
                    return Ok(0);
                }
                plan => {
                    let plan = plan?;
                    (target, plan)
                }
            },
            Visit::Shell { target, argv, force_new } => shell_plan(context, target, argv, force_new)?,
        };
        let (ending, typed) = attach::run_until_list(plan)?;
        let AttachEnd::ListRequested { help } = ending else {
            return attach::report(&target.session, ending);
        };
        let list = ListStart { home: Some(target.session.clone()), typed, help, ..ListStart::default() };
        next = match Visit::chosen(top::choose(context, list)?, &target) {
            Ok(next) => next,
            Err(None) => Visit::Attach(target.again()),
            Err(Some(code)) => return Ok(code),
        };
    }
}

/// Requests the stream of the session that the user means. Its whole name is tried first, since that takes one request.
fn named_plan(
    context: &Context,
    target: &mut Target,
    open: Option<ControlClient>,
) -> Result<AttachOptions, Failure> {
    let unknown = match attach_plan(context, target, open) {
        Err(failure) if target.typed && failure.kind() == FailureKind::NoSession => failure,
        plan => return plan,
    };
    let whole = context.session(target.session.clone())?;
    if whole == target.session {
        return Err(unknown);
    }
    target.session = whole;
    attach_plan(context, target, None)
}

/// Requests the stream of a session's terminal, over the connection `open` if there is one.
fn attach_plan(
    context: &Context,
    target: &Target,
    open: Option<ControlClient>,
) -> Result<AttachOptions, Failure> {
    let keys = keys(context, target)?;
    let own_size = size::current();
    let route = target.route(context);
    let request = Operation::Attach(route.request(target.start(), own_size));
    let (socket, attached) = open_stream(context, &request, open)?;
    if attached.pid.is_some_and(runs_below) {
        // It would show its own output, in an endless loop.
        let text = format!("this terminal belongs to session '{}' itself", target.session);
        return Err(Failure::general(text).hint("detach first, or name another session"));
    }
    let size = own_size.unwrap_or(Size::DEFAULT);
    let (around, notify) = (around(context, target), notified_by(context));
    Ok(AttachOptions { around, notify, ..plan(target, route, socket, &attached, keys, size) })
}

/// What `swb` does around a session; under another name it behaves like the program of that name.
fn around(context: &Context, target: &Target) -> AroundSession {
    let own = context.program == "swb" && isatty(stdout());
    AroundSession { prefix: own, title: own, returning: target.returning }
}

/// Whether this process is one of `pid`'s descendants.
pub(crate) fn runs_below(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw).filter(|pid| *pid != Pid::INIT) else {
        return false;
    };
    let parent = |child: &Pid| Pid::from_raw(swb_keeper::parent_of(*child)?);
    let mut ancestors = std::iter::successors(Some(getpid()), parent);
    ancestors.by_ref().take(limits::ANCESTORS).any(|ancestor| ancestor == pid)
}

/// Opens another shell in a session and attaches until it ends or the user detaches; returns its exit code.
pub(crate) fn open_shell(
    context: &Context,
    target: Target,
    argv: Vec<String>,
    force_new: Option<bool>,
) -> Outcome {
    visit(context, Visit::Shell { target, argv, force_new }, None)
}

/// Requests another shell in a session; the target returned is its terminal.
fn shell_plan(
    context: &Context,
    target: Target,
    argv: Vec<String>,
    force_new: Option<bool>,
) -> Result<(Target, AttachOptions), Failure> {
    let keys = keys(context, &target)?;
    let size = size::current().unwrap_or(Size::DEFAULT);
    let mut route = target.route(context);
    let request = Operation::Shell(Shell {
        session: target.session.clone(),
        command: argv.first().cloned(),
        cols: Some(size.cols()),
        rows: Some(size.rows()),
        force_new,
        argv: Some(argv),
        env: Some(context::environment()),
        resume: target.start(),
        offsets: true,
        repaint: route.pictures.is_some(),
        input: route.input,
        notify: route.pictures.is_some(),
        direct: route.direct,
        ..Shell::default()
    });
    let mut control = context.connect()?;
    let attached: Attached = control.request(&request)?;
    route.pty = attached.pty.unwrap_or(target.pty);
    let there = Target { pty: route.pty, ..target.clone() };
    let (around, notify) = (around(context, &target), notified_by(context));
    let plan = plan(&target, route, control.into_stream(), &attached, keys, size);
    Ok((there, AttachOptions { around, notify, ..plan }))
}

/// Attaches, over the connection `open` if there is one; retries if the daemon dies before it replies,
/// since nothing has been done yet.
pub(crate) fn open_stream(
    context: &Context,
    request: &Operation,
    mut open: Option<ControlClient>,
) -> Result<(UnixStream, Attached), Failure> {
    let deadline = Instant::now() + limits::ATTACH_RETRY;
    loop {
        let mut control = match open.take() {
            Some(control) => control,
            None => context.connect()?,
        };
        match control.request(request) {
            Err(failure) if failure.kind() == FailureKind::Disconnected && Instant::now() < deadline => {
                start_daemon::pause_before_retry();
            }
            result => return result.map(|attached| (control.into_stream(), attached)),
        }
    }
}

/// Parses the given detach key, or the configured one.
fn keys(context: &Context, target: &Target) -> Result<Vec<DetachKey>, Failure> {
    let key = match &target.detach_key {
        Some(key) => DetachKey::parse(key).map_err(|error| Failure::usage(error.to_string()))?,
        None => context.config()?.detach_key,
    };
    let mut keys = vec![key];
    if target.watch {
        keys.extend([DetachKey::plain('q'), DetachKey::ctrl('c')]);
    }
    Ok(keys)
}

/// How the user's terminal is notified: as configured, or by what it understands.
fn notified_by(context: &Context) -> TerminalNotifier {
    let configured = context.config().map(|config| config.terminal).unwrap_or_default();
    TerminalNotifier::new(configured, |name| std::env::var(name).ok().filter(|value| !value.is_empty()))
}

fn plan(
    target: &Target,
    route: ResumePoint,
    socket: UnixStream,
    attached: &Attached,
    keys: Vec<DetachKey>,
    size: Size,
) -> AttachOptions {
    let offset = attached.offset.unwrap_or_default();
    let head = attached.head.unwrap_or(offset);
    let old = if target.fresh { 0 } else { head.0.saturating_sub(offset.0) };
    AttachOptions {
        session: target.session.clone(),
        protocol: &ControlStream,
        socket,
        position: Position::new(offset, route.pictures.is_some() && target.start().is_none()),
        resume: Some(route),
        old: ReplayedOutput::Bytes(old),
        keys,
        keyboard: if target.watch { KeyboardUse::Leaves } else { KeyboardUse::Types },
        filter: None,
        size,
        notify: TerminalNotifier::NONE,
        around: AroundSession::default(),
    }
}

/// Follows a terminal's output from an offset on, without touching the user's terminal. With a filter, which has
/// passed the output before, it passes this output, too.
pub(crate) fn follow(
    context: &Context,
    session: &str,
    pty: PtyId,
    from: Offset,
    filter: Option<ColourFilter>,
) -> Outcome {
    let target = Target { pty, watch: true, fresh: true, ..Target::existing(session.to_owned()) };
    let route = ResumePoint { pictures: None, ..target.route(context) };
    let request = Operation::Attach(route.request(Some(from), None));
    let (socket, attached) = open_stream(context, &request, None)?;
    let mut plan = plan(&target, route, socket, &attached, Vec::new(), Size::DEFAULT);
    plan.keyboard = KeyboardUse::Unused;
    plan.filter = filter;
    match attach::run(plan)? {
        attach::AttachEnd::Lost => Err(Failure::general("the connection to the daemon was lost")),
        _ => Ok(0),
    }
}
