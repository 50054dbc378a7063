import { opOf } from '../../domain/call-facts/facts.ts'
import { isDeriving } from '../calls/underived.ts'
import { listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import { allRows, type BoundReader } from '../transaction.ts'
import type { SummedField } from './counting.ts'
import { unsettledHours } from './marks.ts'
import { equalitiesIn, type SummedView } from './selection.ts'
import { day, hour } from './spans.ts'

interface Wanted {
  field: SummedField
  values: readonly string[]
}

/**
 * A condition on when the calls of a view began, if sums know of one of its other conditions when calls met it last and
 * first. A list of what is rare, or of nothing, then reads no other calls.
 */
export async function narrowing(db: BoundReader, view: SummedView, now: number): Promise<Sql | undefined> {
  const wanted = wantedBy(view)
  if (wanted === undefined) return undefined
  // What a server of an older version writes has no facts at first.
  if (await isDeriving(db, view.project)) return undefined
  const unsettled = await unsettledHours(db, view.project, now)
  if (unsettled === undefined) return undefined
  const edge = async (direction: 'ASC' | 'DESC') => {
    const found = sql`SELECT at FROM call_sums WHERE project_id = ${view.project} AND span = ${day} AND field = ${wanted.field}
      AND value IN (${listOf(wanted.values)}) ORDER BY at ${rawSql(direction)} LIMIT 1`
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
export const isNarrowable = (view: SummedView): boolean => wantedBy(view) !== undefined

function wantedBy({ filters, query }: SummedView): Wanted | undefined {
  for (const { op_names } of filters) {
    const ops = op_names?.length ? op_names.map(factOf) : [undefined]
    const values = ops.filter((op) => op !== undefined)
    if (values.length === ops.length) return { field: 'op', values }
  }
  const [equality] = equalitiesIn(query)
  return equality && { field: equality.field, values: [equality.value] }
}

/** As the sums name an op; undefined where several of their names begin so. */
function factOf(name: string): string | undefined {
  const op = name.includes(':///') ? name.indexOf('/op/') : -1
  const isOfVersions = op !== -1 && name.indexOf(':', op) === name.length - 2
  return name.endsWith(':*') && !isOfVersions ? undefined : (opOf(name) ?? undefined)
}
