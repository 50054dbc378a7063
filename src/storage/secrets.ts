import { sql } from './sql/sql.ts'
import type { Command } from './transaction.ts'

/** A secret of the server by name. If several processes propose one at the same time, all get the first. */
export const secretOf: Command<{ name: string; value: string }, string> = async (tx, { name, value }) => {
  await tx.run(
    sql`INSERT INTO secrets (name, value) VALUES (${name}, ${value}) ON CONFLICT (name) DO NOTHING`,
  )
  const row = await tx.get<{ value: string }>(sql`SELECT value FROM secrets WHERE name = ${name}`)
  if (row === undefined) throw new Error(`the secret ${name} is missing after it was written`)
  return row.value
}
