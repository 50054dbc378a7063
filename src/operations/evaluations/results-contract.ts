import { z } from 'zod'
import { answer, flag, jsonObject, shortList } from '../../domain/fields.ts'

/** Most evaluations of one comparison. */
export const mostEvaluations = 100

const ids = shortList(z.string().min(1).max(128), mostEvaluations).nullish()

const off = flag(false)

/** Most rows of one page. */
const mostRows = 10_000

const scope = z
  .string()
  .max(128)
  .nullish()
  .meta({ description: 'Only trials of this evaluation are considered.' })

export const RowFilter = z.strictObject({
  query: jsonObject().meta({
    description:
      'An expression: {"$expr": …}, see docs/queries.md. Fields: scores.…, inputs.…, outputs.…, output.…, row_digest.',
  }),
  evaluation_call_id: scope,
})

export const RowSort = z.strictObject({
  field: z.string().min(1).max(1024).meta({ description: 'scores.…, inputs.…, outputs.… or output.…' }),
  direction: z.enum(['asc', 'desc']).nullish().meta({ default: 'asc' }),
  evaluation_call_id: scope,
  mode: z.enum(['value', 'difference']).nullish().meta({
    default: 'value',
    description: 'difference: the largest minus the smallest mean among the evaluations.',
  }),
})

export const ResultsBody = z
  .strictObject({
    evaluation_call_ids: ids.meta({ description: 'Ids of the root calls of the evaluations.' }),
    evaluation_run_ids: ids.meta({
      description: 'Another name of evaluation_call_ids; the two lists are combined.',
    }),
    filters: z
      .array(RowFilter)
      .max(16)
      .nullish()
      .meta({ description: 'Returns rows for which each filter holds for some trial.' }),
    filter_logic_operator: z.enum(['and', 'or']).nullish().meta({
      default: 'and',
      description: 'or is accepted only if all filters name the same evaluation, or none does.',
    }),
    include_costs: off.meta({ description: 'true is refused: trials have tokens but no costs.' }),
    include_predict_and_score_children: flag(true),
    include_raw_data_rows: off,
    include_rows: flag(true),
    include_summary: off,
    limit: z.int().min(0).max(mostRows).nullish().meta({ description: 'null returns all rows.' }),
    offset: z
      .int()
      .max(2 ** 40)
      .nullish()
      .meta({ default: 0 }),
    require_intersection: off,
    resolve_row_refs: off.meta({ description: 'Only with include_raw_data_rows.' }),
    sort_by: z.array(RowSort).max(8).nullish(),
    summary_require_intersection: z
      .boolean()
      .nullish()
      .meta({ description: 'Defaults to require_intersection.' }),
  })
  .superRefine((body, context) => {
    if (body.evaluation_call_ids?.length || body.evaluation_run_ids?.length) return
    context.addIssue({
      code: 'custom',
      path: [body.evaluation_run_ids ? 'evaluation_run_ids' : 'evaluation_call_ids'],
      message: 'expected at least one id in evaluation_call_ids or evaluation_run_ids',
    })
  })
export type ResultsBody = z.output<typeof ResultsBody>
export type RowSort = z.output<typeof RowSort>

const Trial = z.object({
  predict_and_score_call_id: z.string(),
  model_latency_seconds: z.number().nullable(),
  model_output: z.unknown(),
  predict_call_id: z.string().nullable(),
  scorer_call_ids: z.record(z.string(), z.string()),
  scores: z.record(z.string(), z.unknown()),
  total_tokens: z.number().int().nullable(),
})

const Row = z.object({
  row_digest: z.string(),
  evaluations: z.array(z.object({ evaluation_call_id: z.string(), trials: z.array(Trial) })),
  raw_data_row: z.unknown(),
})

const ScorerStats = z.object({
  scorer_key: z.string(),
  path: z.string().nullable(),
  value_type: z.enum(['binary', 'continuous', 'text']),
  trial_count: z.number().int(),
  numeric_count: z.number().int(),
  numeric_mean: z.number().nullable(),
  pass_known_count: z.number().int(),
  pass_true_count: z.number().int(),
  pass_rate: z.number().nullable(),
  pass_signal_coverage: z.number().nullable(),
  missing_trial_count: z
    .number()
    .int()
    .meta({ description: 'Trials of the evaluation without a value of this scorer.' }),
  failed_trial_count: z.number().int().meta({ description: 'Trials of the evaluation that failed.' }),
})

const EvaluationSummary = z.object({
  evaluation_call_id: z.string(),
  display_name: z.string().nullable(),
  evaluation_ref: z.string().nullable(),
  model_ref: z.string().nullable(),
  scorer_stats: z.array(ScorerStats),
  started_at: z.iso.datetime().nullable(),
  trace_id: z.string().nullable(),
  trial_count: z.number().int(),
})
export type EvaluationSummary = z.output<typeof EvaluationSummary>

export const Summary = z.object({ row_count: z.number().int(), evaluations: z.array(EvaluationSummary) })
export type Summary = z.output<typeof Summary>

export const ResultsAnswer = answer('The rows of the page and the summary, as requested.', {
  rows: z.array(Row),
  total_rows: z.number().int(),
  summary: Summary.nullable(),
  warnings: z.array(z.string()),
})
