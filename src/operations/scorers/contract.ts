import { z } from 'zod'
import { flag, jsonObject, plainText, shortRecord } from '../../domain/fields.ts'
import { minLabelMass, orders, Question } from '../decisions/contract.ts'

/** The contract fields of scorers that this server runs by itself: judges and checks. */

const maxTextLength = 64 * 1024
const maxQuestions = 50

const path = plainText(1024).min(1)

export const fieldMap = () =>
  shortRecord(
    plainText(64).regex(/^[A-Za-z_]\w*$/, 'expected a letter or "_", then letters, digits and "_"'),
    path,
    { most: 50, things: 'fields', name: 'name' },
  ).describe('Maps names to fields of the call, such as {"question": "inputs.messages.0.content"}.')

/** A typed question of a judge. Its name is a member of the score. */
const JudgeQuestion = Question.safeExtend({
  name: plainText(64).regex(/^[A-Za-z_]\w*$/, 'expected a letter or "_", then letters, digits and "_"'),
  instructions: plainText(maxTextLength).min(1),
  threshold: z.number().min(0).max(1).nullish().meta({
    description: 'Of a predicate: the probability from which its value is true.',
    default: 0.5,
  }),
})
export type JudgeQuestion = z.output<typeof JudgeQuestion>

/** `json` is how a schema is given: as the text of a request, or in a stored object. */
function shapesOf<Json extends z.ZodType>(json: Json) {
  const judge = z.strictObject({
    model: plainText(512)
      .min(1)
      .nullish()
      .describe('One of the names of a served model. Default: the first model.'),
    system: plainText(maxTextLength)
      .nullish()
      .describe('The system message. Fields of the call are not inserted here.'),
    prompt: plainText(maxTextLength)
      .min(1)
      .describe(
        'The prompt. {inputs.…}, {output.…} and names of `fields` in braces are replaced by the values of the call; write {{ and }} for braces.',
      ),
    schema: json
      .nullish()
      .describe('A JSON Schema. The answer always fits it and is the score. This or `questions`.'),
    questions: z
      .array(JudgeQuestion)
      .min(1)
      .max(maxQuestions)
      .nullish()
      .describe(
        'Typed questions about the prompt, answered with probabilities and without writing anything. The score has a member for each.',
      ),
    orders: orders(),
    min_label_mass: minLabelMass(),
    reason: z.boolean().nullish().meta({
      description:
        'With `questions`: the model also writes why, once it has decided. The score has it as `reason`, and nothing else of the score changes.',
      default: false,
    }),
    temperature: z.number().min(0).max(2).nullish().meta({ default: 0 }),
    seed: z.int().min(0).nullish().meta({ default: 0 }),
    max_tokens: z.int().min(1).max(32_768).nullish().meta({ default: 512 }),
  })
  const field = path.nullish().meta({
    default: 'output',
    description: 'The field of the call to check, or a name of `fields`.',
  })
  const texts = z.array(plainText(4096).min(1)).min(1).max(100).nullish()
  const check = z.discriminatedUnion('kind', [
    z.strictObject({
      kind: z.literal('json_schema'),
      schema: json,
      field,
      parse: flag(false).describe('Whether the field is a string that contains the JSON.'),
    }),
    z.strictObject({
      kind: z.literal('regex'),
      pattern: plainText(8192).min(1).describe('Matches anywhere in the text of the field.'),
      negate: flag(false).describe('Passes if the pattern is not found.'),
      field,
    }),
    z.strictObject({
      kind: z.literal('contains'),
      any_of: texts,
      all_of: texts,
      none_of: texts,
      ignore_case: flag(false),
      field,
    }),
    z.strictObject({
      kind: z.literal('length'),
      min: z.int().min(0).nullish(),
      max: z.int().min(0).nullish(),
      field,
    }),
    z.strictObject({ kind: z.literal('latency'), max_ms: z.number().min(0) }),
    z.strictObject({ kind: z.literal('tokens'), max: z.int().min(0) }),
    z.strictObject({ kind: z.literal('cost'), max: z.number().min(0) }),
  ])
  return { judge, check }
}

const received = shapesOf(jsonObject())
const stored = shapesOf(z.record(z.string(), z.unknown()))

export const judgeGiven = received.judge
export const checkGiven = received.check
export type GivenJudge = z.output<typeof judgeGiven>
export type GivenCheck = z.output<typeof checkGiven>

/** The members of a scorer's object that are needed to run it. */
export const StoredScorer = z.object({
  judge: stored.judge.nullish(),
  check: stored.check.nullish(),
  fields: z.record(z.string(), z.string()).nullish(),
})

export type Judge = z.output<typeof stored.judge>
export type Check = z.output<typeof stored.check>
export type Fields = Readonly<Record<string, string>>
