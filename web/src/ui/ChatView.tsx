import { memo } from 'react';
import type { Entry } from '../chat/transcript';
import type { ChatClient } from '../client/chat';
import { isConversation } from '../model/conversations';
import { stateOf } from '../model/sessions';
import { ApprovalCard, QuestionCard, ToolCard } from './ChatCards';
import { Composer } from './Composer';
import { useAppState } from './context';
import { useConversation } from './conversation';
import { EmptyState, IconButton } from './controls';
import { defaultOption } from './Decision';
import { useFollow } from './follow';
import { Icon } from './Icon';
import { Markdown } from './Markdown';

/** A program that no profile fits stays in this state for ever: it must not look as if it worked. */
const UNRECOGNISED = 'Waiting until the program is ready for input. Not every program is recognised: if nothing happens, use its terminal.';

interface EntryProps {
  entry: Entry;
  client: ChatClient | null;
  owner: boolean;
  plain: boolean;
}

const EntryView = memo(function EntryView({ entry, client, owner, plain }: EntryProps) {
  switch (entry.kind) {
    case 'user':
      return <div className="message message-user">{entry.text}</div>;
    case 'assistant':
      return <div className="message">{plain ? <pre className="turn-text">{entry.text}</pre> : <Markdown text={entry.text} />}</div>;
    case 'thought':
      return (
        <details className="thought">
          <summary>
            <Icon name="chevron" />
            Thought
          </summary>
          <p>{entry.text}</p>
        </details>
      );
    case 'tool':
      return <ToolCard tool={entry} />;
    case 'approval':
      return <ApprovalCard entry={entry} client={client} owner={owner} />;
    case 'question':
      return <QuestionCard entry={entry} client={client} owner={owner} />;
    case 'note':
      return <p className={entry.error ? 'failure' : 'muted'}>{entry.text}</p>;
  }
});

export function ChatView({ session }: { session: string }) {
  const { transcript, state, failure, client } = useConversation(session);
  const { scroll, content, toEnd } = useFollow();
  const { entries, running, owner, plain, status } = transcript;
  const waits = entries.some((entry) => (entry.kind === 'approval' && entry.outcome === null) || (entry.kind === 'question' && !entry.settled));

  const unrecognised = useAppState((value) => {
    const item = value.sessions?.find((candidate) => candidate.name === session);
    return item !== undefined && !isConversation(item) && ['starting', 'unknown'].includes(stateOf(item));
  });
  return (
    <div className="reader">
      <div
        className="reader-scroll"
        ref={scroll}
        tabIndex={0}
        role="log"
        aria-label={`Conversation with ${session}`}
        aria-busy={running}
        onKeyDown={(event) => {
          if (event.ctrlKey || event.altKey || event.metaKey || (event.target as HTMLElement).matches('input, textarea')) return;
          const waiting = entries.findLast((entry) => entry.kind === 'approval' && entry.outcome === null);
          if (!owner || waiting?.kind !== 'approval' || (event.key !== 'y' && event.key !== 'n')) return;
          client?.decide(waiting.id, event.key === 'y', defaultOption(waiting.options, event.key === 'y')?.id);
          event.preventDefault();
        }}
      >
        <div className="reader-column" ref={content}>
          {state === 'connecting' && entries.length === 0 ? <p className="loading">Loading the conversation…</p> : null}
          {state === 'failed' ? <EmptyState title="The conversation cannot be opened"><p>{failure}</p></EmptyState> : null}
          {state === 'open' && entries.length === 0 ? (
            <EmptyState title="No messages yet">{client ? <p>Write the first one below.</p> : <p>What is written in this conversation appears here.</p>}</EmptyState>
          ) : null}
          {entries.map((entry) => (
            <EntryView key={entry.key} entry={entry} client={client} owner={owner} plain={plain} />
          ))}
          {running ? (
            <p className="working" role="status">
              <span className={waits ? 'dot dot-asking' : unrecognised ? 'dot dot-unknown' : 'dot dot-working'} aria-hidden="true" />
              {waits ? 'Waiting for your decision' : status || (unrecognised ? UNRECOGNISED : 'Working')}
            </p>
          ) : null}
        </div>
      </div>
      {client ? (
        <div className="reader-composer">
          {state === 'open' && !owner ? (
            <div className="observer">
              <span className="muted">Another client holds this conversation; you are observing.</span>
              <button type="button" className="button" onClick={() => client.takeOver()}>
                Take over
              </button>
            </div>
          ) : (
            <Composer
              label={`Message to ${session}`}
              placeholder={running ? 'Write the next message' : `Message ${session}`}
              disabled={state !== 'open' || running}
              action={running ? <IconButton icon="stop" label="Stop the answer" onClick={() => client.stop()} /> : undefined}
              onEscape={running ? () => client.stop() : undefined}
              onSend={(text) => {
                toEnd();
                return client.prompt(text);
              }}
            />
          )}
        </div>
      ) : null}
    </div>
  );
}
