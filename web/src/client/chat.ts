import { addNote, EMPTY_TRANSCRIPT, fromHistory, receive, settleApproval, settleQuestion, type Transcript } from '../chat/transcript';
import { CAPABILITIES, type ChatEnvelope, readEnvelope } from '../protocol/chat';
import type { ConversationMessage } from '../protocol/control';
import { ReconnectingChannel } from '../transport/reconnecting';
import type { Transport } from '../transport/transport';

/** Pages of old messages that are read at most; each has up to a mebibyte. */
const HISTORY_PAGES = 4;

export type History = (session: string, cursor: string | null) => Promise<{ messages: ConversationMessage[]; next?: string | null }>;

/** One conversation over a connection of its own; after a loss it attaches again and reads the messages anew. */
export class ChatClient {
  private transcript: Transcript = EMPTY_TRANSCRIPT;
  private readonly channel: ReconnectingChannel;
  private nextRequest = 1;
  private attachRequest = '';
  /** The last prompt, until it is part of the conversation. */
  private sent: { request: string; settle(taken: boolean): void } | null = null;
  /** Events that arrive while the history is being read. */
  private early: ChatEnvelope[] | null = null;

  constructor(
    transport: Transport,
    private readonly session: string,
    private readonly history: History,
    private readonly onChange: (transcript: Transcript, state: 'connecting' | 'open' | 'failed', failure: string) => void,
  ) {
    this.channel = new ReconnectingChannel(transport, {
      request: () => ({ kind: 'chat' }),
      open: () => this.send('auth_request', { client_type: 'web', version: '1.0.0', capabilities: [...CAPABILITIES] }),
      text: (message) => this.receive(message),
      lost: () => {
        // Whether it arrived shows in the messages that are read next.
        this.settlePrompt(true);
        this.onChange(this.transcript, 'connecting', '');
      },
      signedOut: () => this.onChange(this.transcript, 'failed', 'You are signed out'),
    });
  }

  /** Sends a prompt; resolves to false if the daemon refuses it, to true once it is part of the conversation. */
  prompt(content: string): Promise<boolean> {
    this.settlePrompt(true);
    return new Promise((resolve) => (this.sent = { request: this.send('chat_send', { content }), settle: resolve }));
  }

  stop(): void {
    this.send('chat_stop', {});
  }

  takeOver(): void {
    this.attachRequest = this.send('session_attach', { session_id: this.session, takeover: true });
  }

  decide(id: string, approved: boolean | undefined, option?: string): void {
    // JSON leaves out what is undefined.
    this.send('authorization_response', { auth_id: id, approved, option });
    this.update(settleApproval(this.transcript, id, approved === false ? 'Denied' : approved ? 'Allowed' : 'Answered'));
  }

  acknowledge(id: string): void {
    this.send('authorization_ack', { auth_id: id });
  }

  answer(id: string, answers: Record<string, string>, single: boolean): void {
    this.send('question_response', { question_id: id, ...(single ? { answer: answers['answer'] ?? '' } : { answers_map: answers }) });
    this.update(settleQuestion(this.transcript, id));
  }

  close(): void {
    this.channel.close();
  }

  private send(type: string, data: object): string {
    const request = String(this.nextRequest++);
    this.channel.sendText(JSON.stringify({ type, request_id: request, data }));
    return request;
  }

  private settlePrompt(taken: boolean): void {
    this.sent?.settle(taken);
    this.sent = null;
  }

  private update(transcript: Transcript): void {
    this.transcript = transcript;
    this.onChange(transcript, 'open', '');
  }

  private receive(text: string): void {
    const message = readEnvelope(text);
    if (!message) return;
    if (message.type === 'auth_response') {
      this.early = [];
      this.attachRequest = this.send('session_load', { session_id: this.session });
    } else if (message.type === 'ping') this.send('pong', {});
    else if (message.type === 'error') this.failed(message);
    else if (message.request_id === this.attachRequest && message.data) void this.attached(message.data, message.type === 'session_load');
    else if (this.early) this.early.push(message);
    else {
      if (message.type === 'chat_message') this.settlePrompt(true);
      this.update(receive(this.transcript, message));
    }
  }

  private failed(message: ChatEnvelope): void {
    const reason = message.error?.message ?? 'unknown error';
    if (message.request_id === this.attachRequest) {
      this.onChange(this.transcript, 'failed', reason);
      return;
    }
    if (this.sent && message.request_id === this.sent.request) this.settlePrompt(false);
    this.update({ ...addNote(this.transcript, reason, true), running: false });
  }

  private async attached(data: Record<string, unknown>, load: boolean): Promise<void> {
    const owner = data['owner'] === true;
    const running = data['running'] === true;
    if (!load) {
      this.update({ ...this.transcript, owner, running });
      return;
    }
    let transcript = fromHistory(await this.messages(data['messages']), running);
    transcript = { ...transcript, owner, running, plain: data['terminal'] === true };
    for (const message of this.early ?? []) transcript = receive(transcript, message);
    this.early = null;
    this.update(transcript);
  }

  /** The record with tools and thoughts; without one, the plain messages of the attach reply. */
  private async messages(plain: unknown): Promise<ConversationMessage[]> {
    const messages: ConversationMessage[] = [];
    try {
      let cursor: string | null = null;
      for (let page = 0; page < HISTORY_PAGES; page += 1) {
        const reply: Awaited<ReturnType<History>> = await this.history(this.session, cursor);
        for (const message of reply.messages) joinPages(messages, message);
        if (!reply.next) break;
        cursor = reply.next;
      }
    } catch {
      // A terminal that no conversation was held with has no record.
    }
    if (messages.length > 0 || !Array.isArray(plain)) return messages;
    return (plain as { role: string; content: string; timestamp?: string }[]).map((message, number) => ({
      number,
      role: message.role,
      at: Date.parse(message.timestamp ?? '') || 0,
      ending: 'complete',
      parts: [{ type: 'text', text: message.content }],
    }));
  }
}

/** A message that did not fit on a page continues on the next one. */
function joinPages(messages: ConversationMessage[], next: ConversationMessage): void {
  const last = messages.at(-1);
  if (!last || last.number !== next.number) {
    messages.push(next);
    return;
  }
  const [first, ...others] = next.parts;
  const open = last.parts.at(-1);
  if (next.part_continued && first && open) {
    if ('text' in open && 'text' in first) open.text += first.text;
    if ('output' in open && 'output' in first) open.output += first.output;
    last.parts.push(...others);
  } else last.parts.push(...next.parts);
  if (next.ending) last.ending = next.ending;
}
