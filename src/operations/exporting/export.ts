import { JsonText, writeJson } from '../../domain/json/text.ts'
import { formatTime, now } from '../../domain/time.ts'
import type { Database } from '../../storage/database.ts'
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
import { readLabels } from '../../storage/objects/object-labels.ts'
import type { CallsView } from '../../storage/tables/call-queries.ts'
import type { Feedback } from '../../storage/tables/feedback.ts'
import { version } from '../../version.ts'
import { callRecord } from '../calls/record.ts'
import { piecesOf } from '../files/content.ts'
import { objectRecord } from '../objects/read.ts'
import { type ExportKind, exportKinds, exportVersion } from './contract.ts'

export interface Exported {
  project: string
  kinds: readonly ExportKind[]
  /** Which calls; undefined is all of them. */
  view: CallsView | undefined
  /** The calls behind this one. */
  after: CallPlace | undefined
}

type Counts = Partial<Record<ExportKind, number>>

/** Of the rows of a table in one line. */
const bytesOfLine = 256 * 1024

/**
 * One JSON text a line: what it is, the things, and how many there were. It is read in pages, at the pace of whoever takes the
 * lines, so it shows the record as it is while it is read, and not as of one moment.
 */
export async function* exportLines(
  db: Database,
  { project, kinds, view, after }: Exported,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const wanted = exportKinds.filter((kind) => kinds.includes(kind))
  const counts: Counts = Object.fromEntries(wanted.map((kind) => [kind, 0]))
  const counted = (kind: ExportKind, by = 1) => {
    counts[kind] = (counts[kind] ?? 0) + by
  }
  const calls = { view: view ?? everyCall(project), after, isSome: view !== undefined || after !== undefined }
  const head = { version: exportVersion, project_id: project, at: formatTime(now()), kinds: wanted }
  yield writeJson({ export: { ...head, heddle: version } })
  if (kinds.includes('files')) yield* fileLines(db, project, counted, signal)
  if (kinds.includes('tables')) yield* tableLines(db, project, counted, signal)
  if (kinds.includes('objects')) yield* objectLines(db, project, counted, signal)
  if (kinds.includes('calls')) yield* callLines(db, calls, kinds, counted, signal)
  else if (kinds.includes('feedback') && calls.isSome) {
    for await (const rows of callPages(db, calls.view, after, now(), signal)) {
      yield* feedbackOf(db, project, rows, counted, signal)
    }
  }
  if (kinds.includes('feedback') && !calls.isSome) {
    for await (const rows of feedbackPages(db, project, signal)) {
      for (const row of rows) yield feedbackLine(row)
      counted('feedback', rows.length)
    }
  }
  yield writeJson({ end: counts })
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

async function* callLines(
  db: Database,
  { view, after, isSome }: { view: CallsView; after: CallPlace | undefined; isSome: boolean },
  kinds: readonly ExportKind[],
  counted: Counted,
  signal: AbortSignal,
): AsyncGenerator<string> {
  for await (const rows of callPages(db, view, after, now(), signal)) {
    for (const row of rows) yield writeJson({ call: callRecord(row, {}) })
    counted('calls', rows.length)
    if (isSome && kinds.includes('feedback')) yield* feedbackOf(db, view.project, rows, counted, signal)
  }
}

async function* feedbackOf(
  db: Database,
  project: string,
  calls: readonly { id: string }[],
  counted: Counted,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const ids = calls.map(({ id }) => id)
  for await (const said of feedbackOfCalls(db, project, ids, signal)) {
    for (const row of said) yield feedbackLine(row)
    counted('feedback', said.length)
  }
}

function feedbackLine({ user_id, call_id: _, created_at, payload, ...row }: Feedback): string {
  const feedback = { ...row, svc_user_id: user_id, created_at: formatTime(created_at) }
  return writeJson({ feedback: { ...feedback, payload: new JsonText(payload) } })
}

async function* objectLines(
  db: Database,
  project: string,
  counted: Counted,
  signal: AbortSignal,
): AsyncGenerator<string> {
  for await (const rows of versionPages(db, project, signal)) {
    const labels = await readLabels(db, project, rows)
    for (const [index, row] of rows.entries()) {
      yield writeJson({ object: objectRecord(row, row.val, labels[index]) })
    }
    counted('objects', rows.length)
  }
}

async function* tableLines(
  db: Database,
  project: string,
  counted: Counted,
  signal: AbortSignal,
): AsyncGenerator<string> {
  for await (const tables of tablePages(db, project, signal)) {
    for (const { digest: table, row_count: count } of tables) {
      let values: JsonText[] = []
      let bytes = 0
      let from = 0
      const line = () => {
        const text = writeJson({ rows: { table, count, from, values } })
        from += values.length
        values = []
        bytes = 0
        return text
      }
      for await (const rows of tableRowPages(db, project, table, signal)) {
        for (const { val } of rows) {
          values.push(new JsonText(val))
          bytes += val.length
          if (bytes >= bytesOfLine) yield line()
        }
      }
      if (values.length > 0 || count === 0) yield line()
      counted('tables')
    }
  }
}

async function* fileLines(
  db: Database,
  project: string,
  counted: Counted,
  signal: AbortSignal,
): AsyncGenerator<string> {
  for await (const files of filePages(db, project, signal)) {
    for (const { digest, upload_id, size } of files) {
      let from = 0
      const line = (piece: Uint8Array) =>
        writeJson({ file: { digest, size, from, base64: Buffer.from(piece).toString('base64') } })
      if (size === 0) yield line(new Uint8Array())
      for await (const piece of piecesOf(db, project, upload_id, size)) {
        signal.throwIfAborted()
        yield line(piece)
        from += piece.length
      }
      counted('files')
    }
  }
}
