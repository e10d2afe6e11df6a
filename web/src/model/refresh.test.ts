import { afterEach, expect, it, vi } from 'vitest';
import type { ControlClient } from '../client/control';
import { OperationError } from '../protocol/control';
import { Refresher } from './refresh';
import { INITIAL_STATE } from './state';
import { Store } from './store';

const SESSION = { name: 'api', workspace: '/w', pid: 7, created: 1, ptys: [], web_clients: 0, local_clients: 0 };

afterEach(() => vi.unstubAllGlobals());

it('lists less where a reply is too long for the transport', async () => {
  vi.stubGlobal('document', { addEventListener: () => {}, visibilityState: 'hidden' });
  const requests: string[] = [];
  const request = async (cmd: string, fields: object = {}) => {
    requests.push(`${cmd} ${JSON.stringify(fields)}`);
    if (cmd === 'ls' && !('all' in fields)) return { ok: true, sessions: [SESSION] };
    if (cmd === 'history' && (fields as { limit: number }).limit <= 10) return { ok: true, conversations: [] };
    throw new OperationError('MESSAGE_TOO_LARGE', 'ask for less');
  };
  const store = new Store(INITIAL_STATE);
  await new Refresher({ request } as unknown as ControlClient, store, () => {}).run();
  expect(store.get().sessions?.map(({ name }) => name)).toEqual(['api']);
  expect(requests).toEqual(['ls {"details":true,"all":true}', 'approvals {}', 'history {"limit":50}', 'ls {"details":true}', 'history {"limit":10}']);
});

it('lists nothing after any other error', async () => {
  vi.stubGlobal('document', { addEventListener: () => {}, visibilityState: 'hidden' });
  const request = async () => {
    throw new OperationError('INTERNAL_ERROR', 'no');
  };
  const store = new Store(INITIAL_STATE);
  await new Refresher({ request } as unknown as ControlClient, store, () => {}).run();
  expect(store.get().sessions).toBeNull();
});
