import { writeJson } from '../../domain/json/text.ts'
import type { AnswerRequest } from '../../inference/model.ts'
import { createFold } from '../generation/fold.ts'
import { type FieldNames, type GenerationContext, generate } from '../generation/generation.ts'
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

/** The prompt about a call. The values of fields are text of the user's turn, whatever they contain. */
export function promptOf(judge: Judge, values: CallValues): string | Unscored {
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
  return prompt
}

function messagesOf({ system }: Judge, prompt: string) {
  const first = system ? [{ role: 'system' as const, content: system }] : []
  return [...first, { role: 'user' as const, content: prompt }]
}

/** The question as the body of a chat completion, which the judge's call has as its inputs. */
function inputsOf(judge: Judge, model: string, prompt: string, scorer: string): string {
  return writeJson({
    model,
    messages: messagesOf(judge, prompt),
    ...optionsOf(judge),
    response_format: { type: 'json_schema', json_schema: { name: scorer, schema: judge.schema } },
  })
}

function optionsOf({ temperature, seed, max_tokens }: Judge) {
  return { temperature: temperature ?? 0, seed: seed ?? 0, max_tokens: max_tokens ?? 512 }
}

/** How the questions of a judge were decided, by their names: what later says which probabilities may be compared. */
export interface Decisions {
  model: string
  /** Of the prompt with its fields still open. */
  prompt: string
  questions: Record<string, { digest: string; label_mass?: number; order_spread?: number }>
}

/** What a judge has said, as its own call records it. */
export interface JudgeAnswer {
  model: string
  /** JSON, or the beginning of it. */
  text: string
  /** Why it is no score; undefined if it is one. */
  fault: string | undefined
  usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number }
  /** What was asked; `scorer` is the name of the scorer. */
  inputs(scorer: string): string
  /** How the questions of a judge were decided. */
  decisions?: Decisions
}

const cutOff = 'the answer was cut off at judge.max_tokens, before it fit the schema'

const names: FieldNames = { prompt: 'judge.prompt', maxTokens: 'judge.max_tokens' }
const noLogprobs = { add: () => undefined }

type Message = { role: 'system' | 'user' | 'assistant'; content: string }

/** Asks the model to write. Refused like any request for an answer. */
export async function writeAsJudge(
  services: GenerationParts,
  judge: Judge,
  { messages, ...answering }: { messages: Message[] } & Pick<AnswerRequest, 'constraint'>,
  asking: GenerationContext,
) {
  const { temperature, seed, max_tokens } = optionsOf(judge)
  const conversation = { messages, addGenerationPrompt: true, continueFinal: false }
  const request: AnswerRequest = {
    ...answering,
    inputs: [{ conversation, addSpecial: false }],
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
  const { model } = generation.head
  return { model, text: choice?.content ?? '', isWhole: choice?.reason === 'stop', usage }
}

/** Asks for an answer that fits the schema. */
export async function askJudge(
  services: GenerationParts,
  judge: Judge,
  prompt: string,
  asking: GenerationContext,
): Promise<JudgeAnswer> {
  const asked = { messages: messagesOf(judge, prompt), constraint: answerConstraint(judge.schema) }
  const { isWhole, ...answer } = await writeAsJudge(services, judge, asked, asking)
  return {
    ...answer,
    fault: isWhole ? undefined : cutOff,
    inputs: (scorer) => inputsOf(judge, answer.model, prompt, scorer),
  }
}
