import { randomUUID } from 'node:crypto'
import { inSteps } from '../../../packages/waiting/index.ts'
import { answerPreview, isPreviewStored, requestPreview } from '../../domain/call-facts/preview.ts'
import { now } from '../../domain/time.ts'
import { backfillPosition } from '../calls/backfill.ts'
import { originOf } from '../calls/origin.ts'
import type { BoundDatabase, Database } from '../database.ts'
import { endUserHashes } from '../erasures/subjects.ts'
import { searchState } from '../search/indexing.ts'
import { rawSql, sql } from '../sql/sql.ts'
import { allRows, boundTo, onlyRow } from '../transaction.ts'
import { type ColdText, packFile } from './blocks.ts'
import type { Placing } from './files.ts'
import { damaged } from './reading.ts'
import { coldColumns, isReference, referenceText } from './reference.ts'
import type { OwnedStore } from './store.ts'

/** Of a file. */
export const maxCalls = 1_000
const maxBytes = 8 << 20

/** Rows that a query looks at, so that none takes long. */
const rowsAtOnce = 2_000

/** Texts that one transaction replaces: it holds the writer for a few milliseconds. */
const placedAtOnce = 32
const placedBytes = 96 * 1024

/** Smaller texts stay: a reference and its share of a file are nearly as long. */
const minBytes = 300

export interface Position {
  at: number
  id: string
}

interface Candidate {
  id: string
  started_at: number
  size: number
  is_eligible: number
}

export interface ColdRecord {
  /** Its rows have references. */
  bare: Database
  store: OwnedStore
}

/** Whether what lists and searches show of calls was derived from all of them: only then may their texts move. */
export async function isDerived(db: Database): Promise<boolean> {
  if ((await backfillPosition(db)) !== undefined) return false
  const search = await searchState(db)
  if (search === undefined) return true
  return search.is_on !== 1 || search.at_project === null
}

/** Calls of the project behind the position that begin before `before`, as many as one file may have. */
async function candidates(
  db: BoundDatabase,
  project: string,
  after: Position,
  before: number,
  now: number,
  most: number,
): Promise<{ rows: Candidate[]; next: Position | undefined }> {
  const texts = coldColumns.map((column) => {
    const name = `calls.${column}`
    // A reference is shorter.
    return `(${name} IS NOT NULL AND ${db.dialect.bytes(rawSql(name)).text} >= ${minBytes})`
  })
  const isEligible = sql`ended_at IS NOT NULL AND summary IS NOT NULL AND deleted_at IS NULL AND (expire_at IS NULL OR expire_at > ${now})
    AND start_bytes + end_bytes >= ${rawSql(String(minBytes))} AND (${rawSql(texts.join(' OR '))}) AND ${originOf(db.dialect)} = 'app'
    AND NOT EXISTS (SELECT 1 FROM completions WHERE completions.project_id = calls.project_id AND completions.call_id = calls.id)
    AND NOT EXISTS (SELECT 1 FROM underived_calls WHERE underived_calls.project_id = calls.project_id AND underived_calls.call_id = calls.id)`
  const rows = await allRows<Candidate>(
    db,
    sql`SELECT id, started_at, start_bytes + end_bytes AS size, CASE WHEN ${isEligible} THEN 1 ELSE 0 END AS is_eligible
        FROM calls WHERE project_id = ${project} AND (started_at, id) > (${after.at}, ${after.id}) AND started_at < ${before}
        ORDER BY started_at, id LIMIT ${rowsAtOnce}`,
  )
  const chosen: Candidate[] = []
  let bytes = 0
  let last: Candidate | undefined
  for (const row of rows) {
    const isFull = chosen.length === most || (chosen.length > 0 && bytes + Number(row.size) > maxBytes)
    if (row.is_eligible === 1 && isFull) return { rows: chosen, next: last && positionOf(last) }
    if (row.is_eligible === 1) {
      chosen.push(row)
      bytes += Number(row.size)
    }
    last = row
  }
  return { rows: chosen, next: rows.length < rowsAtOnce ? undefined : last && positionOf(last) }
}

const positionOf = ({ started_at, id }: Candidate): Position => ({ at: Number(started_at), id })

interface Moved {
  calls: number
  /** Where the next file begins; undefined if all were looked at. */
  next: Position | undefined
}

/** Moves at most so many calls of a project into one file. If it is none, the next one is passed over. */
export async function moveSome(
  { bare: db, store }: ColdRecord,
  project: string,
  after: Position,
  before: number,
  now: number,
  signal: AbortSignal,
  most = maxCalls,
): Promise<Moved> {
  const { rows, next } = await candidates(boundTo(db, signal), project, after, before, now, Math.max(1, most))
  if (rows.length === 0 || most === 0) return { calls: 0, next }
  const ids = rows.map(({ id }) => id)
  const texts = await readTexts(boundTo(db, signal), project, ids)
  const times = rows.map(({ started_at }) => Number(started_at))
  const moved: MovedText[] = []
  await inSteps(texts, (own) => {
    if (isReference(own.text) || Buffer.byteLength(own.text) < minBytes) return
    const known = knownOf(own)
    if (known !== undefined) moved.push({ ...own, ...known, before: own.text })
  })
  if (moved.length === 0) return { calls: 0, next }
  const isDone = await writeFile({ bare: db, store }, project, moved, times, signal)
  // Some of them are gone: the others are looked at again.
  return isDone ? { calls: new Set(moved.map(({ call }) => call)).size, next } : { calls: 0, next: after }
}

/** What the columns of these calls hold, texts or references. */
export async function readTexts(
  db: BoundDatabase,
  project: string,
  ids: readonly string[],
): Promise<ColdText[]> {
  const found: ColdText[] = []
  for (let first = 0; first < ids.length; first += 200) {
    const own = JSON.stringify(ids.slice(first, first + 200))
    const list =
      db.dialect.engine === 'sqlite'
        ? sql`SELECT value FROM json_each(${own})`
        : sql`SELECT json_array_elements_text(CAST(${own} AS JSON))`
    const query = sql`SELECT id, inputs, output FROM calls WHERE project_id = ${project} AND id IN (${list})`
    for await (const rows of db.stream<{ id: string; inputs: string | null; output: string | null }>(query, {
      rows: 50,
    })) {
      for (const row of rows) {
        for (const column of coldColumns) {
          const text = row[column]
          if (text !== null) found.push({ call: row.id, column, text })
        }
      }
    }
  }
  return found
}

interface MovedText extends ColdText, Pick<Placing, 'preview' | 'users'> {
  /** What the column of the call holds until then: the text, or an older reference. */
  before: string
}

/** What the record keeps of a text. Undefined if it was damaged on disk: it stays where `db check` finds it. */
export function knownOf({ column, text }: ColdText): Pick<Placing, 'preview' | 'users'> | undefined {
  try {
    const users = column === 'inputs' ? endUserHashes(text) : []
    if (isPreviewStored(text)) return { preview: null, users }
    return { preview: column === 'inputs' ? requestPreview(text).preview : answerPreview(text), users }
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/** Writes a file of these texts, and then their references in place of what was before. False if it is not wanted any more. */
export async function writeFile(
  { bare: db, store }: ColdRecord,
  project_id: string,
  texts: readonly MovedText[],
  times: readonly number[],
  signal: AbortSignal,
): Promise<boolean> {
  // Before the record names a file in it.
  await store.check()
  const id = randomUUID()
  const calls = [...new Set(texts.map(({ call }) => call))]
  const { bytes, references } = await packFile(id, project_id, texts)
  // From here on an erasure waits for as long as an upload may take.
  const isBegun = await db.write('beginColdFile', {
    ...{ project_id, id, calls, now: now() },
    from_at: times.reduce((a, b) => Math.min(a, b)),
    until_at: times.reduce((a, b) => Math.max(a, b)),
  })
  if (!isBegun) return false
  await store.write(id, bytes)
  // What replaces texts has to be there.
  const size = await store.size(id, signal)
  if (size !== bytes.length)
    throw damaged(id, new Error(`${id} has ${size} bytes instead of ${bytes.length}`))
  let some: Placing[] = []
  let length = 0
  for (const [index, { call, column, before, preview, users }] of texts.entries()) {
    const after = referenceText(references[index] as (typeof references)[0])
    some.push({ call, column, before, after, preview, users })
    length += before.length
    const isLast = index === texts.length - 1
    if (!isLast && some.length < placedAtOnce && length < placedBytes) continue
    signal.throwIfAborted()
    const isWanted = await db.write('placeColdCalls', {
      ...{ project_id, id, texts: some, isLast },
      bytes: bytes.length,
    })
    if (!isWanted) {
      // It was dropped meanwhile, perhaps before it was written.
      await store.remove(id)
      return false
    }
    some = []
    length = 0
  }
  return true
}

export async function coldTotals(
  db: BoundDatabase,
): Promise<{ files: number; calls: number; bytes: number }> {
  const row = await onlyRow<{ files: number; calls: number | null; bytes: number | null }>(
    db,
    sql`SELECT count(*) AS files, sum(calls) AS calls, sum(bytes) AS bytes FROM cold_files WHERE state = 'ready'`,
  )
  return { files: Number(row.files), calls: Number(row.calls ?? 0), bytes: Number(row.bytes ?? 0) }
}
