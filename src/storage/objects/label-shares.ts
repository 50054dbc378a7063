import { sql } from '../sql/sql.ts'
import type { Reader, Transaction } from '../transaction.ts'
import type { LabelName } from './gated-labels.ts'

/** A version that answers some of the requests that name a label. */
export interface Sharer {
  digest: string
  weight: number
}

export const sharersOf = (share: string | null): Sharer[] | null =>
  share === null ? null : (JSON.parse(share) as Sharer[])

/** Null if the label names one version only, or none. */
export async function readShare(db: Reader, { project_id, object_id, alias }: LabelName) {
  const row = await db.get<{ share: string | null }>(
    sql`SELECT share FROM object_aliases
        WHERE project_id = ${project_id} AND object_id = ${object_id} AND alias = ${alias}`,
  )
  return sharersOf(row?.share ?? null)
}

/** Ends the shares with one of these versions, which are about to be deleted. */
export async function endShares(
  tx: Transaction,
  { project_id, object_id }: Omit<LabelName, 'alias'>,
  digests: ReadonlySet<string>,
): Promise<void> {
  const of = sql`project_id = ${project_id} AND object_id = ${object_id}`
  const shared = await tx.all<{ alias: string; share: string }>(
    sql`SELECT alias, share FROM object_aliases WHERE ${of} AND share IS NOT NULL`,
  )
  for (const { alias, share } of shared) {
    if (sharersOf(share)?.some(({ digest }) => digests.has(digest)))
      await tx.run(sql`UPDATE object_aliases SET share = NULL WHERE ${of} AND alias = ${alias}`)
  }
}
