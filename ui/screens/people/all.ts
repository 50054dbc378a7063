/** The screens of people and of the server. Who opens one or is invited soon opens another, so they are one file. */

export { EngineScreen } from '../engine/screen.tsx'
export { MeScreen } from '../me/screen.tsx'
export { InvitedScreen } from '../sign-in/invited.tsx'
export { AuditScreen } from './audit.tsx'
export { BudgetsScreen } from './budgets.tsx'
export { InvitationsScreen } from './invitations.tsx'
export { PeopleScreen } from './screen.tsx'
