import { JsonText, writeJson } from '../../domain/json/text.ts'
import { formatTime, now } from '../../domain/time.ts'
import type { CallsView } from '../../storage/calls/queries.ts'
import type { BoundDatabase } from '../../storage/database.ts'
import {
  type CallPlace,
  callPages,
  feedbackOfCalls,
  feedbackPages,
  filePages,
  tablePages,
  tableRowPages,
  versionPages,
} from '../../storage/exporting/pages.ts'
import type { Feedback } from '../../storage/feedback/feedback.ts'
import { piecesOf } from '../../storage/objects/files.ts'
import { readLabels } from '../../storage/objects/object-labels.ts'
import { version } from '../../version.ts'
import { callRecord } from '../calls/record.ts'
import { objectRecord } from '../objects/read.ts'
import { type ExportKind, exportKinds, exportVersion } from './contract.ts'

export interface Exported {
  project: string
  kinds: readonly ExportKind[]
  /** Which calls; undefined means all. */
  view: CallsView | undefined
  /** Only the calls after this one. */
  after: CallPlace | undefined
}

/** The content of one line: a member named after the kind of thing, and the thing. */
export type ExportRecord = Record<string, Readonly<Record<string, unknown>>>

type Counts = Partial<Record<ExportKind, number>>

/** Bytes of the rows of a table in one record. */
const bytesOfRecord = 256 * 1024

/** One JSON text a line. */
export async function* exportLines(db: BoundDatabase, asked: Exported): AsyncGenerator<string> {
  for await (const record of exportRecords(db, asked)) yield writeJson(record)
}

/** The content of the first line. */
export function headOf({ project, kinds }: Pick<Exported, 'project' | 'kinds'>) {
  return { version: exportVersion, project_id: project, at: formatTime(now()), kinds, heddle: version }
}

/**
 * The head, then the things, then their counts. It is read in pages, at the pace of the reader, so it shows the record
 * as it changes meanwhile, and not as of one moment.
 */
export async function* exportRecords(
  db: BoundDatabase,
  { project, kinds, view, after }: Exported,
): AsyncGenerator<ExportRecord> {
  const wanted = exportKinds.filter((kind) => kinds.includes(kind))
  const counts: Counts = Object.fromEntries(wanted.map((kind) => [kind, 0]))
  const counted = (kind: ExportKind, by = 1) => {
    counts[kind] = (counts[kind] ?? 0) + by
  }
  // Before the first line, which cannot be taken back: an invalid query is refused here.
  const calls = callPages(db, view ?? everyCall(project), after, now())
  const isSome = view !== undefined || after !== undefined
  yield { export: headOf({ project, kinds: wanted }) }
  if (kinds.includes('files')) yield* filePieces(db, project, counted)
  if (kinds.includes('tables')) yield* tableRows(db, project, counted)
  if (kinds.includes('objects')) yield* objectVersions(db, project, counted)
  if (kinds.includes('calls')) {
    for await (const rows of calls) {
      for (const row of rows) yield { call: callRecord(row, {}) }
      counted('calls', rows.length)
      if (isSome && kinds.includes('feedback')) yield* feedbackOf(db, project, rows, counted)
    }
  } else if (kinds.includes('feedback') && isSome) {
    for await (const rows of calls) yield* feedbackOf(db, project, rows, counted)
  }
  if (kinds.includes('feedback') && !isSome) {
    for await (const rows of feedbackPages(db, project)) {
      for (const row of rows) yield feedbackRecord(row)
      counted('feedback', rows.length)
    }
  }
  yield { end: counts }
}

const everyCall = (project: string): CallsView => ({
  project,
  filters: [],
  query: undefined,
  sort: [],
  limit: null,
  offset: 0,
})

type Counted = (kind: ExportKind, by?: number) => void

async function* feedbackOf(
  db: BoundDatabase,
  project: string,
  calls: readonly { id: string }[],
  counted: Counted,
): AsyncGenerator<ExportRecord> {
  const ids = calls.map(({ id }) => id)
  for await (const rows of feedbackOfCalls(db, project, ids)) {
    for (const row of rows) yield feedbackRecord(row)
    counted('feedback', rows.length)
  }
}

function feedbackRecord({
  user_id,
  call_id: _,
  thread_id: __,
  created_at,
  payload,
  ...row
}: Feedback): ExportRecord {
  const feedback = { ...row, svc_user_id: user_id, created_at: formatTime(created_at) }
  return { feedback: { ...feedback, payload: new JsonText(payload) } }
}

async function* objectVersions(
  db: BoundDatabase,
  project: string,
  counted: Counted,
): AsyncGenerator<ExportRecord> {
  for await (const rows of versionPages(db, project)) {
    const labels = await readLabels(db, project, rows)
    for (const [index, row] of rows.entries()) {
      yield { object: objectRecord(row, row.val, labels[index]) }
    }
    counted('objects', rows.length)
  }
}

async function* tableRows(
  db: BoundDatabase,
  project: string,
  counted: Counted,
): AsyncGenerator<ExportRecord> {
  for await (const tables of tablePages(db, project)) {
    for (const { digest: table, row_count: count } of tables) {
      let values: JsonText[] = []
      let bytes = 0
      let from = 0
      const record = () => {
        const rows = { table, count, from, values }
        from += values.length
        values = []
        bytes = 0
        return { rows }
      }
      for await (const rows of tableRowPages(db, project, table)) {
        for (const { val } of rows) {
          values.push(new JsonText(val))
          bytes += val.length
          if (bytes >= bytesOfRecord) yield record()
        }
      }
      if (values.length > 0 || count === 0) yield record()
      counted('tables')
    }
  }
}

async function* filePieces(
  db: BoundDatabase,
  project: string,
  counted: Counted,
): AsyncGenerator<ExportRecord> {
  for await (const files of filePages(db, project)) {
    for (const { digest, upload_id, size } of files) {
      let from = 0
      const record = (piece: Uint8Array) => ({
        file: { digest, size, from, base64: Buffer.from(piece).toString('base64') },
      })
      if (size === 0) yield record(new Uint8Array())
      for await (const piece of piecesOf(db, project, upload_id, size)) {
        db.signal.throwIfAborted()
        yield record(piece)
        from += piece.length
      }
      counted('files')
    }
  }
}
