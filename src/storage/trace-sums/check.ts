import { sql } from '../sql/sql.ts'
import { nextDay, nextProject } from '../sums/check.ts'
import { day, hour } from '../sums/spans.ts'
import type { BoundReader, Command, LongReader } from '../transaction.ts'
import { type AgentCount, countColumns } from './agent-counts.ts'
import { sumsOf, type ThreadSum } from './keeping.ts'
import { beforeAll, unsettledTraces, walkMark } from './marks.ts'

/** Sums of a project that are not those of its calls: of agents of an hour, or of a conversation. */
interface WrongTraceSums {
  project_id: string
  hours: number[]
  threads: string[]
}

const threadsAtOnce = 100

/** Compares sums with the calls. What a running server is about to add up is not reported. */
export async function* findWrongTraceSums(db: BoundReader): AsyncGenerator<WrongTraceSums> {
  let project = await nextProject(db, '')
  for (; project !== undefined; project = await nextProject(db, project)) {
    let at = await nextDay(db, project, beforeAll)
    for (; at !== undefined; at = await nextDay(db, project, at + day)) {
      const start = at
      const hours = Array.from({ length: day / hour }, (_, n) => start + n * hour)
      const wrong = await wrongOf(db, { project_id: project, hours, threads: [] })
      if (wrong.hours.length > 0) yield wrong
    }
    let threads = await nextThreads(db, project, '')
    for (; threads.length > 0; threads = await nextThreads(db, project, threads.at(-1) ?? '')) {
      const wrong = await wrongOf(db, { project_id: project, hours: [], threads })
      if (wrong.threads.length > 0) yield wrong
    }
  }
}

async function nextThreads(db: LongReader, project: string, after: string): Promise<string[]> {
  const first = (table: string) =>
    db.all<{ thread_id: string }>(
      sql`SELECT DISTINCT thread_id FROM ${table === 'calls' ? turns : sums} AND project_id = ${project} AND thread_id > ${after}
          ORDER BY thread_id LIMIT ${threadsAtOnce}`,
    )
  const found = [...(await first('calls')), ...(await first('thread_sums'))].map(({ thread_id }) => thread_id)
  const inOrder = [...new Set(found)].sort((id, other) => Buffer.compare(Buffer.from(id), Buffer.from(other)))
  return inOrder.slice(0, threadsAtOnce)
}

const turns = sql`calls WHERE started_at IS NOT NULL AND deleted_at IS NULL AND thread_id <> '' AND (parent_id IS NULL OR turn_id = id)`
const sums = sql`thread_sums WHERE 1 = 1`

async function wrongOf(
  db: BoundReader,
  { project_id, hours, threads }: WrongTraceSums,
): Promise<WrongTraceSums> {
  const none = { project_id, hours: [], threads: [] }
  const counted = await sumsOf(db, project_id, { hours: new Set(hours), threads: new Set(threads) })
  const [first = 0, last = 0] = [hours[0], hours.at(-1)]
  const agents = await db.all<AgentCount & { at: number | string }>(
    sql`SELECT * FROM agent_sums WHERE project_id = ${project_id} AND span = ${hour} AND at >= ${first} AND at <= ${last}`,
  )
  const stored: ThreadSum[] = []
  for (const thread of threads)
    stored.push(
      ...(await db.all<ThreadSum>(
        sql`SELECT * FROM thread_sums WHERE project_id = ${project_id} AND thread_id = ${thread}`,
      )),
    )
  const ofHour = (all: readonly (AgentCount & { at: number | string })[], at: number) =>
    textOf(
      all.filter((count) => Number(count.at) === at).map((count) => countColumns.map((name) => count[name])),
    )
  const ofThread = (all: readonly ThreadSum[], id: string) =>
    textOf(all.filter((sum) => sum.thread_id === id).map(({ failures, cost }) => [failures, cost]))
  const wrong = {
    project_id,
    hours: hours.filter((at) => ofHour(counted.agents, at) !== ofHour(agents, at)),
    threads: threads.filter((id) => ofThread(counted.sums, id) !== ofThread(stored, id)),
  }
  if (wrong.hours.length + wrong.threads.length === 0) return none
  // Before the calls were read, or since, a server may have had to add them up.
  const unsettled = await unsettledTraces(db, project_id, beforeAll)
  if (unsettled === undefined) return none
  return {
    project_id,
    hours: wrong.hours.filter((at) => !unsettled.hours.has(at)),
    threads: wrong.threads.filter((id) => !unsettled.threads.has(id)),
  }
}

/** Durations are in any order, and the last digits of a cost depend on it. */
const textOf = (rows: readonly (string | number | null)[][]) =>
  JSON.stringify(
    rows
      .map((row) =>
        row.map((value) => {
          if (typeof value === 'string' && /^[\d,-]+$/.test(value)) return value.split(',').sort().join()
          return typeof value === 'number' ? String(Number(value.toPrecision(12))) : value
        }),
      )
      .map((row) => JSON.stringify(row))
      .sort(),
  )

/** Marks them, so that a server adds them up again, and does not use them until then. */
export const markWrongTraces: Command<WrongTraceSums, void> = async (tx, { project_id, hours, threads }) => {
  const mark = walkMark()
  const marks = [
    ...hours.map((at) => [at, 'traces'] as const),
    ...threads.map((thread) => [1, `thread:${thread}`] as const),
  ]
  for (const [at, about] of marks)
    await tx.run(
      sql`INSERT INTO call_sum_marks (project_id, at, about, mark) VALUES (${project_id}, ${at}, ${about}, ${mark})`,
    )
}
