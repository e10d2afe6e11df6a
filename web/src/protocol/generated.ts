// Generated from the Rust types by `cargo xtask docs`: do not edit. One file, as long as there are operations.

/** State of a session's agent, in a list. */
export interface AgentItem {
  profile?: string;
  signal?: string;
  since: number;
  state: AgentState;
}

/** State of an agent; a state of a newer daemon reads as `unknown`. */
export type AgentState = 'starting' | 'working' | 'ready' | 'asking' | 'error' | 'exited' | 'unknown';

/** Agents that can be chosen, the default one first. */
export interface AgentsReply {
  agents: ChatAgentItem[];
  ok: boolean;
}

/** A pending approval. */
export interface ApprovalItem {
  asked_at: number;
  cut: boolean;
  id: string;
  kind: ApprovalKind;
  options: ChoiceItem[];
  parameters: unknown;
  reason: string;
  seen: boolean;
  session: string;
  tool: string;
  workspace: string;
}

/** Origin of an approval. */
export type ApprovalKind = 'chat' | 'terminal' | 'unknown';

/** One approval. */
export interface ApprovalReply {
  approval: ApprovalItem;
  ok: boolean;
}

/** Pending approvals, oldest first. */
export interface ApprovalsReply {
  approvals: ApprovalItem[];
  more: boolean;
  ok: boolean;
}

/** Reply to `ask`. */
export interface AskReply {
  asking?: boolean;
  byte_length?: number;
  content?: Base64;
  content_length?: number;
  cut?: boolean;
  detail?: string;
  dialogs?: Offset[];
  earlier?: TurnObject[];
  end_offset?: Offset;
  evidence?: string[];
  from?: number;
  interrupted?: boolean;
  met: AskResult;
  more?: string;
  ok: boolean;
  profile?: string;
  session?: string;
  signal?: string;
  source?: TextSource;
  start_offset?: Offset;
  submit_offset?: Offset;
  submitted?: number;
  text?: string;
  text_from?: number;
  text_length?: number;
  timestamp?: number;
  truncated?: boolean;
  turn_id?: string;
}

/** What ended an `ask`. */
export type AskResult = 'turn' | 'asking' | 'ready' | 'timeout';

/** Reply to `attach` and `shell`, after which the connection is in stream mode (CO-29, CO-34). */
export interface Attached {
  cols?: number;
  head?: Offset;
  input?: InputCount;
  offset?: Offset;
  ok: boolean;
  pid?: number;
  pty?: PtyId;
  rows?: number;
}

/** Bytes as base64 text. */
export type Base64 = string;

/** Reply to `capture`. */
export interface CaptureReply {
  ok: boolean;
  size: number;
  turn_id: string;
}

/** An agent that can be chosen. */
export interface ChatAgentItem {
  detail: string;
  kind: string;
  name: string;
}

/** One option. */
export interface ChoiceItem {
  id: string;
  kind: string;
  label: string;
}

/** A text message of the client; unknown types are ignored. */
export type ClientMessage = {
  cols: number;
  rows: number;
  type: 'resize';
} | {
  type: 'unknown';
};

/** A conversation in a list. */
export interface ConversationItem {
  agent?: string;
  asking_since?: number;
  autosaved: boolean;
  cost?: number;
  created: number;
  live: boolean;
  messages: number;
  running: boolean;
  saved: boolean;
  session: string;
  title: string;
  tokens: number;
  updated: number;
  workspace: string;
}

/** A page of a conversation. */
export interface ConversationReply {
  conversation: ConversationItem;
  messages: MessageItem[];
  next?: string;
  ok: boolean;
}

/** Reply to `create` (CO-19). */
export interface Created {
  ok: boolean;
  pid: number;
  session: string;
}

/** The daemon, in the reply to `status`. */
export interface DaemonStatus {
  auto: boolean;
  config?: string;
  pid: number;
  restarts: number;
  started: number;
  version: string;
}

/** State of a dialect; on the wire `listening`, `off` or `failed: ` and the reason. */
export type DialectState = string;

/** One dialect, in the reply to `status`. */
export interface DialectStatus {
  name: string;
  socket: string;
  state: DialectState;
}

/** Machine-readable reason of an error reply. */
export type ErrorCode = 'AGENT_BUSY' | 'APPROVAL_NOT_FOUND' | 'BIND_FAILED' | 'CANCELLED' | 'FORBIDDEN' | 'FRONT_FAILED' | 'INTERNAL_ERROR' | 'INVALID_COMMAND' | 'LIMIT_REACHED' | 'MESSAGE_TOO_LARGE' | 'NOT_IMPLEMENTED' | 'NOT_TRUSTED' | 'PROOF_FAILED' | 'PTY_NOT_FOUND' | 'SESSION_ENDED' | 'SESSION_EXISTS' | 'SESSION_NOT_FOUND' | 'SPAWN_FAILED' | 'TOKEN_NOT_FOUND' | 'TURN_NOT_FOUND' | 'TUNNEL_FAILED' | 'TUNNEL_NOT_FOUND' | 'VERSION_MISMATCH' | 'UNKNOWN';

/** The reply to a request that was not carried out. */
export interface ErrorReply {
  error: ErrorCode;
  hint?: string;
  message: string;
  ok: boolean;
  session?: string;
}

/** An event. */
export type EventItem = {
  at: number;
  cursor: string;
  session?: string;
} & ({
  event: 'missed';
} | {
  event: 'opened';
} | {
  event: 'found';
} | {
  event: 'closed';
} | {
  event: 'started';
  pty: PtyId;
} | {
  code: number;
  event: 'exited';
  pty: PtyId;
} | {
  event: 'status';
  signal?: string;
  state: AgentState;
} | {
  event: 'submitted';
  offset: Offset;
} | {
  event: 'dialog';
  offset: Offset;
} | {
  event: 'turn';
  turn_id: string;
} | {
  event: 'unknown';
});

/** Reply to `events`, after which each event is sent in a control frame. */
export interface EventsReply {
  cursor: string;
  ok: boolean;
}

/** A piece of evidence. */
export interface EvidenceItem {
  at: number;
  detail: string;
  offset: Offset;
  signal: string;
}

/** Reply to `explain`. */
export interface ExplainReply {
  detail?: string;
  evidence: EvidenceItem[];
  foreground?: string;
  last_turn?: TurnItem;
  ok: boolean;
  profile?: string;
  session: string;
  signal?: string;
  since: number;
  source_reason?: string;
  state: AgentState;
}

/** Reply to `filter`. */
export interface FilterReply {
  ok: boolean;
  on: boolean;
}

/** Conversations, the newest first; or messages, the best match first. */
export interface HistoryReply {
  conversations: ConversationItem[];
  hits: HitItem[];
  more: boolean;
  ok: boolean;
  prompts?: PromptItem[];
}

/** A message that a search found. */
export interface HitItem {
  at: number;
  conversation: ConversationItem;
  excerpt: string;
  number: number;
  role: string;
}

/** A state that a hook can report. */
export type HookState = 'working' | 'ready' | 'asking' | 'done' | 'error';

/** How far a client's stream of input has come. */
export interface InputCount {
  doubtful: number;
  new?: boolean;
  written: number;
}

/** The keeper, in the reply to `status`. */
export interface KeeperStatus {
  pid: number;
}

/** Reply to `keys`, once the terminal has accepted all of it. */
export interface KeysReply {
  bytes: number;
  notice?: string;
  ok: boolean;
}

/** Reply to `logs` (CO-51). */
export interface LogsReply {
  log_data: Base64;
  ok: boolean;
}

/** Reply to `ls` (CO-37). */
export interface LsReply {
  ok: boolean;
  sessions: SessionItem[];
}

/** One means of notification. */
export interface MeansItem {
  detail: string;
  error?: string;
  failed: number;
  means: string;
  sent: number;
}

/** A message, or the part of it that fits. */
export interface MessageItem {
  at: number;
  continued?: boolean;
  ending: string;
  error?: string;
  number: number;
  part_continued?: boolean;
  parts: PartItem[];
  role: string;
}

/** A muted session. */
export interface MuteItem {
  session: string;
  until?: number;
}

/** Reply to `mute`. */
export interface MuteReply {
  muted: boolean;
  ok: boolean;
  session: string;
  until?: number;
}

/** What a notification is about. */
export type NotificationKind = 'asking' | 'finished' | 'ended' | 'test';

/** Reply to `notifications`. */
export interface NotificationsReply {
  finished_after: number;
  means: MeansItem[];
  muted: MuteItem[];
  ok: boolean;
  on: NotificationKind[];
  quiet: boolean;
  quiet_hours: string[];
}

/** Reply to `notify_test`. */
export interface NotifyTestReply {
  ok: boolean;
  results: TestItem[];
}

/** Absolute position in the output of one PTY: the number of bytes before it since the PTY was made. */
export type Offset = number;

/** Reply that a request was carried out. */
export interface OkReply {
  ok: boolean;
}

/** How a session was created. */
export type Origin = 'chat' | 'coop' | 'run';

/** A part of a message. */
export type PartItem = {
  text: string;
  type: 'text';
} | {
  text: string;
  type: 'thought';
} | {
  cut: boolean;
  description?: string;
  name: string;
  output: string;
  parameters: unknown;
  status?: string;
  type: 'tool';
} | {
  mime_type: string;
  name?: string;
  type: 'attachment';
} | {
  type: 'unknown';
};

/** A message of a user. */
export interface PromptItem {
  at: number;
  session: string;
  text: string;
}

/** Number of a PTY within its session: 0 is the agent, the others are shells. */
export type PtyId = number;

/** One PTY in a list (CO-37, CO-38). */
export interface PtyItem {
  command: string;
  id: PtyId;
  pid?: number;
  role: PtyRole;
}

/** Purpose of a PTY. */
export type PtyRole = 'agent' | 'shell';

/** Reply to `relay`. */
export interface RelayReply {
  bytes: number;
  ok: boolean;
  turn_id: string;
  warning?: string;
}

/** Reply to `restart` (CO-51). */
export interface RestartReply {
  ok: boolean;
  pid: number;
  pty: PtyId;
}

/** What a caller may do. Which operation needs which role is one table, where operations are executed. */
export type Role = 'watch' | 'prompt' | 'agent' | 'approve' | 'drive' | 'owner';

/** Format of a screen. */
export type ScreenFormat = 'json' | 'text' | 'ansi' | 'svg' | 'snapshot';

/** Reply to `screen`: either `screen`, or `cols`, `rows` and `data`. */
export interface ScreenReply {
  cols?: number;
  data?: Base64;
  offset: Offset;
  ok: boolean;
  pty: PtyId;
  rows?: number;
  screen?: unknown;
  session: string;
}

/** Reply to `send`, once the terminal has accepted all of it. */
export interface SendReply {
  notice?: string;
  ok: boolean;
}

/** Reply to `serve` (CO-42). */
export interface ServeReply {
  addresses?: string[];
  fingerprint?: string;
  host: string;
  ok: boolean;
  port: number;
  token: string;
}

/** A text message of the server. */
export type ServerMessage = {
  cols: number;
  offset: Offset;
  rows: number;
  type: 'attached';
} | {
  bytes: number;
  offset: Offset;
  type: 'repaint';
} | {
  cols: number;
  rows: number;
  type: 'resized';
} | {
  dropped: number;
  offset: Offset;
  type: 'lagged';
} | {
  text: string;
  type: 'notice';
} | {
  code: number;
  type: 'exited';
};

/** One session in a list (CO-37). */
export interface SessionItem {
  agent?: AgentItem;
  argv?: string[];
  clients?: number;
  cols?: number;
  created: number;
  exit_code?: number;
  local_clients: number;
  name: string;
  offset?: Offset;
  origin?: Origin;
  pid: number;
  ptys: PtyItem[];
  rows?: number;
  status?: SessionStatus;
  turns?: number;
  web_clients: number;
  workspace: string;
}

/** Reply to `sessionls` (CO-51). */
export interface SessionLsReply {
  ok: boolean;
  ptys: PtyItem[];
  session: string;
}

/** State of a session. */
export type SessionStatus = 'starting' | 'running' | 'restarting' | 'exited';

/** When the command of a new session starts. */
export type Start = 'now' | 'writer';

/** Reply to `status`. */
export interface StatusReply {
  daemon: DaemonStatus;
  dialects: DialectStatus[];
  keeper: KeeperStatus;
  ok: boolean;
  sessions: number;
  warnings: string[];
  web?: WebStatus[];
}

/** What one means of notification did with a test. */
export interface TestItem {
  detail: string;
  error?: string;
  means: string;
}

/** Where the text of a turn comes from. */
export type TextSource = 'screen' | 'transcript' | 'unknown';

/** One token in a list. */
export interface TokenItem {
  created: number;
  expires: number | null;
  id: string;
  label: string | null;
  role: Role;
  session: string | null;
  workspace: string | null;
}

/** Reply to `token`. */
export interface TokenReply {
  expires: number | null;
  label: string | null;
  ok: boolean;
  role: Role;
  token: string;
  token_id: string;
}

/** Reply to `tokens`. */
export interface TokensReply {
  ok: boolean;
  tokens: TokenItem[];
}

/** Why a tunnel ended. */
export type TunnelEnd = 'peer' | 'expired' | 'revoked' | 'refused' | 'session' | 'daemon';

/** Events after the reply to `tunnel` with `follow`. */
export type TunnelEvent = {
  event: 'connected';
  peer: string;
  tunnel: string;
} | {
  event: 'closed';
  message?: string;
  reason: TunnelEnd;
  tunnel: string;
};

/** One tunnel in a list. */
export interface TunnelItem {
  peer: string | null;
  role: Role;
  session: string | null;
  state: TunnelState;
  tunnel: string;
}

/** Reply to `tunnel` (CO-47). */
export interface TunnelReply {
  expires?: number;
  offer_sdp: Base64;
  ok: boolean;
  qr_data: string;
  short_code: string;
  short_url?: string;
  tunnel?: string;
}

/** Whether a tunnel has a peer. */
export type TunnelState = 'waiting' | 'connected';

/** Reply to `tunnels`. */
export interface TunnelsReply {
  ok: boolean;
  tunnels: TunnelItem[];
}

/** One turn in a list. */
export interface TurnItem {
  byte_length: number;
  interrupted: boolean;
  source: TextSource;
  timestamp: number;
  truncated: boolean;
  turn_id: string;
}

/** A turn. */
export interface TurnObject {
  byte_length: number;
  content: Base64;
  content_length: number;
  cut: boolean;
  dialogs: Offset[];
  end_offset?: Offset;
  evidence: string[];
  from: number;
  interrupted: boolean;
  profile?: string;
  session: string;
  signal?: string;
  source: TextSource;
  start_offset?: Offset;
  submit_offset?: Offset;
  submitted?: number;
  text: string;
  text_from: number;
  text_length: number;
  timestamp: number;
  truncated: boolean;
  turn_id: string;
}

/** Reply to `turn`: all fields, and as much of content and text as fits. */
export interface TurnReply {
  byte_length: number;
  content: Base64;
  content_length: number;
  cut: boolean;
  dialogs: Offset[];
  end_offset?: Offset;
  evidence: string[];
  from: number;
  interrupted: boolean;
  ok: boolean;
  profile?: string;
  session: string;
  signal?: string;
  source: TextSource;
  start_offset?: Offset;
  submit_offset?: Offset;
  submitted?: number;
  text: string;
  text_from: number;
  text_length: number;
  timestamp: number;
  truncated: boolean;
  turn_id: string;
}

/** Reply to `turns`. */
export interface TurnsReply {
  ok: boolean;
  session: string;
  turns: TurnItem[];
}

/** Where a stream stops by itself. */
export type Until = 'head';

/** Why a wait ended. */
export type WaitOutcome = 'text' | 'stable' | 'exit' | 'timeout' | 'ready' | 'asking' | 'turn';

/** Reply to `wait`. */
export interface WaitReply {
  code?: number;
  met: WaitOutcome;
  offset: Offset;
  ok: boolean;
  text?: string;
  turn_id?: string;
}

/** A state of an agent to wait for. */
export type WaitUntil = 'ready' | 'asking' | 'turn' | 'exit';

/** One web server, in the reply to `status`. */
export interface WebStatus {
  connections: number;
  host: string;
  port: number;
  tls: boolean;
}

/** Reply to `whoami`. */
export interface WhoamiReply {
  machine: string;
  ok: boolean;
  role: Role;
  session: string | null;
  version: string;
  workspace: string | null;
}

/** A workspace, and what git knows of it. */
export interface WorkspaceItem {
  agent: string | null;
  commands_approved: string[];
  context_dirs: string[];
  created: number;
  current_branch: string | null;
  domains_approved: string[];
  id: string;
  is_worktree: boolean;
  landlock_read: string[];
  landlock_write: string[];
  last_accessed: number;
  name: string;
  path: string;
  repository_root: string | null;
  sessions: number;
  worktree_name: string | null;
}

/** A workspace that was stored or created. */
export interface WorkspaceReply {
  ok: boolean;
  workspace: WorkspaceItem;
}

/** The known workspaces. */
export interface WorkspacesReply {
  more: boolean;
  ok: boolean;
  workspaces: WorkspaceItem[];
}

/** The fields of each operation, beside `id` and `cmd`. */
export interface Requests {
  create: {
    announce?: boolean;
    argv?: string[];
    cols?: number;
    coopfile?: string;
    detach?: boolean;
    env?: Record<string, string>;
    hide?: string[];
    name?: string;
    profile?: string;
    require?: string[];
    restart?: boolean;
    rows?: number;
    start?: Start;
    umask?: number;
    unique?: boolean;
    workspace: string;
  };
  attach: {
    cols?: number;
    direct?: boolean;
    history?: number;
    input?: number;
    notify?: boolean;
    offsets?: boolean;
    pty?: PtyId;
    repaint?: boolean;
    resume?: Offset;
    rows?: number;
    scrollback?: number;
    session: string;
    sizes?: boolean;
    until?: Until;
    watch?: boolean;
  };
  shell: {
    argv?: string[];
    cols?: number;
    command?: string;
    direct?: boolean;
    env?: Record<string, string>;
    force_new?: boolean;
    history?: number;
    input?: number;
    notify?: boolean;
    offsets?: boolean;
    repaint?: boolean;
    resume?: Offset;
    rows?: number;
    scrollback?: number;
    session: string;
    sizes?: boolean;
    until?: Until;
    watch?: boolean;
  };
  ls: {
    all?: boolean;
    details?: boolean;
  };
  kill: {
    all?: boolean;
    force?: boolean;
    session?: string;
  };
  serve: {
    host?: string;
    port?: number;
    stop?: boolean;
    tls?: boolean;
    token?: string;
  };
  tunnel: {
    expires?: number;
    follow?: boolean;
    role?: Role;
    session?: string;
    stun?: string[];
    turn?: string;
  };
  tunnel_answer: {
    answer: string;
  };
  tunnel_revoke: {
    tunnel: string;
  };
  tunnels: {};
  shutdown: {
    kill?: boolean;
  };
  detach: {};
  sessionls: {
    session: string;
  };
  sessionkill: {
    pty: PtyId;
    session: string;
  };
  logs: {
    follow?: boolean;
    pty?: PtyId;
    session: string;
    tail_lines?: number;
  };
  restart: {
    pty?: PtyId;
    session: string;
  };
  send: {
    data?: Base64;
    enter?: boolean;
    pty?: PtyId;
    session: string;
    text?: string;
  };
  status: {};
  upgrade: {
    exe?: string;
    keeper?: boolean;
  };
  screen: {
    format?: ScreenFormat;
    join?: boolean;
    pty?: PtyId;
    scrollback?: number;
    session: string;
  };
  wait: {
    after?: number;
    exit?: boolean;
    pty?: PtyId;
    session: string;
    stable_ms?: number;
    text?: string;
    timeout_ms?: number;
    until?: WaitUntil;
  };
  keys: {
    keys: string[];
    literal?: boolean;
    pty?: PtyId;
    session: string;
  };
  turns: {
    limit?: number;
    session: string;
  };
  turn: {
    from?: number;
    length?: number;
    session?: string;
    text_from?: number;
    turn_id?: string;
  };
  capture: {
    session?: string;
    turn_id?: string;
  };
  paste: {
    force?: boolean;
    raw?: boolean;
    session: string;
    verbatim?: boolean;
  };
  relay: {
    force?: boolean;
    from: string;
    prefix?: string;
    raw?: boolean;
    submit?: boolean;
    template?: string;
    to: string;
    verbatim?: boolean;
  };
  ask: {
    force?: boolean;
    session: string;
    text: string;
    timeout_ms?: number;
  };
  explain: {
    session: string;
  };
  events: {
    sessions?: string[];
    since?: string;
  };
  hook: {
    session: string;
    state: HookState;
  };
  approvals: {};
  approval: {
    ack?: boolean;
    always?: boolean;
    approval: string;
    approved?: boolean;
    option?: string;
  };
  history: {
    limit?: number;
    offset?: number;
    prompts?: boolean;
    search?: string;
    workspace?: string;
  };
  conversation: {
    cursor?: string;
    session: string;
  };
  forget: {
    session: string;
  };
  workspaces: {};
  workspace: {
    agent?: string;
    context_dirs?: string[];
    forget?: boolean;
    path: string;
    umask?: number;
    worktree?: string;
  };
  agents: {};
  chat: {};
  token: {
    expires?: number;
    label?: string;
    role?: Role;
    session?: string;
    workspace?: string;
  };
  tokens: {};
  revoke: {
    token: string;
  };
  whoami: {};
  filter: {
    on?: boolean;
    session: string;
  };
  mute: {
    off?: boolean;
    seconds?: number;
    session: string;
  };
  notifications: {};
  notify_test: {};
  cancel: {
    request: number | string;
  };
}

/** What each operation replies. */
export interface Replies {
  create: Created;
  attach: Attached;
  shell: Attached;
  ls: LsReply;
  kill: OkReply;
  serve: ServeReply;
  tunnel: TunnelReply;
  tunnel_answer: OkReply;
  tunnel_revoke: OkReply;
  tunnels: TunnelsReply;
  shutdown: OkReply;
  detach: OkReply;
  sessionls: SessionLsReply;
  sessionkill: OkReply;
  logs: LogsReply;
  restart: RestartReply;
  send: SendReply;
  status: StatusReply;
  upgrade: OkReply;
  screen: ScreenReply;
  wait: WaitReply;
  keys: KeysReply;
  turns: TurnsReply;
  turn: TurnReply;
  capture: CaptureReply;
  paste: OkReply;
  relay: RelayReply;
  ask: AskReply;
  explain: ExplainReply;
  events: EventsReply;
  hook: OkReply;
  approvals: ApprovalsReply;
  approval: ApprovalReply;
  history: HistoryReply;
  conversation: ConversationReply;
  forget: OkReply;
  workspaces: WorkspacesReply;
  workspace: WorkspaceReply;
  agents: AgentsReply;
  chat: OkReply;
  token: TokenReply;
  tokens: TokensReply;
  revoke: OkReply;
  whoami: WhoamiReply;
  filter: FilterReply;
  mute: MuteReply;
  notifications: NotificationsReply;
  notify_test: NotifyTestReply;
  cancel: OkReply;
}
