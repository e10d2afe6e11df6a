import { useState } from 'react';
import { useApp, useAppState } from './context';
import { Dialog } from './controls';

/** Splits a command line into words as a shell does, without executing anything. */
export function splitWords(line: string): string[] {
  const words: string[] = [];
  for (const match of line.matchAll(/(?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+/gu)) {
    words.push(
      match[0].replace(/\\(.)|"((?:[^"\\]|\\.)*)"|'([^']*)'/gu, (_, escaped?: string, double?: string, single?: string) => escaped ?? double?.replace(/\\(["\\$`])/gu, '$1') ?? single ?? ''),
    );
  }
  return words;
}

/** Takes a directory, what to run there, and a name; only the directory is needed. */
export function NewSession({ workspace }: { workspace: string }) {
  const app = useApp();
  const agents = useAppState((state) => state.agents);
  const workspaces = useAppState((state) => state.workspaces);
  const sessions = useAppState((state) => state.sessions);
  const [directory, setDirectory] = useState(workspace);
  const [command, setCommand] = useState('');
  const [name, setName] = useState('');
  const [failure, setFailure] = useState('');
  const [busy, setBusy] = useState(false);
  const directories = [...new Set([...workspaces.map((item) => item.path), ...(sessions ?? []).map((item) => item.workspace)])];
  const programs = agents.filter((agent) => agent.kind === 'pty');

  const create = async () => {
    setBusy(true);
    setFailure('');
    try {
      const argv = splitWords(command);
      const reply = await app.control.request('create', {
        workspace: directory,
        ...(argv.length > 0 ? { argv } : {}),
        ...(name ? { name } : {}),
        unique: name === '',
      });
      app.show(null);
      const created = reply.session ?? reply.name ?? name;
      if (created) app.open(created);
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };

  return (
    <Dialog label="New session" onClose={() => app.show(null)}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          void create();
        }}
      >
        <h2>New session</h2>
        <label className="form-row">
          <span>Directory</span>
          <input className="field" list="directories" value={directory} onChange={(event) => setDirectory(event.target.value)} required spellCheck={false} autoCapitalize="off" />
        </label>
        <datalist id="directories">
          {directories.map((path) => (
            <option key={path} value={path} />
          ))}
        </datalist>
        <label className="form-row">
          <span>Command</span>
          <input className="field" value={command} onChange={(event) => setCommand(event.target.value)} placeholder="As the directory's Coopfile says" data-focus-first spellCheck={false} autoCapitalize="off" />
        </label>
        {programs.length > 0 ? (
          <div className="form-choices" role="group" aria-label="Agents">
            {programs.map((agent) => (
              <button key={agent.name} type="button" className="chip chip-button" title={agent.detail} onClick={() => setCommand(agent.name)}>
                {agent.name}
              </button>
            ))}
          </div>
        ) : null}
        <label className="form-row">
          <span>Name</span>
          <input className="field" value={name} onChange={(event) => setName(event.target.value)} placeholder="Optional" spellCheck={false} autoCapitalize="off" />
        </label>
        {failure ? (
          <p className="failure" role="alert">
            {failure}
          </p>
        ) : null}
        <div className="form-actions">
          <button type="button" className="button" onClick={() => app.show(null)}>
            Cancel
          </button>
          <button type="submit" className="button button-primary" disabled={busy || directory === ''}>
            Create
          </button>
        </div>
      </form>
    </Dialog>
  );
}
