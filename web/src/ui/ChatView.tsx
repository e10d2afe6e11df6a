import { memo, useEffect, useState } from 'react';
import type { ApprovalEntry, Entry, QuestionEntry, ToolEntry } from '../chat/transcript';
import type { ChatClient } from '../client/chat';
import { Composer } from './Composer';
import { useApp } from './context';
import { useConversation } from './conversation';
import { EmptyState, IconButton } from './controls';
import { Decision, defaultOption } from './Decision';
import { useFollow } from './follow';
import { Icon } from './Icon';
import { Markdown } from './Markdown';
import { Presented } from './Presented';

const TOOL_STATES: Record<ToolEntry['status'], string> = { running: 'running', completed: 'done', failed: 'failed' };

/** A short text beside a tool's name, so that a folded tool still shows what it was about. */
function summary(tool: ToolEntry): string {
  if (tool.description) return tool.description;
  const values = Object.values((tool.parameters ?? {}) as Record<string, unknown>);
  return String(values.find((value) => typeof value === 'string') ?? '').split('\n')[0] ?? '';
}

const ToolCard = memo(function ToolCard({ tool }: { tool: ToolEntry }) {
  return (
    <details className="tool" data-status={tool.status}>
      <summary>
        <Icon name="chevron" />
        <span className="tool-name">{tool.name}</span>
        <span className="tool-summary">{summary(tool)}</span>
        <span className="tool-status">{TOOL_STATES[tool.status]}</span>
      </summary>
      <div className="tool-body">
        <Presented parameters={tool.parameters} />
        {tool.output ? (
          <pre className="presented-text" tabIndex={0} role="group" aria-label="Result">
            {tool.output}
          </pre>
        ) : null}
      </div>
    </details>
  );
});

function ApprovalCard({ entry, client, owner }: { entry: ApprovalEntry; client: ChatClient | null; owner: boolean }) {
  // The daemon denies a request after 30 seconds unless it knows that a person has it on the screen.
  useEffect(() => {
    if (entry.outcome === null && owner) client?.acknowledge(entry.id);
  }, [client, entry.id, entry.outcome, owner]);
  return (
    <section className="card" data-settled={entry.outcome !== null} aria-label={`Approval: ${entry.tool}`}>
      <header className="card-header">
        <span className="card-title">Allow {entry.tool}?</span>
        {entry.outcome ? <span className="muted">{entry.outcome}</span> : null}
      </header>
      <Presented parameters={entry.parameters} reason={entry.reason} />
      {entry.outcome === null ? <Decision options={entry.options} disabled={!owner} onDecide={(approved, option) => client?.decide(entry.id, approved, option)} /> : null}
    </section>
  );
}

function QuestionCard({ entry, client, owner }: { entry: QuestionEntry; client: ChatClient | null; owner: boolean }) {
  const [answers, setAnswers] = useState<Record<string, string>>({});
  const complete = entry.questions.every((question) => (answers[question.key] ?? '').trim() !== '');
  return (
    <form
      className="card"
      data-settled={entry.settled}
      aria-label="Question"
      onSubmit={(event) => {
        event.preventDefault();
        if (complete) client?.answer(entry.id, answers, entry.single);
      }}
    >
      {entry.questions.map((question) => (
        <fieldset key={question.key} className="question" disabled={entry.settled || !owner}>
          <legend className="card-title">{question.question}</legend>
          {question.options.map((option) => (
            <label key={option.id} className="choice">
              <input type="radio" name={`${entry.id}-${question.key}`} checked={answers[question.key] === option.id} onChange={() => setAnswers({ ...answers, [question.key]: option.id })} />
              {option.label}
            </label>
          ))}
          {entry.settled ? null : <input
            type="text"
            className="field"
            aria-label={question.options.length > 0 ? 'Another answer' : 'Answer'}
            placeholder={question.options.length > 0 ? 'Another answer' : 'Answer'}
            onChange={(event) => setAnswers({ ...answers, [question.key]: event.target.value })}
          />}
        </fieldset>
      ))}
      {entry.settled ? <span className="muted">Answered</span> : (
        <div className="decision">
          <button type="submit" className="button button-primary" disabled={!complete || !owner}>
            Answer
          </button>
        </div>
      )}
    </form>
  );
}

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

  // Whether a conversation runs or waits is in no event; the list is fetched again instead.
  const app = useApp();
  useEffect(() => app.refresh(), [app, running, waits]);
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
          {state === 'failed' ? <EmptyState title="The conversation cannot be opened"><p>{failure}</p></EmptyState> : null}
          {state === 'open' && entries.length === 0 ? (
            <EmptyState title="No messages yet">{client ? <p>Write the first one below.</p> : <p>What is written in this conversation appears here.</p>}</EmptyState>
          ) : null}
          {entries.map((entry) => (
            <EntryView key={entry.key} entry={entry} client={client} owner={owner} plain={plain} />
          ))}
          {running ? (
            <p className="working" role="status">
              <span className={waits ? 'dot dot-asking' : 'dot dot-working'} aria-hidden="true" />
              {waits ? 'Waiting for your decision' : status || 'Working'}
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
                client.prompt(text);
              }}
            />
          )}
        </div>
      ) : null}
    </div>
  );
}
