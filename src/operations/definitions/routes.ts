import type { z } from 'zod'
import { requireAccess } from '../../domain/callers.ts'
import { projectOf, projectPath } from '../../domain/fields.ts'
import { answers, jsonLinesOf, refusing } from '../../http/contracts.ts'
import { disconnectSignal } from '../../http/disconnect.ts'
import { sendJsonLines } from '../../http/streamed-answers.ts'
import { DeleteAnswer } from '../objects/contract.ts'
import { ListQuery } from '../paging.ts'
import { family, type Operation } from '../parts.ts'
import { DeleteQuery, Name, Version } from './contract.ts'
import { deleteDefinition, listDefinitions, readDefinition } from './find.ts'
import type { DefinitionKind } from './kind.ts'
import { datasets, evaluations, models, ops, scorers } from './kinds.ts'

const asked = refusing('entity_forbidden', 'invalid_request')

function routesOf<Body extends z.ZodType>(kind: DefinitionKind<Body>): Operation[] {
  const { path, noun } = kind
  const article = /^[aeiou]/.test(noun) ? 'an' : 'a'
  const tags = [path]
  const all = `/v2/:entity/:project/${path}`

  const create: Operation = async (app, options) => {
    const schema = {
      summary: `Store a version of ${article} ${noun}`,
      tags,
      params: projectPath,
      body: kind.body,
      response: answers(kind.created, 'class_conflict', 'too_many_rows'),
    }
    app.post(all, { schema, config: { largeBodies: true } }, (request) => {
      const project = projectOf(request.params as z.output<typeof projectPath>)
      requireAccess(request.caller, project, 'path')
      return kind.create(options, { caller: request.caller, project }, request.body as z.output<Body>)
    })
  }

  const list: Operation = async (app, options) => {
    const schema = {
      summary: `List the latest version of each ${noun}, one JSON text a line`,
      tags,
      params: projectPath,
      querystring: ListQuery,
      response: { 200: jsonLinesOf(kind.record), ...asked, ...refusing('query_too_slow', 'queue_full') },
    }
    app.get(all, { schema }, (request, reply) => {
      const project = projectOf(request.params)
      const signal = disconnectSignal(reply)
      const lines = listDefinitions(kind, options, request.caller, project, request.query, signal)
      return sendJsonLines(reply, lines)
    })
  }

  const read: Operation = async (app, options) => {
    const schema = {
      summary: `Read a version of ${article} ${noun}`,
      tags,
      params: Version,
      response: { 200: kind.record, ...asked, ...refusing('object_not_found') },
    }
    app.get(`${all}/:object_id/versions/:digest`, { schema }, (request) => {
      const { object_id, digest } = request.params
      return readDefinition(kind, options, request.caller, projectOf(request.params), object_id, digest)
    })
  }

  const remove: Operation = async (app, options) => {
    const schema = {
      summary: `Delete versions of ${article} ${noun}, or all of them`,
      tags,
      params: Name,
      querystring: DeleteQuery,
      response: { 200: DeleteAnswer, ...asked, ...refusing('invalid_value', 'object_not_found') },
    }
    app.delete(`${all}/:object_id`, { schema }, (request) => {
      const { object_id } = request.params
      return deleteDefinition(
        kind,
        options,
        request.caller,
        projectOf(request.params),
        object_id,
        request.query,
      )
    })
  }

  return [create, list, read, remove]
}

export const definitionRoutes = family(
  ...routesOf(ops),
  ...routesOf(datasets),
  ...routesOf(scorers),
  ...routesOf(evaluations),
  ...routesOf(models),
)
