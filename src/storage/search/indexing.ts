import { compareText } from '../../../packages/json/index.ts'
import { batchesOf } from '../../domain/batches.ts'
import { maxDocumentLength, maxTextsLength, textsIn } from '../../domain/search/texts.ts'
import { keyedDocuments, valueKeysIn } from '../../domain/search/values.ts'
import { wordsOf } from '../../domain/search/words.ts'
import { nextProject, projectAfter } from '../projects/turns.ts'
import { listOf, rawSql, sql } from '../sql/sql.ts'
import {
  allRows,
  type BoundReader,
  type Command,
  countOf,
  hasRows,
  type Reader,
  type Transaction,
} from '../transaction.ts'
import { type Entry, entriesOf } from './entries.ts'

/** Everything that changes the index takes this lock. */
export const searchLock = 'search'

/** Calls whose texts are read at a time. */
const readAtOnce = 8

interface State {
  is_on: number
  /** The project whose marks were processed last: projects take turns. */
  project_turn: string
  /**
   * How far calls that predate the search have been read; null when all have. Before the first project, `at_call` names
   * the writes that have to end first.
   */
  at_project: string | null
  at_call: string | null
}

export const searchState = (db: Reader): Promise<State | undefined> =>
  db.get<State>(sql`SELECT is_on, project_turn, at_project, at_call FROM search_state`)

/** Whether its calls that predate the search have all been read. Databases order projects by code point. */
export const isReadThrough = ({ at_project }: State, project: string): boolean =>
  at_project === null || compareText(at_project, project) > 0

/** Whether calls are waiting to be indexed. */
export const hasUnread = (db: Reader): Promise<boolean> =>
  hasRows(db, sql`search_marks`, sql`search_state WHERE at_project IS NOT NULL`)

/** More waiting writes are not counted. */
const maxCounted = 100_000

/** How many writes have calls that wait to be indexed. */
export async function countUnread(db: Reader): Promise<number> {
  const some = sql`SELECT 1 AS one FROM search_marks LIMIT ${maxCounted}`
  return countOf(db, sql`(${some}) AS some`)
}

/** Turns the search on or off. When it is turned on again, every call is indexed once more. */
export const switchSearch: Command<{ isOn: boolean }, void> = async (tx, { isOn }) => {
  await tx.lock(searchLock)
  await tx.run(
    isOn
      ? sql`UPDATE search_state SET is_on = 1, at_project = '', at_call = '' WHERE is_on = 0`
      : rawSql('UPDATE search_state SET is_on = 0, at_project = NULL, at_call = NULL WHERE is_on = 1'),
  )
}

/** The first project with entries from before values had keys. */
export async function firstKeyless(db: BoundReader): Promise<string | undefined> {
  const next = async (after: string) => {
    const query = sql`SELECT min(project_id) AS project FROM search_entries WHERE project_id > ${after}`
    return (await db.get<{ project: string | null }>(query))?.project
  }
  for (let project = await next(''); project != null; project = await next(project)) {
    const found = sql`SELECT id FROM ${entriesOf(db).withKeys(project, [])} WHERE ${db.dialect.cancellable} LIMIT 1`
    if ((await allRows(db, found)).length > 0) return project
  }
  return undefined
}

/** Indexes calls once more, from those of this project on, unless all are being read anyway. */
export const renewSearch: Command<{ project_id: string }, void> = async (tx, { project_id }) => {
  await tx.lock(searchLock)
  await tx.run(
    sql`UPDATE search_state SET at_project = ${project_id}, at_call = '' WHERE is_on = 1 AND at_project IS NULL`,
  )
}

/** Frees what a search that was turned off has left. Returns whether there is more. */
export const dropSearch: Command<{ limit: number }, boolean> = async (tx, { limit }) => {
  await tx.lock(searchLock)
  if ((await searchState(tx))?.is_on !== 0) return false
  const marks = await tx.run(
    sql`DELETE FROM search_marks WHERE (project_id, mark) IN (SELECT project_id, mark FROM search_marks LIMIT ${limit})`,
  )
  const hasMore = await entriesOf(tx).drop(tx, limit)
  return hasMore || marks === limit
}

/** Pages that a step writes. */
const pagesAtOnce = 64

/**
 * SQLite's word index keeps the words of removed entries until its parts are merged. Merges them all into one, a step at a
 * time. Returns whether there is more to do. PostgreSQL has no such index.
 */
export const mergeSearch: Command<{ isFirst: boolean }, boolean> = async (tx, { isFirst }) => {
  if (tx.dialect.engine !== 'sqlite') return false
  await tx.lock(searchLock)
  const changes = async () =>
    (await tx.get<{ all: number }>(rawSql('SELECT total_changes() AS "all"')))?.all ?? 0
  const before = await changes()
  // A negative number begins the merge of everything (https://www.sqlite.org/fts5.html#the_merge_command).
  const pages = isFirst ? -pagesAtOnce : pagesAtOnce
  await tx.run(sql`INSERT INTO search_words (search_words, rank) VALUES ('merge', ${pages})`)
  return (await changes()) - before >= 2
}

interface IndexStep {
  /** The most calls of a step, and the most characters of their texts. */
  limit: number
  characters: number
  /** Calls whose texts are in a store keep the words that they have. */
  isColdLeft?: boolean
}

/** Indexes some calls of one project as they are now. Returns whether there may be more to do. */
export const indexCalls: Command<IndexStep, boolean> = async (tx, step) => {
  if (!(await tx.tryLock(searchLock))) return false
  const state = await searchState(tx)
  if (state?.is_on !== 1) return false
  const project = await nextProject(tx, 'search_marks', state.project_turn)
  if (project !== undefined) return indexMarked(tx, project, step)
  return indexOlder(tx, state, step)
}

interface Mark {
  mark: string
  call_ids: string
}

/** The marks are read before the calls, so everything that they stand for is seen. */
async function indexMarked(tx: Transaction, project: string, step: IndexStep): Promise<boolean> {
  await tx.run(sql`UPDATE search_state SET project_turn = ${project}`)
  const marks = await tx.all<Mark>(
    sql`SELECT mark, call_ids FROM search_marks WHERE project_id = ${project} ORDER BY mark LIMIT ${step.limit}`,
  )
  const named = marks.map(({ mark, call_ids }) => ({ mark, calls: JSON.parse(call_ids) as string[] }))
  const calls = [...new Set(named.flatMap(({ calls }) => calls))].slice(0, step.limit)
  const seen = new Set(await indexSome(tx, project, calls, step))
  const done: string[] = []
  for (const { mark, calls } of named) {
    const left = calls.filter((id) => !seen.has(id))
    if (left.length === 0) done.push(mark)
    else if (left.length < calls.length) {
      await tx.run(
        sql`UPDATE search_marks SET call_ids = ${JSON.stringify(left)} WHERE project_id = ${project} AND mark = ${mark}`,
      )
    }
  }
  await tx.run(sql`DELETE FROM search_marks WHERE project_id = ${project} AND mark IN (${listOf(done)})`)
  return true
}

async function indexOlder(
  tx: Transaction,
  { at_project: project, at_call: after }: State,
  step: IndexStep,
): Promise<boolean> {
  if (project === null || after === null) return false
  if (project === '') {
    const writes = await openWrites(tx)
    const awaited = after === '' ? writes : writes.filter((id) => after.split(' ').includes(id))
    await moveTo(tx, '', awaited.join(' '))
    if (awaited.length > 0) return false
  }
  const found = await tx.all<{ id: string }>(
    sql`SELECT id FROM calls WHERE project_id = ${project} AND id > ${after} ORDER BY id LIMIT ${step.limit}`,
  )
  const ids = found.map(({ id }) => id)
  const seen = await indexSome(tx, project, ids, step)
  const last = seen.at(-1)
  if (last !== undefined) await moveTo(tx, project, last)
  else {
    await moveTo(tx, (await projectAfter(tx, 'calls', project)) ?? null, '')
  }
  return true
}

/** Writes of other servers. If they began before the search was switched on, they leave no marks. */
async function openWrites(tx: Transaction): Promise<string[]> {
  if (tx.dialect.engine === 'sqlite') return []
  const rows = await tx.all<{ id: string }>(
    rawSql(`SELECT DISTINCT virtualtransaction AS id FROM pg_locks WHERE relation = CAST('calls' AS regclass)
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND mode = 'RowExclusiveLock' AND pid <> pg_backend_pid()`),
  )
  return rows.map(({ id }) => id)
}

async function moveTo(tx: Transaction, project: string | null, call: string): Promise<void> {
  await tx.run(sql`UPDATE search_state SET at_project = ${project}, at_call = ${project && call}`)
}

export interface FoundTexts {
  id: string
  inputs: string | null
  output: string | null
  exception: string | null
}

interface Found extends FoundTexts {
  op_name: string
  name: string | null
  attributes: string | null
}

/**
 * Indexes calls from the first on, as many as the character limit allows and at least a few. Returns those that it
 * processed.
 */
async function indexSome(
  tx: Transaction,
  project: string,
  calls: readonly string[],
  { characters, isColdLeft = false }: IndexStep,
): Promise<string[]> {
  const cold = new Set(isColdLeft ? await coldAmong(tx, project, calls) : [])
  const seen: string[] = [...cold]
  let read = 0
  const here = calls.filter((id) => !cold.has(id))
  for (const some of batchesOf(here, readAtOnce)) {
    if (read >= characters) break
    const found = await tx.all<Found>(
      sql`SELECT id, op_name, coalesce(renamed, display_name) AS name, substr(inputs, 1, ${rawSql(String(maxDocumentLength))}) AS inputs,
            substr(output, 1, ${rawSql(String(maxDocumentLength))}) AS output, substr(attributes, 1, ${rawSql(String(maxDocumentLength))}) AS attributes,
            substr(exception, 1, ${rawSql(String(maxTextsLength))}) AS exception
          FROM calls WHERE project_id = ${project} AND id IN (${listOf(some)}) AND started_at IS NOT NULL AND deleted_at IS NULL`,
    )
    const notes = await notesOf(tx, project, some)
    const entries: Entry[] = []
    const there = new Map(found.map((call) => [call.id, call]))
    // In the order of arrival, which is the order of results.
    for (const id of some) {
      const call = there.get(id)
      if (call === undefined) continue
      read += keyedDocuments.reduce((sum, document) => sum + (call[document]?.length ?? 0), 0)
      const words = wordsOf(textsOf(call, notes.get(call.id) ?? []).join('\n'))
      const keys = keyedDocuments.flatMap((document) => valueKeysIn(project, document, call[document] ?? ''))
      entries.push({ call: call.id, words, keys })
    }
    const gone = some.filter((id) => !there.has(id))
    const index = entriesOf(tx)
    if (gone.length > 0) await index.remove(tx, project, gone)
    if (entries.length > 0) await index.put(tx, project, entries)
    seen.push(...some)
  }
  return seen
}

async function coldAmong(tx: Transaction, project: string, calls: readonly string[]): Promise<string[]> {
  const rows = await tx.all<{ id: string }>(
    sql`SELECT id FROM calls WHERE project_id = ${project} AND id IN (${listOf(calls)})
        AND (substr(inputs, 1, 1) = ' ' OR substr(output, 1, 1) = ' ')`,
  )
  return rows.map(({ id }) => id)
}

const textsOf = ({ op_name, name, inputs, output, exception }: Found, notes: readonly string[]) => [
  shortOp(op_name),
  name ?? '',
  ...textsIn(inputs ?? ''),
  ...textsIn(output ?? ''),
  exception ?? '',
  ...notes,
]

/** Ops of clients are refs; their project and version are not searchable words. */
export const shortOp = (op: string): string => /\/op\/([^:/]+)/.exec(op)?.[1] ?? op

/** Notes of one call that are indexed. */
const maxNotes = 20

/** What users wrote about these calls. */
export async function notesOf(
  db: Reader,
  project: string,
  calls: readonly string[],
): Promise<Map<string, string[]>> {
  const rows = await db.all<{ call_id: string; payload: string }>(
    sql`SELECT call_id, payload FROM (
          SELECT call_id, substr(payload, 1, ${rawSql(String(maxTextsLength))}) AS payload,
            row_number() OVER (PARTITION BY call_id ORDER BY created_at DESC, id DESC) AS place
          FROM feedback WHERE project_id = ${project} AND call_id IN (${listOf(calls)}) AND feedback_type = 'wandb.note.1'
        ) AS notes WHERE place <= ${maxNotes} ORDER BY call_id, place`,
  )
  const notes = new Map<string, string[]>()
  for (const { call_id, payload } of rows) {
    notes.set(call_id, [...(notes.get(call_id) ?? []), ...textsIn(payload)])
  }
  return notes
}
