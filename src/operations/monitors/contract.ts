import { z } from 'zod'
import { answer, dateTime, plainText, projectId, shortList } from '../../domain/fields.ts'
import { CallsFilter } from '../calls/contract.ts'
import { query } from '../paging-contract.ts'
import { fieldMap } from '../scorers/contract.ts'

const id = plainText(128).min(1)

export const MonitorPath = z.object({ monitor_id: id })
export const InProject = z.object({ project_id: projectId })

/** Of one monitor. Each of them scores each call. */
export const maxScorers = 16

export const scorerBindings = z
  .array(
    z.strictObject({
      scorer: plainText(2048)
        .min(1)
        .describe(
          'A reference to a scorer with a judge or a check, in this project. `latest` is resolved each time it scores.',
        ),
      fields: fieldMap()
        .nullish()
        .describe('Paths that replace those of the scorer’s own `fields`, by name.'),
    }),
  )
  .max(maxScorers)
const scorers = scorerBindings.min(1)

const models = z
  .array(plainText(512).min(1))
  .min(1)
  .max(100)
  .nullish()
  .describe('Only calls whose inputs.model or output.model is one of these.')
const statuses = z
  .array(z.enum(['success', 'error', 'descendant_error']))
  .min(1)
  .max(3)
  .nullish()
  .describe('Only calls that ended with one of these statuses. Default: any.')

/** Conditions of calls. */
const conditions = {
  filter: CallsFilter.nullish().describe('The same as in /calls/stream_query.'),
  query,
  models,
  statuses,
}
const samplingRate = z.number().min(0).max(1).nullish().meta({
  default: 1,
  description: 'The fraction of the calls to score. The ids of the calls determine which.',
})

const settings = {
  description: plainText(64 * 1024).nullish(),
  ...conditions,
  sampling_rate: samplingRate,
  token_budget: z
    .int()
    .min(0)
    .nullish()
    .describe('The maximum number of tokens that the judges may use per UTC day. Default: no limit.'),
}

export const CreateBody = z.object({
  project_id: projectId,
  name: plainText(1024).min(1),
  scorers,
  ...settings,
  active: z.boolean().nullish().meta({ default: true }),
})
export type CreateBody = z.output<typeof CreateBody>

export const UpdateBody = z.object({
  project_id: projectId,
  name: plainText(1024).min(1).optional().describe('An absent field keeps its value.'),
  scorers: scorers.optional(),
  ...settings,
  active: z
    .boolean()
    .nullish()
    .meta({ default: null, description: 'False pauses the monitor. Null leaves it unchanged.' }),
})
export type UpdateBody = z.output<typeof UpdateBody>

const time = z.iso.datetime()
const anything = z.unknown()

export const MonitorRecord = z.object({
  id: z.string(),
  project_id: z.string(),
  name: z.string(),
  description: z.string(),
  scorers: z.array(z.object({ scorer: z.string(), fields: anything })),
  filter: anything,
  query: anything,
  models: z.array(z.string()).nullable(),
  statuses: z.array(z.string()).nullable(),
  sampling_rate: z.number(),
  token_budget: z.number().nullable(),
  active: z.boolean(),
  stopped: z.string().nullable().describe('Why the server has paused the monitor; null if it has not.'),
  runs_as: z.string().describe('The user to whose usage the judges count.'),
  created_at: time,
  created_by: z.string(),
  updated_at: time,
  deleted_at: time.nullable(),
})
export const MonitorAnswer = answer('The current state of the monitor.', { monitor: MonitorRecord })

export const maxStats = 100

export const StatsBody = z.strictObject({
  project_id: projectId,
  monitor_ids: shortList(id, maxStats),
  after: dateTime.nullish().describe('Counts judgements created at or after this time.'),
  before: dateTime.nullish(),
})
export type StatsBody = z.output<typeof StatsBody>

const count = z.number().int()
const state = z.enum(['pending', 'judged', 'skipped', 'failed'])

export const StatsAnswer = answer('An entry for each monitor that exists, in the order of the request.', {
  stats: z.array(
    z.object({
      monitor_id: z.string(),
      pending: count,
      judged: count,
      skipped: count.describe('Judgements that were skipped because there was nothing to judge.'),
      failed: count,
      tokens_today: count.describe('Tokens used since midnight UTC.'),
      token_budget: count.nullable(),
      lag_seconds: z.number().describe('How long the oldest pending judgement has been waiting.'),
      waits: z.string().nullable().describe('Why pending judgements are not being made; null if they are.'),
      reasons: z.array(
        z.object({
          scorer: z.string(),
          state,
          reason: z.string(),
          count,
          detail: z.string().nullable().describe('The detail of one of these judgements.'),
        }),
      ),
      scores: z
        .array(
          z.object({
            scorer: z.string(),
            path: z
              .string()
              .nullable()
              .describe('The path of the number in the score; null if the score itself is the number.'),
            is_boolean: z.boolean().describe('Whether all of them are true or false.'),
            count,
            mean: z.number().describe('True counts as 1, false as 0.'),
            min: z.number(),
            max: z.number(),
            histogram: z.array(z.object({ from: z.number(), to: z.number(), count })),
          }),
        )
        .describe('Statistics of the latest 10000 scores.'),
    }),
  ),
})

export const RunPath = MonitorPath.extend({ run_id: id })

export const RunBody = z.object({
  project_id: projectId,
  ...conditions,
  sampling_rate: samplingRate,
  limit: z.int().min(1).nullish().describe('The maximum number of calls. Default: all.'),
})
export type RunBody = z.output<typeof RunBody>

export const CancelBody = InProject

const RunRecord = z.object({
  id: z.string(),
  monitor_id: z.string(),
  project_id: z.string(),
  filter: anything,
  query: anything,
  models: z.array(z.string()).nullable(),
  statuses: z.array(z.string()).nullable(),
  sampling_rate: z.number(),
  limit: count.nullable(),
  state: z.enum(['looking', 'judging', 'done', 'cancelled']),
  found_calls: count,
  pending: count.describe('Pending judgements; there is one for each scorer and call.'),
  judged: count,
  skipped: count,
  failed: count,
  created_at: time,
  created_by: z.string(),
  ended_at: time.nullable(),
})
export const RunAnswer = answer('The current state of the run.', { run: RunRecord })
export const RunsAnswer = answer('The latest hundred runs, newest first.', { runs: z.array(RunRecord) })
