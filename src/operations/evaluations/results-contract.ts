import { z } from 'zod'
import { answer, flag, jsonObject, plainText, shortList } from '../../domain/fields.ts'

/** Most evaluations of one comparison. */
export const maxEvaluations = 100

const ids = shortList(plainText(128).min(1), maxEvaluations).nullish()

const off = flag(false)

/** Most rows of one page. */
const maxRows = 10_000

const scope = plainText(128).nullish().describe('Only trials of this evaluation are considered.')

export const RowFilter = z.strictObject({
  query: jsonObject().describe(
    'An expression such as {"$expr": {"$and": [{"$gte": [{"$getField": "scores.judge"}, {"$literal": 0.5}]}]}}, see docs/queries.md. Fields: scores.…, inputs.…, outputs.…, output.…, row_digest. A {"$literal"} on its own, as in {"$and": [{"$literal": "x"}]}, holds for every row if it is true or 1, and otherwise for none.',
  ),
  evaluation_call_id: scope,
})

export const RowSort = z.strictObject({
  field: z.string().min(1).max(1024).describe('scores.…, inputs.…, outputs.… or output.…'),
  direction: z
    .enum(['asc', 'desc'])
    .nullish()
    .meta({ default: 'asc', description: 'Rows without a value come last in both.' }),
  evaluation_call_id: scope,
  mode: z.enum(['value', 'difference']).nullish().meta({
    default: 'value',
    description: 'difference: the largest minus the smallest mean among the evaluations.',
  }),
})

export const ResultsBody = z
  .strictObject({
    evaluation_call_ids: ids.describe('Ids of the root calls of the evaluations.'),
    evaluation_run_ids: ids.describe('Another name of evaluation_call_ids; the two lists are combined.'),
    filters: z
      .array(RowFilter)
      .max(16)
      .nullish()
      .describe('Returns rows for which each filter holds for some trial.'),
    filter_logic_operator: z.enum(['and', 'or']).nullish().meta({
      default: 'and',
      description: 'or is accepted only if all filters name the same evaluation, or none does.',
    }),
    include_costs: off.describe(
      'Adds total_cost to trials, and predict_total_cost and predict_total_tokens to the summary.',
    ),
    include_predict_and_score_children: flag(true).describe(
      'Whether the calls inside each trial are read: they give predict_call_id, scorer_call_ids, later scores, and closer latencies and tokens.',
    ),
    include_raw_data_rows: off.describe('Fills raw_data_row of each row.'),
    include_rows: flag(true).describe('false returns no rows, and a total_rows of 0.'),
    include_summary: off.describe('Fills summary.'),
    limit: z.int().min(0).max(maxRows).nullish().describe('null returns all rows.'),
    offset: z
      .int()
      .max(2 ** 40)
      .nullish()
      .meta({ default: 0, description: 'Rows to skip. A negative number is 0.' }),
    require_intersection: off.describe('Only rows that every evaluation has.'),
    resolve_row_refs: off.describe('Only with include_raw_data_rows.'),
    sort_by: z
      .array(RowSort)
      .max(8)
      .nullish()
      .describe('The first field counts most. If null, rows are in the order of row_digest.'),
    summary_require_intersection: z.boolean().nullish().describe('Defaults to require_intersection.'),
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
  predict_and_score_call_id: z.string().describe('The call of the trial.'),
  model_latency_seconds: z.number().nullable().describe('How long the model took; null if unknown.'),
  model_output: z.unknown().describe('What the model returned: any value.'),
  predict_call_id: z.string().nullable().describe('The call of the model; null without the children.'),
  scorer_call_ids: z
    .record(z.string(), z.string())
    .describe('The call of each scorer, by the name of its score; empty without the children.'),
  scores: z.record(z.string(), z.unknown()).describe('The value of each scorer, by its name.'),
  total_tokens: z.number().int().nullable().describe('Tokens that the model used; null if unknown.'),
  total_cost: z
    .number()
    .nullish()
    .describe('What these cost; null without a price. Only with include_costs.'),
})

const Row = z.object({
  row_digest: z.string().describe('Identifies the row of the data: equal rows have equal digests.'),
  evaluations: z
    .array(
      z.object({
        evaluation_call_id: z.string().describe('The root call of the evaluation.'),
        trials: z.array(Trial).describe('Its trials of the row.'),
      }),
    )
    .describe('One entry for each evaluation that has the row.'),
  raw_data_row: z.unknown().describe('The row, or a reference to it; null unless asked for.'),
})

const ScorerStats = z.object({
  scorer_key: z.string().describe('The scorer.'),
  path: z
    .string()
    .nullable()
    .describe('Where the value is in its score; null if the score is the value itself.'),
  value_type: z
    .enum(['binary', 'continuous', 'text'])
    .describe('`binary` if a value is true or false, else `continuous` if one is a number, else `text`.'),
  trial_count: z.number().int().describe('Trials with a value of this scorer.'),
  numeric_count: z.number().int().describe('Trials with a number.'),
  numeric_mean: z
    .number()
    .nullable()
    .describe('The mean of these numbers; null if there are none, or their sum is beyond 1.8e308.'),
  pass_known_count: z.number().int().describe('Trials with true or false.'),
  pass_true_count: z.number().int().describe('Trials with true.'),
  pass_rate: z
    .number()
    .nullable()
    .describe('The share of true among true and false; null if there are none.'),
  pass_signal_coverage: z.number().nullable().describe('The share of trial_count with true or false.'),
  missing_trial_count: z.number().int().describe('Trials of the evaluation without a value of this scorer.'),
  failed_trial_count: z.number().int().describe('Trials of the evaluation that failed.'),
})

const EvaluationSummary = z.object({
  evaluation_call_id: z.string().describe('The root call of the evaluation.'),
  display_name: z.string().nullable().describe('The name of the evaluation for people.'),
  evaluation_ref: z.string().nullable().describe('The evaluation that was run.'),
  model_ref: z.string().nullable().describe('The model that was evaluated.'),
  scorer_stats: z.array(ScorerStats).describe('One entry for each scalar in the scores.'),
  started_at: z.iso.datetime().nullable().describe('When the evaluation started.'),
  trace_id: z.string().nullable().describe('Its trace.'),
  trial_count: z.number().int().describe('Its trials in these rows.'),
  predict_total_tokens: z
    .number()
    .int()
    .nullish()
    .describe('Tokens of these trials; null if none is known. Only with include_costs.'),
  predict_total_cost: z
    .number()
    .nullish()
    .describe('Cost of these trials; null without a price. Only with include_costs.'),
})
export type EvaluationSummary = z.output<typeof EvaluationSummary>

export const Summary = z.object({
  row_count: z.number().int().describe('Rows that it covers: all pages.'),
  evaluations: z.array(EvaluationSummary).describe('One entry for each evaluation.'),
})
export type Summary = z.output<typeof Summary>

export const ResultsAnswer = answer('The rows of the page and the summary, as requested.', {
  rows: z.array(Row).describe('The page.'),
  total_rows: z.number().int().describe('Rows of all pages.'),
  summary: Summary.nullable().describe('Null unless asked for.'),
  warnings: z.array(z.string()).describe('What could not be had, such as a reference to a row.'),
})
