import { memo, useEffect, useState } from 'react';
import type { ApprovalEntry, QuestionEntry, ToolEntry } from '../chat/transcript';
import type { ChatClient } from '../client/chat';
import { Decision } from './Decision';
import { Icon } from './Icon';
import { Presented } from './Presented';

const TOOL_STATES: Record<ToolEntry['status'], string> = { running: 'running', completed: 'done', failed: 'failed' };

/** A short text beside a tool's name, so that a folded tool still shows what it was about. */
function summary(tool: ToolEntry): string {
  if (tool.description) return tool.description;
  const values = Object.values((tool.parameters ?? {}) as Record<string, unknown>);
  return String(values.find((value) => typeof value === 'string') ?? '').split('\n')[0] ?? '';
}

export const ToolCard = memo(function ToolCard({ tool }: { tool: ToolEntry }) {
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

export function ApprovalCard({ entry, client, owner }: { entry: ApprovalEntry; client: ChatClient | null; owner: boolean }) {
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

export function QuestionCard({ entry, client, owner }: { entry: QuestionEntry; client: ChatClient | null; owner: boolean }) {
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
          {entry.settled ? null : (
            <input
              type="text"
              className="field"
              aria-label={question.options.length > 0 ? 'Another answer' : 'Answer'}
              placeholder={question.options.length > 0 ? 'Another answer' : 'Answer'}
              onChange={(event) => setAnswers({ ...answers, [question.key]: event.target.value })}
            />
          )}
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
