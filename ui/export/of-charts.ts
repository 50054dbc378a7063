import { paths } from '../routes.ts'
import { readCharts } from '../screens/charts/data.ts'
import { type Range, rangeText } from '../screens/charts/range.ts'
import type { ChartView } from '../server/charts.ts'
import type { Exported } from './make.ts'

/** The charts of the time that they show, which stands still in a file. */
export function exportOfCharts(
  viewOf: (range: Range) => ChartView,
  range: Range,
  asked: URLSearchParams,
): Exported {
  const { project } = viewOf(range)
  return {
    title: `Charts of ${project}`,
    project,
    path: paths.charts(project, {
      ...Object.fromEntries(asked),
      range: rangeText(range.after, range.before),
    }),
    name: 'charts',
    async collect(_, signal) {
      await readCharts(viewOf(range), signal)
      return { holds: ['It contains the charts of one time range, without the calls.'] }
    },
  }
}
