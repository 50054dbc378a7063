import { answers } from '../../http/contracts.ts'
import { disconnectSignal } from '../../http/disconnect.ts'
import { sendJsonList } from '../../http/streamed-answers.ts'
import { family, type Operation } from '../parts.ts'
import {
  CreateAnswer,
  CreateBody,
  FromDigestsAnswer,
  FromDigestsBody,
  QueryAnswer,
  QueryBody,
  StatsAnswer,
  StatsBatchAnswer,
  StatsBatchBody,
  StatsBody,
  UpdateAnswer,
  UpdateBody,
} from './contract.ts'
import { createFromDigests, createTable } from './create.ts'
import { queryTable } from './query.ts'
import { countRows, countTables } from './stats.ts'
import { updateTable } from './update.ts'

const tags = ['tables']

/** Of routes that write values of any size. */
const config = { largeBodies: true }

const create: Operation = async (app, { db }) => {
  const schema = {
    summary: 'Store rows as a table',
    tags,
    body: CreateBody,
    response: answers(CreateAnswer, 'too_many_rows', 'digest_differs'),
  }
  app.post('/table/create', { schema, config }, (request) => createTable(db, request.caller, request.body))
}

const update: Operation = async (app, { db }) => {
  const schema = {
    summary: 'Make a new table out of another one',
    tags,
    body: UpdateBody,
    response: answers(UpdateAnswer, 'invalid_value', 'too_many_rows', 'table_not_found', 'query_too_slow'),
  }
  app.post('/table/update', { schema, config }, (request, reply) =>
    updateTable(db, request.caller, request.body, disconnectSignal(reply)),
  )
}

const fromDigests: Operation = async (app, { db }) => {
  const schema = {
    summary: 'Make a table of rows that the project has',
    tags,
    body: FromDigestsBody,
    response: answers(FromDigestsAnswer, 'too_many_rows', 'digest_differs', 'row_not_found'),
  }
  app.post('/table/create_from_digests', { schema, config }, (request, reply) =>
    createFromDigests(db, request.caller, request.body, disconnectSignal(reply)),
  )
}

const query: Operation = async (app, { db }) => {
  const schema = {
    summary: 'Read the rows of a table, in its order',
    tags,
    body: QueryBody,
    response: answers(QueryAnswer, 'invalid_value', 'query_too_slow'),
  }
  app.post('/table/query', { schema }, (request, reply) =>
    sendJsonList(reply, 'rows', queryTable(db, request.caller, request.body, disconnectSignal(reply))),
  )
}

const stats: Operation = async (app, { db }) => {
  const schema = {
    summary: 'Count the rows of a table',
    tags,
    body: StatsBody,
    response: answers(StatsAnswer, 'table_not_found'),
  }
  app.post('/table/query_stats', { schema }, (request) => countRows(db, request.caller, request.body))
}

const statsBatch: Operation = async (app, { db }) => {
  const schema = {
    summary: 'Count the rows of several tables',
    tags,
    body: StatsBatchBody,
    response: answers(StatsBatchAnswer, 'query_too_slow'),
  }
  app.post('/table/query_stats_batch', { schema }, (request, reply) =>
    countTables(db, request.caller, request.body, disconnectSignal(reply)),
  )
}

export const tableRoutes = family(create, update, fromDigests, query, stats, statsBatch)
