import { readEnvelope } from '../protocol/chat';
import type { Transport } from '../transport/transport';

/** Starting an agent that has to be downloaded or signed in takes a while; longer than this is a failure. */
const TIMEOUT_MS = 60_000;

export interface NewConversation {
  directory: string;
  agent: string;
  /** Empty for a name that the daemon chooses. */
  name: string;
}

/**
 * Begins a conversation with an agent and returns its name. The channel is closed again: the conversation stays, and the
 * view that opens it becomes its owner.
 */
export function createConversation(transport: Transport, { directory, agent, name }: NewConversation): Promise<string> {
  return new Promise((resolve, reject) => {
    const channel = transport.open(
      { kind: 'chat' },
      {
        open: () => send('auth_request', { client_type: 'web', version: '1.0.0', capabilities: [] }),
        text: (text) => {
          const message = readEnvelope(text);
          if (message?.type === 'auth_response') send('session_create', { working_dir: directory, ...(name ? { session_id: name } : {}), options: { agent } });
          else if (message?.type === 'ping') send('pong', {});
          else if (message?.type === 'error') fail(message.error?.message ?? 'unknown error');
          else if (message?.type === 'session_create_response') {
            const id = message.data?.['session_id'];
            finish();
            if (typeof id === 'string') resolve(id);
            else reject(new Error('the daemon sent no name'));
          }
        },
        binary: () => {},
        closed: () => fail('the connection to the daemon was lost'),
      },
    );
    const timer = setTimeout(() => fail(`timed out waiting for ${agent}`), TIMEOUT_MS);
    let requests = 0;
    const send = (type: string, data: object) => channel.sendText(JSON.stringify({ type, request_id: `new-${(requests += 1)}`, data }));
    const finish = () => {
      clearTimeout(timer);
      channel.close();
    };
    const fail = (reason: string) => {
      finish();
      reject(new Error(reason));
    };
  });
}
