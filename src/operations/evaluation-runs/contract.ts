import { z } from 'zod'
import {
  answer,
  callId,
  jsonObject,
  jsonValue,
  plainText,
  projectId,
  projectPath,
} from '../../domain/fields.ts'
import { ListQuery } from '../paging.ts'

const pathId = plainText(512).min(1)

export const RunPath = projectPath.safeExtend({ evaluation_run_id: pathId })
export const PredictionPath = projectPath.safeExtend({ prediction_id: pathId })
export const ScorePath = projectPath.safeExtend({ score_id: pathId })

const ref = plainText(4096).min(1)
const namedId = plainText(512).min(1)
const ownId = callId.nullish().meta({
  description: 'Made by the server when absent. The same content again under the same id is the same thing.',
})

export const RunBody = z.object({
  evaluation: ref.meta({ description: 'A reference to the evaluation. It is not looked up.' }),
  model: ref.meta({ description: 'A reference to the model. It is not looked up.' }),
  id: ownId,
})
export type RunBody = z.output<typeof RunBody>
export const RunCreated = answer('The id of the run.', { evaluation_run_id: z.string() })

export const FinishBody = z.object({
  summary: jsonObject().nullish().meta({ description: 'Kept with the run, digit by digit.' }),
})
export type FinishBody = z.output<typeof FinishBody>
export const Finished = answer('It has ended.', { success: z.literal(true) })

const runOfPrediction = namedId
  .nullish()
  .meta({ description: 'The run it belongs to. Without one it stands alone.' })

export const PredictionBody = z.object({
  model: ref.meta({ description: 'A reference to the model. It is not looked up.' }),
  inputs: jsonObject(),
  output: jsonValue().nullable().meta({ description: 'Any JSON.' }),
  evaluation_run_id: runOfPrediction,
  id: ownId,
})
export type PredictionBody = z.output<typeof PredictionBody>
export const PredictionCreated = answer('The id of the prediction.', { prediction_id: z.string() })

export const ScoreBody = z.object({
  prediction_id: namedId,
  scorer: ref.meta({
    description: 'A reference to the scorer: an object. It is not looked up; its name names the score.',
  }),
  value: jsonValue().meta({ description: 'A number, true or false, or any other JSON but null.' }),
  evaluation_run_id: namedId.nullish().meta({
    description: 'The run of the prediction. Without it the score is not part of its trial.',
  }),
  id: ownId,
})
export type ScoreBody = z.output<typeof ScoreBody>
export const ScoreCreated = answer('The id of the score.', { score_id: z.string() })

const several = z.union([z.string(), z.array(z.string())]).transform((given) => [given].flat())

/** Ids contain no comma, so that many fit into one URL: `a,b,c` and `x=a&x=b` are the same. */
const ids = several
  .transform((given) => given.flatMap((text) => text.split(',')).filter((id) => id !== ''))
  .pipe(z.array(plainText(512)))

const refs = several.pipe(z.array(ref))

export const RunList = ListQuery.extend({
  evaluations: refs.optional().meta({ description: 'Given several times for several evaluations.' }),
  models: refs.optional().meta({ description: 'Given several times for several models.' }),
  evaluation_run_ids: ids.optional().meta({ description: 'Given several times, or with commas.' }),
})
export type RunList = z.output<typeof RunList>

export const PartList = ListQuery.extend({ evaluation_run_id: namedId.optional() })
export type PartList = z.output<typeof PartList>

const idsToDelete = ids.meta({ description: 'Given several times, or with commas; at most 1000.' })
export const deletionOf = (field: string) => z.strictObject({ [field]: idsToDelete })
export const Deleted = answer('How many are gone.', {
  num_deleted: z.number().int().meta({ description: 'Unknown ids are not counted.' }),
})

const time = z.iso.datetime()

export const RunRecord = answer('The run.', {
  evaluation_run_id: z.string(),
  evaluation: z.string(),
  model: z.string(),
  status: z.enum(['running', 'completed', 'failed']),
  started_at: time,
  finished_at: time.nullable(),
  summary: z
    .record(z.string(), z.unknown())
    .nullable()
    .meta({ description: 'As it was given when the run was finished; null until then.' }),
  output: z.unknown().meta({ description: 'The means that were computed when the run was finished.' }),
})

export const PredictionRecord = answer('The prediction.', {
  prediction_id: z.string(),
  model: z.string(),
  inputs: z.record(z.string(), z.unknown()),
  output: z.unknown(),
  evaluation_run_id: z.string().nullable(),
  svc_user_id: z.string().nullable(),
})

export const ScoreRecord = answer('The score.', {
  score_id: z.string(),
  prediction_id: z.string(),
  scorer: z.string(),
  value: z.unknown(),
  evaluation_run_id: z.string().nullable(),
  svc_user_id: z.string().nullable(),
})

export const StatusBody = z.object({
  project_id: projectId,
  call_id: z.string().min(1).max(128).meta({ description: 'The root call of an evaluation.' }),
})
export type StatusBody = z.output<typeof StatusBody>

export const StatusAnswer = answer('How far the evaluation is, by `code`.', {
  status: z.discriminatedUnion('code', [
    z.object({ code: z.literal('not_found') }),
    z.object({
      code: z.literal('running'),
      completed_rows: z.number().int().meta({ description: 'Trials that have ended.' }),
      total_rows: z.number().int().meta({
        description:
          'Rows of the dataset times trials; where that is not known, or is less, the trials that have begun.',
      }),
    }),
    z.object({ code: z.literal('failed'), error: z.string() }),
    z.object({ code: z.literal('complete'), output: z.unknown() }),
  ]),
})
