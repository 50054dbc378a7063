import { sql } from '../sql/sql.ts'
import type { Command, Reader } from '../transaction.ts'
import { insertUser, type User, userNamed } from './users.ts'

/** A person as an identity provider names it. An e-mail address is none: it changes hands. */
export interface Identity {
  issuer: string
  subject: string
}

/** Two statements and not a join, as for the user of a key. */
export async function userOfIdentity(db: Reader, { issuer, subject }: Identity): Promise<User | undefined> {
  const row = await db.get<{ user_name: string }>(
    sql`SELECT user_name FROM identities WHERE issuer = ${issuer} AND subject = ${subject}`,
  )
  return row && userNamed(db, row.user_name)
}

/** The names that a new user may get, the first that is free. */
interface SignUp {
  identity: Identity
  names: readonly string[]
  user: Omit<User, 'name'>
}

/** Adds the user of an identity, without a key. Undefined if it has one already, or if no name is free. */
export const signUp: Command<SignUp, string | undefined> = async (tx, { identity, names, user }) => {
  const { issuer, subject } = identity
  await tx.lock(`identity ${issuer} ${subject}`)
  if (await userOfIdentity(tx, identity)) return undefined
  for (const name of names) {
    if (!(await insertUser(tx, { ...user, name }))) continue
    await tx.run(
      sql`INSERT INTO identities (issuer, subject, user_name, created_at) VALUES (${issuer}, ${subject}, ${name}, ${user.created_at})
          ON CONFLICT (issuer, subject) DO UPDATE SET user_name = excluded.user_name`,
    )
    return name
  }
  return undefined
}
