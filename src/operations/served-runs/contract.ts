import { z } from 'zod'
import { answer, jsonObject, plainText, projectId, projectPath } from '../../domain/fields.ts'
import { maxScorers, scorerBindings } from '../monitors/contract.ts'

export { RunPath } from '../evaluation-runs/contract.ts'
export const ProjectPath = projectPath

const maxTextLength = 64 * 1024
/** Of one evaluation, so that two can be compared with a baseline and others. */
const maxSettings = 10
/** Trials of a run at the same time. */
export const defaultConcurrency = 4
const maxConcurrency = 16
/** Rows times settings times repeats. */
export const maxTrials = 1_000_000

const settings = z
  .array(
    z.strictObject({
      name: plainText(64).min(1).describe('Names the run; unique.'),
      system: plainText(maxTextLength).nullish().describe('The system message, in place of that of the row.'),
      request: jsonObject()
        .nullish()
        .describe(
          'Fields of a chat completion, such as {"model": "small", "temperature": 0}, without messages, n and stream. The variables of a `prompt` are columns of the row.',
        ),
    }),
  )
  .min(1)
  .max(maxSettings)
  .describe('Each is a run of the evaluation.')

const split = z.strictObject({
  column: plainText(256).min(1).describe('A column of the rows.'),
  value: plainText(1024).describe('The text that they have there.'),
})
export type Split = z.output<typeof split>

export const StartBody = z.object({
  name: plainText(64).min(1).describe('Names the evaluation.'),
  dataset: plainText(2048).min(1).describe('A reference to a dataset of this project.'),
  split: split
    .nullish()
    .describe('Only these rows are asked, such as {"column": "split", "value": "test"}. Default: all.'),
  prompt: plainText(maxTextLength)
    .min(1)
    .nullish()
    .describe(
      'What the model is asked about a row: {names} in braces are columns of the row; write {{ and }} for braces. Default: the column `messages`, a conversation.',
    ),
  settings,
  scorers: scorerBindings
    .nullish()
    .describe('They see a call whose inputs are the columns of the row and the request.'),
  repeats: z.int().min(1).max(1000).nullish().meta({ default: 1 }),
  concurrency: z.int().min(1).max(maxConcurrency).nullish().meta({
    default: defaultConcurrency,
    description: 'How many rows are asked at the same time. Runs take turns.',
  }),
})
export type StartBody = z.output<typeof StartBody>

export const Started = answer('The runs, one for each of `settings`.', {
  evaluation: z.string().describe('A reference to the evaluation.'),
  evaluation_run_ids: z.array(z.string()),
  trials: z.int().describe('Of each run: rows times repeats.'),
})

export const Stopped = answer('No further trial begins.', { success: z.literal(true) })

export const Resumed = answer('The run goes on, or was running.', { success: z.literal(true) })

const ref = plainText(2048).min(1)
const scorerRefs = z
  .array(ref)
  .min(1)
  .max(maxScorers)
  .describe('References to scorers with a judge or a check, in this project, in their versions of now.')
const callOfRun = z.string().describe('Its root; `/evaluations/status` tells how far it is.')

export const RescoreBody = z.object({
  project_id: projectId,
  source_evaluation_run_id: plainText(512)
    .min(1)
    .describe('An evaluation that has ended, whoever carried it out. It stays as it is.'),
  scorer_refs: scorerRefs,
})
export type RescoreBody = z.output<typeof RescoreBody>
export const Rescoring = answer('The new run.', { call_id: callOfRun, evaluation_run_id: z.string() })

export const EvaluateModelBody = z.object({
  project_id: projectId,
  evaluation_ref: ref.describe('A reference to an evaluation of this project.'),
  model_ref: ref.describe(
    'A reference to a model of this project whose attributes are settings of a served model.',
  ),
})
export type EvaluateModelBody = z.output<typeof EvaluateModelBody>
export const Evaluating = answer('The run.', { call_id: callOfRun })

const maxScoredCalls = 1000

export const ScoreCallsBody = z.object({
  project_id: projectId,
  call_ids: z.array(plainText(512).min(1)).min(1).max(maxScoredCalls),
  scorer_refs: scorerRefs,
})
export type ScoreCallsBody = z.output<typeof ScoreCallsBody>
export const Scoring = answer('The scores follow as feedback on the calls.', {})
