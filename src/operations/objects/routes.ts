import { z } from 'zod'
import { answers, RefusalBody } from '../../http/contracts.ts'
import { disconnectSignal } from '../../http/disconnect.ts'
import { sendJsonList } from '../../http/streamed-answers.ts'
import { family, type Operation } from '../parts.ts'
import {
  AliasesBody,
  AliasesToRemove,
  CreateAnswer,
  CreateBody,
  DeleteAnswer,
  DeleteBody,
  EmptyAnswer,
  Name,
  QueryAnswer,
  QueryBody,
  ReadAnswer,
  ReadBody,
  RefsAnswer,
  RefsBody,
  TagsBody,
  Version,
} from './contract.ts'
import { createGivenObject } from './create.ts'
import { deleteObject } from './delete.ts'
import { changeTagsOf, removeAliasesOf, setAliasesOf } from './labels.ts'
import { queryObjects } from './query.ts'
import { readOneObject, readRefs } from './read.ts'

const tags = ['objects']

/** Of routes that write values of any size. */
const config = { largeBodies: true }
const deleted = {
  404: RefusalBody.extend({
    deleted_at: z.iso.datetime().optional().meta({ description: 'When the version was deleted, if it was.' }),
  }),
}

const create: Operation = async (app, { db, schemas }) => {
  const schema = {
    summary: 'Store a value under a name; the same value is the same version',
    tags,
    body: CreateBody,
    response: answers(CreateAnswer, 'invalid_value', 'class_conflict', 'digest_differs'),
  }
  app.post('/obj/create', { schema, config }, async (request) => {
    const { digest, object_id } = await createGivenObject(db, schemas, request.caller, request.body.obj)
    return { digest, object_id }
  })
}

const read: Operation = async (app, { db }) => {
  const schema = {
    summary: 'Read a version of an object',
    tags,
    body: ReadBody,
    response: { ...answers(ReadAnswer), ...deleted },
  }
  app.post('/obj/read', { schema }, (request) => readOneObject(db, request.caller, request.body))
}

const query: Operation = async (app, { db }) => {
  const schema = {
    summary: 'Find versions of objects',
    tags,
    body: QueryBody,
    response: answers(QueryAnswer, 'query_too_slow'),
  }
  app.post('/objs/query', { schema }, (request, reply) =>
    sendJsonList(reply, 'objs', queryObjects(db, request.caller, request.body, disconnectSignal(reply))),
  )
}

const remove: Operation = async (app, { db }) => {
  const schema = {
    summary: 'Delete versions of an object, or all of them',
    tags,
    body: DeleteBody,
    response: answers(DeleteAnswer, 'invalid_value', 'object_not_found'),
  }
  app.post('/obj/delete', { schema }, (request) => deleteObject(db, request.caller, request.body))
}

const addTags: Operation = async (app, { db }) => {
  const schema = {
    summary: 'Add tags to a version',
    tags,
    params: Version,
    body: TagsBody,
    response: answers(EmptyAnswer, 'object_not_found'),
  }
  app.put('/objs/:object_id/versions/:digest/tags', { schema }, async (request) => {
    const { object_id: name, digest } = request.params
    await changeTagsOf(db, request.caller, { name, digest }, request.body, 'add')
    return {}
  })
}

const removeTags: Operation = async (app, { db }) => {
  const schema = {
    summary: 'Take tags from a version',
    tags,
    params: Version,
    body: TagsBody,
    response: answers(EmptyAnswer, 'object_not_found'),
  }
  app.post('/objs/:object_id/versions/:digest/tags/remove', { schema }, async (request) => {
    const { object_id: name, digest } = request.params
    await changeTagsOf(db, request.caller, { name, digest }, request.body, 'remove')
    return {}
  })
}

const setAliases: Operation = async (app, { db }) => {
  const schema = {
    summary: 'Let aliases name a version',
    tags,
    params: Name,
    body: AliasesBody,
    response: answers(EmptyAnswer, 'invalid_value', 'object_not_found'),
  }
  app.put('/objs/:object_id/aliases', { schema }, async (request) => {
    await setAliasesOf(db, request.caller, request.params.object_id, request.body)
    return {}
  })
}

const removeAliases: Operation = async (app, { db }) => {
  const schema = {
    summary: 'Remove aliases of an object',
    tags,
    params: Name,
    body: AliasesToRemove,
    response: answers(EmptyAnswer, 'object_not_found'),
  }
  app.post('/objs/:object_id/aliases/remove', { schema }, async (request) => {
    await removeAliasesOf(db, request.caller, request.params.object_id, request.body)
    return {}
  })
}

const refs: Operation = async (app, { db }) => {
  const schema = {
    summary: 'Read what references lead to, in their order',
    tags,
    body: RefsBody,
    response: answers(RefsAnswer, 'invalid_value', 'answer_too_large', 'object_not_found'),
  }
  app.post('/refs/read_batch', { schema }, (request, reply) =>
    sendJsonList(reply, 'vals', readRefs(db, request.caller, request.body)),
  )
}

export const objectRoutes = family(
  create,
  read,
  query,
  remove,
  addTags,
  removeTags,
  setAliases,
  removeAliases,
  refs,
)
