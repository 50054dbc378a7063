import { type Grant, summaryOf } from '../../domain/roles.ts'
import { sql } from '../sql/sql.ts'
import type { Command, Reader } from '../transaction.ts'
import { addUser } from './users.ts'

/** What a new user is invited to. Times are microseconds. */
export interface Invitation {
  id: string
  grants: Grant[]
  /** For whom it is, in the words of who made it. */
  note: string
  created_at: number
  created_by: string
  expires_at: number
}

/** The secret itself is in the link only. */
export const addInvitation: Command<Invitation & { hash: string }, void> = async (tx, invitation) => {
  const { id, hash, grants, note, created_at, created_by, expires_at } = invitation
  await tx.run(
    sql`INSERT INTO invitations (id, hash, grants, note, created_at, created_by, expires_at)
        VALUES (${id}, ${hash}, ${JSON.stringify(grants)}, ${note}, ${created_at}, ${created_by}, ${expires_at})`,
  )
}

type Row = Omit<Invitation, 'grants'> & { grants: string }

const invitationOf = (row: Row): Invitation => ({ ...row, grants: JSON.parse(row.grants) as Grant[] })

const columns = sql`id, grants, note, created_at, created_by, expires_at`

/** Those that can still be accepted, oldest first. */
export async function openInvitations(db: Reader, now: number): Promise<Invitation[]> {
  const rows = await db.all<Row>(
    sql`SELECT ${columns} FROM invitations WHERE accepted_at IS NULL AND expires_at > ${now} ORDER BY created_at, id`,
  )
  return rows.map(invitationOf)
}

export async function invitationBySecret(
  db: Reader,
  hash: string,
  now: number,
): Promise<Invitation | undefined> {
  const row = await db.get<Row>(
    sql`SELECT ${columns} FROM invitations WHERE hash = ${hash} AND accepted_at IS NULL AND expires_at > ${now}`,
  )
  return row && invitationOf(row)
}

/** False if it is not there, or was accepted. */
export const withdrawInvitation: Command<{ id: string }, boolean> = async (tx, { id }) =>
  (await tx.run(sql`DELETE FROM invitations WHERE id = ${id} AND accepted_at IS NULL`)) === 1

interface Accepted {
  hash: string
  name: string
  key: { id: string; hash: string }
  now: number
}

/** Makes the user with its first key, once. A name that is taken leaves the invitation open. */
export const acceptInvitation: Command<
  Accepted,
  { result: 'unknown' | 'name taken' } | { result: 'accepted'; invitation: Invitation }
> = async (tx, { hash, name, key, now }) => {
  await tx.lock('invitations')
  const invitation = await invitationBySecret(tx, hash, now)
  if (invitation === undefined) return { result: 'unknown' }
  const { grants } = invitation
  const user = { name, ...summaryOf(grants), grants, created_at: now }
  if (!(await addUser(tx, { user, key }))) return { result: 'name taken' }
  await tx.run(
    sql`UPDATE invitations SET accepted_at = ${now}, accepted_by = ${name} WHERE id = ${invitation.id}`,
  )
  return { result: 'accepted', invitation }
}
