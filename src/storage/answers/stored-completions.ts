import { membersOf, objectText } from '../../../packages/json/index.ts'
import { isLive } from '../calls/calls.ts'
import { markForSearch } from '../search/marks.ts'
import { allOf, emptySql, rawSql, type Sql, sql } from '../sql/sql.ts'
import type { BoundReader, Command, Reader } from '../transaction.ts'
import { type CallOfCompletion, maxMatches } from './completions.ts'

/** A chat completion that is stored whole. An answer that was cut off or failed is a call, but not a completion. */
export interface StoredCompletion {
  call_id: string
  completion_id: string
  /** Microseconds. */
  created_at: number
  /** JSON object. */
  metadata: string | null
  /** The whole answer. */
  output: string
}

const joined = (project: string, now: number) => sql`completions CROSS JOIN calls
  WHERE calls.project_id = completions.project_id AND calls.id = completions.call_id
    AND completions.project_id = ${project} AND kind = 'chat' AND exception IS NULL AND output IS NOT NULL AND ${isLive(now)}`

const columns = ({ dialect }: Reader) =>
  sql`call_id, completion_id, completions.created_at, metadata, ${dialect.stored(rawSql('calls.output'))} AS output`

/** The call of the latest completion with this id. */
export async function findStoredCompletion(
  db: Reader,
  project: string,
  completionId: string,
  now: number,
): Promise<(CallOfCompletion & Position) | undefined> {
  const row = await db.get<{ call_id: string; created_at: number; matches: number }>(
    sql`SELECT call_id, created_at, count(*) OVER () AS matches FROM (
          SELECT call_id, completions.created_at FROM ${joined(project, now)} AND completion_id = ${completionId}
          ORDER BY completions.created_at DESC, call_id DESC LIMIT ${maxMatches}
        ) AS latest ORDER BY created_at DESC, call_id DESC LIMIT 1`,
  )
  return row && { callId: row.call_id, createdAt: row.created_at, matches: Number(row.matches) }
}

export function readStoredCompletion(
  db: Reader,
  project: string,
  callId: string,
  now: number,
): Promise<StoredCompletion | undefined> {
  return db.get<StoredCompletion>(
    sql`SELECT ${columns(db)} FROM ${joined(project, now)} AND completions.call_id = ${callId}`,
  )
}

/** The request that it answers. */
export async function inputsOfCompletion(
  db: Reader,
  project: string,
  callId: string,
  now: number,
): Promise<string | undefined> {
  const row = await db.get<{ inputs: string }>(
    sql`SELECT ${db.dialect.stored(rawSql('calls.inputs'))} AS inputs FROM ${joined(project, now)} AND completions.call_id = ${callId}`,
  )
  return row?.inputs
}

/** The position of a completion among those of its project. */
export interface Position {
  createdAt: number
  callId: string
}

interface CompletionsPage {
  project: string
  order: 'asc' | 'desc'
  after: Position | undefined
  model: string | undefined
  metadata: ReadonlyMap<string, string>
  limit: number
  now: number
}

export function selectStoredCompletions(db: Reader, page: CompletionsPage): Sql {
  const { project, order, after, model, metadata, limit, now } = page
  const conditions: Sql[] = [db.dialect.cancellable]
  if (model !== undefined) conditions.push(sql`completions.model = ${model}`)
  for (const [name, value] of metadata) {
    const { text, exists } = db.dialect.json(rawSql('metadata'), [name])
    conditions.push(sql`${exists} AND ${text} = ${value}`)
  }
  if (after !== undefined) {
    const way = rawSql(order === 'asc' ? '>' : '<')
    conditions.push(
      sql`(completions.created_at, completions.call_id) ${way} (${after.createdAt}, ${after.callId})`,
    )
  }
  const way = order === 'asc' ? emptySql : rawSql(' DESC')
  return sql`SELECT ${columns(db)} FROM ${joined(project, now)} AND ${allOf(conditions)}
    ORDER BY completions.created_at${way}, completions.call_id${way} LIMIT ${limit}`
}

/** Rows in memory at a time; each carries a whole answer. */
const rowsAtOnce = 8

export function streamStoredCompletions(
  db: BoundReader,
  page: CompletionsPage,
): AsyncIterable<StoredCompletion[]> {
  return db.stream<StoredCompletion>(selectStoredCompletions(db, page), { rows: rowsAtOnce })
}

interface MetadataChange {
  project_id: string
  call_id: string
  /** JSON object; null removes all metadata. */
  metadata: string | null
}

/** Changes the metadata of the completion and of its call. False if it no longer exists. */
export const changeCompletionMetadata: Command<MetadataChange, boolean> = async (tx, update) => {
  const { project_id, call_id, metadata } = update
  await tx.lock(`completion ${project_id} ${call_id}`)
  const call = await tx.get<{ attributes: string | null }>(
    sql`SELECT attributes FROM calls WHERE project_id = ${project_id} AND id = ${call_id} AND deleted_at IS NULL`,
  )
  if (call === undefined) return false
  const attributes = membersOf(call.attributes ?? '{}')
  const own = membersOf(attributes.get('heddle') ?? '{}')
  if (metadata === null) own.delete('metadata')
  else own.set('metadata', metadata)
  const text = objectText(attributes.set('heddle', objectText(own)))
  const grown = Buffer.byteLength(text) - Buffer.byteLength(call.attributes ?? '')
  await tx.run(
    sql`UPDATE calls SET attributes = ${text}, start_bytes = start_bytes + ${grown} WHERE project_id = ${project_id} AND id = ${call_id}`,
  )
  await markForSearch(tx, project_id, [call_id])
  const changed = await tx.run(
    sql`UPDATE completions SET metadata = ${metadata} WHERE project_id = ${project_id} AND call_id = ${call_id}`,
  )
  return changed > 0
}
