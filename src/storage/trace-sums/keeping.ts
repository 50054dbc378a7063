import { batchesOf } from '../../domain/batches.ts'
import { isLive, isTurn } from '../calls/calls.ts'
import { comparedPrices } from '../calls/cost.ts'
import { insertInto } from '../sql/inserts.ts'
import { join, listOf, rawSql, sql } from '../sql/sql.ts'
import { day, hour, startOf } from '../sums/spans.ts'
import { allRows, type BoundReader, type Command, type Reader } from '../transaction.ts'
import { sumsOfThreads } from '../views/thread-details.ts'
import { type AgentCount, addedCounts, addedDurations, countAgents, countColumns } from './agent-counts.ts'
import { type Affected, affectedBy, type TraceMark, traceLock } from './marks.ts'

type AgentSum = AgentCount & { at: number }

export interface ThreadSum {
  thread_id: string
  /** Null of one that is too long to be added up with each of its turns: lists look at it themselves. */
  failures: number | null
  cost: number | null
}

interface SummedTraces {
  project_id: string
  /** How often sums of the project had been stored before the calls were read. */
  stored: number
  marks: readonly Pick<TraceMark, 'at' | 'about' | 'mark'>[]
  hours: readonly number[]
  agents: readonly AgentSum[]
  threads: readonly string[]
  sums: readonly ThreadSum[]
}

/** Turns of a conversation that are read again when one is written. */
const maxTurns = 1_000
/** Calls are in sums until they are swept. */
const never = 0

export async function sumUpTraces(
  db: BoundReader,
  project: string,
  marks: readonly TraceMark[],
): Promise<SummedTraces> {
  const stored = await storedBefore(db, project)
  const affected = (await affectedBy(db, project, marks)) ?? { hours: new Set(), threads: new Set() }
  return { project_id: project, stored, marks, ...(await sumsOf(db, project, affected)) }
}

async function storedBefore(db: Reader, project: string): Promise<number> {
  const query = sql`SELECT stored FROM trace_sums_state WHERE project_id = ${project}`
  return Number((await db.get<{ stored: number | string }>(query))?.stored ?? 0)
}

/** As the calls are now. */
export async function sumsOf(db: BoundReader, project: string, affected: Affected) {
  const [hours, threads] = [[...affected.hours], [...affected.threads]]
  const prices = await comparedPrices(db, project)
  const agents: AgentSum[] = []
  for (const some of batchesOf(hours, 100)) {
    const ranges = some.map((from) => ({ from, end: from + hour }))
    const counts = await countAgents(db, { project, ranges, prices, now: never })
    for (const count of counts) agents.push({ ...count, at: Number(count.at) })
  }
  const sums: ThreadSum[] = []
  for (const some of batchesOf(threads, 100)) {
    const turns = sql`project_id = ${project} AND ${isLive(never)} AND ${isTurn}`
    const counted = await allRows<{ thread_id: string; turns: number | string }>(
      db,
      sql`SELECT thread_id, count(*) AS turns FROM calls WHERE ${turns} AND thread_id IN (${listOf(some)}) GROUP BY thread_id`,
    )
    const isLong = ({ turns }: { turns: number | string }) => Number(turns) > maxTurns
    const long = counted.filter(isLong).map(({ thread_id }) => thread_id)
    const short = counted.filter((thread) => !isLong(thread)).map(({ thread_id }) => thread_id)
    for (const thread_id of long) sums.push({ thread_id, failures: null, cost: null })
    if (short.length === 0) continue
    const own = sql`${turns} AND thread_id IN (${listOf(short)})`
    const rows = await allRows<{ thread_id: string; error_count: number; cost: number | null }>(
      db,
      sumsOfThreads(db, { project, prices }, own, never),
    )
    for (const { thread_id, error_count, cost } of rows)
      sums.push({ thread_id, failures: Number(error_count), cost })
  }
  return { hours, agents, threads, sums }
}

const insertAgents = insertInto('agent_sums', ['project_id', 'span', 'at', ...countColumns])
const insertThreads = insertInto('thread_sums', ['project_id', 'thread_id', 'failures', 'cost'])

/**
 * Stores sums, unless another server has stored some of the project since the calls were read: those may be newer. Then
 * the marks stay.
 */
export const keepTraceSums: Command<SummedTraces, boolean> = async (
  tx,
  { project_id: project, stored, marks, hours, agents, threads, sums },
) => {
  await tx.lock(traceLock(project))
  if ((await storedBefore(tx, project)) !== stored) return false
  let removed = 0
  for (const some of batchesOf(marks, 100)) {
    const read = some.map(({ at, about, mark }) => sql`(at = ${at} AND about = ${about} AND mark = ${mark})`)
    removed += await tx.run(
      sql`DELETE FROM call_sum_marks WHERE project_id = ${project} AND (${join(read, ' OR ')})`,
    )
  }
  // Without its marks the project was deleted meanwhile.
  if (removed === 0) return false
  await tx.run(
    sql`INSERT INTO trace_sums_state (project_id, stored) VALUES (${project}, 1)
        ON CONFLICT (project_id) DO UPDATE SET stored = trace_sums_state.stored + 1`,
  )
  for (const some of batchesOf(hours, 100)) {
    const at = listOf(some)
    await tx.run(
      sql`DELETE FROM agent_sums WHERE project_id = ${project} AND span = ${hour} AND at IN (${at})`,
    )
  }
  const rows = agents.map((count) => [
    project,
    hour,
    count.at,
    ...countColumns.map((column) => count[column]),
  ])
  for (const statement of insertAgents(rows)) await tx.run(statement)
  const days = [...new Set(hours.map((at) => startOf(at, day)))]
  for (const some of batchesOf(days, 100))
    await tx.run(
      sql`DELETE FROM agent_sums WHERE project_id = ${project} AND span = ${day} AND at IN (${listOf(some)})`,
    )
  for (const at of days) {
    await tx.run(
      sql`INSERT INTO agent_sums (project_id, span, at, ${rawSql(countColumns.join(', '))})
          SELECT project_id, ${day}, CAST(${at} AS BIGINT), agent, version, ${addedCounts}, ${addedDurations} FROM agent_sums
          WHERE project_id = ${project} AND span = ${hour} AND at >= ${at} AND at < ${at + day} GROUP BY project_id, agent, version`,
    )
  }
  for (const some of batchesOf(threads, 100))
    await tx.run(
      sql`DELETE FROM thread_sums WHERE project_id = ${project} AND thread_id IN (${listOf(some)})`,
    )
  const threadRows = sums.map(({ thread_id, failures, cost }) => [project, thread_id, failures, cost])
  for (const statement of insertThreads(threadRows)) await tx.run(statement)
  return false
}
