import { createHash } from 'node:crypto'
import { batchesOf, readInBatches } from '../../domain/batches.ts'
import { textOfJson, valueAt } from '../../domain/expressions/json-value.ts'
import { judgeOp, shadowOp } from '../../domain/judge-op.ts'
import { parseRef } from '../../domain/refs.ts'
import { listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import { allRows, type BoundReader, type Reader } from '../transaction.ts'

/** A user of this server, what clients call their own user, or a conversation. */
export type SubjectKind = 'user' | 'end_user' | 'thread_id'

export interface Subject {
  kind: SubjectKind
  value: string
}

/** Where clients put the name of their own user: OpenAI, Anthropic; OpenTelemetry, Langfuse, LangSmith, Weave. */
const endUserPaths: Record<'inputs' | 'attributes', readonly (readonly string[])[]> = {
  inputs: [['user'], ['safety_identifier'], ['metadata', 'user_id']],
  attributes: [
    ['user', 'id'],
    ['enduser', 'id'],
    ['langfuse', 'user', 'id'],
    ['langsmith', 'metadata', 'user_id'],
    ['user_id'],
  ],
}

/** Stands for an end user beside a call whose inputs are in the store of cold calls, where SQL does not see them. */
const endUserHash = (value: string) => createHash('sha256').update(value).digest('base64url').slice(0, 22)

/** All that these inputs name. */
export function endUserHashes(inputs: string): string[] {
  const named = endUserPaths.inputs
    .map((path) => textOfJson(valueAt(inputs, path)))
    .filter((value) => value !== '')
  return [...new Set(named)].map(endUserHash)
}

/** Holds or not, and is never NULL, so that it can be negated. */
function isOfSubject({ dialect }: Pick<Reader, 'dialect'>, { kind, value }: Subject): Sql {
  if (kind === 'user') return sql`(coalesce(calls.user_id, '') = ${value})`
  if (kind === 'thread_id') return sql`(coalesce(calls.thread_id, '') = ${value})`
  const texts = Object.entries(endUserPaths).flatMap(([column, paths]) =>
    paths.map((path) => sql`${dialect.json(rawSql(`calls.${column}`), path).text} = ${value}`),
  )
  const isCold = sql`EXISTS (SELECT 1 FROM cold_users WHERE cold_users.project_id = calls.project_id
    AND cold_users.end_user = ${endUserHash(value)} AND cold_users.call_id = calls.id)`
  return sql`(${texts.reduce((all, next) => sql`${all} OR ${next}`, isCold)})`
}

/** Calls that a read looks at: however many a project has, no read is long. */
const windowLength = 1_000
/** Calls with everything below them that are erased together. */
const rootsAtOnce = 20
const idsAtOnce = 50

/** The calls of the subject, also deleted ones of which something is left. What is erased meanwhile is not met again. */
export async function* callsOfSubject(
  db: BoundReader,
  project: string,
  subject: Subject,
): AsyncGenerator<string[]> {
  const rows = (condition: Sql, most: Sql) =>
    allRows<{ id: string }>(
      db,
      sql`SELECT id FROM calls WHERE project_id = ${project} AND ${condition} AND ${db.dialect.callsCancellable}
          ORDER BY id ${most}`,
    )
  for (let after: string | undefined; ; ) {
    const beyond: Sql = after === undefined ? rawSql('1 = 1') : sql`id > ${after}`
    const [end] = await rows(beyond, rawSql(`LIMIT 1 OFFSET ${windowLength - 1}`))
    const within: Sql = end === undefined ? beyond : sql`${beyond} AND id <= ${end.id}`
    const found = await rows(sql`${within} AND ${isOfSubject(db, subject)}`, rawSql(''))
    for (const some of batchesOf(found, rootsAtOnce)) yield some.map(({ id }) => id)
    if (end === undefined) return
    after = end.id
  }
}

/**
 * These calls and what they have called, the deepest first: if an erasure is cut short, those at the top are still there
 * to be found again. It ends at other calls of the subject, which are found by themselves, so that none is met twice.
 */
export async function familyOf(
  db: BoundReader,
  project: string,
  subject: Subject,
  roots: readonly string[],
): Promise<string[]> {
  const family = await allRows<{ id: string }>(
    db,
    sql`WITH RECURSIVE family (id, trace_id, depth) AS (
          SELECT id, trace_id, 0 FROM calls WHERE project_id = ${project} AND id IN (${listOf(roots)})
          UNION ALL
          SELECT calls.id, calls.trace_id, depth + 1 FROM family CROSS JOIN calls
          WHERE calls.parent_id = family.id AND calls.project_id = ${project} AND calls.trace_id = family.trace_id
            AND calls.swept_at IS NULL AND NOT ${isOfSubject(db, subject)}
        ) SELECT id FROM family WHERE ${db.dialect.cancellable} ORDER BY depth DESC, id`,
  )
  return family.map(({ id }) => id)
}

/**
 * Calls that the server made of these, and that are not below them: what judges were asked about them, and the answers of
 * shadows.
 */
export async function madeOf(
  db: BoundReader,
  project: string,
  subject: Subject,
  calls: readonly string[],
): Promise<string[]> {
  const shadows = await allRows<{ id: string | null }>(
    db,
    sql`SELECT shadow_call_id AS id FROM shadow_pairs
        WHERE project_id = ${project} AND call_id IN (${listOf(calls)}) AND ${db.dialect.cancellable}`,
  )
  const notes = await allRows<{ call_ref: string }>(
    db,
    sql`SELECT DISTINCT call_ref FROM feedback WHERE project_id = ${project} AND call_id IN (${listOf(calls)})
          AND call_ref IS NOT NULL AND ${db.dialect.cancellable}`,
  )
  const asked = notes.map(({ call_ref }) => parseRef(call_ref))
  const judges = asked.flatMap((ref) => (ref?.kind === 'call' && ref.project === project ? [ref.id] : []))
  const named = [...shadows.flatMap(({ id }) => id ?? []), ...judges]
  const made = await readInBatches(named, idsAtOnce, (some) =>
    db.all<{ id: string }>(
      sql`SELECT id FROM calls WHERE project_id = ${project} AND id IN (${listOf(some)})
            AND op_name IN (${judgeOp}, ${shadowOp}) AND swept_at IS NULL AND NOT ${isOfSubject(db, subject)}`,
    ),
  )
  return made.map(({ id }) => id)
}
