import { describe, expect, it } from 'vitest';
import type { ConversationMessage } from '../protocol/control';
import { EMPTY_TRANSCRIPT, type Entry, fromHistory, receive, settleApproval, type Transcript } from './transcript';

const message = (type: string, data: Record<string, unknown>) => ({ type, data });
const chunk = (role: string, content: string, index: number, final = false) => message('chat_message', { role, content, stream_id: `s-${role}`, chunk_index: index, is_final: final });

function after(...messages: ReturnType<typeof message>[]): Transcript {
  return messages.reduce(receive, EMPTY_TRANSCRIPT);
}

const shape = (entries: Entry[]) => entries.map((entry) => ('text' in entry ? [entry.kind, entry.text] : [entry.kind]));

describe('transcript', () => {
  it('joins the chunks of an answer', () => {
    const { entries, running } = after(chunk('user', 'hello', 0), chunk('assistant', 'hi', 0), chunk('assistant', ' there', 1));
    expect(shape(entries)).toEqual([['user', 'hello'], ['assistant', 'hi there']]);
    expect(running).toBe(true);
  });

  it('ends with the final chunk', () => {
    expect(after(chunk('user', 'a', 0), chunk('assistant', '', 0, true))).toMatchObject({ running: false, entries: [{ kind: 'user' }] });
  });

  it('keeps tools between the texts around them', () => {
    const { entries } = after(
      chunk('assistant', 'before', 0),
      message('tool_call', { tool_id: 't', tool_name: 'Bash', parameters: { command: 'ls' } }),
      message('progress', { tool_id: 't', message: 'a\n' }),
      message('tool_result', { tool_id: 't', result: 'a\nb', status: 'completed' }),
      chunk('assistant', 'after', 1),
    );
    expect(entries.map((entry) => entry.kind)).toEqual(['assistant', 'tool', 'assistant']);
    expect(entries[1]).toMatchObject({ status: 'completed', output: 'a\nb' });
  });

  it('shows an approval once and how it was settled', () => {
    const request = message('authorization_request', { auth_id: 'x', tool_name: 'Write', parameters: {}, reason: '' });
    const asked = after(request, request);
    expect(asked.entries).toHaveLength(1);
    expect(settleApproval(asked, 'x', 'Allowed').entries[0]).toMatchObject({ outcome: 'Allowed' });
    expect(receive(asked, message('authorization_settled', { auth_id: 'x', approved: null })).entries[0]).toMatchObject({ outcome: 'Settled elsewhere' });
  });

  it('reads one question and several', () => {
    const one = after(message('question_request', { question_id: 'q', question: 'Which?', multi_mode: false, options: ['a', 'b'] }));
    expect(one.entries[0]).toMatchObject({ single: true, questions: [{ key: 'answer', question: 'Which?', options: [{ id: 'a' }, { id: 'b' }] }] });
    const two = after(message('question_request', { question_id: 'q', multi_mode: true, questions: [{ question: 'A', options: ['1'] }, { question: 'B' }] }));
    expect(two.entries[0]).toMatchObject({ single: false, questions: [{ key: 'q_1' }, { key: 'q_2', options: [] }] });
  });

  it('leaves out of the record what the daemon sends again', () => {
    const record: ConversationMessage[] = [
      { number: 1, role: 'user', at: 0, ending: 'complete', parts: [{ type: 'text', text: 'hello' }] },
      { number: 2, role: 'assistant', at: 0, ending: 'complete', parts: [{ type: 'text', text: 'half an ans' }] },
    ];
    expect(shape(fromHistory(record, true).entries)).toEqual([['user', 'hello']]);
    expect(shape(fromHistory(record, false).entries)).toHaveLength(2);
  });

  it('ignores messages it does not know', () => {
    expect(after(message('something_new', { a: 1 }))).toEqual(EMPTY_TRANSCRIPT);
  });
});
