import { z } from 'zod'
import { opNameOf } from '../../domain/refs.ts'
import { formatTime, now, parseTime } from '../../domain/time.ts'
import type { BucketsAnswer } from '../views/contract.ts'
import { ToolError } from './asking.ts'
import { head } from './fitting.ts'
import { selectionOf, timeOf } from './selection.ts'
import { filter, project, since, tool, until } from './tool.ts'

const minute = 60
const steps = [1, 5, 15, 30, 60, 180, 360, 720, 1_440, 7 * 1_440, 30 * 1_440].map(
  (minutes) => minutes * minute,
)

const maxRows = 24
const maxGroups = 5

type Bucket = z.output<typeof BucketsAnswer>['buckets'][number]

const metrics = {
  calls: ({ count }: Bucket) => count,
  errors: ({ errors }: Bucket) => errors,
  error_rate: ({ count, errors }: Bucket) => (count === 0 ? null : rounded(errors / count)),
  latency_p50: ({ times }: Bucket) => times && rounded(times.p50_ms),
  latency_p95: ({ times }: Bucket) => times && rounded(times.p95_ms),
  first_token_p95: ({ times }: Bucket) => times && rounded(times.p95_ms),
  tokens: ({ input_tokens, output_tokens }: Bucket) => input_tokens + output_tokens,
  cost: ({ cost }: Bucket) => (cost == null ? null : rounded(cost)),
}

const rounded = (value: number) => Number(value.toPrecision(5))

export const chart = tool({
  name: 'chart',
  title: 'Chart calls over time',
  description: `A table of a metric over time (UTC), at most ${maxRows} rows, by groups if asked. Times are in ms.`,
  input: z.strictObject({
    project,
    metric: z.enum(Object.keys(metrics) as [keyof typeof metrics]),
    group_by: z.enum(['op', 'model', 'status', 'user', 'origin']).optional(),
    filter,
    since,
    until,
    roots_only: z.boolean().optional(),
  }),
  output: z.object({
    step_seconds: z.int(),
    columns: z.array(z.string()),
    rows: z.array(z.array(z.union([z.string(), z.number(), z.null()]))),
  }),
  async run(asking, args) {
    const after = timeOf('since', args.since ?? '24h')
    const before = args.until === undefined ? formatTime(now()) : timeOf('until', args.until)
    const [from = 0, to = 0] = [after, before].map((time) => (parseTime(time) ?? 0) / 1_000_000)
    if (to <= from) throw new ToolError(`until: given ${before}; accepted: a time after ${after}`)
    const step =
      steps.find((seconds) => (to - from) / seconds < maxRows) ??
      Math.ceil((to - from) / maxRows / 86_400) * 86_400
    const timed = args.metric.startsWith('latency') ? 'latency' : 'first_token'
    const { groups, buckets } = await asking.post<z.output<typeof BucketsAnswer>>('/views/buckets', {
      ...selectionOf({ ...args, since: undefined, until: undefined }),
      after,
      before,
      step_seconds: step,
      ...(args.group_by !== undefined && { by: args.group_by }),
      ...(/_p\d+$/.test(args.metric) && { timed }),
      ...(args.metric === 'cost' && { costs: true }),
    })
    const value = metrics[args.metric]
    const shown = groups.slice(0, maxGroups)
    const starts = [...new Set(buckets.map(({ started_at }) => started_at))].toSorted()
    const byStart = Map.groupBy(buckets, ({ started_at }) => started_at)
    return {
      step_seconds: step,
      columns: ['started_at', ...shown.map((group) => nameOf(group, args.metric, args.group_by))],
      rows: starts.map((start) => [
        start,
        ...shown.map((_, index) => {
          const bucket = byStart.get(start)?.find(({ group }) => group === index)
          return bucket === undefined ? null : value(bucket)
        }),
      ]),
    }
  },
})

type Group = z.output<typeof BucketsAnswer>['groups'][number]

function nameOf({ value, is_others }: Group, metric: string, by: string | undefined): string {
  if (by === undefined) return metric
  return is_others ? 'all others' : value === null ? 'none' : head(opNameOf(value), 80)
}
