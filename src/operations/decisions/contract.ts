import { z } from 'zod'
import { answer, jsonObject, jsonValue, plainText, traits } from '../../domain/fields.ts'
import { JsonText } from '../../domain/json/text.ts'
import { refused } from '../generation/refused-fields.ts'
import { samplingFields } from '../generation/sampling-fields.ts'
import { documented, integer } from '../generation/scalars.ts'
import { unusedOpenAiFields } from '../generation/unused-fields.ts'
import { poolingFields } from '../pooling/fields.ts'

export const maxQuestions = 400
export const maxChoices = 255
export const maxLevels = 10

/** The largest string that OpenAI accepts, but for texts of the input. */
const longest = 1_048_576
const maxParts = 16_384
const maxItems = 131_072
const maxImageUrl = 32 * 1024 * 1024

const text = () => z.string().max(longest)

/** A part of any type; the rules check what fits its type and where it is. */
const Part = z.object({
  type: z.string().max(64),
  text: z.string().nullish(),
  refusal: text().nullish(),
  data: jsonValue().nullish(),
  image_url: z.string().nullish(),
  detail: z.enum(['low', 'high', 'auto', 'original']).nullish(),
  prompt_cache_breakpoint: z.object({ mode: z.literal('explicit') }).nullish(),
})
export type Part = z.output<typeof Part>

const contents = () =>
  z.union([z.string(), z.array(Part).max(maxParts)], {
    error: `expected a string or a list of at most ${maxParts} parts`,
  })
export type Contents = string | Part[]

const InputItem = z.object({
  type: z.string().max(64).nullish(),
  role: z.string().max(64).nullish(),
  content: contents().nullish(),
  phase: z.enum(['commentary', 'final_answer']).nullish(),
  /** Members of calls and their outputs. */
  id: text().nullish(),
  call_id: text().nullish(),
  name: text().nullish(),
  namespace: text().nullish(),
  arguments: text().nullish(),
  input: text().nullish(),
  output: contents().nullish(),
  status: z.enum(['in_progress', 'completed', 'incomplete']).nullish(),
})
export type InputItem = z.output<typeof InputItem>

/** A question of any type. What its type does not have is refused, because it would change the meaning. */
export const Question = z.strictObject({
  type: z.enum(['predicate', 'choice', 'score']),
  name: text().nullish().describe('Returned with the answer; null if there is none.'),
  calibration: plainText(1_024)
    .min(1)
    .nullish()
    .describe(
      'A reference to a calibration of the project, whose probability is given beside that of the model: null if it was fitted for another question, model or template.',
    ),
  instructions: contents().describe('What is asked: a text, or text and JSON parts.'),
  choices: z
    .array(
      z.strictObject({
        value: z.union([text(), z.boolean()], { error: 'expected a string or a boolean' }),
        description: text().nullish(),
      }),
    )
    .max(2 * maxChoices)
    .nullish()
    .describe(`Of a choice: 2 to ${maxChoices} values, texts or booleans, each with a description.`),
  levels: z
    .array(z.strictObject({ label: text(), description: text().nullish() }))
    .max(2 * maxLevels)
    .nullish()
    .describe(`Of a score: 2 to ${maxLevels} levels in ascending order.`),
})
export type Question = z.output<typeof Question>

const { request_id, store, metadata, priority, model } = poolingFields

export const orders = () =>
  integer(1, 8).nullish().meta({
    description:
      'Shows the options of a choice in this many orders, and averages: the first as given, the second reversed.',
    default: 1,
  })

export const minLabelMass = () =>
  z
    .number()
    .min(0)
    .max(1)
    .nullish()
    .describe(
      'Answers a question with a refusal if the model gives its labels less probability together. Never if absent.',
    )

/** What both routes have beyond what their clients know. */
const sharedFields = {
  model,
  orders: orders(),
  thinking_token_budget: integer(1, 32_768)
    .nullish()
    .describe(
      'Lets the model think about each question before its answer is read, at most so many tokens; they count as output. Thoughts are closed if it is absent, and the field is refused where the template shows none.',
    ),
  cache_salt: samplingFields.cache_salt,
  priority,
  request_id,
  store,
  metadata,
  stream: documented(
    z.literal(false, { error: 'is not supported here; decisions are sent whole' }).nullish(),
    'Only `false`: decisions are sent whole.',
    { effect: 'refused', initial: false },
  ),
}

export const refusedDecisionFields = {
  temperature: refused('nothing is drawn'),
  reasoning: refused('thinking_token_budget lets a model think'),
  reasoning_effort: documented(
    z.literal('none', { error: 'expected "none"; thinking_token_budget lets a model think' }).nullish(),
    'Only `none`.',
  ),
  tools: refused('describe what the questions need in the input'),
}

export const DecisionBody = z.object({
  state: refused('give input for a list of questions, state for an object of them'),
  input: z
    .union([z.string(), z.array(InputItem).max(maxItems)], {
      error: 'expected a string or a list of items',
    })
    .describe(
      'What the questions are about: a text, or messages, calls and their outputs. Leading messages of the system or developer are instructions; everything else is data.',
    ),
  questions: z
    .array(Question)
    .max(2 * maxQuestions)
    .describe(`1 to ${maxQuestions}.`),
  min_label_mass: minLabelMass(),
  ...sharedFields,
  safety_identifier: unusedOpenAiFields.safety_identifier,
  prompt_cache_key: unusedOpenAiFields.prompt_cache_key,
  prompt_cache_options: unusedOpenAiFields.prompt_cache_options,
  ...refusedDecisionFields,
})
export type DecisionBody = z.output<typeof DecisionBody>

const Diagnosis = z
  .object({
    label_mass: z
      .number()
      .optional()
      .describe('What the model gives all labels together; the probabilities are shares of it.'),
    argmax_is_label: z.boolean().optional(),
    order_spread: z
      .number()
      .optional()
      .describe('The largest difference of a probability between two orders.'),
    calibration: z
      .string()
      .nullish()
      .describe('The version of the calibration that was used; null if the one that was named does not fit.'),
  })
  .describe('Absent of what a server elsewhere does not report.')

const probability = () => z.number().min(0).max(1)

export const DecisionAnswer = answer('The answers, in the order of the questions.', {
  id: z.string(),
  object: z.literal('decision'),
  created: z.int(),
  model: z.string(),
  answers: z.array(
    z.object({
      type: z.enum(['predicate', 'choice', 'score', 'refusal']),
      name: z.string().nullable(),
      probability: probability().optional(),
      choice: z.union([z.string(), z.boolean()]).optional(),
      score: z.number().optional().describe('The expected level, counted from 0.'),
      probabilities: z
        .array(
          z.object({
            value: z.union([z.string(), z.boolean(), z.int()]),
            label: z.string().optional(),
            probability: probability(),
          }),
        )
        .optional(),
      calibrated: z
        .union([probability(), z.array(probability())])
        .nullish()
        .describe('Only with `calibration`: of a predicate the probability, of others all, in their order.'),
      confidence: probability().optional().describe('How sharp the whole distribution is.'),
    }),
  ),
  diagnostics: z.array(Diagnosis),
  usage: z.object({
    input_tokens: z.int(),
    input_tokens_details: z.object({ cached_tokens: z.int(), cache_write_tokens: z.int() }),
    output_tokens: z.int(),
    output_tokens_details: z.object({ reasoning_tokens: z.int() }),
    total_tokens: z.int(),
  }),
})
export type DecisionAnswer = z.output<typeof DecisionAnswer>

const images = () =>
  z
    .array(z.string().max(maxImageUrl).startsWith('data:', { error: 'expected a data URL' }))
    .max(8)
    .nullish()
    .describe('Data URLs of images, for servers elsewhere that read them; refused by others.')

export const SystemOneBody = z.object({
  state: jsonValue('a text, an object or a list').describe(
    'What the questions are about: a text, or any JSON.',
  ),
  questions: jsonObject().describe(
    'By id: `{"type": "noul" | "choice" | "score", "instructions": …, "criteria": …, "calibration": …}`. Answers keep the order. A calibration is named as in `/v1/decisions`.',
  ),
  input: refused('give state for an object of questions, input for a list of them'),
  instructions: z.string().max(longest).nullish().describe('Instructions of the system.'),
  chat_template_kwargs: z
    .strictObject({
      enable_thinking: z
        .literal(false, { error: 'expected false; thinking_token_budget lets a model think' })
        .nullish()
        .meta({ default: false }),
    })
    .nullish()
    .describe('As vLLM documents it; what it may say holds anyway.'),
  ...sharedFields,
  files: images(),
  images: images(),
  ...refusedDecisionFields,
})
export type SystemOneBody = z.output<typeof SystemOneBody>

/** Both routes accept both. They differ in what is asked about; if that does not tell, in the questions. */
export const AnyDecisionBody = z.union([DecisionBody, SystemOneBody])
export type AnyDecisionBody = z.output<typeof AnyDecisionBody>

traits.add(AnyDecisionBody, {
  optionOf({ input, state, questions }: { input?: unknown; state?: unknown; questions?: unknown }) {
    const isTold = (input == null) !== (state == null)
    return (isTold ? state != null : questions instanceof JsonText) ? 1 : 0
  },
})

const SystemOneAnswer = answer('The answers, by the ids of the questions.', {
  id: plainText(1_024),
  object: z.literal('structured_decision'),
  created: z.int(),
  model: z.string(),
  answers: z.record(z.string(), z.looseObject({ type: z.enum(['noul', 'choice', 'score']) })),
  diagnostics: z.record(z.string(), Diagnosis),
  usage: z.object({ input_tokens: z.int(), output_tokens: z.int() }),
})

export const AnyDecisionAnswer = z
  .union([DecisionAnswer, SystemOneAnswer])
  .describe('The answers, in the form of the body.')
