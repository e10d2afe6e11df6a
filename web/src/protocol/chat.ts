/** Messages of the scriptschnell protocol that the conversation view sends and reads (docs/protocols/scriptschnell.md). */

export interface ChatEnvelope {
  type: string;
  request_id?: string;
  data?: Record<string, unknown>;
  timestamp?: string;
  error?: { code: string; message: string; details?: unknown };
}

export interface ChatOption {
  id: string;
  label: string;
  kind?: string;
}

export interface ChatQuestion {
  question: string;
  options?: (string | ChatOption)[];
}

/**
 * What this client can read: several questions as a list, and messages that report that another client has decided,
 * or that the session's owner has changed.
 */
export const CAPABILITIES = ['questions', 'settled', 'seats'] as const;

/** Reads one message, or returns null if it is no envelope. */
export function readEnvelope(text: string): ChatEnvelope | null {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null) return null;
    return typeof (value as ChatEnvelope).type === 'string' ? (value as ChatEnvelope) : null;
  } catch {
    return null;
  }
}
