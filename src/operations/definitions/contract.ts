import { z } from 'zod'
import {
  answer,
  digestedObject,
  jsonObject,
  longList,
  plainText,
  projectPath,
  shortList,
} from '../../domain/fields.ts'
import { checkGiven, fieldMap, judgeGiven } from '../scorers/contract.ts'

const nameGiven = plainText(512).min(1)

export const Version = projectPath.safeExtend({ object_id: nameGiven, digest: nameGiven })
export const Name = projectPath.safeExtend({ object_id: nameGiven })

const text = plainText(512).min(1)

export const DeleteQuery = z.strictObject({
  digests: z
    .union([text, shortList(text, 100)])
    .optional()
    .describe('May be repeated. If absent, all versions are deleted.'),
})
export type DeleteQuery = z.output<typeof DeleteQuery>

const name = plainText(512)
  .min(1)
  .describe('The object id is this name in lower case, with "_" for spaces and slashes.')
const description = plainText(1 << 20).nullish()
const code = z.string().refine((text) => text.isWellFormed(), 'expected text without lone surrogates')
const ref = plainText(8192).min(1)

export const OpBody = z.object({ name, source_code: code.nullish() })
export const DatasetBody = z.object({ name: name.nullish(), description, rows: longList(digestedObject()) })
export const ScorerBody = z.object({
  name,
  description,
  op_source_code: code.nullish().describe('For a scorer that runs wherever its code runs.'),
  judge: judgeGiven.nullish().describe('Scores with a model of this server; see docs/judges.md.'),
  check: checkGiven.nullish().describe('Scores without a model; see docs/judges.md.'),
  fields: fieldMap().nullish(),
  direction: z
    .enum(['higher', 'lower', 'none'])
    .nullish()
    .describe('Which values of its scores are better. If absent, names such as latency or cost mean lower.'),
})
export const EvaluationBody = z.object({
  name,
  description,
  dataset: ref.describe('A reference to the dataset.'),
  scorers: z.array(ref).max(1000).nullish().describe('References to the scorers.'),
  trials: z.int().min(1).max(1_000_000).nullish().meta({ default: 1 }),
  evaluation_name: plainText(1024).nullish(),
  eval_attributes: jsonObject().nullish(),
})
export const ModelBody = z.object({
  name,
  description,
  source_code: code,
  attributes: jsonObject().nullish(),
})

/** The answer to creating a definition, with the fields that its kind adds. */
export const createdWith = <Added extends z.ZodRawShape>(added: Added) =>
  answer('The version with this definition, new or existing.', {
    digest: z.string(),
    object_id: z.string(),
    version_index: z.number().int(),
    ...added,
  })

const version = {
  object_id: z.string(),
  digest: z.string(),
  version_index: z.number().int(),
  created_at: z.iso.datetime(),
}
const textOrNull = z.string().nullable()
const named = { ...version, name: textOrNull, description: textOrNull }
const sourceCode = textOrNull.describe('Null if it was not stored or is larger than 4 MiB.')

export const OpRecord = answer('The version of the op.', { ...version, code: sourceCode })
export const DatasetRecord = answer('The version of the dataset.', { ...named, rows: z.unknown() })
export const ScorerRecord = answer('The version of the scorer.', {
  ...named,
  score_op: textOrNull,
  judge: z.unknown(),
  check: z.unknown(),
  fields: z.unknown(),
  direction: textOrNull,
})
export const EvaluationRecord = answer('The version of the evaluation.', {
  ...named,
  dataset: z.unknown(),
  scorers: z.unknown(),
  trials: z.unknown(),
  evaluation_name: textOrNull,
  eval_attributes: z.unknown(),
})
export const ModelRecord = answer('The version of the model.', {
  ...named,
  source_code: sourceCode,
  attributes: z.unknown(),
})
