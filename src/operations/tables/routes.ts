import { sendJsonList } from '../../http/streams/streamed-answers.ts'
import { family, operation } from '../parts.ts'
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
import { countRows, countTables, queryTable } from './read.ts'
import { updateTable } from './update.ts'

const tags = ['tables']

export const tableRoutes = family(
  operation('POST', '/table/create', {
    right: 'write_calls',
    summary: 'Store rows as a table',
    tags,
    body: CreateBody,
    answer: CreateAnswer,
    refusals: ['too_many_rows', 'digest_differs'],
    largeBodies: true,
    rule: ({ db }, { caller, body }) => createTable(db, caller, body),
  }),
  operation('POST', '/table/update', {
    right: 'write_calls',
    summary: 'Create a new table from another one',
    tags,
    body: UpdateBody,
    answer: UpdateAnswer,
    refusals: ['invalid_value', 'too_many_rows', 'table_not_found', 'query_too_slow'],
    largeBodies: true,
    rule: ({ db, signal }, { caller, body }) => updateTable(db, caller, body, signal),
  }),
  operation('POST', '/table/create_from_digests', {
    right: 'write_calls',
    summary: 'Create a table from rows that the project already has',
    tags,
    body: FromDigestsBody,
    answer: FromDigestsAnswer,
    refusals: ['too_many_rows', 'digest_differs', 'row_not_found'],
    largeBodies: true,
    rule: ({ db, signal }, { caller, body }) => createFromDigests(db, caller, body, signal),
  }),
  operation('POST', '/table/query', {
    right: 'read',
    summary: 'Read the rows of a table, in order',
    tags,
    body: QueryBody,
    answer: QueryAnswer,
    refusals: ['invalid_value', 'query_too_slow'],
    rule: ({ db, signal }, { caller, body }, reply) =>
      sendJsonList(reply, 'rows', queryTable(db, caller, body, signal)),
  }),
  operation('POST', '/table/query_stats', {
    right: 'read',
    summary: 'Count the rows of a table',
    tags,
    body: StatsBody,
    answer: StatsAnswer,
    refusals: ['table_not_found'],
    rule: ({ db }, { caller, body }) => countRows(db, caller, body),
  }),
  operation('POST', '/table/query_stats_batch', {
    right: 'read',
    summary: 'Count the rows of several tables',
    tags,
    body: StatsBatchBody,
    answer: StatsBatchAnswer,
    refusals: ['query_too_slow'],
    rule: ({ db, signal }, { caller, body }) => countTables(db, caller, body, signal),
  }),
)
