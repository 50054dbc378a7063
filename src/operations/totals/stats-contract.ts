import { z } from 'zod'
import { answer, projectId } from '../../domain/fields.ts'
import {
  type CallMetric,
  callMetrics,
  type UsageMetric,
  usageMetrics,
} from '../../storage/views/call-sums.ts'
import { CallsFilter } from '../calls/contract.ts'
import { aggregationList, answeredRange, percentiles, statsRange, withRange } from './range-contract.ts'

const metricsOf = <Metric extends string>(names: readonly [Metric, ...Metric[]] | readonly Metric[]) =>
  z
    .array(
      z.strictObject({
        metric: z.enum(names as readonly [Metric, ...Metric[]]),
        aggregations: aggregationList.meta({ default: ['sum'] }),
        percentiles,
      }),
    )
    .max(names.length)
    .nullish()

export const CallStatsBody = withRange(
  z.strictObject({
    project_id: projectId,
    ...statsRange,
    filter: CallsFilter.nullish(),
    usage_metrics: metricsOf<UsageMetric>(usageMetrics).describe(
      'By model. A call does not count where a selected call below it used tokens; see docs/totals.md.',
    ),
    call_metrics: metricsOf<CallMetric>(callMetrics),
  }),
)
export type CallStatsBody = z.output<typeof CallStatsBody>

const timestamp = z.iso.datetime().describe('When the bucket begins.')
const figure = z.union([z.number(), z.string(), z.null()])

export const CallStatsAnswer = answer('Figures named <aggregation>_<metric>. Empty buckets are left out.', {
  ...answeredRange,
  usage_buckets: z.array(
    z
      .object({
        timestamp,
        model: z
          .string()
          .nullable()
          .describe('Several models of one call are separated by commas, and have no price.'),
      })
      .catchall(figure),
  ),
  call_buckets: z.array(z.object({ timestamp }).catchall(figure)),
})
