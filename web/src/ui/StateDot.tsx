import { STATE_LABELS } from '../model/sessions';
import type { AgentState } from '../protocol/control';

export function StateDot({ state }: { state: AgentState }) {
  return <span className={`dot dot-${state}`} role="img" aria-label={STATE_LABELS[state]} title={STATE_LABELS[state]} />;
}
