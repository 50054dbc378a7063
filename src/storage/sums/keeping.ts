import { inSteps } from '../../../packages/waiting/index.ts'
import { insertInto } from '../sql/inserts.ts'
import { join, listOf, rawSql, sql } from '../sql/sql.ts'
import type { BoundReader, Command, Transaction } from '../transaction.ts'
import { countIn, type Sum, type SummedField, summedFields, sumsOf } from './counting.ts'
import { addFigures, figuresIn, figuresText } from './figures.ts'
import { addLargest, type Largest, largestColumns } from './largest.ts'
import { type MarkedHour, sumsLock } from './marks.ts'
import { summedPrices } from './priced.ts'
import { day, hour, startOf } from './spans.ts'

export interface StoredSum extends Largest {
  field: string
  at: number
  kind: string
  value: string
  calls: number
  figures: string
}

/** Added up by one server in one go. */
interface Pass {
  project_id: string
  /** Negative, and of no other pass: the mark of hours whose sums are stored, until those of their day are. */
  pass: number
}

interface SummedHours extends Pass {
  /** Of one day, with the marks that were read before their calls. */
  hours: readonly Pick<MarkedHour, 'at' | 'marks'>[]
  sums: readonly StoredSum[]
}

interface SummedDay extends Pass {
  at: number
  sums: readonly StoredSum[]
}

export const newPass = () => -1 - Math.floor(Math.random() * Number.MAX_SAFE_INTEGER)

const fields = ['', ...summedFields]

const sumColumns = ['field', 'at', 'kind', 'value', 'calls', 'figures', ...largestColumns] as const
export const storedColumns = rawSql(sumColumns.join(', '))

/** The sums of these hours of a day, as their calls are now. */
export async function sumUp(
  db: BoundReader,
  project: string,
  hours: readonly Pick<MarkedHour, 'at' | 'marks'>[],
): Promise<StoredSum[]> {
  const ranges = hours.map(({ at }) => ({ from: at, end: at + hour }))
  const largest = { prices: await summedPrices(db, project) }
  const counted = await countIn(db, project, { ranges, fields: summedFields, figures: true, largest })
  return storedOf(await sumsOf(counted))
}

async function storedOf(sums: Iterable<Sum>): Promise<StoredSum[]> {
  const all: StoredSum[] = []
  await inSteps(sums, ({ figures, largest, ...sum }) => {
    all.push({ ...largest, ...sum, calls: figures.calls, figures: figuresText(figures) })
  })
  return all
}

/** An hour has some fifty. Each statement is a way to the database and back. */
const insert = insertInto('call_sums', ['project_id', 'span', ...sumColumns], '', { most: 128 })

/**
 * Stores sums of hours whose marks are all there still. If some are not, another server has added up the hour since.
 * The hours keep a mark of this pass: the sums of their day are not those of its hours until `keepDay`.
 */
export const keepSums: Command<SummedHours, boolean> = async (tx, summed) => {
  const { project_id: project, pass, hours, sums } = summed
  await tx.lock(sumsLock(project))
  const read = hours.map(({ at, marks }) => sql`(at = ${at} AND mark IN (${listOf(marks)}))`)
  const removed = await tx.all<{ at: number | string }>(
    sql`DELETE FROM call_sum_marks WHERE project_id = ${project} AND about = '' AND (${join(read, ' OR ')}) RETURNING at`,
  )
  const removedOf = Map.groupBy(removed, ({ at }) => Number(at))
  const stored = new Set<number>()
  const added: [string, number, string, number][] = []
  for (const { at, marks } of hours) {
    const count = removedOf.get(at)?.length ?? 0
    if (count === new Set(marks).size) stored.add(at)
    if (count > 0) added.push([project, at, '', stored.has(at) ? pass : (marks[0] ?? 0)])
  }
  const [first] = stored
  if (first !== undefined) added.push([project, startOf(first, day), ofDay, pass])
  for (const statement of insertMarks(added)) await tx.run(statement)
  if (stored.size === 0) return false
  await replaceSums(
    tx,
    { project, span: hour, starts: [...stored] },
    sums.filter(({ at }) => stored.has(at)),
  )
  return false
}

/** What the mark of a day is about, by which a pass knows that no other has stored the sums of the day meanwhile. */
const ofDay = 'day'

const insertMarks = insertInto(
  'call_sum_marks',
  ['project_id', 'at', 'about', 'mark'],
  'ON CONFLICT DO NOTHING',
)

/** The sums of a day from those of its hours, which are read without a transaction: see `keepDay`. */
export async function sumUpDay(db: BoundReader, project: string, at: number): Promise<StoredSum[]> {
  const query = sql`SELECT ${storedColumns} FROM call_sums WHERE project_id = ${project} AND span = ${hour}
    AND field IN (${listOf(fields)}) AND at >= ${at} AND at < ${at + day}`
  return addedUp(db.stream<StoredSum>(query, { rows: 1000 }), at)
}

/**
 * Stores the sums of a day that were read after its hours were stored in this pass, unless another pass has stored them
 * since: then the hours stay marked. An hour that was stored since has a mark of that pass.
 */
export const keepDay: Command<SummedDay, boolean> = async (tx, { project_id: project, pass, at, sums }) => {
  await tx.lock(sumsLock(project))
  const own = sql`DELETE FROM call_sum_marks WHERE project_id = ${project} AND mark = ${pass}`
  if ((await tx.run(sql`${own} AND at = ${at} AND about = ${ofDay}`)) === 0) return false
  await tx.run(
    sql`DELETE FROM call_sum_marks WHERE project_id = ${project} AND at = ${at} AND about = ${ofDay}`,
  )
  await tx.run(sql`${own} AND at >= ${at} AND at < ${at + day} AND about = ''`)
  await replaceSums(tx, { project, span: day, starts: [at] }, sums)
  return false
}

/** The sums of a day from those of its hours. */
export async function addedUp(
  chunks: AsyncIterable<StoredSum[]> | Iterable<StoredSum[]>,
  at: number,
): Promise<StoredSum[]> {
  const sums = new Map<string, Sum>()
  for await (const rows of chunks) {
    await inSteps(rows, ({ field, kind, value, calls, figures, ...row }) => {
      const key = JSON.stringify([field, kind, value])
      const known = sums.get(key)
      const own = figuresIn(Number(calls), figures)
      if (known === undefined)
        sums.set(key, { at, kind, field: field as SummedField | '', value, figures: own, largest: row })
      else {
        addFigures(known.figures, own)
        addLargest(known.largest, row)
      }
    })
  }
  return storedOf(sums.values())
}

async function replaceSums(
  tx: Transaction,
  { project, span, starts }: { project: string; span: number; starts: readonly number[] },
  sums: readonly StoredSum[],
): Promise<void> {
  await tx.run(
    sql`DELETE FROM call_sums WHERE project_id = ${project} AND span = ${span} AND field IN (${listOf(fields)}) AND at IN (${listOf(starts)})`,
  )
  const rows = sums.map((sum) => [project, span, ...sumColumns.map((column) => sum[column])])
  for (const statement of insert(rows)) await tx.run(statement)
}
