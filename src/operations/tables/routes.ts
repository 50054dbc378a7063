import { type Routes, recordRefusals, refusing } from '../../http/contracts.ts'
import { disconnectSignal } from '../../http/disconnect.ts'
import { sendJsonList } from '../../http/json-list.ts'
import type { Database } from '../../storage/database.ts'
import { family } from '../parts.ts'
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

type RoutePlugin = Routes<{ db: Database }>

const create: RoutePlugin = async (app, { db }) => {
  const schema = {
    summary: 'Store rows as a table',
    tags,
    body: CreateBody,
    response: { 200: CreateAnswer, ...recordRefusals, ...refusing('too_many_rows', 'digest_differs') },
  }
  app.post('/table/create', { schema, config }, (request) => createTable(db, request.caller, request.body))
}

const update: RoutePlugin = async (app, { db }) => {
  const schema = {
    summary: 'Make a new table out of another one',
    tags,
    body: UpdateBody,
    response: {
      200: UpdateAnswer,
      ...recordRefusals,
      ...refusing('invalid_value', 'too_many_rows', 'table_not_found', 'query_too_slow'),
    },
  }
  app.post('/table/update', { schema, config }, (request, reply) =>
    updateTable(db, request.caller, request.body, disconnectSignal(reply)),
  )
}

const fromDigests: RoutePlugin = async (app, { db }) => {
  const schema = {
    summary: 'Make a table of rows that the project has',
    tags,
    body: FromDigestsBody,
    response: {
      200: FromDigestsAnswer,
      ...recordRefusals,
      ...refusing('too_many_rows', 'digest_differs', 'row_not_found'),
    },
  }
  app.post('/table/create_from_digests', { schema, config }, (request, reply) =>
    createFromDigests(db, request.caller, request.body, disconnectSignal(reply)),
  )
}

const query: RoutePlugin = async (app, { db }) => {
  const schema = {
    summary: 'Read the rows of a table, in its order',
    tags,
    body: QueryBody,
    response: { 200: QueryAnswer, ...recordRefusals, ...refusing('invalid_value', 'query_too_slow') },
  }
  app.post('/table/query', { schema }, (request, reply) =>
    sendJsonList(reply, 'rows', queryTable(db, request.caller, request.body, disconnectSignal(reply))),
  )
}

const stats: RoutePlugin = async (app, { db }) => {
  const schema = {
    summary: 'Count the rows of a table',
    tags,
    body: StatsBody,
    response: { 200: StatsAnswer, ...recordRefusals, ...refusing('table_not_found') },
  }
  app.post('/table/query_stats', { schema }, (request) => countRows(db, request.caller, request.body))
}

const statsBatch: RoutePlugin = async (app, { db }) => {
  const schema = {
    summary: 'Count the rows of several tables',
    tags,
    body: StatsBatchBody,
    response: { 200: StatsBatchAnswer, ...recordRefusals, ...refusing('query_too_slow') },
  }
  app.post('/table/query_stats_batch', { schema }, (request, reply) =>
    countTables(db, request.caller, request.body, disconnectSignal(reply)),
  )
}

export const tableRoutes = family(create, update, fromDigests, query, stats, statsBatch)
