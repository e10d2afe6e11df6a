import type { ChatEnvelope, ChatOption, ChatQuestion } from '../protocol/chat';
import type { ConversationMessage } from '../protocol/control';

/** What a conversation shows, in order. Keys are unique within a transcript and never change. */
export type Entry =
  | { kind: 'user'; key: string; text: string; stream: string }
  | { kind: 'assistant'; key: string; text: string; stream: string }
  | { kind: 'thought'; key: string; text: string }
  | ToolEntry
  | ApprovalEntry
  | QuestionEntry
  | { kind: 'note'; key: string; text: string; error: boolean };

export interface ToolEntry {
  kind: 'tool';
  key: string;
  id: string;
  name: string;
  description: string;
  parameters: unknown;
  status: 'running' | 'completed' | 'failed';
  output: string;
}

export interface ApprovalEntry {
  kind: 'approval';
  key: string;
  id: string;
  tool: string;
  parameters: unknown;
  reason: string;
  options: ChatOption[];
  /** How it was settled, or null while it waits. */
  outcome: string | null;
}

export interface QuestionEntry {
  kind: 'question';
  key: string;
  id: string;
  /** By the key that the answer uses. */
  questions: { key: string; question: string; options: ChatOption[] }[];
  single: boolean;
  settled: boolean;
}

export interface Transcript {
  entries: Entry[];
  running: boolean;
  /** Whether this client may send; observers cannot. */
  owner: boolean;
  /** The answers are text from a terminal, not Markdown. */
  plain: boolean;
  /** What the agent reports to be doing. */
  status: string;
  nextKey: number;
}

export const EMPTY_TRANSCRIPT: Transcript = { entries: [], running: false, owner: false, plain: false, status: '', nextKey: 1 };

type Fields = Record<string, unknown>;
const text = (fields: Fields, name: string): string => (typeof fields[name] === 'string' ? (fields[name] as string) : '');

function shown(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '');
}

/** Omit over a union keeps only common fields; this one keeps each member. */
type WithoutKey<T> = T extends unknown ? Omit<T, 'key'> : never;

function add(transcript: Transcript, entry: WithoutKey<Entry>): Transcript {
  const keyed = { ...entry, key: String(transcript.nextKey) } as Entry;
  return { ...transcript, entries: [...transcript.entries, keyed], nextKey: transcript.nextKey + 1 };
}

function change(transcript: Transcript, matches: (entry: Entry) => boolean, update: (entry: Entry) => Entry): Transcript {
  const index = transcript.entries.findLastIndex(matches);
  if (index < 0) return transcript;
  return { ...transcript, entries: transcript.entries.with(index, update(transcript.entries[index] as Entry)) };
}

/** Adds text to the last entry if it is of this kind and stream, else begins a new one. */
function append(transcript: Transcript, kind: 'user' | 'assistant' | 'thought', piece: string, stream: string): Transcript {
  const last = transcript.entries.at(-1);
  if (last?.kind === kind && (last.kind === 'thought' || last.stream === stream)) {
    return { ...transcript, entries: transcript.entries.with(-1, { ...last, text: last.text + piece }) };
  }
  if (piece === '') return transcript;
  return add(transcript, kind === 'thought' ? { kind, text: piece } : { kind, text: piece, stream });
}

/** The messages so far, from the daemon's record of the conversation. */
export function fromHistory(messages: readonly ConversationMessage[], running: boolean): Transcript {
  let transcript = EMPTY_TRANSCRIPT;
  const complete = running ? withoutUnfinished(messages) : messages;
  for (const message of complete) {
    const stream = `history-${message.number}`;
    for (const part of message.parts) {
      if (part.type === 'text') transcript = append(transcript, message.role === 'user' ? 'user' : 'assistant', part.text ?? '', stream);
      else if (part.type === 'thought') transcript = append(transcript, 'thought', part.text ?? '', stream);
      else if (part.type === 'tool') {
        const status = part.status === 'failed' || part.status === 'error' ? 'failed' : 'completed';
        transcript = add(transcript, {
          kind: 'tool',
          id: `${stream}-${transcript.nextKey}`,
          name: part.name ?? 'tool',
          description: part.description ?? '',
          parameters: part.parameters,
          status,
          output: part.output ?? '',
        });
      } else if (part.type === 'attachment') transcript = add(transcript, { kind: 'note', text: `Attachment: ${part.name ?? part.mime_type ?? ''}`, error: false });
    }
    if (message.error) transcript = add(transcript, { kind: 'note', text: message.error, error: true });
    else if (message.ending && message.ending !== 'complete') transcript = add(transcript, { kind: 'note', text: `The answer was ${message.ending}`, error: false });
  }
  return transcript;
}

/** The daemon sends the answer that is being written again, from its beginning, to a client that attaches. */
function withoutUnfinished(messages: readonly ConversationMessage[]): readonly ConversationMessage[] {
  const lastUser = messages.findLastIndex((message) => message.role === 'user');
  return lastUser < 0 ? messages : messages.slice(0, lastUser + 1);
}

export function receive(transcript: Transcript, message: ChatEnvelope): Transcript {
  const data = message.data ?? {};
  switch (message.type) {
    case 'chat_message':
      return receiveChunk(transcript, data);
    case 'progress':
      return receiveProgress(transcript, data);
    case 'tool_call':
      return add(transcript, {
        kind: 'tool',
        id: text(data, 'tool_id'),
        name: text(data, 'tool_name'),
        description: text(data, 'description'),
        parameters: data['parameters'],
        status: 'running',
        output: '',
      });
    case 'tool_result':
      return change(
        transcript,
        (entry) => entry.kind === 'tool' && entry.id === text(data, 'tool_id'),
        (entry) => {
          if (entry.kind !== 'tool') return entry;
          const output = [shown(data['result']), shown(data['error'])].filter(Boolean).join('\n');
          return { ...entry, status: data['status'] === 'failed' ? 'failed' : 'completed', output: output || entry.output };
        },
      );
    case 'authorization_request':
      return receiveApproval(transcript, data);
    case 'authorization_settled':
      return settleApproval(transcript, text(data, 'auth_id'), data['approved'] === true ? 'Allowed' : data['approved'] === false ? 'Denied' : 'Settled elsewhere');
    case 'question_request':
      return receiveQuestion(transcript, data);
    case 'question_settled':
      return settleQuestion(transcript, text(data, 'question_id'));
    case 'session_seat':
      return { ...transcript, owner: data['owner'] === true };
    case 'chat_send':
      return { ...transcript, running: false, status: '' };
    case 'chat_clear':
      return { ...transcript, entries: [] };
    default:
      return transcript;
  }
}

function receiveChunk(transcript: Transcript, data: Fields): Transcript {
  const role = text(data, 'role');
  const stream = text(data, 'stream_id');
  if (role === 'user') {
    const changed = append(transcript, 'user', text(data, 'content'), stream);
    return { ...changed, running: true, status: '' };
  }
  const changed = append(transcript, 'assistant', text(data, 'content'), stream);
  return data['is_final'] === true ? { ...changed, running: false, status: '' } : { ...changed, running: true };
}

function receiveProgress(transcript: Transcript, data: Fields): Transcript {
  const message = text(data, 'message');
  const tool = text(data, 'tool_id');
  if (tool !== '') {
    return change(
      transcript,
      (entry) => entry.kind === 'tool' && entry.id === tool,
      (entry) => (entry.kind === 'tool' ? { ...entry, output: entry.output + message } : entry),
    );
  }
  const reasoning = text(data, 'reasoning');
  if (reasoning !== '') return append(transcript, 'thought', reasoning, '');
  return message === '' ? transcript : { ...transcript, status: message.trim() };
}

function receiveApproval(transcript: Transcript, data: Fields): Transcript {
  const id = text(data, 'auth_id');
  // A client that attaches again gets open requests again.
  if (transcript.entries.some((entry) => entry.kind === 'approval' && entry.id === id)) return transcript;
  return add(transcript, {
    kind: 'approval',
    id,
    tool: text(data, 'tool_name'),
    parameters: data['parameters'],
    reason: text(data, 'reason'),
    options: readOptions(data['options']),
    outcome: null,
  });
}

export function settleApproval(transcript: Transcript, id: string, outcome: string): Transcript {
  return change(
    transcript,
    (entry) => entry.kind === 'approval' && entry.id === id && entry.outcome === null,
    (entry) => (entry.kind === 'approval' ? { ...entry, outcome } : entry),
  );
}

export function settleQuestion(transcript: Transcript, id: string): Transcript {
  return change(
    transcript,
    (entry) => entry.kind === 'question' && entry.id === id,
    (entry) => (entry.kind === 'question' ? { ...entry, settled: true } : entry),
  );
}

function readOptions(value: unknown): ChatOption[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((option: unknown): ChatOption[] => {
    if (typeof option === 'string') return [{ id: option, label: option }];
    const fields = (option ?? {}) as Fields;
    const label = text(fields, 'label') || text(fields, 'id');
    return label ? [{ id: text(fields, 'id') || label, label, kind: text(fields, 'kind') }] : [];
  });
}

function receiveQuestion(transcript: Transcript, data: Fields): Transcript {
  const id = text(data, 'question_id');
  if (transcript.entries.some((entry) => entry.kind === 'question' && entry.id === id)) return transcript;
  const several = Array.isArray(data['questions']) ? (data['questions'] as ChatQuestion[]) : [];
  const single = data['multi_mode'] !== true || several.length === 0;
  const questions = single
    ? [{ key: 'answer', question: text(data, 'question'), options: readOptions(data['options']) }]
    : several.map((item, i) => ({ key: `q_${i + 1}`, question: item.question, options: readOptions(item.options) }));
  return add(transcript, { kind: 'question', id, questions, single, settled: false });
}

export function addNote(transcript: Transcript, note: string, error: boolean): Transcript {
  return add(transcript, { kind: 'note', text: note, error });
}
