import { batchesOf, readInBatches } from '../../domain/batches.ts'
import { listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import type { Transaction } from '../transaction.ts'
import type { JoinedPart } from './parts.ts'

/*
 * Many instrumentations name the conversation on some spans of a trace, and not on its root, which is the turn. The root
 * takes it from the calls below, whichever of them are written first.
 */

/** A record names no caller, so that nothing is known to be a root by it. */
const isRoot = ({ start, log }: JoinedPart) => start?.parent_id == null && log === undefined
const isTurnBelow = ({ id, start }: JoinedPart) => start?.parent_id != null && start.turn_id === id

/** Traces whose root may lack a thread, or have one that a turn below has, too. Few batches have any where no span names one. */
export function tracesNaming(joinedParts: readonly JoinedPart[]): Set<string> {
  const known = new Set<string>()
  for (const joined of joinedParts) {
    if (isRoot(joined) && joined.start?.thread_id) known.add(joined.start.trace_id)
  }
  const traces = new Set<string>()
  for (const joined of joinedParts) {
    if (joined.start === undefined) continue
    const { trace_id, thread_id } = joined.start
    if (isRoot(joined) === !thread_id && !known.has(trace_id)) traces.add(trace_id)
    if (isTurnBelow(joined)) traces.add(trace_id)
  }
  return traces
}

interface Root {
  id: string
  trace_id: string
  thread_id: string | null
  /** Its own attributes do; otherwise it has that of the trace. */
  names_thread: number
}

interface Named {
  id: string
  trace_id: string
  parent_id: string | null
  thread_id: string
  turn_id: string | null
  /** Only records tell of it, so that it is a turn only where there is no root. */
  is_told: number
}

/** Called after parts of calls of one project were written. */
export async function spreadThreads(
  tx: Transaction,
  project: string,
  joinedParts: readonly JoinedPart[],
): Promise<void> {
  const withTurns = new Set(joinedParts.filter(isTurnBelow).map(({ start }) => start?.trace_id))
  for (const traces of batchesOf([...tracesNaming(joinedParts)], 200)) {
    const naming = new Set(traces)
    const roots = new Map<string, Root>()
    const own = joinedParts.filter(({ start }) => start && naming.has(start.trace_id))
    for (const root of await rootsOf(tx, project, await topsOf(tx, project, own))) {
      if (!roots.has(root.trace_id)) roots.set(root.trace_id, root)
    }
    const unsettled = [...roots.values()].filter((root) => !root.thread_id || withTurns.has(root.trace_id))
    if (unsettled.length === 0) continue
    const unsettledTraces = unsettled.map(({ trace_id }) => trace_id)
    const named = await namedCalls(tx, project, unsettledTraces)
    const byTrace = Map.groupBy(named, ({ trace_id }) => trace_id)
    const ids: string[] = []
    for (const root of unsettled) {
      ids.push(...(await settle(tx, project, root, byTrace.get(root.trace_id) ?? [])))
    }
    if (ids.length > 0) tx.changed({ project, kind: 'call', ids })
  }
}

/** Returns the calls that it changed. */
async function settle(
  tx: Transaction,
  project: string,
  root: Root,
  named: readonly Named[],
): Promise<string[]> {
  const below = named.filter(({ id }) => id !== root.id)
  const turns = below.filter(({ id, parent_id, turn_id }) => parent_id === null || turn_id === id)
  const told = turns.filter(({ is_told }) => Number(is_told) === 1)
  const known = root.thread_id || null
  const isOwn = known !== null && Number(root.names_thread) === 1
  const found = told.length < turns.length ? null : (known ?? below[0]?.thread_id ?? null)
  const thread = isOwn ? known : found
  const changed: string[] = []
  const write = async (id: string, set: Sql) => {
    await tx.run(sql`UPDATE calls SET ${set} WHERE project_id = ${project} AND id = ${id}`)
    changed.push(id)
  }
  if (thread !== known) {
    await write(root.id, sql`thread_id = ${thread}, turn_id = ${thread === null ? null : root.id}`)
  }
  for (const { id, parent_id } of thread === null ? [] : told) {
    if (parent_id !== null) await write(id, sql`turn_id = ${root.id}`)
  }
  return changed
}

/** A root further above takes no thread from a call. */
const maxHeight = 64

/**
 * The calls without a caller at and above these, as far as they are written. Where one between is not, the root is still
 * to come, because spans are sent when they end.
 */
async function topsOf(tx: Transaction, project: string, below: readonly JoinedPart[]): Promise<string[]> {
  const tops = below.filter(isRoot).map(({ id }) => id)
  const seen = new Set<string>()
  let above = below.flatMap(({ start }) => start?.parent_id ?? [])
  for (let height = 0; height < maxHeight && above.length > 0; height++) {
    const unseen = new Set(above.filter((id) => !seen.has(id)))
    above = []
    const read = await readInBatches([...unseen], 500, (ids) =>
      tx.all<{ id: string; parent_id: string | null }>(
        sql`SELECT id, parent_id FROM calls WHERE project_id = ${project} AND id IN (${listOf(ids)})`,
      ),
    )
    for (const { id, parent_id } of read) {
      seen.add(id)
      if (parent_id === null) tops.push(id)
      else above.push(parent_id)
    }
  }
  return [...new Set(tops)]
}

/** Of spans: what only records tell of may be below others. */
async function rootsOf(tx: Transaction, project: string, tops: readonly string[]): Promise<Root[]> {
  const attributes = rawSql('attributes')
  const { position } = tx.dialect
  return readInBatches(tops, 500, (ids) =>
    tx.all<Root>(
      sql`SELECT id, trace_id, thread_id,
          CASE WHEN ${position(attributes, rawSql('thread_id'))} > 0 THEN 1 ELSE 0 END AS names_thread
        FROM calls WHERE project_id = ${project} AND id IN (${listOf(ids)}) AND deleted_at IS NULL
          AND CASE WHEN parent_id IS NULL THEN ${position(attributes, isSpan)} END > 0
        ORDER BY started_at, id`,
    ),
  )
}

const isSpan = rawSql(`'"otel_span":{'`)
const isTold = rawSql(`'"otel_logs":{"records":'`)

function namedCalls(tx: Transaction, project: string, traces: readonly string[]): Promise<Named[]> {
  const has = (mark: Sql) => tx.dialect.position(rawSql('attributes'), mark)
  return tx.all<Named>(
    sql`SELECT id, trace_id, parent_id, thread_id, turn_id,
        CASE WHEN turn_id = id AND ${has(isTold)} > 0 AND ${has(isSpan)} = 0 THEN 1 ELSE 0 END AS is_told
      FROM calls WHERE project_id = ${project} AND trace_id IN (${listOf(traces)}) AND deleted_at IS NULL
        AND thread_id <> '' ORDER BY started_at, id`,
  )
}
