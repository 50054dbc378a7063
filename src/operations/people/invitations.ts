import { randomBytes } from 'node:crypto'
import { byCaller, type Caller, hasAccess } from '../../domain/callers.ts'
import { newId } from '../../domain/ids.ts'
import { hashKey, newKey } from '../../domain/keys.ts'
import { refuse } from '../../domain/refusals.ts'
import { formatTime, now } from '../../domain/time.ts'
import { isDisabled } from '../../domain/user-settings.ts'
import type { BoundDatabase, Database } from '../../storage/database.ts'
import { wasRemoved } from '../../storage/users/audit.ts'
import { type Invitation, openInvitation, openInvitations } from '../../storage/users/invitations.ts'
import { readUserSettings } from '../../storage/users/settings.ts'
import { callerOf, userNamed } from '../../storage/users/users.ts'
import type { ConfiguredPeople } from '../parts.ts'
import type { AcceptBody, InvitationBody } from './contract.ts'
import { requireGrantable, requireNoLonger } from './grants.ts'

const dayMicros = 86_400_000_000
const defaultDays = 7
/** Of one user, and in a list. */
const maxOpen = 100
const maxListed = 1_000

const shown = ({ created_at, expires_at, ...invitation }: Invitation) => ({
  ...invitation,
  created_at: formatTime(created_at),
  expires_at: formatTime(expires_at),
})

export async function invite(db: Database, caller: Caller, { grants, note, days }: InvitationBody) {
  requireGrantable(caller, grants, 'grants')
  requireNoLonger(caller)
  const secret = randomBytes(32).toString('base64url')
  const created_at = now()
  const invitation = {
    id: newId(),
    grants,
    note: note ?? '',
    created_at,
    created_by: caller.name,
    expires_at: created_at + (days ?? defaultDays) * dayMicros,
  }
  const by = byCaller(caller)
  if (!(await db.write('addInvitation', { ...invitation, hash: hashKey(secret), max: maxOpen, by })))
    throw refuse('too_many_invitations', { name: caller.name, limit: maxOpen })
  return { invitation: shown(invitation), secret }
}

const isOver =
  (caller: Caller) =>
  ({ grants }: Invitation): boolean =>
    grants.every(({ scope }) => hasAccess(caller, scope, 'administer'))

/** An admin sees and withdraws the invitations that it could have made. */
export async function readInvitations(db: Database, caller: Caller) {
  return { invitations: (await openInvitations(db, now(), maxListed, isOver(caller))).map(shown) }
}

export async function withdraw(db: Database, caller: Caller, id: string) {
  const invitation = await openInvitation(db, { id }, now())
  const isSeen = invitation !== undefined && isOver(caller)(invitation)
  if (isSeen && (await db.write('withdrawInvitation', { id, by: byCaller(caller) }))) return {}
  throw refuse('invitation_not_found', {})
}

/** Needs no credentials: the secret of the link is one. It ends with the rights of who made it. */
export async function accept(db: BoundDatabase, configured: ConfiguredPeople, { secret, name }: AcceptBody) {
  const hash = hashKey(secret)
  const invitation = await openInvitation(db, { hash }, now())
  if (invitation === undefined || !(await mayStillInvite(db, configured, invitation)))
    throw refuse('invitation_not_found', {})
  if (configured.some((person) => person.name === name)) throw refuse('user_exists', { name })
  if (await wasRemoved(db, name)) throw refuse('user_name_used', { name })
  const key = newKey()
  const id = newId()
  const accepted = await db.write('acceptInvitation', {
    hash,
    name,
    key: { id, hash: hashKey(key) },
    now: now(),
    by: { via: 'http', name },
  })
  if (accepted.result === 'unknown') throw refuse('invitation_not_found', {})
  if (accepted.result === 'name taken') throw refuse('user_exists', { name })
  return { name, grants: invitation.grants, key: { id, key } }
}

async function mayStillInvite(
  db: Database,
  configured: ConfiguredPeople,
  invitation: Invitation,
): Promise<boolean> {
  const { created_by: name } = invitation
  const set = configured.find((person) => person.name === name)
  if (set !== undefined)
    return set.entities.includes('*') && !isDisabled({ settings: await readUserSettings(db, name) })
  const user = await userNamed(db, name)
  return user !== undefined && !isDisabled(user) && isOver(callerOf(user))(invitation)
}
