import type { ApprovalItem, ConversationItem, SessionItem } from '../protocol/control';

/** Conversations that no client has open stay in the list this long; the palette reaches older ones. */
const LISTED_MS = 24 * 3600 * 1000;

/** Whether a session is a conversation with an agent that has no terminal. */
export function isConversation(session: SessionItem): boolean {
  return session.origin === 'chat' && session.ptys.length === 0;
}

/**
 * The sessions and, as further ones without terminals, the conversations with agents that have none: to a person both
 * are agents in a directory. A conversation about a terminal is a view of that session, and no item of its own.
 */
export function withConversations(
  sessions: readonly SessionItem[],
  conversations: readonly ConversationItem[],
  approvals: readonly ApprovalItem[],
  now: number,
  isOpen: (name: string) => boolean = () => false,
): SessionItem[] {
  const terminals = new Set(sessions.map((session) => session.name));
  const asking = new Map(approvals.map((approval) => [approval.session, approval.asked_at]));
  const others = conversations
    .filter((item) => !terminals.has(item.session) && (item.live || now - item.updated < LISTED_MS || isOpen(item.session)))
    .map((item) => conversationSession(item, asking.get(item.session) ?? item.asking_since));
  return [...sessions, ...others];
}

/** A conversation as an item of the list; `askedAt` is when it began to wait for a decision. */
export function conversationSession(item: ConversationItem, askedAt: number | undefined = item.asking_since): SessionItem {
  return {
    name: item.session,
    workspace: item.workspace,
    pid: 0,
    created: Math.floor(item.created / 1000),
    ptys: [],
    web_clients: 0,
    local_clients: 0,
    status: 'running',
    origin: 'chat',
    title: item.title,
    agent: {
      state: askedAt !== undefined ? 'asking' : item.running ? 'working' : 'ready',
      since: askedAt ?? item.updated,
      ...(item.agent === undefined ? {} : { profile: item.agent }),
    },
  };
}
