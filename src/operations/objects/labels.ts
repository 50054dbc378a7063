import { type Caller, requireAccess } from '../../domain/callers.ts'
import { refuse, wrong } from '../../domain/refusals.ts'
import type { BoundDatabase, Database } from '../../storage/database.ts'
import { type Labels, streamLabels } from '../../storage/objects/object-labels.ts'
import { isReservedVersion, readVersion } from '../../storage/objects/objects.ts'
import { jsonLines } from '../json-lines.ts'
import type { AliasesBody, AliasesToRemove, TagsBody } from './contract.ts'
import { objectNotFound } from './resolve.ts'

/** One JSON text for each name. */
export function labelsOf(db: BoundDatabase, caller: Caller, project: string, kind: keyof Labels) {
  requireAccess(caller, project)
  return jsonLines(streamLabels(db, project, kind), ({ label }) => label)
}

type TagChange = 'add' | 'remove'

export async function changeTagsOf(
  db: Database,
  caller: Caller,
  { object_id: name, digest }: Record<'object_id' | 'digest', string>,
  { project_id, tags }: TagsBody,
  change: TagChange,
): Promise<void> {
  requireAccess(caller, project_id)
  const isThere = await db.write('changeTags', {
    project_id,
    object_id: name,
    version: digest,
    add: change === 'add' ? tags : [],
    remove: change === 'remove' ? tags : [],
  })
  if (!isThere) throw objectNotFound('path.digest', project_id, { name, digest })
}

export async function setAliasesOf(
  db: Database,
  caller: Caller,
  name: string,
  { project_id, digest, aliases }: AliasesBody,
): Promise<void> {
  requireAccess(caller, project_id)
  for (const [index, alias] of aliases.entries()) {
    if (!isReserved(alias)) continue
    throw wrong(
      `aliases.${index}`,
      JSON.stringify(alias),
      'a name that is neither `latest`, nor `v` and a number, nor like a digest',
    )
  }
  const result = await db.write('setAliases', { project_id, object_id: name, version: digest, aliases })
  if (result === 'missing') throw objectNotFound('digest', project_id, { name, digest })
  if (result !== 'set') throw labelGated('aliases', name, result.gated)
}

export const labelGated = (field: string, name: string, label: string) =>
  refuse('label_gated', { field, name, label })

export async function removeAliasesOf(
  db: Database,
  caller: Caller,
  name: string,
  { project_id, aliases }: AliasesToRemove,
): Promise<void> {
  requireAccess(caller, project_id)
  const found = await readVersion(db, project_id, { name, digest: 'latest' })
  if (found === undefined) throw objectNotFound('path.object_id', project_id, { name, digest: 'latest' })
  const result = await db.write('removeAliases', { project_id, object_id: name, aliases })
  if (result !== 'removed') throw labelGated('aliases', name, result.gated)
}

/** Whether an alias could be taken for another name of a version. */
export function isReserved(alias: string): boolean {
  return isReservedVersion(alias) || /^[0-9A-Za-z]{43}$/.test(alias)
}
