import { sql } from './sql/sql.ts'
import type { Command } from './transaction.ts'

/** Proof that the store takes writes. */
export const probe: Command<{ at: number }, void> = async (tx, { at }) => {
  await tx.run(
    sql`INSERT INTO heddle_probe (id, at) VALUES (1, ${at}) ON CONFLICT (id) DO UPDATE SET at = excluded.at`,
  )
}
