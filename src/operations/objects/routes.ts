import { sendJsonList } from '../../http/streams/streamed-answers.ts'
import { family, operationsUnder } from '../parts.ts'
import * as contract from './contract.ts'
import { createGivenObject } from './create.ts'
import { deleteObject } from './delete.ts'
import { changeTagsOf, labelsOf, removeAliasesOf, setAliasesOf } from './labels.ts'
import { queryObjects, readOneObject, readRefs } from './read.ts'

const operation = operationsUnder('objects')

export const objectRoutes = family(
  operation('POST', '/obj/create', {
    right: 'write_calls',
    summary: 'Create a version of an object; the same value is the same version',
    body: contract.CreateBody,
    answer: contract.CreateAnswer,
    refusals: ['invalid_value', 'class_conflict', 'digest_differs', 'object_changed'],
    largeBodies: true,
    rule: async ({ db, schemas }, { caller, body }) => {
      const { digest, object_id } = await createGivenObject(db, schemas, caller, body.obj)
      return { digest, object_id }
    },
  }),
  operation('POST', '/obj/read', {
    right: 'read_queues',
    summary: 'Read a version of an object',
    body: contract.ReadBody,
    answer: contract.ReadAnswer,
    refusals: ['object_deleted'],
    rule: ({ db }, { caller, body }) => readOneObject(db, caller, body),
  }),
  operation('POST', '/objs/query', {
    right: 'read',
    summary: 'Find versions of objects',
    body: contract.QueryBody,
    answer: contract.QueryAnswer,
    refusals: ['query_too_slow'],
    rule: ({ db }, { caller, body }, reply) => sendJsonList(reply, 'objs', queryObjects(db, caller, body)),
  }),
  operation('POST', '/obj/delete', {
    right: 'write',
    summary: 'Delete versions of an object, or all of them',
    body: contract.DeleteBody,
    answer: contract.DeleteAnswer,
    refusals: ['invalid_value', 'object_not_found', 'label_gated'],
    rule: ({ db }, { caller, body }) => deleteObject(db, caller, body),
  }),
  operation('PUT', '/objs/:object_id/versions/:digest/tags', {
    right: 'write',
    summary: 'Add tags to a version',
    params: contract.Version,
    body: contract.TagsBody,
    answer: contract.EmptyAnswer,
    refusals: ['object_not_found'],
    rule: ({ db }, { caller, body, params }) => changeTagsOf(db, caller, params, body, 'add'),
  }),
  operation('POST', '/objs/:object_id/versions/:digest/tags/remove', {
    right: 'write',
    summary: 'Remove tags from a version',
    params: contract.Version,
    body: contract.TagsBody,
    answer: contract.EmptyAnswer,
    refusals: ['object_not_found'],
    rule: ({ db }, { caller, body, params }) => changeTagsOf(db, caller, params, body, 'remove'),
  }),
  operation('PUT', '/objs/:object_id/aliases', {
    right: 'write',
    summary: 'Point aliases to a version',
    params: contract.Name,
    body: contract.AliasesBody,
    answer: contract.EmptyAnswer,
    refusals: ['invalid_value', 'object_not_found', 'label_gated'],
    rule: ({ db }, { caller, body, params }) => setAliasesOf(db, caller, params.object_id, body),
  }),
  operation('POST', '/objs/:object_id/aliases/remove', {
    right: 'write',
    summary: 'Remove aliases of an object',
    params: contract.Name,
    body: contract.AliasesToRemove,
    answer: contract.EmptyAnswer,
    refusals: ['object_not_found', 'label_gated'],
    rule: ({ db }, { caller, body, params }) => removeAliasesOf(db, caller, params.object_id, body),
  }),
  operation('GET', '/tags', {
    right: 'read',
    summary: 'List the tags of a project',
    querystring: contract.InProject,
    answer: contract.TagsAnswer,
    refusals: ['query_too_slow'],
    rule: ({ db }, { caller, query }, reply) =>
      sendJsonList(reply, 'tags', labelsOf(db, caller, query.project_id, 'tags')),
  }),
  operation('GET', '/aliases', {
    right: 'read',
    summary: 'List the aliases of a project',
    querystring: contract.InProject,
    answer: contract.AliasesAnswer,
    refusals: ['query_too_slow'],
    rule: ({ db }, { caller, query }, reply) =>
      sendJsonList(reply, 'aliases', labelsOf(db, caller, query.project_id, 'aliases')),
  }),
  operation('POST', '/refs/read_batch', {
    right: 'read',
    summary: 'Read the values of references, in order',
    body: contract.RefsBody,
    answer: contract.RefsAnswer,
    refusals: ['invalid_value', 'answer_too_large', 'object_not_found'],
    rule: ({ db }, { caller, body }, reply) => sendJsonList(reply, 'vals', readRefs(db, caller, body)),
  }),
)
