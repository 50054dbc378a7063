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

/** A version that is asked besides `present`. */
export interface ShadowOfLabel {
  id: string
  digest: string
  present: string
  /** Of the calls. */
  portion: number
}

interface LabelRead {
  /** The version that it names. */
  digest: string
  /** Null if the label names one version only. */
  share: Sharer[] | null
  shadow: ShadowOfLabel | undefined
}

/**
 * What a label says, in one read of indexes: who asks by name waits for it. A version that is deleted takes its labels with
 * it; those of a project that is being deleted stay a little longer.
 */
export async function readLabel(
  db: Reader,
  { project_id, object_id, alias }: LabelName,
): Promise<LabelRead | undefined> {
  type Row = { named: string; share: string | null } & {
    [Name in keyof ShadowOfLabel]: ShadowOfLabel[Name] | null
  }
  const row = await db.get<Row>(
    sql`SELECT object_aliases.digest AS named, object_aliases.share, label_shadows.id, label_shadows.digest, label_shadows.present,
          label_shadows.share AS portion
        FROM object_aliases LEFT JOIN label_shadows ON label_shadows.project_id = object_aliases.project_id
          AND label_shadows.object_id = object_aliases.object_id AND label_shadows.alias = object_aliases.alias
          AND label_shadows.is_replaced = 0 AND label_shadows.ended_at IS NULL
        WHERE object_aliases.project_id = ${project_id} AND object_aliases.object_id = ${object_id} AND object_aliases.alias = ${alias}`,
  )
  if (row === undefined) return undefined
  const { named, share, ...shadow } = row
  return {
    digest: named,
    share: sharersOf(share),
    shadow: shadow.id === null ? undefined : (shadow as ShadowOfLabel),
  }
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
