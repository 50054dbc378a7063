import { type Grant, summaryOf } from '../../domain/roles.ts'
import { type Columns, namesOf, type RowOf } from '../sql/columns.ts'
import { rawSql, sql } from '../sql/sql.ts'
import { tableOf } from '../sql/table.ts'
import type { Command, Reader } from '../transaction.ts'
import { addUser } from './users.ts'

const shown = {
  id: 'text',
  grants: 'json',
  /** For whom it is, in the words of who made it. */
  note: 'text',
  created_at: 'time',
  created_by: 'text',
  expires_at: 'time',
} as const satisfies Columns
const invitations = tableOf('invitations', { ...shown, hash: 'text' })
const columns = rawSql(namesOf(shown).join(', '))

type Row = RowOf<typeof shown>

/** What a new user is invited to. */
export type Invitation = Omit<Row, 'grants'> & { grants: Grant[] }

const invitationOf = (row: Row): Invitation => ({ ...row, grants: JSON.parse(row.grants) as Grant[] })

/**
 * The secret itself is in the link only. False if the user already has `max` that can be accepted. What has expired is
 * deleted; the audit log says what became of it.
 */
export const addInvitation: Command<Invitation & { hash: string; max: number }, boolean> = async (
  tx,
  { max, ...invitation },
) => {
  const { created_by, created_at } = invitation
  await tx.lock('invitations')
  await tx.run(sql`DELETE FROM invitations WHERE expires_at <= ${created_at}`)
  const open = await tx.all(
    sql`SELECT id FROM invitations WHERE created_by = ${created_by} AND accepted_at IS NULL LIMIT ${max}`,
  )
  if (open.length >= max) return false
  await invitations.insert(tx, [{ ...invitation, grants: JSON.stringify(invitation.grants) }])
  return true
}

const pageRows = 500

/** The first `max` that can still be accepted and are wanted, oldest first. */
export async function openInvitations(
  db: Reader,
  now: number,
  max: number,
  isWanted: (invitation: Invitation) => boolean,
): Promise<Invitation[]> {
  const found: Invitation[] = []
  let last: string | undefined = ''
  while (last !== undefined && found.length < max) {
    const rows: Row[] = await db.all<Row>(
      sql`SELECT ${columns} FROM invitations WHERE id > ${last} AND accepted_at IS NULL AND expires_at > ${now}
          ORDER BY id LIMIT ${pageRows}`,
    )
    found.push(...rows.map(invitationOf).filter(isWanted))
    last = rows[pageRows - 1]?.id
  }
  return found.slice(0, max)
}

/** By the hash of its secret or by its id, if it can still be accepted. */
export async function openInvitation(
  db: Reader,
  by: { hash: string } | { id: string },
  now: number,
): Promise<Invitation | undefined> {
  const isIt = 'hash' in by ? sql`hash = ${by.hash}` : sql`id = ${by.id}`
  const row = await db.get<Row>(
    sql`SELECT ${columns} FROM invitations WHERE ${isIt} AND accepted_at IS NULL AND expires_at > ${now}`,
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
  const invitation = await openInvitation(tx, { hash }, now)
  if (invitation === undefined) return { result: 'unknown' }
  const { grants } = invitation
  const user = { name, ...summaryOf(grants), grants, created_at: now }
  if (!(await addUser(tx, { user, key }))) return { result: 'name taken' }
  await tx.run(
    sql`UPDATE invitations SET accepted_at = ${now}, accepted_by = ${name} WHERE id = ${invitation.id}`,
  )
  return { result: 'accepted', invitation }
}
