import { z } from 'zod'
import { answer, flag, plainText, projectId, shortList } from '../../domain/fields.ts'
import { maxEvaluations, RowFilter, RowSort } from './results-contract.ts'

/** Requests of a screen that compares evaluations, besides their rows. */

const ids = shortList(plainText(128).min(1), maxEvaluations)
  .min(1)
  .describe('Ids of the root calls of the evaluations.')

const view = {
  project_id: projectId,
  evaluation_call_ids: ids,
  filters: z.array(RowFilter).max(16).nullish().describe('The same as in eval_results/query.'),
  require_intersection: flag(false),
}

const count = z.int().min(0)

const maxListed = 100
export const defaultListed = 50

export const ListBody = z.strictObject({
  project_id: projectId,
  limit: z.int().min(1).max(maxListed).nullish().meta({ default: defaultListed }),
  offset: z
    .int()
    .min(0)
    .max(2 ** 40)
    .nullish()
    .meta({ default: 0 }),
})
export type ListBody = z.output<typeof ListBody>

export const ListAnswer = answer('The evaluations of the project, newest first.', {
  evaluations: z.array(
    z.object({
      evaluation_call_id: z.string(),
      trace_id: z.string(),
      display_name: z.string().nullable(),
      evaluation_ref: z.string().nullable(),
      model_ref: z.string().nullable(),
      status: z
        .enum(['running', 'success', 'error', 'stopped', 'no_rows'])
        .describe('`stopped` before all its trials; `no_rows`: it ended without any trial.'),
      error: z.string().nullable().describe('Why it failed; null if it did not.'),
      started_at: z.iso.datetime(),
      ended_at: z.iso.datetime().nullable(),
      row_count: count,
      trial_count: count,
      failed_trial_count: count,
      mean_latency_seconds: z.number().nullable().describe('Mean over the trials that have a latency.'),
      total_tokens: count.nullable().describe('Sum over the trials that report tokens; null if none does.'),
    }),
  ),
  total: count,
})
export type ListAnswer = z.output<typeof ListAnswer>

const maxBins = 64
export const defaultBins = 20

const bins = z.int().min(1).max(maxBins).nullish().meta({ default: defaultBins })

export const ScoresBody = z.strictObject({
  ...view,
  field: z.string().min(1).max(1024).describe('scores.…; booleans count as 1 or 0.'),
  baseline: z
    .string()
    .max(128)
    .nullish()
    .describe('The evaluation that the others are compared with. Default: the first one.'),
  heat_for: z
    .string()
    .max(128)
    .nullish()
    .describe('The evaluation that heat compares with the baseline row by row; null for none.'),
  bins,
  heat_bins: bins,
})
export type ScoresBody = z.output<typeof ScoresBody>

const Interval = z.object({
  low: z.number(),
  high: z.number(),
  level: z.number(),
  method: z
    .enum(['student', 'agresti_min'])
    .describe('agresti_min: of rows that each pass or not in both evaluations. student: of other numbers.'),
})

export const ScoresAnswer = answer('The distribution of a score, and its differences row by row.', {
  field: z.string(),
  baseline: z.string(),
  least: z.number().nullable(),
  most: z.number().nullable(),
  is_binary: z.boolean().describe('Whether all values are 0 or 1.'),
  evaluations: z.array(
    z.object({
      evaluation_call_id: z.string(),
      trial_count: count,
      value_count: count.describe('Trials with a number or a boolean in the field.'),
      missing_trial_count: count,
      failed_trial_count: count,
      mean: z.number().nullable(),
      counts: z.array(count).describe('Trials in each bin, from `least` to `most`.'),
    }),
  ),
  pairs: z.array(
    z.object({
      evaluation_call_id: z.string(),
      row_count: count.describe('Rows with a value in both evaluations.'),
      wins: count.describe('Rows whose mean is higher than that of the baseline.'),
      ties: count,
      losses: count,
      mean_difference: z.number().nullable().describe('Mean difference between the means of each row.'),
      interval: Interval.nullable().describe(
        'Confidence interval of the mean difference; null for fewer than two rows.',
      ),
      agreement: z
        .object({ both: count, baseline_only: count, other_only: count, neither: count })
        .nullable()
        .describe(
          'Rows that passed in both, one or neither; null unless each row passed or failed in all of its trials.',
        ),
    }),
  ),
  heat: z
    .object({
      evaluation_call_id: z.string(),
      bins: count,
      cells: z
        .array(z.tuple([count, count, count]))
        .describe(
          'Bin of the baseline, bin of the other evaluation, number of rows. Empty cells are left out.',
        ),
    })
    .nullable(),
})
export type ScoresAnswer = z.output<typeof ScoresAnswer>

const maxNeighbours = 100

export const RankBody = z.strictObject({
  ...view,
  row_digest: z.string().min(1).max(256),
  sort_by: z.array(RowSort).max(8).nullish().describe('The same as in eval_results/query.'),
  neighbours: z.int().min(0).max(maxNeighbours).nullish().meta({ default: 1 }),
})
export type RankBody = z.output<typeof RankBody>

export const RankAnswer = answer('The rank of a row in an order, and its neighbours.', {
  rank: count.nullable().describe('Counts from 0; null if the row is not among the results.'),
  total_rows: count,
  before: z.array(z.string()).describe('Digests of the rows before it, in order.'),
  after: z.array(z.string()),
})
export type RankAnswer = z.output<typeof RankAnswer>
