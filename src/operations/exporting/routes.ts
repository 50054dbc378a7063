import { requireAccess } from '../../domain/callers.ts'
import { jsonLinesOf } from '../../http/contracts.ts'
import { disconnectSignal } from '../../http/disconnect.ts'
import { sendJsonLines } from '../../http/streamed-answers.ts'
import { placeOfCall } from '../../storage/exporting/pages.ts'
import { callsViewOf } from '../calls/query.ts'
import { callNotFound } from '../calls/record.ts'
import { family, operation } from '../parts.ts'
import { ExportBody, ExportLine, exportKinds } from './contract.ts'
import { exportLines } from './export.ts'

export const exportRoutes = family(
  operation('POST', '/calls/export', {
    summary: 'Export calls, feedback, objects, tables and files, one JSON text a line',
    tags: ['calls'],
    body: ExportBody,
    answer: jsonLinesOf(ExportLine),
    refusals: ['invalid_value', 'call_not_found', 'query_too_slow'],
    rule: async ({ db, names }, { caller, body }, reply) => {
      const { project_id: project, kinds, filter, query, after } = body
      requireAccess(caller, project)
      const view = filter || query ? await callsViewOf(names, body) : undefined
      const place = after ? await placeOfCall(db, project, after) : undefined
      if (after && place === undefined) throw callNotFound('after', after, project)
      const asked = { project, kinds: kinds ?? exportKinds, view, after: place }
      return sendJsonLines(reply, exportLines(db, asked, disconnectSignal(reply)))
    },
  }),
)
