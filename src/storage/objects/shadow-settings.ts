import { newId } from '../../domain/ids.ts'
import { sql } from '../sql/sql.ts'
import type { Command, Reader } from '../transaction.ts'
import type { LabelName } from './gated-labels.ts'
import { readLabel } from './label-gates.ts'
import { endShadow, type LabelShadow, labelShadows, readShadow } from './label-shadows.ts'
import { objectLock, readVersion } from './objects.ts'

type Setting = LabelName &
  Pick<LabelShadow, 'digest' | 'present' | 'share' | 'min_pairs' | 'scorer' | 'field' | 'user_id'> & {
    now: number
  }

/** Replaces the shadow of a label, and counts anew. `moved` if the label no longer names what was looked at. */
export const setShadow: Command<Setting, 'set' | 'moved' | 'missing'> = async (tx, { now, ...setting }) => {
  const { project_id, object_id, digest } = setting
  await tx.lock(objectLock(project_id, object_id))
  const label = await readLabel(tx, setting)
  if (label.digest !== setting.present || label.share !== null) return 'moved'
  if ((await readVersion(tx, project_id, { name: object_id, digest }))?.deleted_at !== null) return 'missing'
  const former = await readShadow(tx, setting)
  if (former !== undefined) {
    await endShadow(tx, former, { why: 'another one was set', now })
    await tx.run(
      sql`UPDATE label_shadows SET is_replaced = 1 WHERE project_id = ${project_id} AND id = ${former.id}`,
    )
  }
  const shadow: LabelShadow = {
    ...setting,
    ...{ id: newId(), created_at: now, ended_at: null, why_ended: null, is_replaced: 0 },
  }
  await labelShadows.insert(tx, [shadow])
  return 'set'
}

/** Its counts stay. Returns whether it was going on. */
export const removeShadow: Command<LabelName & { now: number }, boolean> = async (tx, { now, ...name }) => {
  await tx.lock(objectLock(name.project_id, name.object_id))
  const shadow = await readShadow(tx, name)
  if (shadow === undefined || shadow.ended_at !== null) return false
  await endShadow(tx, shadow, { why: 'it was removed', now })
  return true
}

const replaced = sql`SELECT project_id, id FROM label_shadows WHERE is_replaced = 1 ORDER BY project_id, id LIMIT 1`

/** Whether pairs of a shadow that was replaced are left. */
export const hasReplaced = async (db: Reader): Promise<boolean> => (await db.get(replaced)) !== undefined

/** Removes pairs of shadows that were replaced, some at a time, and at last the shadow. */
export const dropShadows: Command<{ limit: number }, void> = async (tx, { limit }) => {
  const shadow = await tx.get<Pick<LabelShadow, 'project_id' | 'id'>>(replaced)
  if (shadow === undefined) return
  const { project_id, id } = shadow
  const of = sql`project_id = ${project_id} AND shadow_id = ${id}`
  const dropped = await tx.run(
    sql`DELETE FROM shadow_pairs WHERE (project_id, shadow_id, call_id) IN (
          SELECT project_id, shadow_id, call_id FROM shadow_pairs WHERE ${of} ORDER BY call_id LIMIT ${limit})`,
  )
  if (dropped < limit)
    await tx.run(sql`DELETE FROM label_shadows WHERE project_id = ${project_id} AND id = ${id}`)
}
