import { newId } from '../../domain/ids.ts'
import { now } from '../../domain/time.ts'
import { tellEndpoints } from '../alerts/events.ts'
import { pairsOf, rawSql, sql } from '../sql/sql.ts'
import type { BoundReader, Command, Reader, Transaction } from '../transaction.ts'
import { gatedAmong } from './gated-labels.ts'
import { endShadows } from './label-shadows.ts'
import { objectLock, readVersion } from './objects.ts'

/** The names of a version besides its digest and its number. */
export interface Labels {
  tags: string[]
  aliases: string[]
}

interface LabelledVersion {
  object_id: string
  digest: string
}

/** In the order of the versions. */
export async function readLabels(
  db: Reader,
  project: string,
  versions: readonly LabelledVersion[],
): Promise<Labels[]> {
  const labels = new Map<string, Labels>()
  const keyOf = ({ object_id, digest }: LabelledVersion) => `${object_id}:${digest}`
  for (const version of versions) labels.set(keyOf(version), { tags: [], aliases: [] })
  if (versions.length === 0) return []
  const pairs = pairsOf(versions.map(({ object_id, digest }) => [object_id, digest]))
  const of = sql`project_id = ${project} AND (object_id, digest) IN ${pairs}`
  type Label = LabelledVersion & { label: string }
  const tags = sql`SELECT object_id, digest, tag AS label FROM object_tags WHERE ${of} ORDER BY tag`
  for (const row of await db.all<Label>(tags)) labels.get(keyOf(row))?.tags.push(row.label)
  const aliases = sql`SELECT object_id, digest, alias AS label FROM object_aliases WHERE ${of} ORDER BY alias`
  for (const row of await db.all<Label>(aliases)) labels.get(keyOf(row))?.aliases.push(row.label)
  return versions.map((version) => labels.get(keyOf(version)) as Labels)
}

/** The names that versions of a project have, each once. */
export function streamLabels(
  db: BoundReader,
  project: string,
  kind: keyof Labels,
): AsyncIterable<{ label: string }[]> {
  const [table, column] = kind === 'tags' ? ['object_tags', 'tag'] : ['object_aliases', 'alias']
  const labels = rawSql(`${table} AS labels JOIN objects ON objects.project_id = labels.project_id
    AND objects.object_id = labels.object_id AND objects.digest = labels.digest`)
  const statement = sql`SELECT DISTINCT ${rawSql(column)} AS label FROM ${labels}
    WHERE labels.project_id = ${project} AND objects.deleted_at IS NULL AND ${db.dialect.cancellable} ORDER BY label`
  return db.stream<{ label: string }>(statement)
}

interface Labelling {
  project_id: string
  object_id: string
  version: string
}

/** The digest of the version if it is not deleted. Call this with the lock of its object. */
async function liveDigest(tx: Transaction, labelling: Labelling): Promise<string | undefined> {
  const { project_id, object_id, version } = labelling
  await tx.lock(objectLock(project_id, object_id))
  const found = await readVersion(tx, project_id, { name: object_id, digest: version })
  return found?.deleted_at === null ? found.digest : undefined
}

interface TagChange extends Labelling {
  add: readonly string[]
  remove: readonly string[]
}

/** Returns whether the version exists. */
export const changeTags: Command<TagChange, boolean> = async (tx, change) => {
  const { project_id, object_id, add, remove } = change
  const digest = await liveDigest(tx, change)
  if (digest === undefined) return false
  for (const tag of add) {
    await tx.run(
      sql`INSERT INTO object_tags (project_id, object_id, digest, tag)
          VALUES (${project_id}, ${object_id}, ${digest}, ${tag}) ON CONFLICT DO NOTHING`,
    )
  }
  for (const tag of remove) {
    await tx.run(
      sql`DELETE FROM object_tags WHERE project_id = ${project_id} AND object_id = ${object_id}
          AND digest = ${digest} AND tag = ${tag}`,
    )
  }
  return true
}

interface AliasSetting extends Labelling {
  aliases: readonly string[]
}

/** What was done: `missing` if the version does not exist, or the alias that only moves through its gate. */
type AliasesSet = 'set' | 'missing' | { gated: string }

/** An alias names one version of its object; setting it again moves it. All are set, or none. */
export const setAliases: Command<AliasSetting, AliasesSet> = async (tx, setting) => {
  const { project_id, object_id, aliases } = setting
  const digest = await liveDigest(tx, setting)
  if (digest === undefined) return 'missing'
  const gated = await gatedAmong(
    tx,
    setting,
    (label) => aliases.includes(label.alias) && (label.digest !== digest || label.share !== null),
  )
  if (gated !== undefined) return { gated }
  for (const alias of aliases) {
    const changed = await tx.run(
      sql`INSERT INTO object_aliases (project_id, object_id, alias, digest)
          VALUES (${project_id}, ${object_id}, ${alias}, ${digest})
          ON CONFLICT (project_id, object_id, alias) DO UPDATE SET digest = excluded.digest, share = NULL
          WHERE object_aliases.digest <> excluded.digest OR object_aliases.share IS NOT NULL`,
    )
    if (changed === 0) continue
    await endShadows(tx, setting, { why: 'the label was moved', now: now() }, (own) => own.alias === alias)
    await tellOfAlias(tx, project_id, { object_id, alias, digest })
  }
  return 'set'
}

/** `digest` is what the alias names from now on; null for nothing. */
function tellOfAlias(
  tx: Transaction,
  project: string,
  change: { object_id: string; alias: string; digest: string | null },
): Promise<void> {
  const { object_id, alias } = change
  const subject = `alias ${newId()}`
  const data = { ...change, object_id: object_id.slice(0, 200), alias: alias.slice(0, 200) }
  return tellEndpoints(tx, project, 'object.alias_changed', { subject, data }, now())
}

interface AliasRemoval {
  project_id: string
  object_id: string
  aliases: readonly string[]
}

/** Removes all of them, or none if one has a gate. */
export const removeAliases: Command<AliasRemoval, 'removed' | { gated: string }> = async (tx, removal) => {
  const { project_id, object_id, aliases } = removal
  await tx.lock(objectLock(project_id, object_id))
  const gated = await gatedAmong(
    tx,
    removal,
    ({ alias, digest }) => digest !== null && aliases.includes(alias),
  )
  if (gated !== undefined) return { gated }
  for (const alias of aliases) {
    const removed = await tx.run(
      sql`DELETE FROM object_aliases
          WHERE project_id = ${project_id} AND object_id = ${object_id} AND alias = ${alias}`,
    )
    if (removed === 0) continue
    await endShadows(tx, removal, { why: 'the label was removed', now: now() }, (own) => own.alias === alias)
    await tellOfAlias(tx, project_id, { object_id, alias, digest: null })
  }
  return 'removed'
}
