import { insertInto } from '../sql/inserts.ts'
import { listOf, sql } from '../sql/sql.ts'
import type { Command, LongReader, Transaction } from '../transaction.ts'
import { countIn, type Sum, type SummedField, summedFields, sumsOf } from './counting.ts'
import { addFigures, figuresIn, figuresText } from './figures.ts'
import { type MarkedHour, sumsLock } from './marks.ts'
import { day, hour, startOf } from './spans.ts'

export interface StoredSum {
  field: string
  at: number
  kind: string
  value: string
  calls: number
  figures: string
}

interface SummedHours {
  project_id: string
  /** Of one day, with the marks that were read before their calls. */
  hours: readonly Pick<MarkedHour, 'at' | 'marks'>[]
  sums: readonly StoredSum[]
}

const fields = ['', ...summedFields]

/** The sums of these hours of a day, as their calls are now. */
export async function sumUp(
  db: LongReader,
  project: string,
  hours: readonly Pick<MarkedHour, 'at' | 'marks'>[],
  signal: AbortSignal,
): Promise<SummedHours> {
  const ranges = hours.map(({ at }) => ({ from: at, end: at + hour }))
  const counted = await countIn(db, project, { ranges, fields: summedFields, figures: true }, signal)
  return { project_id: project, hours, sums: (await sumsOf(counted)).map(storedOf) }
}

const storedOf = ({ figures, ...sum }: Sum): StoredSum => ({
  ...sum,
  calls: figures.calls,
  figures: figuresText(figures),
})

const insert = insertInto('call_sums', [
  'project_id',
  'span',
  'field',
  'at',
  'kind',
  'value',
  'calls',
  'figures',
])

/**
 * Stores sums of hours whose marks are all there still, and those of their day. If some are not, another server has
 * added up the hour since.
 */
export const keepSums: Command<SummedHours, boolean> = async (tx, { project_id: project, hours, sums }) => {
  await tx.lock(sumsLock(project))
  const stored = new Set<number>()
  for (const { at, marks } of hours) {
    const removed = await tx.run(
      sql`DELETE FROM call_sum_marks WHERE project_id = ${project} AND at = ${at} AND about = '' AND mark IN (${listOf(marks)})`,
    )
    if (removed === new Set(marks).size) stored.add(at)
    else if (removed > 0) await markAgain(tx, project, at, marks)
  }
  if (stored.size === 0) return false
  await replaceSums(
    tx,
    { project, span: hour, starts: [...stored] },
    sums.filter(({ at }) => stored.has(at)),
  )
  const [first = 0] = stored
  await replaceSums(
    tx,
    { project, span: day, starts: [startOf(first, day)] },
    await sumsOfDay(tx, project, startOf(first, day)),
  )
  return false
}

/** The hour stays marked: what it holds is not known here. */
async function markAgain(
  tx: Transaction,
  project: string,
  at: number,
  [mark = 0]: readonly number[],
): Promise<void> {
  await tx.run(
    sql`INSERT INTO call_sum_marks (project_id, at, about, mark) VALUES (${project}, ${at}, '', ${mark}) ON CONFLICT DO NOTHING`,
  )
}

async function sumsOfDay(tx: Transaction, project: string, at: number): Promise<StoredSum[]> {
  const rows = await tx.all<StoredSum>(
    sql`SELECT field, at, kind, value, calls, figures FROM call_sums WHERE project_id = ${project} AND span = ${hour}
        AND field IN (${listOf(fields)}) AND at >= ${at} AND at < ${at + day}`,
  )
  return addedUp(rows, at)
}

/** The sums of a day from those of its hours. */
export function addedUp(rows: readonly StoredSum[], at: number): StoredSum[] {
  const sums = new Map<string, Sum>()
  for (const { field, kind, value, calls, figures } of rows) {
    const key = JSON.stringify([field, kind, value])
    const known = sums.get(key)
    const own = figuresIn(Number(calls), figures)
    if (known === undefined)
      sums.set(key, { at, kind, field: field as SummedField | '', value, figures: own })
    else addFigures(known.figures, own)
  }
  return [...sums.values()].map(storedOf)
}

async function replaceSums(
  tx: Transaction,
  { project, span, starts }: { project: string; span: number; starts: readonly number[] },
  sums: readonly StoredSum[],
): Promise<void> {
  await tx.run(
    sql`DELETE FROM call_sums WHERE project_id = ${project} AND span = ${span} AND field IN (${listOf(fields)}) AND at IN (${listOf(starts)})`,
  )
  const rows = sums.map(({ field, at, kind, value, calls, figures }) => [
    project,
    span,
    field,
    at,
    kind,
    value,
    calls,
    figures,
  ])
  for (const statement of insert(rows)) await tx.run(statement)
}
