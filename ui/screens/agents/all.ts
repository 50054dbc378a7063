/** The screens of conversations and agents. Who opens one soon opens another, so they are one file. */

export { ThreadScreen } from '../thread/screen.tsx'
export { ThreadsScreen } from '../threads/screen.tsx'
export { AgentScreen } from './agent.tsx'
export { AgentsScreen } from './screen.tsx'
