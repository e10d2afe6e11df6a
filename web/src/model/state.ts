import type { ConnectionState } from '../client/control';
import { EMPTY_LAYOUT, type Layout } from '../layout/tree';
import type { AgentItem, ApprovalItem, ConversationItem, Identity, SessionItem, WorkspaceItem } from '../protocol/control';

export type Overlay =
  | { kind: 'palette' }
  | { kind: 'help' }
  | { kind: 'new-session'; workspace: string; command?: string; name?: string }
  | { kind: 'kill'; session: string; pty: number | null }
  | { kind: 'restart'; session: string }
  | { kind: 'relay'; from: string };

export interface Notice {
  id: number;
  kind: 'info' | 'error';
  text: string;
}

export interface AppState {
  connection: ConnectionState;
  /** False until the first connection; a first connection that takes long needs other words than a lost one. */
  wasConnected: boolean;
  me: Identity | null;
  /** Null until the first list. Conversations without a terminal are among them (see `withConversations`). */
  sessions: SessionItem[] | null;
  /** The newest conversations, also those that are too old for the list. */
  conversations: ConversationItem[];
  /** Last line of the screen of each session. */
  previews: ReadonlyMap<string, string>;
  approvals: ApprovalItem[];
  agents: AgentItem[];
  workspaces: WorkspaceItem[];
  layout: Layout;
  overlay: Overlay | null;
  inbox: boolean;
  drawer: boolean;
  sidebar: boolean;
  notices: Notice[];
  /** The window is too narrow for panes beside each other. */
  phone: boolean;
  /** Sessions whose terminals are attached without input, by choice. */
  watching: ReadonlyMap<string, boolean>;
  notifications: boolean;
  fontSize: number;
}

export const INITIAL_STATE: AppState = {
  connection: 'connecting',
  wasConnected: false,
  me: null,
  sessions: null,
  conversations: [],
  previews: new Map(),
  approvals: [],
  agents: [],
  workspaces: [],
  layout: EMPTY_LAYOUT,
  overlay: null,
  inbox: false,
  drawer: false,
  sidebar: true,
  notices: [],
  phone: false,
  watching: new Map(),
  notifications: false,
  fontSize: 13,
};
