import { z } from 'zod'
import { answer, flag, plainText, projectId } from '../../domain/fields.ts'
import { Name } from '../objects/contract.ts'

const score = z
  .string()
  .regex(/^scores\..{1,1000}$/s, 'expected scores.…')
  .describe('A field of evaluation results, such as `scores.exact`.')
const bound = z.number()

const Condition = z
  .union(
    [
      z.strictObject({
        field: score,
        min_difference: bound.describe(
          'The interval (95 %) of the mean difference to the present version, row by row, lies above it or begins there.',
        ),
      }),
      z.strictObject({
        field: score,
        min_rate: bound
          .min(0)
          .max(1)
          .describe('The lower bound (95 %) of the share of trials that pass is at least this.'),
      }),
      z.strictObject({
        field: score,
        no_row_lost: z.literal(true).describe('No row is worse than with the present version.'),
      }),
      z.strictObject({
        max_cost: bound.min(0).describe('Mean cost of a trial, as prices have it.'),
      }),
      z.strictObject({ max_latency_seconds: bound.min(0).describe('Mean latency of a trial.') }),
    ],
    {
      error:
        'expected field with min_difference, min_rate or no_row_lost; or max_cost; or max_latency_seconds',
    },
  )
  .describe('What must hold in the run of the new version.')
export type Condition = z.output<typeof Condition>

export const Gate = z.strictObject({
  evaluation: plainText(2048).min(1).describe('A reference to the evaluation that runs must be of.'),
  conditions: z.array(Condition).min(1).max(20),
  min_rows: z.int().min(1).max(1_000_000).optional().describe('Rows that a run must have.'),
  max_age_days: z.int().min(1).max(3650).optional().describe('A run that ended earlier does not count.'),
})
export type Gate = z.output<typeof Gate>

export const LabelPath = Name.extend({ alias: plainText(512).min(1) })

export const InProject = z.strictObject({ project_id: projectId })
export const GateBody = z.strictObject({ project_id: projectId, gate: Gate })
export type GateBody = z.output<typeof GateBody>

const weight = z.int().min(1).max(10_000)
const Shares = z.array(z.object({ digest: z.string(), weight })).nullable()

export const LabelAnswer = answer('The label, its gate, and the versions that it can go back to.', {
  digest: z.string().nullable().describe('The version that it names; null if none.'),
  share: Shares.describe('The versions that share its requests; null if it has one only.'),
  gate: Gate.nullable(),
  former: z.array(z.string()).describe('The versions before, the last one last.'),
  updated_by: z.string().nullable(),
  updated_at: z.iso.datetime().nullable(),
})

const runId = plainText(128).min(1)

const share = z
  .array(z.strictObject({ version: plainText(512).min(1), weight, run: runId.nullish() }))
  .min(2)
  .max(5)

export const MoveBody = z.strictObject({
  project_id: projectId,
  digest: plainText(512)
    .min(1)
    .nullish()
    .describe('The version to move to: a digest, `latest`, `vN` or another label.'),
  share: share
    .nullish()
    .describe(
      'Versions that share the requests instead, by weights of at most 10,000 together. `run` is that of the evaluation with the version, where the label has a gate.',
    ),
  back: flag(false).describe('Ends the share, or goes back to the version before, without the gate.'),
  expected_digest: plainText(512)
    .nullish()
    .describe('The digest that the label names now; if it names another, nothing is moved.'),
  expected_share: share
    .nullish()
    .describe('The share that the label has now; with `expected_digest` and without this, it has none.'),
  run: runId.nullish().describe('The run of the evaluation with the new version.'),
  baseline_run: runId.nullish().describe('That with the present version, for conditions that compare.'),
  override: z
    .strictObject({ reason: plainText(1000).min(1) })
    .nullish()
    .describe('Moves in spite of the gate; for the role admin. The reason is kept in the audit log.'),
})
export type MoveBody = z.output<typeof MoveBody>

const Check = z.object({
  condition: z.string().describe('What must hold.'),
  holds: z.boolean(),
  found: z.string().describe('What the runs say.'),
})
export type Check = z.output<typeof Check>

export const MoveAnswer = answer('The label names the version, on every server.', {
  from: z.string().nullable(),
  to: z.string(),
  share: Shares,
  checks: z.array(Check).describe('What the gate looked at.'),
})
