import { membersOf, objectText } from '../../../packages/json/index.ts'
import { digestOfJson, digestOfTable } from '../../domain/digests.ts'
import { JsonText } from '../../domain/json/text.ts'
import { refuse, wrong } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import { readBody } from '../../http/read-body.ts'
import { parseOrRefuse } from '../../http/validation.ts'
import type { Database } from '../../storage/database.ts'
import { existingFeedback, statesOfImported } from '../../storage/exporting/import-writes.ts'
import { type Feedback, maxPayloadBytes } from '../../storage/feedback/feedback.ts'
import { readFileEntry } from '../../storage/objects/files.ts'
import { readTable } from '../../storage/objects/tables.ts'
import { openUpload, type Upload } from '../../storage/objects/upload.ts'
import { endPart, mergeParts, startPart } from '../calls/parts.ts'
import { subjectOf } from '../feedback/references.ts'
import { storeAllRows, storeOrder } from '../tables/store.ts'
import { type ImportedCall, type ImportedFeedback, ImportLine } from './contract.ts'
import { createObjectImport } from './import-objects.ts'
import type { Outcome, Outcomes } from './outcome.ts'

/** Calls of one write, which ends early when they are large. */
const callsAtOnce = 200
const bytesAtOnce = 1 << 20

interface ImportOptions {
  /** The project to write to; by default that of the export. */
  project: string | undefined
  /** Owner of the things that name no user. */
  user: string
}

/** Accepts the lines of an export in order. Lines that were imported before, even only some of them, change nothing. */
export function createImport(db: Database, { project: target, user }: ImportOptions) {
  let from: string | undefined
  let to: string | undefined = target
  let isWhole = false
  const none = (): Outcome => ({ added: 0, there: 0, gone: 0 })
  const outcomes: Outcomes = {
    files: none(),
    tables: none(),
    objects: none(),
    calls: none(),
    feedback: none(),
  }
  const objects = createObjectImport(db, user, outcomes.objects)
  const tables = createTableImport(db, outcomes.tables)
  let calls: ImportedCall[] = []
  let feedback: ImportedFeedback[] = []
  let bytes = 0
  let upload: { digest: string; size: number; at: number; to: Upload } | undefined

  async function flush(project: string): Promise<void> {
    if (calls.length > 0) await writeCalls(db, project, calls, user, outcomes.calls)
    if (feedback.length > 0) {
      const records = feedback.map((imported) => feedbackOf(imported, from as string, project, user))
      await writeFeedback(db, project, records, outcomes.feedback)
    }
    calls = []
    feedback = []
    bytes = 0
  }

  /** Pieces come in order. Those of a file that exists already are skipped. */
  async function takePiece(project: string, piece: NonNullable<ImportLine['file']>): Promise<void> {
    const { digest, size, from: at, base64 } = piece
    if (at === 0) {
      await upload?.to.drop()
      upload = undefined
      if ((await readFileEntry(db, project, digest)) !== undefined) {
        outcomes.files.there++
        return
      }
      upload = { digest, size, at: 0, to: openUpload(db, project, size) }
    }
    if (upload?.digest !== digest) return
    if (upload.at !== at) throw broken('file.from', String(at), String(upload.at))
    const data = Buffer.from(base64, 'base64')
    upload.at += data.length
    await upload.to.add(data)
    if (upload.at < size) return
    const found = await upload.to.finish()
    upload = undefined
    if (found !== digest) throw broken('file.digest', digest, found)
    outcomes.files.added++
  }

  return {
    outcomes,
    /** The project that is written to, once it is known. */
    get project(): string | undefined {
      return to
    },
    /** Whether the last line has been read. */
    get isWhole(): boolean {
      return isWhole
    },
    async take(text: Buffer): Promise<void> {
      const line = parseOrRefuse(ImportLine, readBody(text, ImportLine), 'body') as ImportLine
      if (isWhole) throw broken('the line', 'a line after the last one', 'nothing')
      if (line.export) {
        if (from !== undefined) throw broken('export', 'a second first line', 'one')
        from = line.export.project_id
        to ??= from
        return
      }
      if (from === undefined || to === undefined) {
        throw broken(
          'the first line',
          'not the head of an export',
          '{"export": {"version": 1, "project_id": …}}',
        )
      }
      if (line.call) calls.push(line.call)
      if (line.feedback) feedback.push(line.feedback)
      bytes += text.length
      const isFull = calls.length >= callsAtOnce || feedback.length >= callsAtOnce || bytes >= bytesAtOnce
      // A write has either calls or feedback, so that feedback follows its calls.
      if (isFull || (calls.length > 0 && feedback.length > 0)) await flush(to)
      if (line.file) await takePiece(to, line.file)
      if (line.rows) await tables.take(to, line.rows)
      if (line.object) await objects.take(to, line.object)
      if (line.end) {
        await flush(to)
        await objects.end(to)
        isWhole = true
      }
    },
    /** Writes what has arrived, even if the export was cut off. */
    async end(): Promise<void> {
      if (to === undefined) return
      await flush(to)
      await objects.end(to)
      await upload?.to.drop()
    },
  }
}

function broken(field: string, value: string, accepted: string) {
  return wrong(field, value, accepted)
}

async function writeCalls(
  db: Database,
  project: string,
  calls: readonly ImportedCall[],
  user: string,
  outcome: Outcome,
): Promise<void> {
  const time = now()
  const ids = calls.map(({ id }) => id)
  const standing = await statesOfImported(db, project, ids, time)
  const callParts = []
  for (const call of calls) {
    const known = call.expire_at != null && call.expire_at <= time ? 'gone' : standing.get(call.id)
    if (known !== undefined) {
      outcome[known]++
      continue
    }
    outcome.added++
    const { ended_at, summary, svc_user_id, ...fields } = call
    const started = { ...fields, project_id: project, svc_user_id: undefined }
    const begun = startPart(started, { user: svc_user_id ?? user, retentionDays: 0 })
    const ended = { ...fields, project_id: project, summary: ownSummary(summary), svc_user_id: undefined }
    callParts.push(ended_at == null ? begun : { ...begun, end: endPart({ ...ended, ended_at }).end })
  }
  if (callParts.length > 0) await db.write('upsertCalls', await mergeParts(callParts))
}

/** Computed whenever a call is read. */
const derived = ['status', 'latency_ms', 'display_name', 'trace_name']

function ownSummary(summary: JsonText | null | undefined): JsonText {
  if (summary == null) return new JsonText('{}')
  const members = membersOf(summary.text)
  const weave = members.get('weave')
  if (!weave?.startsWith('{')) return summary
  const own = membersOf(weave)
  for (const name of derived) own.delete(name)
  if (own.size === 0) members.delete('weave')
  else members.set('weave', objectText(own))
  return new JsonText(objectText(members))
}

function feedbackOf(imported: ImportedFeedback, from: string, project: string, user: string): Feedback {
  const { svc_user_id, payload, ...rest } = imported
  if (payload.bytes > maxPayloadBytes) {
    throw broken('feedback.payload', `${payload.bytes} bytes`, `at most ${maxPayloadBytes}`)
  }
  const svc_ref = movedRef(imported.svc_ref, from, project)
  const moved = (ref: string | null | undefined) => (ref == null ? null : movedRef(ref, from, project))
  return {
    ...rest,
    project_id: project,
    svc_ref,
    ...subjectOf({ svc_ref, project_id: project }),
    user_id: svc_user_id ?? user,
    creator: imported.creator ?? null,
    payload: payload.text,
    annotation_ref: moved(imported.annotation_ref),
    runnable_ref: moved(imported.runnable_ref),
    call_ref: moved(imported.call_ref),
    trigger_ref: moved(imported.trigger_ref),
    queue_id: imported.queue_id ?? null,
  }
}

/** A reference into the exported project becomes one into the project that is written to. */
function movedRef(ref: string, from: string, to: string): string {
  const start = /^[a-z][a-z0-9+.-]*:\/\/\//.exec(ref)?.[0]
  if (from === to || start === undefined || !ref.startsWith(`${from}/`, start.length)) return ref
  return `${start}${to}${ref.slice(start.length + from.length)}`
}

async function writeFeedback(
  db: Database,
  project: string,
  records: readonly Feedback[],
  outcome: Outcome,
): Promise<void> {
  const known = await existingFeedback(
    db,
    project,
    records.map(({ id }) => id),
  )
  const fresh = records.filter(({ id }) => !known.has(id))
  outcome.there += records.length - fresh.length
  outcome.added += fresh.length
  const additions = fresh.map((record) => ({ record, field: 'feedback.id' }))
  if (additions.length > 0) await db.write('addFeedback', additions)
}

/** Accepts the rows of one table after the other. A table becomes visible when all of its rows have come. */
function createTableImport(db: Database, outcome: Outcome) {
  let table: { digest: string; rows: string[] } | undefined

  return {
    async take(project: string, batch: NonNullable<ImportLine['rows']>): Promise<void> {
      const { table: digest, from, count, values } = batch
      if (from === 0) {
        table = undefined
        if ((await readTable(db, project, digest)) !== undefined) {
          outcome.there++
          return
        }
        table = { digest, rows: [] }
      }
      if (table?.digest !== digest) return
      if (table.rows.length !== from) {
        const values = { field: 'rows.from', received: from, accepted: String(table.rows.length) }
        throw refuse('invalid_value', values)
      }
      const rows = values.map((val) => ({ digest: digestOfJson(val.text), val }))
      await storeAllRows(db, project, rows)
      for (const row of rows) table.rows.push(row.digest)
      if (table.rows.length < count) return
      const found = await digestOfTable(table.rows)
      if (found !== digest) {
        throw refuse('digest_differs', { field: 'rows.table', received: digest, digest: found })
      }
      await storeOrder(db, project, digest, table.rows)
      table = undefined
      outcome.added++
    },
  }
}
