import { isDeriving } from '../calls/underived.ts'
import { listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import { allRows, type BoundReader } from '../transaction.ts'
import type { SummedField } from './counting.ts'
import { unsettledHours } from './marks.ts'
import { equalitiesIn, factOf, rareKindsIn, type SummedView } from './selection.ts'
import { day, hour } from './spans.ts'

interface Wanted {
  /** Without one, the values are those of kinds, of which sums of all calls are kept. */
  field: SummedField | ''
  values: readonly string[]
}

/**
 * Conditions on when the calls of a view began, if sums know of its other conditions when calls met them last and first. A
 * list of what is rare, or of nothing, then reads no other calls.
 */
export async function narrowing(db: BoundReader, view: SummedView, now: number): Promise<Sql[]> {
  const wanted = wantedBy(view)
  // What a server of an older version writes has no facts at first.
  if (wanted.length === 0 || (await isDeriving(db, view.project))) return []
  const unsettled = await unsettledHours(db, view.project, now)
  if (unsettled === undefined) return []
  const conditions: Sql[] = []
  for (const each of wanted) conditions.push(await timesMet(db, view.project, each, unsettled))
  return conditions
}

async function timesMet(
  db: BoundReader,
  project: string,
  wanted: Wanted,
  unsettled: ReadonlySet<number>,
): Promise<Sql> {
  const column = rawSql(wanted.field === '' ? 'kind' : 'value')
  const edge = async (direction: 'ASC' | 'DESC') => {
    const found = sql`SELECT at FROM call_sums WHERE project_id = ${project} AND span = ${day} AND field = ${wanted.field}
      AND ${column} IN (${listOf(wanted.values)}) ORDER BY at ${rawSql(direction)} LIMIT 1`
    const [row] = await allRows<{ at: number | string }>(db, found)
    return row === undefined ? [] : [Number(row.at)]
  }
  const first = await edge('ASC')
  const last = first.length === 0 ? [] : await edge('DESC')
  let from = Math.min(...first)
  let end = Math.max(...last.map((at) => at + day))
  for (const at of unsettled) {
    from = Math.min(from, at)
    end = Math.max(end, at + hour)
  }
  return from < end ? sql`started_at >= ${from} AND started_at < ${end}` : rawSql('1 = 0')
}

/** Whether a condition of the view is about what sums are kept by. */
export const isNarrowable = (view: SummedView): boolean => wantedBy(view).length > 0

function wantedBy({ filters, query }: SummedView): Wanted[] {
  const wanted: Wanted[] = [
    ...equalitiesIn(query),
    ...rareKindsIn(query).map((values) => ({ field: '', values }) as const),
  ]
  for (const { op_names } of filters) {
    const ops = op_names?.length ? op_names.map(factOf) : [undefined]
    const values = ops.filter((op) => op !== undefined)
    if (values.length === ops.length) wanted.push({ field: 'op', values })
  }
  return wanted
}
