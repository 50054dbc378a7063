import { isDeriving } from '../calls/underived.ts'
import { listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import { allRows, type BoundReader } from '../transaction.ts'
import type { SummedField } from './counting.ts'
import { unsettledHours } from './marks.ts'
import { alternativesIn, factOf, rareKindsIn, type SummedView } from './selection.ts'
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
  for (const alternatives of wanted) {
    let from = Infinity
    let end = -Infinity
    for (const [field, ofField] of Map.groupBy(alternatives, (wanted) => wanted.field)) {
      const values = ofField.flatMap((wanted) => wanted.values)
      const days = await daysMet(db, view.project, { field, values })
      from = Math.min(from, ...days)
      end = Math.max(end, ...days.map((at) => at + day))
    }
    for (const at of unsettled) {
      from = Math.min(from, at)
      end = Math.max(end, at + hour)
    }
    conditions.push(from < end ? sql`started_at >= ${from} AND started_at < ${end}` : rawSql('1 = 0'))
  }
  return conditions
}

/** The first and the last one, if there are any. */
async function daysMet(db: BoundReader, project: string, { field, values }: Wanted): Promise<number[]> {
  const column = rawSql(field === '' ? 'kind' : 'value')
  const edge = async (direction: 'ASC' | 'DESC') => {
    const found = sql`SELECT at FROM call_sums WHERE project_id = ${project} AND span = ${day} AND field = ${field}
      AND ${column} IN (${listOf(values)}) ORDER BY at ${rawSql(direction)} LIMIT 1`
    const [row] = await allRows<{ at: number | string }>(db, found)
    return row === undefined ? [] : [Number(row.at)]
  }
  const first = await edge('ASC')
  return first.length === 0 ? [] : [...first, ...(await edge('DESC'))]
}

/** Whether a condition of the view is about what sums are kept by. */
export const isNarrowable = (view: SummedView): boolean => wantedBy(view).length > 0

/** One of each list must be met. */
function wantedBy({ filters, query }: SummedView): Wanted[][] {
  const wanted: Wanted[][] = [
    ...alternativesIn(query),
    ...rareKindsIn(query).map((values): Wanted[] => [{ field: '', values }]),
  ]
  for (const { op_names } of filters) {
    const ops = op_names?.length ? op_names.map(factOf) : [undefined]
    const values = ops.filter((op) => op !== undefined)
    if (values.length === ops.length) wanted.push([{ field: 'op', values }])
  }
  return wanted
}
