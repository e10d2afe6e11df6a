import { useEffect, useState } from 'react';
import { EMPTY_TRANSCRIPT, fromHistory, type Transcript } from '../chat/transcript';
import { ChatClient } from '../client/chat';
import { isTooLarge } from '../protocol/control';
import { useApp, useAppState } from './context';

interface View {
  transcript: Transcript;
  state: 'connecting' | 'open' | 'failed';
  failure: string;
  /** Null for those who may only read. */
  client: ChatClient | null;
}

const NOTHING: Omit<View, 'client'> = { transcript: EMPTY_TRANSCRIPT, state: 'connecting', failure: '' };

/** The conversation of a session: with a connection of its own for owners, else as the record that everyone may read. */
export function useConversation(session: string): View {
  const live = useApp().may('chat');
  const owned = useLiveConversation(session, live);
  const read = useRecord(session, !live);
  return live ? owned : read;
}

/** Chunks arrive faster than they need to be drawn: at most one change per frame reaches React. */
function useLiveConversation(session: string, enabled: boolean): View {
  const app = useApp();
  const [view, setView] = useState(NOTHING);
  const [client, setClient] = useState<ChatClient | null>(null);
  useEffect(() => {
    if (!enabled) return;
    let frame = 0;
    const created = new ChatClient(
      app.transport,
      session,
      (name, cursor) => app.control.request('conversation', { session: name, ...(cursor ? { cursor } : {}) }),
      (transcript, state, failure) => {
        cancelAnimationFrame(frame);
        frame = requestAnimationFrame(() => setView({ transcript, state, failure }));
      },
    );
    setClient(created);
    return () => {
      cancelAnimationFrame(frame);
      created.close();
    };
  }, [app, session, enabled]);
  return { ...view, client };
}

function useRecord(session: string, enabled: boolean): View {
  const app = useApp();
  const [view, setView] = useState(NOTHING);
  const agent = useAppState((state) => state.sessions?.find((item) => item.name === session)?.agent);
  const connected = useAppState((state) => state.connection === 'open');
  // Every change of a conversation changes its session's state, or when that began.
  useEffect(() => {
    if (!enabled || !connected) return;
    let current = true;
    const running = agent?.state === 'working';
    app.control.request('conversation', { session }).then(
      ({ messages }) => current && setView({ transcript: { ...fromHistory(messages, false), running }, state: 'open', failure: '' }),
      // A terminal that no conversation was held with has no record.
      (error: unknown) => current && setView(isTooLarge(error) ? { ...NOTHING, state: 'failed', failure: 'It is too long for a tunnel.' } : { ...NOTHING, state: 'open' }),
    );
    return () => {
      current = false;
    };
  }, [app, session, enabled, connected, agent?.since, agent?.state]);
  return { ...view, client: null };
}
