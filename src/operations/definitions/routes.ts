import type { z } from 'zod'
import { projectPath } from '../../domain/fields.ts'
import { writeJson } from '../../domain/json/text.ts'
import { viewOf } from '../../domain/view.ts'
import { jsonLinesOf } from '../../http/contracts.ts'
import { sendJsonLines } from '../../http/streams/streamed-answers.ts'
import type { Database } from '../../storage/database.ts'
import { streamObjects } from '../../storage/objects/object-queries.ts'
import { isOf } from '../../storage/objects/objects.ts'
import { boundTo } from '../../storage/transaction.ts'
import { DeleteAnswer } from '../objects/contract.ts'
import { deleteObject } from '../objects/delete.ts'
import { liveObject } from '../objects/read.ts'
import { objectNotFound } from '../objects/resolve.ts'
import { Value } from '../objects/values.ts'
import { ListQuery } from '../paging-contract.ts'
import { family, type Operation, type OperationParts, operation } from '../parts.ts'
import { type Scope, scopeOf } from '../scope.ts'
import { DeleteQuery, Name, Version } from './contract.ts'
import type { DefinitionKind } from './kind.ts'
import { datasets, evaluations, models, ops, scorers } from './kinds.ts'

function routesOf<Body extends z.ZodType>(kind: DefinitionKind<Body>): Operation[] {
  const { path, noun } = kind
  const article = /^[aeiou]/.test(noun) ? 'an' : 'a'
  const tags = [path]
  const all = `/v2/:entity/:project/${path}`

  return [
    operation('POST', all, {
      right: 'write',
      summary: `Store a version of ${article} ${noun}`,
      tags,
      params: projectPath,
      body: kind.body,
      answer: kind.created,
      refusals: ['class_conflict', 'too_many_rows'],
      largeBodies: true,
      rule: (options, { caller, body, params }) =>
        kind.create(options, scopeOf(caller, params), body, options.signal),
    }),
    operation('GET', all, {
      right: 'read',
      summary: `List the latest version of each ${noun}, as JSON Lines`,
      tags,
      params: projectPath,
      querystring: ListQuery,
      answer: jsonLinesOf(kind.record),
      refusals: ['query_too_slow', 'queue_full'],
      rule: (options, { caller, params, query }, reply) => {
        const { project } = scopeOf(caller, params)
        return sendJsonLines(reply, listDefinitions(kind, options, project, query, options.signal))
      },
    }),
    operation('GET', `${all}/:object_id/versions/:digest`, {
      right: 'read',
      summary: `Read a version of ${article} ${noun}`,
      tags,
      params: Version,
      answer: kind.record,
      refusals: ['object_not_found'],
      rule: (options, { caller, params }) =>
        readDefinition(kind, options, scopeOf(caller, params).project, params.object_id, params.digest),
    }),
    operation('DELETE', `${all}/:object_id`, {
      right: 'write',
      summary: `Delete versions of ${article} ${noun}, or all of them`,
      tags,
      params: Name,
      querystring: DeleteQuery,
      answer: DeleteAnswer,
      refusals: ['invalid_value', 'object_not_found'],
      rule: ({ db }, { caller, params, query }) =>
        deleteDefinition(db, kind, scopeOf(caller, params), params.object_id, query),
    }),
  ]
}

export const definitionRoutes = family(
  ...routesOf(ops),
  ...routesOf(datasets),
  ...routesOf(scorers),
  ...routesOf(evaluations),
  ...routesOf(models),
)

/** One JSON text for the latest version of each. */
async function* listDefinitions<Body extends z.ZodType>(
  kind: DefinitionKind<Body>,
  options: OperationParts,
  project: string,
  { limit, offset }: ListQuery,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const { db } = options
  const filter = { ...kind.filter, latest_only: true }
  const view = { ...viewOf({ project_id: project, limit, offset }), filter, values: true }
  for await (const rows of streamObjects(boundTo(db, signal), view)) {
    for (const row of rows) yield writeJson(await kind.describe(options, row, new Value(row.val ?? 'null')))
  }
}

async function readDefinition<Body extends z.ZodType>(
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
async function deleteDefinition<Body extends z.ZodType>(
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
