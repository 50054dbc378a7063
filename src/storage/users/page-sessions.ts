import { sql } from '../sql/sql.ts'
import type { Command, Reader } from '../transaction.ts'

/** A session of a user who is signed in to the page. All three secrets are stored as hashes; times are microseconds. */
export interface PageSession {
  /** Of the cookie's secret. */
  hash: string
  /** Of the half of the secret that the page has. */
  half_hash: string
  /** Of the key that the session was opened with: revoking a key ends its sessions. */
  key_hash: string
  expires_at: number
}

export function readPageSession(db: Reader, hash: string, now: number): Promise<PageSession | undefined> {
  return db.get<PageSession>(
    sql`SELECT hash, half_hash, key_hash, expires_at FROM page_sessions WHERE hash = ${hash} AND expires_at > ${now}`,
  )
}

/** More than one user has browsers; beyond this the oldest sessions are removed. */
const maxSessionsOfKey = 50

/** Also removes sessions that have expired. */
export const openPageSession: Command<{ session: PageSession; now: number }, void> = async (
  tx,
  { session: { hash, half_hash, key_hash, expires_at }, now },
) => {
  await tx.run(sql`DELETE FROM page_sessions WHERE expires_at <= ${now}`)
  await tx.run(
    sql`DELETE FROM page_sessions WHERE hash IN (
      SELECT hash FROM page_sessions WHERE key_hash = ${key_hash} ORDER BY expires_at DESC LIMIT 1000 OFFSET ${maxSessionsOfKey - 1}
    )`,
  )
  await tx.run(
    sql`INSERT INTO page_sessions (hash, half_hash, key_hash, expires_at)
        VALUES (${hash}, ${half_hash}, ${key_hash}, ${expires_at})`,
  )
}

export const extendPageSession: Command<{ hash: string; expires_at: number }, void> = async (
  tx,
  { hash, expires_at },
) => {
  await tx.run(sql`UPDATE page_sessions SET expires_at = ${expires_at} WHERE hash = ${hash}`)
}

export const closePageSession: Command<{ hash: string }, void> = async (tx, { hash }) => {
  await tx.run(sql`DELETE FROM page_sessions WHERE hash = ${hash}`)
}
