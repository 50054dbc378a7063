import { changeTags, setAliases } from '../objects/object-labels.ts'
import { keepObject, type NewObject, readVersion } from '../objects/objects.ts'
import { listOf, sql } from '../sql/sql.ts'
import type { Command, Reader } from '../transaction.ts'

/** What the record already has under an imported id. */
type ImportedState = 'there' | 'gone'

/** Calls that have ended or are gone; an import leaves them as they are. */
export async function statesOfImported(
  db: Reader,
  project: string,
  ids: readonly string[],
  now: number,
): Promise<Map<string, ImportedState>> {
  const rows = await db.all<{ id: string; gone: number }>(
    sql`SELECT id, CASE WHEN deleted_at IS NOT NULL OR expire_at <= ${now} THEN 1 ELSE 0 END AS gone FROM calls
        WHERE project_id = ${project} AND id IN (${listOf(ids)})
          AND (deleted_at IS NOT NULL OR expire_at <= ${now} OR (started_at IS NOT NULL AND ended_at IS NOT NULL))`,
  )
  return new Map(rows.map(({ id, gone }) => [id, gone === 1 ? 'gone' : 'there']))
}

export async function existingFeedback(
  db: Reader,
  project: string,
  ids: readonly string[],
): Promise<Set<string>> {
  const rows = await db.all<{ id: string }>(
    sql`SELECT id FROM feedback WHERE project_id = ${project} AND id IN (${listOf(ids)})`,
  )
  return new Set(rows.map(({ id }) => id))
}

interface ImportedVersion extends NewObject {
  tags: readonly string[]
  aliases: readonly string[]
}

/**
 * Stores a version that does not exist yet, with its tags and aliases; `gated` counts the aliases that stay where they are,
 * because they move only through their gate. A version that exists or was deleted is left as it is.
 */
export const importVersion: Command<
  ImportedVersion,
  { gated: number } | { conflict: string } | ImportedState
> = async (tx, imported) => {
  const { tags, aliases, ...version } = imported
  const { project_id, object_id, digest } = version
  const known = await readVersion(tx, project_id, { name: object_id, digest })
  if (known !== undefined) return known.deleted_at === null ? 'there' : 'gone'
  const stored = await keepObject(tx, version)
  if ('conflict' in stored) return stored
  const labelling = { project_id, object_id, version: digest }
  await changeTags(tx, { ...labelling, add: tags, remove: [] })
  let gated = 0
  for (const alias of aliases) {
    const result = await setAliases(tx, { ...labelling, aliases: [alias] })
    if (typeof result === 'object') gated++
  }
  return { gated }
}
