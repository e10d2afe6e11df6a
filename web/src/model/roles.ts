import type { Role } from '../protocol/control';

/** What a person may want to do; the page shows only what the role allows. The daemon decides again. */
export type Ability = 'prompt' | 'approve' | 'drive' | 'chat' | 'filter';

const ABILITIES: Record<Role, readonly Ability[]> = {
  watch: [],
  // The role of programs that an agent starts; no page has it.
  agent: [],
  prompt: ['prompt'],
  approve: ['approve'],
  drive: ['prompt', 'approve', 'drive'],
  owner: ['prompt', 'approve', 'drive', 'chat', 'filter'],
};

export function may(role: Role | undefined, ability: Ability): boolean {
  return role !== undefined && ABILITIES[role].includes(ability);
}

export function describeRole(role: Role): string {
  const texts: Record<Role, string> = {
    watch: 'You can watch.',
    agent: 'You can watch.',
    prompt: 'You can watch and send prompts.',
    approve: 'You can watch and decide approvals.',
    drive: 'You can use the terminals.',
    owner: 'You can do everything.',
  };
  return texts[role];
}
