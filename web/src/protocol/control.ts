/**
 * The part of the control protocol that the page uses (docs/protocols/control.md), in types that are generated from the
 * daemon's own. Nothing here is checked at run time, so code that reads optional fields has to expect their absence.
 */
import type { EventItem, Replies as AllReplies, SessionItem as Session } from './generated';

export type {
  AgentState,
  ApprovalItem,
  AskReply,
  ChatAgentItem as AgentItem,
  ChoiceItem,
  ConversationItem,
  MessageItem as ConversationMessage,
  PartItem as ConversationPart,
  PtyItem,
  Role,
  SessionStatus,
  TurnItem,
  TurnReply as Turn,
  WhoamiReply as Identity,
  WorkspaceItem,
} from './generated';

/** A session, or a conversation that has no terminal. */
export interface SessionItem extends Session {
  /** What a conversation is about; set by the page, only for conversations that have no terminal. */
  title?: string;
}

export type ControlEvent = EventItem;

/** What each operation replies. */
export type Replies = AllReplies;

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

/** Whether a reply was too long for the transport. */
export function isTooLarge(error: unknown): boolean {
  return error instanceof OperationError && error.code === 'MESSAGE_TOO_LARGE';
}
