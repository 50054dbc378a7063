import type { z } from 'zod'
import { type Caller, requireAccess } from '../../domain/callers.ts'
import { writeJson } from '../../domain/json/text.ts'
import { isOf, type ObjectWithValue, selectObjects } from '../../storage/tables/objects.ts'
import { deleteObject } from '../objects/delete.ts'
import { conditionsOf, orderOf } from '../objects/query.ts'
import { liveObject } from '../objects/read.ts'
import { objectNotFound } from '../objects/resolve.ts'
import { Value } from '../objects/values.ts'
import type { ListQuery } from '../paging.ts'
import type { DeleteQuery } from './contract.ts'
import type { DefinitionKind, Definitions } from './kind.ts'

const rowsAtOnce = 50

/** One JSON text for the latest version of each. */
export async function* listDefinitions<Body extends z.ZodType>(
  kind: DefinitionKind<Body>,
  options: Definitions,
  caller: Caller,
  project: string,
  { limit, offset }: ListQuery,
  signal: AbortSignal,
): AsyncGenerator<string> {
  requireAccess(caller, project, 'path')
  const { db } = options
  const statement = selectObjects(db, {
    projectId: project,
    conditions: conditionsOf(project, { ...kind.filter, latest_only: true }),
    order: orderOf([]),
    limit: limit ?? null,
    offset: offset ?? 0,
    values: true,
  })
  for await (const rows of db.stream<ObjectWithValue>(statement, { signal, rows: rowsAtOnce })) {
    for (const row of rows) yield writeJson(await kind.describe(options, row, new Value(row.val ?? 'null')))
  }
}

export async function readDefinition<Body extends z.ZodType>(
  kind: DefinitionKind<Body>,
  options: Definitions,
  caller: Caller,
  project: string,
  name: string,
  digest: string,
): Promise<Record<string, unknown>> {
  requireAccess(caller, project, 'path')
  const version = await liveObject(options.db, project, { name, digest }, 'path')
  if (!isOf(kind.filter, version)) throw objectNotFound('path', project, { name, digest })
  return kind.describe(options, version, new Value(version.val))
}

/** Another kind of thing under this name is not found, and stays. */
export async function deleteDefinition<Body extends z.ZodType>(
  kind: DefinitionKind<Body>,
  { db }: Definitions,
  caller: Caller,
  project: string,
  name: string,
  { digests }: DeleteQuery,
): Promise<{ num_deleted: number }> {
  requireAccess(caller, project, 'path')
  const versions = digests === undefined ? null : [digests].flat()
  const asked = { only: kind.filter, object: 'path', versions: 'digests' }
  return deleteObject(db, caller, { project_id: project, object_id: name, digests: versions }, asked)
}
