import { type Compared, type RowOrder, readRows, readScores, readSummary } from '../server/evaluations.ts'
import { readDirections } from '../server/scorers.ts'
import { countText } from '../value/units.ts'
import type { Exported } from './make.ts'

/** Rows in a file at most: the first ones, in the order of the screen. */
const mostRows = 1_000

interface Shown {
  compared: Compared
  order: RowOrder | undefined
  /** Rows per page. */
  pageSize: number
  fields: readonly string[]
  field: string | undefined
  base: string
  names: ReadonlyMap<string, string>
}

/** A comparison in one order, with every score and with each run set against the baseline. */
export function exportOfComparison(shown: Shown): Exported {
  const { compared, order, pageSize, fields, field, base, names } = shown
  const { project, ids } = compared
  return {
    title: `Comparison of ${ids.map((id) => names.get(id) ?? id).join(', ')}`,
    project,
    path: location.pathname + location.search,
    name: 'comparison',
    async collect(_, signal) {
      await readSummary(compared, signal)
      await readDirections(project, signal)
      for (const one of fields) {
        const beside = one === field ? ids.filter((id) => id !== base) : []
        await readScores(compared, { field: one, baseline: base }, signal)
        for (const id of beside)
          await readScores(compared, { field: one, baseline: base, heat_for: id }, signal)
      }
      let total = 1
      for (let offset = 0; offset < Math.min(total, mostRows); offset += pageSize) {
        total = (await readRows(compared, order, { offset, limit: pageSize }, signal)).total
      }
      const rows = Math.min(total, mostRows)
      const runs = ids.length === 1 ? 'one run' : `${countText(ids.length)} runs`
      const of =
        rows === total
          ? `all ${countText(total)} rows`
          : `the first ${countText(rows)} of ${countText(total)} rows`
      return { rows, holds: [`It contains ${of} of ${runs} in this order, without traces.`] }
    },
  }
}
