import { memo, useMemo } from 'react';
import { present, reasonAdds, restAdds } from '../approvals/present';
import type { DiffLine } from '../text/diff';

const SIGNS: Record<DiffLine['kind'], string> = { same: ' ', added: '+', removed: '−', hunk: ' ' };
const NAMES: Record<DiffLine['kind'], string> = { same: '', added: 'added: ', removed: 'removed: ', hunk: '' };

export function Diff({ lines }: { lines: readonly DiffLine[] }) {
  return (
    <pre className="diff" tabIndex={0} role="group" aria-label="Changes">
      {lines.map((line, i) => (
        <span key={i} className={`diff-line diff-${line.kind}`}>
          <span className="visually-hidden">{NAMES[line.kind]}</span>
          <span className="diff-sign" aria-hidden="true">
            {SIGNS[line.kind]}
          </span>
          {line.text}
          {'\n'}
        </span>
      ))}
    </pre>
  );
}

/** What a tool will do or did, from its parameters: the command, the file, the change; and why, as the agent puts it. */
export const Presented = memo(function Presented({ parameters, reason = '' }: { parameters: unknown; reason?: string }) {
  const presentation = useMemo(() => present(parameters), [parameters]);
  const { command, path, diff, text, address } = presentation;
  const rest = restAdds(presentation, reason);
  return (
    <div className="presented">
      {reasonAdds(reason, presentation) ? <p className="muted">{reason}</p> : null}
      {command !== null ? (
        <pre className="presented-command" tabIndex={0} role="group" aria-label="Command">
          <code>{command}</code>
        </pre>
      ) : null}
      {path !== null ? <p className="presented-path">{path}</p> : null}
      {address !== null ? <p className="presented-path">{address}</p> : null}
      {diff ? <Diff lines={diff} /> : null}
      {text !== null ? (
        <pre className="presented-text" tabIndex={0} role="group" aria-label="Text">
          {text}
        </pre>
      ) : null}
      {rest.length > 0 ? (
        <dl className="presented-rest">
          {rest.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      ) : null}
    </div>
  );
});
