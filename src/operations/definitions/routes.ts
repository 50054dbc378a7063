import type { z } from 'zod'
import { projectPath } from '../../domain/fields.ts'
import { jsonLinesOf } from '../../http/contracts.ts'
import { sendJsonLines } from '../../http/streams/streamed-answers.ts'
import { DeleteAnswer } from '../objects/contract.ts'
import { ListQuery } from '../paging.ts'
import { family, type Operation, operation } from '../parts.ts'
import { scopeOf } from '../scope.ts'
import { DeleteQuery, Name, Version } from './contract.ts'
import { deleteDefinition, listDefinitions, readDefinition } from './find.ts'
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
