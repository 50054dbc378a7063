import { listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import {
  allRows,
  type BoundReader,
  type Command,
  type LongReader,
  type Reader,
  type Transaction,
} from '../transaction.ts'
import { hour, hourOf, startOf } from './spans.ts'

/**
 * Each write marks the hours of its calls, by triggers, so that servers of an older version do so too. Sums of a marked
 * hour are not used. What adds them up reads the marks first, then the calls, and removes the marks that it has read:
 * whatever was written meanwhile has left a mark of its own.
 */

export const sumsLock = (project: string) => `the sums of ${project}`

/** In SQLite marks carry the turn in which they were made, so that a bulk write leaves one for each hour. */
const nextMark: Record<'sqlite' | 'postgres', Sql> = {
  sqlite: rawSql('(SELECT turn FROM call_sum_turn)'),
  postgres: rawSql("nextval('call_sum_marks_order')"),
}

/** Marks that are not of an hour stand for the hours of these calls. */
const lazyMarks = (project: Sql) => [
  sql`SELECT ${rawSql(hourOf('root.started_at'))} AS at FROM call_sum_marks AS marks CROSS JOIN calls AS root
    WHERE marks.project_id = ${project} AND marks.at = 0 AND marks.about >= 'trace:' AND marks.about < 'trace;'
      AND root.project_id = ${project} AND root.trace_id = substr(marks.about, 7) AND root.parent_id IS NULL AND root.started_at IS NOT NULL`,
  sql`SELECT ${rawSql(hourOf('below.started_at'))} AS at FROM call_sum_marks AS marks CROSS JOIN calls AS below
    WHERE marks.project_id = ${project} AND marks.at = 0 AND marks.about >= 'caller:' AND marks.about < 'caller;'
      AND below.project_id = ${project} AND below.parent_id = substr(marks.about, 8) AND below.started_at IS NOT NULL`,
]

/** Where the mark of a project is that has other prices now. Its sums are used meanwhile, but not for costs. */
export const ofPrices = -1

export async function markPrices(tx: Transaction, projects: Iterable<string>): Promise<void> {
  for (const project of new Set(projects)) {
    await tx.run(
      sql`INSERT INTO call_sum_marks (project_id, at, about, mark)
        SELECT CAST(${project} AS TEXT), ${rawSql(String(ofPrices))}, 'prices', ${nextMark[tx.dialect.engine]} WHERE 1 = 1 ON CONFLICT DO NOTHING`,
    )
  }
}

/** Of marks at 0; others there are of the first hour of 1970. */
const isFollowed = rawSql("about NOT IN ('', 'traces', 'day')")

/** More marks that have to be followed, or more hours, cost as much as reading the calls. */
const maxLazy = 1_000
const maxHours = 5_000

/** The hours whose sums cannot be used; undefined if these are too many, or nothing was added up yet. */
export async function unsettledHours(
  db: BoundReader,
  project: string,
  now: number,
): Promise<Set<number> | undefined> {
  const own = sql`CAST(${project} AS TEXT)`
  const [traces, callers] = lazyMarks(own) as [Sql, Sql]
  // Expired calls are in the sums until they are swept.
  const expired = sql`SELECT ${rawSql(hourOf('started_at'))} AS at FROM calls
    WHERE expire_at <= ${now} AND expire_at IS NOT NULL AND deleted_at IS NULL AND project_id = ${project} AND started_at IS NOT NULL`
  const tooMany = sql`(SELECT count(*) FROM (SELECT 1 AS one FROM call_sum_marks
      WHERE project_id = ${project} AND at = 0 AND ${isFollowed} LIMIT ${rawSql(String(maxLazy + 1))}) AS lazy) > ${rawSql(String(maxLazy))}`
  const [state] = await allRows<{ refused: number }>(
    db,
    sql`SELECT CASE WHEN EXISTS (SELECT 1 FROM unsummed_projects WHERE project_id = ${project}) OR ${tooMany} THEN 1 ELSE 0 END AS refused`,
  )
  if (state === undefined || Number(state.refused) === 1) return undefined
  const rows = await allRows<{ at: number | string }>(
    db,
    sql`SELECT at FROM (SELECT at FROM call_sum_marks WHERE project_id = ${project} AND about = ''
          UNION ${traces} UNION ${callers} UNION ${expired}) AS unsettled LIMIT ${rawSql(String(maxHours + 1))}`,
  )
  return rows.length > maxHours ? undefined : new Set(rows.map(({ at }) => Number(at)))
}

/**
 * From here on marks are greater than the returned number, on engines where one write runs at a time; elsewhere each
 * has a number of its own.
 */
export const turnMarks: Command<Record<string, never>, number> = async (tx) => {
  if (tx.dialect.engine !== 'sqlite') return Number.MAX_SAFE_INTEGER
  await tx.run(rawSql('UPDATE call_sum_turn SET turn = turn + 1'))
  const row = await tx.get<{ turn: number }>(rawSql('SELECT turn FROM call_sum_turn'))
  return (row?.turn ?? 0) - 1
}

export interface MarkedHour {
  project_id: string
  at: number
  marks: number[]
}

/** Hours in memory at a time. */
const maxMarks = 20_000

/** The marked hours, by project; marks after the turn may be of writes that are not finished. */
export async function markedHours(db: BoundReader, turn: number): Promise<MarkedHour[]> {
  const rows = await allRows<{ project_id: string; at: number | string; mark: number | string }>(
    db,
    sql`SELECT project_id, at, mark FROM call_sum_marks WHERE about = '' ORDER BY project_id, at, mark LIMIT ${rawSql(String(maxMarks))}`,
  )
  const hours = new Map<string, MarkedHour & { isOpen: boolean }>()
  for (const { project_id, at, mark } of rows) {
    const key = `${at} ${project_id}`
    const known = hours.get(key) ?? { project_id, at: Number(at), marks: [], isOpen: false }
    hours.set(key, known)
    if (Number(mark) <= turn) known.marks.push(Number(mark))
    else known.isOpen = true
  }
  return [...hours.values()].filter(({ isOpen }) => !isOpen)
}

/** Those whose marks are as they were read: another server may have added up the others. */
export async function stillMarked<Hour extends MarkedHour>(
  db: BoundReader,
  hours: readonly Hour[],
): Promise<Hour[]> {
  const [{ project_id: project } = { project_id: '' }] = hours
  const rows = await allRows<{ at: number | string; mark: number | string }>(
    db,
    sql`SELECT at, mark FROM call_sum_marks WHERE project_id = ${project} AND about = '' AND at IN (${listOf(hours.map(({ at }) => at))})
      ORDER BY at, mark`,
  )
  const marks = Map.groupBy(rows, ({ at }) => Number(at))
  return hours.filter(
    (hour) => (marks.get(hour.at) ?? []).map(({ mark }) => Number(mark)).join() === hour.marks.join(),
  )
}

/** Whether there is anything to add up. */
export async function hasMarkedHours(db: LongReader): Promise<boolean> {
  const found = await db.get(
    sql`SELECT 1 AS one WHERE EXISTS (SELECT 1 FROM call_sum_marks) OR EXISTS (SELECT 1 FROM unsummed_projects)
        OR EXISTS (SELECT 1 FROM trace_sums_state WHERE at IS NOT NULL)`,
  )
  return found !== undefined
}

interface Some {
  limit: number
}

/** Marks the hours that marks of traces and callers stand for. Returns whether there may be more. */
export const followMarks: Command<Some, boolean> = async (tx, { limit }) => {
  if (!(await tx.tryLock('marks of sums'))) return false
  const first = await tx.get<{ project_id: string }>(
    sql`SELECT project_id FROM call_sum_marks WHERE at = 0 AND ${isFollowed} LIMIT 1`,
  )
  if (first === undefined) return false
  const project = first.project_id
  const lazy = await tx.all<{ about: string; mark: number | string }>(
    sql`SELECT about, mark FROM call_sum_marks WHERE project_id = ${project} AND at = 0 AND ${isFollowed}
      ORDER BY about, mark LIMIT ${limit}`,
  )
  const named = (kind: string) => [
    ...new Set(lazy.flatMap(({ about }) => (about.startsWith(kind) ? [about.slice(kind.length)] : []))),
  ]
  // The marks were read before the calls: a call that comes later marks its hour itself.
  await markHoursOf(tx, project, sql`trace_id IN (${listOf(named('trace:'))}) AND parent_id IS NULL`)
  await markHoursOf(tx, project, sql`parent_id IN (${listOf(named('caller:'))})`)
  const seen = lazy.map(({ mark }) => Number(mark))
  const abouts = [...new Set(lazy.map(({ about }) => about))]
  await tx.run(
    sql`DELETE FROM call_sum_marks WHERE project_id = ${project} AND at = 0 AND about IN (${listOf(abouts)}) AND mark IN (${listOf(seen)})`,
  )
  return true
}

function markHoursOf(tx: Transaction, project: string, calls: Sql): Promise<number> {
  return markHours(
    tx,
    sql`SELECT DISTINCT project_id, ${rawSql(hourOf('started_at'))} AS at FROM calls
      WHERE project_id = ${project} AND started_at IS NOT NULL AND ${calls}`,
  )
}

/** `hours` selects `project_id` and `at`. */
export function markHours(tx: Transaction, hours: Sql): Promise<number> {
  return tx.run(
    sql`INSERT INTO call_sum_marks (project_id, at, about, mark)
      SELECT project_id, at, '', ${nextMark[tx.dialect.engine]} FROM (${hours}) AS hours WHERE 1 = 1 ON CONFLICT DO NOTHING`,
  )
}

const withoutEarlier = sql`DELETE FROM call_sum_marks WHERE EXISTS (SELECT 1 FROM call_sum_marks AS later
  WHERE later.project_id = call_sum_marks.project_id AND later.at = call_sum_marks.at AND later.about = call_sum_marks.about
    AND later.mark > call_sum_marks.mark)`
/** Where writes are not committed in the order of their marks, nobody may have read the one that stays. */
const withFresh = sql`WITH several AS (SELECT project_id, at, about FROM call_sum_marks WHERE about <> 'day'
    GROUP BY project_id, at, about HAVING count(*) > 1),
  removed AS (DELETE FROM call_sum_marks USING several WHERE call_sum_marks.project_id = several.project_id
    AND call_sum_marks.at = several.at AND call_sum_marks.about = several.about)
  INSERT INTO call_sum_marks (project_id, at, about, mark)
    SELECT project_id, at, about, ${nextMark.postgres} FROM several`

/** An hour that is written all the time needs one mark only. */
export const thinMarks: Command<Record<string, never>, boolean> = async (tx) => {
  if (!(await tx.tryLock('marks of sums'))) return false
  await tx.run(tx.dialect.engine === 'sqlite' ? withoutEarlier : withFresh)
  return false
}

/** The first hour from then on in which a call of the project began. */
export async function nextHour(tx: Reader, project: string, from: number): Promise<number | undefined> {
  const first = await tx.get<{ started_at: number | string | null }>(
    sql`SELECT min(started_at) AS started_at FROM calls
        WHERE project_id = ${project} AND started_at >= ${from} AND started_at IS NOT NULL AND deleted_at IS NULL`,
  )
  return first?.started_at == null ? undefined : startOf(Number(first.started_at), hour)
}

/** Marks some hours of calls that were there before sums were kept. Returns whether there are more. */
export const markUnsummed: Command<Some, boolean> = async (tx, { limit }) => {
  if (!(await tx.tryLock('marks of sums'))) return false
  const next = await tx.get<{ project_id: string; at: number | string }>(
    sql`SELECT project_id, at FROM unsummed_projects ORDER BY project_id LIMIT 1`,
  )
  if (next === undefined) return false
  const project = next.project_id
  let from = Number(next.at)
  for (let n = 0; n < limit; n++) {
    const at = await nextHour(tx, project, from)
    if (at === undefined) {
      await tx.run(sql`DELETE FROM unsummed_projects WHERE project_id = ${project}`)
      return true
    }
    await markHours(tx, sql`SELECT CAST(${project} AS TEXT) AS project_id, CAST(${at} AS BIGINT) AS at`)
    from = at + hour
  }
  await tx.run(sql`UPDATE unsummed_projects SET at = ${from} WHERE project_id = ${project}`)
  return true
}
