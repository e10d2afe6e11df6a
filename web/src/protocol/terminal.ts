/** Text messages of the terminal's WebSocket. Bytes travel in binary messages beside them. */

import type { ClientMessage, ServerMessage } from './generated';

export type { ServerMessage };
export type ResizeMessage = Extract<ClientMessage, { type: 'resize' }>;

const NUMBERS = new Map<unknown, readonly string[]>([
  ['attached', ['offset', 'cols', 'rows']],
  ['repaint', ['offset', 'bytes']],
  ['resized', ['cols', 'rows']],
  ['lagged', ['offset']],
  ['exited', ['code']],
]);

/**
 * Reads a message, or returns null for one that this page does not know: a newer daemon may send further types.
 */
export function readServerMessage(text: string): ServerMessage | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null) return null;
  const message = value as Record<string, unknown>;
  if (message['type'] === 'notice') {
    return typeof message['text'] === 'string' ? { type: 'notice', text: message['text'] } : null;
  }
  const fields = NUMBERS.get(message['type']);
  if (!fields || !fields.every((field) => Number.isSafeInteger(message[field]))) return null;
  return message as unknown as ServerMessage;
}
