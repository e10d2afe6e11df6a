import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { stubBrowser } from '../transport/fake-socket';
import type { ChannelHandlers, Transport } from '../transport/transport';
import { ChatClient } from './chat';

let handlers: ChannelHandlers;
let sent: { type: string; request_id: string }[];
let client: ChatClient;

const receive = (message: object) => handlers.text(JSON.stringify(message));
const settle = () => new Promise((resolve) => setTimeout(resolve));

beforeEach(async () => {
  stubBrowser();
  sent = [];
  const transport: Transport = {
    open: (_, given) => {
      handlers = given;
      return { sendText: (text) => void sent.push(JSON.parse(text) as { type: string; request_id: string }), sendBinary: () => {}, close: () => {} };
    },
    probe: async () => 'reachable',
  };
  client = new ChatClient(transport, 'talk', async () => ({ messages: [] }), () => {});
  handlers.open();
  receive({ type: 'auth_response', request_id: '1', data: {} });
  receive({ type: 'session_load', request_id: '2', data: { owner: true, messages: [] } });
  await settle();
});

afterEach(() => {
  client.close();
  vi.unstubAllGlobals();
});

const lastRequest = () => sent.at(-1)?.request_id;

it('says that a prompt was refused, so that its text is not lost', async () => {
  const taken = client.prompt('exit');
  receive({ type: 'error', request_id: lastRequest(), error: { code: 'OPERATION_NOT_ALLOWED', message: 'it could end the agent' } });
  expect(await taken).toBe(false);
});

it('takes a prompt once it is part of the conversation, whatever becomes of the answer', async () => {
  const taken = client.prompt('hello');
  const request = lastRequest();
  receive({ type: 'chat_message', data: { role: 'user', content: 'hello', stream_id: 's' } });
  receive({ type: 'error', request_id: request, error: { code: 'X', message: 'the agent failed' } });
  expect(await taken).toBe(true);
});

it('leaves it to the record whether a prompt arrived when the connection was lost', async () => {
  const taken = client.prompt('hello');
  handlers.closed();
  expect(await taken).toBe(true);
});
