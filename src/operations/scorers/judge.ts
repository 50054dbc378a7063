import { writeJson } from '../../domain/json/text.ts'
import type { AnswerRequest } from '../../inference/model.ts'
import { createFold } from '../generation/fold.ts'
import type { FieldNames, GenerationContext } from '../generation/generation.ts'
import { generate } from '../generation/generation.ts'
import { limitCandidates } from '../generation/logprobs.ts'
import type { GenerationParts } from '../generation/parts.ts'
import { endingOf, samplingOf } from '../generation/request.ts'
import type { CallValues } from './call-values.ts'
import type { Unscored } from './check.ts'
import type { Judge } from './contract.ts'
import { answerConstraint } from './runnable.ts'
import { parseTemplate } from './template.ts'

/** Most characters of a prompt. A larger call is not judged: after truncation another call would be judged. */
const maxPromptLength = 1 << 20

/** The question to a judge. */
export interface Question {
  messages: { role: 'system' | 'user'; content: string }[]
}

/** Makes the question about a call. The values of fields are text of the user's turn, whatever they contain. */
export function questionOf(judge: Judge, values: CallValues): Question | Unscored {
  const template = parseTemplate(judge.prompt)
  if ('why' in template) return { state: 'failed', reason: 'template_invalid', detail: template.why }
  let prompt = ''
  for (const segment of template.segments) {
    const text = 'text' in segment ? segment.text : values.text(segment.field)
    if (text === undefined) {
      const field = 'field' in segment ? segment.field : ''
      return { state: 'skipped', reason: 'field_missing', detail: `the call has no value at ${field}` }
    }
    prompt += text
    if (prompt.length > maxPromptLength) {
      return {
        state: 'skipped',
        reason: 'too_large',
        detail: `the prompt has more than ${maxPromptLength} characters`,
      }
    }
  }
  const system = judge.system ? [{ role: 'system' as const, content: judge.system }] : []
  return { messages: [...system, { role: 'user', content: prompt }] }
}

/** The question as the body of a chat completion, which the judge's call has as its inputs. */
export function inputsOf(judge: Judge, model: string, scorer: string, { messages }: Question): string {
  return writeJson({
    model,
    messages,
    ...optionsOf(judge),
    response_format: { type: 'json_schema', json_schema: { name: scorer, schema: judge.schema } },
  })
}

function optionsOf({ temperature, seed, max_tokens }: Judge) {
  return { temperature: temperature ?? 0, seed: seed ?? 0, max_tokens: max_tokens ?? 512 }
}

export interface JudgeAnswer {
  model: string
  /** JSON that fits the schema, or the beginning of it. */
  text: string
  isWhole: boolean
  usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number }
}

const names: FieldNames = { prompt: 'judge.prompt', maxTokens: 'judge.max_tokens' }
const noLogprobs = { add: () => undefined }

/** Asks the model. Refused like any request for an answer. */
export async function askJudge(
  services: GenerationParts,
  judge: Judge,
  { messages }: Question,
  asking: GenerationContext,
): Promise<JudgeAnswer> {
  const { temperature, seed, max_tokens } = optionsOf(judge)
  const request: AnswerRequest = {
    inputs: [
      { conversation: { messages, addGenerationPrompt: true, continueFinal: false }, addSpecial: false },
    ],
    constraint: answerConstraint(judge.schema),
    turn: {},
    tenant: asking.caller.name,
    choices: 1,
    sampling: samplingOf({ temperature, seed: BigInt(seed) }),
    ending: endingOf({}, max_tokens),
    text: { skipSpecial: true, spaceSpecial: true },
    priority: 0,
  }
  const generation = await generate(
    services,
    services.models.find(judge.model, asking.caller),
    request,
    asking,
    names,
  )
  const fold = createFold(generation, {
    createLogprobs: () => noLogprobs,
    candidateLimit: limitCandidates('logprobs', false),
    onPrompt: async () => undefined,
  })
  for await (const group of generation.deltas) await fold.add(group)
  const { choices, usage } = fold.end()
  const [choice] = choices
  return {
    model: generation.head.model,
    text: choice?.content ?? '',
    isWhole: choice?.reason === 'stop',
    usage,
  }
}
