import { useState } from 'react';
import { createConversation } from '../client/new-conversation';
import { conversationSession } from '../model/conversations';
import type { AgentItem, SessionItem } from '../protocol/control';
import { sentence, splitWords } from '../text/words';
import { useApp, useAppState } from './context';
import { Dialog, Field } from './controls';

/** A session as the list will have it in a moment, so that its pane can open at once. */
function startingSession(name: string, workspace: string, pid: number): SessionItem {
  return { name, workspace, pid, created: Math.floor(Date.now() / 1000), ptys: [{ id: 0, role: 'agent', command: '' }], web_clients: 0, local_clients: 0, status: 'starting' };
}

/** Takes a directory, what to run there, and a name; only the directory is needed. */
export function NewSession({ workspace, initialCommand, initialName }: { workspace: string; initialCommand: string; initialName: string }) {
  const app = useApp();
  const agents = useAppState((state) => state.agents);
  const workspaces = useAppState((state) => state.workspaces);
  const sessions = useAppState((state) => state.sessions);
  const [directory, setDirectory] = useState(workspace || '~');
  const [agent, setAgent] = useState<AgentItem | null>(null);
  const [command, setCommand] = useState(initialCommand);
  const [name, setName] = useState(initialName);
  const [failure, setFailure] = useState('');
  const [busy, setBusy] = useState(false);
  const directories = [...new Set([...workspaces.map((item) => item.path), ...(sessions ?? []).map((item) => item.workspace)])];
  const offered = agents.filter((item) => item.kind === 'pty' || app.may('chat'));
  // An agent on a terminal is its command; the others answer in a conversation.
  const conversation = agent !== null && agent.kind !== 'pty';

  const choose = (item: AgentItem) => {
    const chosen = agent?.name === item.name ? null : item;
    setAgent(chosen);
    setCommand(chosen?.kind === 'pty' ? chosen.detail : '');
  };
  const start = async (): Promise<SessionItem> => {
    if (agent && conversation) {
      const session = await createConversation(app.transport, { directory, agent: agent.name, name });
      const now = Date.now();
      return conversationSession({ session, title: '', workspace: directory, messages: 0, created: now, updated: now, live: true, saved: false, autosaved: false, running: false, tokens: 0, agent: agent.name });
    }
    const argv = splitWords(command);
    const reply = await app.control.request('create', { workspace: directory, ...(argv.length > 0 ? { argv } : {}), ...(name ? { name } : {}), unique: name === '' });
    return startingSession(reply.session, directory, reply.pid);
  };
  const create = async () => {
    setBusy(true);
    setFailure('');
    try {
      const created = await start();
      app.show(null);
      app.openCreated(created);
    } catch (error) {
      setFailure(sentence(error instanceof Error ? error.message : String(error)));
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
        <Field label="Directory" value={directory} onChange={setDirectory} placeholder="~/project" list="directories" required autoFocus={directory === ''} />
        <datalist id="directories">
          {directories.map((path) => (
            <option key={path} value={path} />
          ))}
        </datalist>
        <Field
          label="Command"
          value={command}
          onChange={(text) => {
            setCommand(text);
            setAgent(null);
          }}
          disabled={conversation}
          placeholder={conversation ? 'None: it is a conversation' : 'Your shell, or what coop.toml names'}
          autoFocus={directory !== ''}
        />
        {offered.length > 0 ? (
          <div className="form-choices" role="group" aria-label="Agent">
            {offered.map((item) => (
              <button key={item.name} type="button" className="chip chip-button" aria-pressed={agent?.name === item.name} title={item.kind === 'pty' ? item.detail : `${item.detail}, in a conversation`} onClick={() => choose(item)}>
                {item.name}
              </button>
            ))}
          </div>
        ) : null}
        <Field label="Name" value={name} onChange={setName} placeholder="Optional" />
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
            {busy ? 'Starting…' : 'Create'}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
