import { z } from 'zod'
import { requireAccess } from '../../domain/callers.ts'
import { wrong } from '../../domain/refusals.ts'
import { createConcurrencyLimit } from '../../http/concurrency-limit.ts'
import { whenClosed } from '../../http/disconnect.ts'
import { sendChunks, sendJsonLines } from '../../http/streams/streamed-answers.ts'
import { placeOfCall } from '../../storage/exporting/pages.ts'
import { callsViewOf } from '../calls/query.ts'
import { callNotFound } from '../calls/record.ts'
import { type Operation, operation } from '../parts.ts'
import { ExportBody, type ExportKind, ExportLine, exportKinds } from './contract.ts'
import { exportLines } from './export.ts'

/** Exports at once: each keeps some rows in memory while its client does not read. */
const maxExports = { perUser: 4, total: 64 }
/** A Parquet export also has a thread, with a row group in memory. */
const maxParquetExports = { perUser: 2, total: 4 }

const parquetType = 'application/vnd.apache.parquet'

const exported = {
  description: 'JSON Lines, or a Parquet file',
  content: {
    'application/jsonl': { schema: ExportLine },
    [parquetType]: { schema: z.string().meta({ format: 'binary' }) },
  },
}

export const exportRoutes: Operation = async (app, services) => {
  const lines = createConcurrencyLimit(maxExports, 'too_many_exports')
  const parquets = createConcurrencyLimit(maxParquetExports, 'too_many_exports')
  const route = operation('POST', '/calls/export', {
    right: 'export',
    summary: 'Export calls, feedback, objects, tables and files, as JSON Lines or Parquet',
    tags: ['calls'],
    body: ExportBody,
    answer: exported,
    refusals: ['invalid_value', 'call_not_found', 'query_too_slow', 'too_many_exports'],
    rule: async ({ db, names }, { caller, body }, reply) => {
      const { project_id: project, kinds, filter, query, after, format } = body
      requireAccess(caller, project)
      const kind = format === 'parquet' ? onlyKind(kinds) : undefined
      const view = filter || query ? await callsViewOf(names, body) : undefined
      const position = after ? await placeOfCall(db, project, after) : undefined
      if (after && position === undefined) throw callNotFound('after', after, project)
      const asked = { project, kinds: kinds ?? exportKinds, view, after: position }
      whenClosed(reply, (kind === undefined ? lines : parquets).enter(caller.name))
      if (kind === undefined) return sendJsonLines(reply, exportLines(db, asked))
      const { parquetPieces } = await import('./parquet/write.ts')
      return sendChunks(reply, parquetType, parquetPieces(db, { ...asked, kind }))
    },
  })
  await route(app, services)
}

/** A Parquet file has the columns of one kind. */
function onlyKind(kinds: readonly ExportKind[] | null | undefined): ExportKind {
  const [kind, ...others] = new Set(kinds ?? exportKinds)
  if (kind !== undefined && others.length === 0) return kind
  const listed = kinds ? kinds.join(', ') : 'everything'
  throw wrong('kinds', listed, 'one kind, because the format is parquet')
}
