/**
 * The part of the control protocol that the page uses (docs/protocols/control.md). Types only: nothing here is checked
 * at run time, so code that reads optional or foreign fields has to expect their absence.
 */

export type Role = 'owner' | 'drive' | 'approve' | 'prompt' | 'watch';
export type AgentState = 'starting' | 'working' | 'ready' | 'asking' | 'error' | 'exited' | 'unknown';
export type SessionStatus = 'starting' | 'running' | 'restarting' | 'exited';

export interface Identity {
  role: Role;
  session: string | null;
  workspace: string | null;
  label: string | null;
  machine: string;
  version: string;
}

export interface PtyItem {
  id: number;
  role: 'agent' | 'shell';
  command: string;
  pid?: number;
}

export interface SessionItem {
  name: string;
  workspace: string;
  pid: number;
  /** Unix seconds, unlike every other time. */
  created: number;
  ptys: PtyItem[];
  web_clients: number;
  local_clients: number;
  argv?: string[];
  status?: SessionStatus;
  exit_code?: number | null;
  cols?: number;
  rows?: number;
  clients?: number;
  origin?: 'chat' | 'coop' | 'run';
  offset?: number;
  agent?: { state: AgentState; since: number; signal?: string; profile?: string };
  /** What a conversation is about; set by the page, only for conversations that have no terminal. */
  title?: string;
}

/** A conversation as `history` lists it. */
export interface ConversationItem {
  session: string;
  title: string;
  workspace: string;
  messages: number;
  created: number;
  updated: number;
  live: boolean;
  running: boolean;
  agent?: string;
}

export interface TurnItem {
  turn_id: string;
  timestamp: number;
  byte_length: number;
  interrupted: boolean;
  truncated: boolean;
  source?: string;
}

export interface Turn {
  turn_id: string;
  session: string;
  timestamp: number;
  interrupted: boolean;
  truncated: boolean;
  source?: string;
  text?: string;
  text_length?: number;
  cut?: boolean;
}

export interface ChoiceItem {
  id: string;
  label: string;
  kind: string;
}

export interface ApprovalItem {
  id: string;
  session: string;
  kind: 'chat' | 'terminal' | string;
  workspace: string;
  tool: string;
  parameters?: unknown;
  cut?: boolean;
  reason: string;
  options?: ChoiceItem[];
  asked_at: number;
  seen?: boolean;
}

export interface AgentItem {
  name: string;
  kind: string;
  detail: string;
}

export interface WorkspaceItem {
  path: string;
  name: string;
  agent?: string;
  current_branch?: string;
  sessions: number;
}

export interface ConversationPart {
  type: 'text' | 'thought' | 'tool' | 'attachment' | string;
  text?: string;
  name?: string;
  description?: string;
  parameters?: unknown;
  status?: string;
  output?: string;
  cut?: boolean;
  mime_type?: string;
}

export interface ConversationMessage {
  number: number;
  role: string;
  at: number;
  ending?: 'complete' | 'failed' | 'interrupted' | 'stopped';
  error?: string;
  parts: ConversationPart[];
  continued?: boolean;
  part_continued?: boolean;
}

export interface ControlEvent {
  cursor?: string | number;
  at?: number;
  session?: string;
  event: string;
  pty?: number;
  code?: number;
  state?: AgentState;
  signal?: string;
  turn_id?: string;
}

export interface AskReply {
  met: 'turn' | 'asking' | 'timeout' | 'ready';
  detail?: string;
  turn_id?: string;
  text?: string;
}

/** What each operation replies with, beside `ok`. */
export interface Replies {
  whoami: Identity;
  ls: { sessions: SessionItem[] };
  create: { session?: string; name?: string; pid: number };
  kill: object;
  restart: { pid: number; pty: number };
  shell: { pty: number };
  sessionkill: object;
  screen: { offset: number; cols: number; rows: number; data: string };
  keys: { bytes: number };
  send: object;
  turns: { session: string; turns: TurnItem[] };
  turn: Turn;
  relay: { turn_id: string; bytes: number; warning?: string };
  ask: AskReply;
  approvals: { approvals: ApprovalItem[]; more: boolean };
  approval: { approval: ApprovalItem };
  agents: { agents: AgentItem[] };
  workspaces: { workspaces: WorkspaceItem[]; more: boolean };
  history: { conversations: ConversationItem[]; more: boolean };
  forget: object;
  conversation: { messages: ConversationMessage[]; next?: string };
  filter: { on: boolean };
  status: { daemon: { pid: number; restarts: number; version: string }; warnings: string[] };
  cancel: object;
}

export type OperationName = keyof Replies;

/** An error that the daemon reports; `code` is from the protocol's list. */
export class OperationError extends Error {
  override name = 'OperationError';
  constructor(
    readonly code: string,
    message: string,
    readonly hint?: string,
  ) {
    super(message);
  }
}
