import { rawSql, sql } from '../sql/sql.ts'
import type { BoundReader, Command, LongReader } from '../transaction.ts'
import { addedUp, type StoredSum, storedColumns, sumUp } from './keeping.ts'
import { digestIn, largestColumns } from './largest.ts'
import { markHours, unsettledHours } from './marks.ts'
import { day, hour, startOf } from './spans.ts'

/** A day of a project whose sums are not those of its calls. */
interface WrongSums {
  project_id: string
  /** When it begins, in microseconds. */
  day: number
  /** The hours to add up again. */
  hours: number[]
}

/** Compares sums with the calls. What a running server is about to add up is not reported. */
export async function* findWrongSums(db: BoundReader): AsyncGenerator<WrongSums> {
  for (
    let project = await nextProject(db, '');
    project !== undefined;
    project = await nextProject(db, project)
  ) {
    if ((await unsettledHours(db, project, beforeAll)) === undefined) continue
    let at = await nextDay(db, project, beforeAll)
    for (; at !== undefined; at = await nextDay(db, project, at + day)) {
      if ((await wrongHours(db, project, at)).length === 0) continue
      // A server may have been adding up while they were read.
      const unsettled = await unsettledHours(db, project, beforeAll)
      const hours = await wrongHours(db, project, at, unsettled)
      if (unsettled !== undefined && hours.length > 0) yield { project_id: project, day: at, hours }
    }
  }
}

const beforeAll = -9_000_000_000_000_000

const smallest = (...values: (string | number | null | undefined)[]) =>
  values.filter((value) => value !== null && value !== undefined)

export async function nextProject(db: LongReader, after: string): Promise<string | undefined> {
  const firstIn = (table: string) =>
    sql`SELECT min(project_id) AS id FROM ${rawSql(table)} WHERE project_id > ${after}`
  // Compared by the database, which orders by code point.
  const both = sql`${firstIn('calls')} UNION ALL ${firstIn('call_sums')}`
  const next = await db.get<{ id: string | null }>(sql`SELECT min(id) AS id FROM (${both}) AS projects`)
  return next?.id ?? undefined
}

export async function nextDay(db: LongReader, project: string, from: number): Promise<number | undefined> {
  const calls = await db.get<{ at: number | string | null }>(
    sql`SELECT min(started_at) AS at FROM calls
        WHERE project_id = ${project} AND started_at >= ${from} AND started_at IS NOT NULL AND deleted_at IS NULL`,
  )
  const spans = [hour, day].map((span) =>
    db.get<{ at: number | string | null }>(
      sql`SELECT min(at) AS at FROM call_sums WHERE project_id = ${project} AND span = ${span} AND field = '' AND at >= ${from}`,
    ),
  )
  const times = smallest(calls?.at, ...(await Promise.all(spans)).map((row) => row?.at)).map(Number)
  return times.length === 0 ? undefined : startOf(Math.min(...times), day)
}

const keyOf = ({ field, kind, value, calls, figures, ...sum }: StoredSum) =>
  JSON.stringify([field, kind, value, Number(calls), figures, ...largestColumns.map((column) => sum[column])])
const asText = (sums: readonly StoredSum[]) => sums.map(keyOf).sort().join('\n')

/** Costs by other prices are added up again by a running server, and not used until then. */
function areSame(stored: readonly StoredSum[], right: readonly StoredSum[]): boolean {
  const digest = digestIn(right[0]?.max_cost ?? null)
  const isPriced = stored.every(({ max_cost }) => digestIn(max_cost) === digest)
  const compared = (sums: readonly StoredSum[]) =>
    isPriced ? sums : sums.map((sum) => ({ ...sum, max_cost: null, min_cost: null }))
  return asText(compared(stored)) === asText(compared(right))
}

/** The hours of a day whose sums, or with the first of them those of the day, are not what the calls say. */
async function wrongHours(
  db: BoundReader,
  project: string,
  at: number,
  unsettled: ReadonlySet<number> = new Set(),
): Promise<number[]> {
  const hours = Array.from({ length: day / hour }, (_, n) => ({ at: at + n * hour, marks: [] }))
  const stored = (span: number) =>
    db.all<StoredSum>(
      sql`SELECT ${storedColumns} FROM call_sums
          WHERE project_id = ${project} AND span = ${span} AND at >= ${at} AND at < ${at + day}`,
    )
  const [ofHours, ofDay] = [await stored(hour), await stored(day)]
  const sums = await sumUp(db, project, hours)
  const wrong = hours.flatMap(({ at: start }) => {
    const own = (all: readonly StoredSum[]) => all.filter((sum) => Number(sum.at) === start)
    return unsettled.has(start) || areSame(own(ofHours), own(sums)) ? [] : [start]
  })
  // The sums of a day are stored after those of its hours.
  const isDayUnsettled = hours.some(({ at: start }) => unsettled.has(start))
  if (wrong.length > 0 || isDayUnsettled || asText(await addedUp([ofHours], at)) === asText(ofDay))
    return wrong
  return [at]
}

/** Marks these hours, so that a server adds them up again, and does not use their sums until then. */
export const markWrongSums: Command<WrongSums, void> = async (tx, { project_id, hours }) => {
  for (const at of hours)
    await markHours(tx, sql`SELECT CAST(${project_id} AS TEXT) AS project_id, CAST(${at} AS BIGINT) AS at`)
}
