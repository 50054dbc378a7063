import { sql } from '../sql/sql.ts'
import { type RowIn, tableOf } from '../sql/table.ts'
import type { Reader, Transaction } from '../transaction.ts'
import type { LabelName } from './gated-labels.ts'

export const labelShadows = tableOf('label_shadows', {
  project_id: 'text',
  id: 'text',
  object_id: 'text',
  alias: 'text',
  digest: 'text',
  present: 'text',
  share: 'number',
  min_pairs: 'number',
  scorer: 'text',
  field: 'text?',
  user_id: 'text',
  created_at: 'time',
  ended_at: 'time?',
  why_ended: 'text?',
  is_replaced: 'number',
})

/** A version that is asked besides the one that a label names (`present`). It has an id, so that a new one counts anew. */
export type LabelShadow = RowIn<typeof labelShadows>

export interface ShadowKey {
  project_id: string
  shadow_id: string
}

/** Whatever changes a shadow or settles its pairs takes this lock, after that of the object if it needs it. */
export const shadowLock = ({ project_id, shadow_id }: ShadowKey) => `shadow ${project_id} ${shadow_id}`

/** The last one that was set, even if it has ended. */
export const readShadow = (db: Reader, { project_id, object_id, alias }: LabelName) =>
  labelShadows.get(
    db,
    sql`project_id = ${project_id} AND object_id = ${object_id}
          AND alias = ${alias} AND is_replaced = 0`,
  )

/** Undefined if another one has replaced it. */
export const findShadow = (db: Reader, { project_id, shadow_id }: ShadowKey) =>
  labelShadows.get(db, sql`project_id = ${project_id} AND id = ${shadow_id} AND is_replaced = 0`)

/** Ends shadows of an object: what waits is not asked any more. Called with the lock of the object. */
export async function endShadows(
  tx: Transaction,
  { project_id, object_id }: Omit<LabelName, 'alias'>,
  { why, now }: { why: string; now: number },
  isAffected: (shadow: LabelShadow) => boolean,
): Promise<void> {
  const shadows = await labelShadows.all(
    tx,
    sql`project_id = ${project_id} AND object_id = ${object_id} AND is_replaced = 0 AND ended_at IS NULL ORDER BY id`,
  )
  for (const shadow of shadows) if (isAffected(shadow)) await endShadow(tx, shadow, { why, now })
}

export async function endShadow(
  tx: Transaction,
  { project_id, id }: Pick<LabelShadow, 'project_id' | 'id'>,
  { why, now }: { why: string; now: number },
): Promise<void> {
  await tx.lock(shadowLock({ project_id, shadow_id: id }))
  await tx.run(
    sql`UPDATE label_shadows SET ended_at = ${now}, why_ended = ${why}
        WHERE project_id = ${project_id} AND id = ${id} AND ended_at IS NULL`,
  )
  await tx.run(
    sql`UPDATE shadow_pairs SET state = 'skipped', reason = 'shadow_ended', detail = ${why}, request = NULL, ended_at = ${now}
        WHERE project_id = ${project_id} AND shadow_id = ${id} AND state = 'waiting'`,
  )
}
