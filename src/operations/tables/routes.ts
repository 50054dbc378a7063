import { type Caller, requireAccess } from '../../domain/callers.ts'
import { JsonText, writeJson } from '../../domain/json/text.ts'
import { viewOf } from '../../domain/view.ts'
import { sendJsonList } from '../../http/streams/streamed-answers.ts'
import type { BoundDatabase } from '../../storage/database.ts'
import { readTable, readTables, sizeOfTable, streamRows } from '../../storage/objects/tables.ts'
import type { Reader } from '../../storage/transaction.ts'
import { family, operationsUnder } from '../parts.ts'
import * as contract from './contract.ts'
import { createFromDigests, createTable } from './create.ts'
import { tableNotFound, updateTable } from './update.ts'

const operation = operationsUnder('tables')

export const tableRoutes = family(
  operation('POST', '/table/create', {
    right: 'write_calls',
    summary: 'Store rows as a table',
    body: contract.CreateBody,
    answer: contract.CreateAnswer,
    refusals: ['too_many_rows', 'digest_differs'],
    largeBodies: true,
    rule: ({ db }, { caller, body }) => createTable(db, caller, body),
  }),
  operation('POST', '/table/update', {
    right: 'write_calls',
    summary: 'Create a new table from another one',
    body: contract.UpdateBody,
    answer: contract.UpdateAnswer,
    refusals: ['invalid_value', 'too_many_rows', 'table_not_found', 'query_too_slow'],
    largeBodies: true,
    rule: ({ db }, { caller, body }) => updateTable(db, caller, body),
  }),
  operation('POST', '/table/create_from_digests', {
    right: 'write_calls',
    summary: 'Create a table from rows that the project already has',
    body: contract.FromDigestsBody,
    answer: contract.FromDigestsAnswer,
    refusals: ['too_many_rows', 'digest_differs', 'row_not_found'],
    largeBodies: true,
    rule: ({ db }, { caller, body }) => createFromDigests(db, caller, body),
  }),
  operation('POST', '/table/query', {
    right: 'read',
    summary: 'Read the rows of a table, in order',
    body: contract.QueryBody,
    answer: contract.QueryAnswer,
    refusals: ['invalid_value', 'query_too_slow'],
    rule: ({ db }, { caller, body }, reply) => sendJsonList(reply, 'rows', queryTable(db, caller, body)),
  }),
  operation('POST', '/table/query_stats', {
    right: 'read',
    summary: 'Count the rows of a table',
    body: contract.StatsBody,
    answer: contract.StatsAnswer,
    refusals: ['table_not_found'],
    rule: ({ db }, { caller, body }) => countRows(db, caller, body),
  }),
  operation('POST', '/table/query_stats_batch', {
    right: 'read',
    summary: 'Count the rows of several tables',
    body: contract.StatsBatchBody,
    answer: contract.StatsBatchAnswer,
    refusals: ['query_too_slow'],
    rule: ({ db }, { caller, body }) => countTables(db, caller, body),
  }),
)

/** One JSON text for each row. A table that does not exist has none. */
async function* queryTable(
  db: BoundDatabase,
  caller: Caller,
  body: contract.QueryBody,
): AsyncGenerator<string> {
  requireAccess(caller, body.project_id)
  const rows = body.filter?.row_digests ?? undefined
  const view = { ...viewOf(body), digest: body.digest, rows }
  for await (const chunk of streamRows(db, view)) {
    for (const { digest, val, original_index } of chunk) {
      yield writeJson({ digest, val: new JsonText(val), original_index })
    }
  }
}

async function countRows(db: Reader, caller: Caller, { project_id, digest }: contract.StatsBody) {
  requireAccess(caller, project_id)
  const table = await readTable(db, project_id, digest)
  if (table === undefined) throw tableNotFound('digest', project_id, digest)
  return { count: table.row_count }
}

/** In the order of the digests, each once; a table that does not exist is left out. */
async function countTables(db: BoundDatabase, caller: Caller, body: contract.StatsBatchBody) {
  const { project_id, digests } = body
  requireAccess(caller, project_id)
  const once = [...new Set(digests)]
  const counts = new Map((await readTables(db, project_id, once)).map((table) => [table.digest, table.count]))
  const tables: { digest: string; count: number; storage_size_bytes: number | null }[] = []
  for (const digest of once) {
    const count = counts.get(digest)
    if (count === undefined) continue
    const size = body.include_storage_size ? await sizeOfTable(db, project_id, digest) : null
    tables.push({ digest, count, storage_size_bytes: size })
  }
  return { tables }
}
