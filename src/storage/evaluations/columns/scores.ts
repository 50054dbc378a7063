import {
  type Axis,
  binOf,
  distributionOf,
  pairsOf,
  type RowPair,
  type ScoreColumn,
} from '../../../domain/evaluations/columns/distributions.ts'
import type { YieldToLoop } from '../../../domain/yielding.ts'
import type { BinCount, HeatCell, PairSums, ScoreReader, ScoreStats, Step } from '../score-views.ts'

/** Computes from columns what the SQL of a score computes. */
export function scoresOfColumns(
  columns: readonly ScoreColumn[],
  rowCount: number,
  yieldToLoop: YieldToLoop,
): ScoreReader {
  const columnOf = (evaluation: string) => columns.find((column) => column.evaluation === evaluation)

  async function each<T>(of: readonly ScoreColumn[], read: (column: ScoreColumn) => T): Promise<T[]> {
    const all: T[] = []
    for (const column of of) {
      all.push(read(column))
      const pause = yieldToLoop()
      if (pause) await pause
    }
    return all
  }

  function* pairs(baseline: string, other: ScoreColumn): Generator<RowPair> {
    const base = columnOf(baseline)
    if (base !== undefined) yield* pairsOf(rowCount, base, other)
  }

  return {
    stats: () =>
      each(
        columns,
        (column): ScoreStats => ({ evaluation_id: column.evaluation, ...distributionOf(column) }),
      ),

    async histogram(axis) {
      const counted = await each(columns, ({ evaluation, numbers }): BinCount[] => {
        const counts = countsOf(axis)
        for (const number of numbers) {
          if (!Number.isNaN(number)) add(counts, binOf(number, axis))
        }
        return Array.from(counts, (count, bin) => ({ evaluation_id: evaluation, bin, count }))
      })
      return counted.flat().filter(({ count }) => count > 0)
    },

    async pairSums(baseline) {
      const others = columns.filter(({ evaluation }) => evaluation !== baseline)
      const sums = await each(others, (other) => sumsOf(other.evaluation, pairs(baseline, other)))
      return sums.filter((one) => one.pairs > 0)
    },

    async steps(baseline, evaluations) {
      const others = columns.filter(({ evaluation }) => evaluations.includes(evaluation))
      const steps = await each(others, (other) =>
        Array.from(pairs(baseline, other), ({ step }): Step => ({ evaluation_id: other.evaluation, step })),
      )
      return steps.flat()
    },

    async heat(baseline, other, axis) {
      const column = columnOf(other)
      if (column === undefined) return []
      const counts = countsOf({ bins: axis.bins ** 2 })
      for (const { base, mean } of pairs(baseline, column)) {
        add(counts, binOf(base, axis) * axis.bins + binOf(mean, axis))
      }
      return Array.from(
        counts,
        (count, cell): HeatCell => ({ x: Math.floor(cell / axis.bins), y: cell % axis.bins, count }),
      ).filter(({ count }) => count > 0)
    },
  }
}

const countsOf = ({ bins }: Pick<Axis, 'bins'>) => new Float64Array(bins)

function add(counts: Float64Array, bin: number): void {
  counts[bin] = (counts[bin] as number) + 1
}

function sumsOf(evaluation: string, pairs: Iterable<RowPair>): PairSums {
  const sums = {
    ...{ evaluation_id: evaluation, pairs: 0, wins: 0, losses: 0, mean_step: 0, squares: 0 },
    ...{ both: 0, baseline_only: 0, other_only: 0, neither: 0 },
  }
  let total = 0
  for (const { step, mean, base } of pairs) {
    sums.pairs++
    sums.wins += Number(step > 0)
    sums.losses += Number(step < 0)
    total += step
    sums.squares += step * step
    sums.both += Number(base === 1 && mean === 1)
    sums.baseline_only += Number(base === 1 && mean === 0)
    sums.other_only += Number(base === 0 && mean === 1)
    sums.neither += Number(base === 0 && mean === 0)
  }
  return { ...sums, mean_step: sums.pairs === 0 ? 0 : total / sums.pairs }
}
