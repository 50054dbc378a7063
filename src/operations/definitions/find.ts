import type { z } from 'zod'
import { writeJson } from '../../domain/json/text.ts'
import { viewOf } from '../../domain/view.ts'
import type { Database } from '../../storage/database.ts'
import { streamObjects } from '../../storage/objects/object-queries.ts'
import { isOf } from '../../storage/objects/objects.ts'
import { deleteObject } from '../objects/delete.ts'
import { liveObject } from '../objects/read.ts'
import { objectNotFound } from '../objects/resolve.ts'
import { Value } from '../objects/values.ts'
import type { ListQuery } from '../paging.ts'
import type { OperationParts } from '../parts.ts'
import type { Scope } from '../scope.ts'
import type { DeleteQuery } from './contract.ts'
import type { DefinitionKind } from './kind.ts'

/** One JSON text for the latest version of each. */
export async function* listDefinitions<Body extends z.ZodType>(
  kind: DefinitionKind<Body>,
  options: OperationParts,
  project: string,
  { limit, offset }: ListQuery,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const { db } = options
  const filter = { ...kind.filter, latest_only: true }
  const view = { ...viewOf({ project_id: project, limit, offset }), filter, values: true }
  for await (const rows of streamObjects(db, view, signal)) {
    for (const row of rows) yield writeJson(await kind.describe(options, row, new Value(row.val ?? 'null')))
  }
}

export async function readDefinition<Body extends z.ZodType>(
  kind: DefinitionKind<Body>,
  options: OperationParts,
  project: string,
  name: string,
  digest: string,
): Promise<Record<string, unknown>> {
  const version = await liveObject(options.db, project, { name, digest }, 'path')
  if (!isOf(kind.filter, version)) throw objectNotFound('path', project, { name, digest })
  return kind.describe(options, version, new Value(version.val))
}

/** An object of another kind under this name is reported as not found, and stays. */
export async function deleteDefinition<Body extends z.ZodType>(
  db: Database,
  kind: DefinitionKind<Body>,
  { caller, project }: Scope,
  name: string,
  { digests }: DeleteQuery,
): Promise<{ num_deleted: number }> {
  const versions = digests === undefined ? null : [digests].flat()
  const asked = { only: kind.filter, object: 'path', versions: 'digests' }
  return deleteObject(db, caller, { project_id: project, object_id: name, digests: versions }, asked)
}
