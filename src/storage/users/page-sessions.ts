import { type Sql, sql } from '../sql/sql.ts'
import type { Command, Reader } from '../transaction.ts'
import type { Identity } from './identities.ts'

/** A session of a user who is signed in to the page. All secrets are stored as hashes; times are microseconds. */
export interface PageSession {
  /** Of the cookie's secret. */
  hash: string
  /** Of the half of the secret that the page has; of a ticket, until the page has exchanged it for one. */
  half_hash: string
  /** Of the key that the session was opened with: revoking a key ends its sessions. Empty for an identity. */
  key_hash: string
  expires_at: number
  /** Whom an identity provider has signed in. */
  identity?: ProviderSession
}

export interface ProviderSession extends Identity {
  /** The session at the provider, if it names one. */
  sid: string | null
  /** By which the provider recognises whom it is to sign out. */
  id_token: string
}

export async function readPageSession(
  db: Reader,
  hash: string,
  now: number,
): Promise<PageSession | undefined> {
  const row = await db.get<PageSession & { [Name in keyof ProviderSession]: ProviderSession[Name] | null }>(
    sql`SELECT hash, half_hash, key_hash, expires_at, issuer, subject, sid, id_token FROM page_sessions
        WHERE hash = ${hash} AND expires_at > ${now}`,
  )
  if (row === undefined) return undefined
  const { issuer, subject, sid, id_token, ...session } = row
  if (issuer === null || subject === null || id_token === null) return session
  return { ...session, identity: { issuer, subject, sid, id_token } }
}

/** More than one user has browsers; beyond this the oldest sessions are removed. */
const maxSessionsOfUser = 50

/** Also removes sessions that have expired. */
export const openPageSession: Command<{ session: PageSession; now: number }, void> = async (
  tx,
  { session: { hash, half_hash, key_hash, expires_at, identity }, now },
) => {
  const { issuer = null, subject = null, sid = null, id_token = null } = identity ?? {}
  const own = identity ? ofIdentity(identity) : sql`key_hash = ${key_hash}`
  await tx.run(sql`DELETE FROM page_sessions WHERE expires_at <= ${now}`)
  await tx.run(
    sql`DELETE FROM page_sessions WHERE hash IN (
      SELECT hash FROM page_sessions WHERE ${own} ORDER BY expires_at DESC LIMIT 1000 OFFSET ${maxSessionsOfUser - 1}
    )`,
  )
  await tx.run(
    sql`INSERT INTO page_sessions (hash, half_hash, key_hash, expires_at, issuer, subject, sid, id_token)
        VALUES (${hash}, ${half_hash}, ${key_hash}, ${expires_at}, ${issuer}, ${subject}, ${sid}, ${id_token})`,
  )
}

const ofIdentity = ({ issuer, subject }: Identity): Sql => sql`issuer = ${issuer} AND subject = ${subject}`

interface TicketExchange {
  /** Of the cookie that came with the ticket. */
  hash: string
  ticket_hash: string
  session: Pick<PageSession, 'hash' | 'half_hash' | 'expires_at'>
  now: number
}

/** A ticket can be exchanged once, by the browser that has its cookie. False if it cannot. */
export const exchangeTicket: Command<TicketExchange, boolean> = async (
  tx,
  { hash, ticket_hash, session, now },
) =>
  (await tx.run(
    sql`UPDATE page_sessions SET hash = ${session.hash}, half_hash = ${session.half_hash}, expires_at = ${session.expires_at}
        WHERE hash = ${hash} AND half_hash = ${ticket_hash} AND issuer IS NOT NULL AND expires_at > ${now}`,
  )) === 1

export const extendPageSession: Command<{ hash: string; expires_at: number }, void> = async (
  tx,
  { hash, expires_at },
) => {
  await tx.run(sql`UPDATE page_sessions SET expires_at = ${expires_at} WHERE hash = ${hash}`)
}

export const closePageSession: Command<{ hash: string }, void> = async (tx, { hash }) => {
  await tx.run(sql`DELETE FROM page_sessions WHERE hash = ${hash}`)
}

interface ProviderLogout {
  issuer: string
  /** One of both names whose sessions end. */
  sid: string | null
  subject: string | null
  token_hash: string
  /** Of the logout token. */
  expires_at: number
  now: number
}

/** Ends sessions that their provider has ended, and returns how many; undefined if the token was used before. */
export const endProviderSessions: Command<ProviderLogout, number | undefined> = async (
  tx,
  { issuer, sid, subject, token_hash, expires_at, now },
) => {
  await tx.run(sql`DELETE FROM logout_tokens WHERE expires_at <= ${now}`)
  const isNew = await tx.run(
    sql`INSERT INTO logout_tokens (hash, expires_at) VALUES (${token_hash}, ${expires_at}) ON CONFLICT (hash) DO NOTHING`,
  )
  if (isNew === 0) return undefined
  const ended = sid === null ? sql`subject = ${subject}` : sql`sid = ${sid}`
  return tx.run(sql`DELETE FROM page_sessions WHERE issuer = ${issuer} AND ${ended}`)
}
