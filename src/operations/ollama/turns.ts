import type { GivenMessage } from '../../../packages/chat-format/index.ts'
import type { JsonText } from '../../domain/json/text.ts'
import { refuse, wrong } from '../../domain/refusals.ts'
import type { CompileQuestion } from '../../inference/constraints/constraint.ts'
import type { AnswerRequest } from '../../inference/model.ts'
import type { FoundModel } from '../../inference/registry.ts'
import type { Completion } from '../completions/completion.ts'
import { answerOptions } from '../generation/answer-options.ts'
import { callsAsked } from '../generation/calls.ts'
import type { ChatCompletion } from '../generation/chat-answer.ts'
import { type GenerationContext, generate } from '../generation/generation.ts'
import { candidatesAsked, checkCandidates } from '../generation/logprobs.ts'
import type { GenerationParts } from '../generation/parts.ts'
import { requestOf } from '../generation/request.ts'
import type { GenerateBody, OllamaChatBody } from './contract.ts'
import { messagesOf, type PictureReader, pictureReaderOf, withPictures } from './conversation.ts'
import { findModel, nameOf } from './models.ts'
import { ignoredOptions, maxTokensOf, samplingOf } from './options.ts'

/** What is known of an answer of this wire besides what chat and text completions have. */
export interface Named {
  /** The name of the model in the request. */
  askedName: string
  /** When the request arrived, by `performance.now()`. */
  arrived: number
}

type AnyBody = OllamaChatBody | GenerateBody

/** A turn of a conversation that is running or queued. */
export type OllamaTurn = ChatCompletion & Named

export async function beginChat(
  services: GenerationParts,
  body: OllamaChatBody,
  asking: GenerationContext,
): Promise<OllamaTurn> {
  const found = findModel(services.models, body.model, asking.caller)
  const messages = messagesOf(body.messages ?? [], pictureReaderOf(found.served))
  const { tools, tool_choice: choice } = body
  return beginTurn(services, found, body, asking, { messages, field: 'messages', tools, choice })
}

export async function beginPrompt(
  services: GenerationParts,
  body: GenerateBody,
  asking: GenerationContext,
): Promise<OllamaTurn> {
  const found = findModel(services.models, body.model, asking.caller)
  return beginTurn(services, found, body, asking, {
    messages: messagesOfPrompt(body, pictureReaderOf(found.served)),
    field: 'prompt',
  })
}

/** A prompt is a conversation of one message, or of two with the system's. */
export function messagesOfPrompt(
  { system, prompt, images }: GenerateBody,
  reader: PictureReader,
): GivenMessage[] {
  const content = withPictures(prompt ?? '', images ?? [], reader, 'images')
  return [...(system ? [{ role: 'system', content: system }] : []), { role: 'user', content }]
}

interface Turn {
  messages: readonly GivenMessage[]
  /** The field that has them. */
  field: string
  tools?: OllamaChatBody['tools']
  choice?: OllamaChatBody['tool_choice']
}

async function beginTurn(
  services: GenerationParts,
  found: FoundModel,
  body: AnyBody,
  asking: GenerationContext,
  { messages, field, tools, choice }: Turn,
): Promise<OllamaTurn> {
  await checkThoughts(body, found)
  const calls = callsAsked(
    { tools, choice: choice ?? undefined, isParallel: true },
    { tools: 'tools', choice: 'tool_choice' },
    services.settings,
  )
  const { think } = body
  const conversation = {
    messages,
    addGenerationPrompt: true,
    continueFinal: false,
    tools,
    ...(typeof think === 'boolean' && { thinks: think }),
    ...(typeof think === 'string' && { reasoningEffort: think }),
  }
  const request = answerRequest(body, asking, [{ conversation, addSpecial: false }])
  const turn = { ...request, turn: calls ? { calls } : {} }
  const ignored = ignoredOptions(body.options, found.served.context)
  asking.refuseIgnored?.(ignored)
  const generation = await generate(services, found, turn, asking, {
    prompt: field,
    maxTokens: 'options.num_predict',
  })
  return {
    ...generation,
    ...namedAs(body, found, asking),
    ignored: [...generation.ignored, ...ignored],
    id: `chatcmpl-${asking.id}`,
    role: 'assistant',
    echo: '',
    logprobs: body.logprobs ?? false,
    candidatesField: 'top_logprobs',
    callForm: 'tools',
    isNamed: false,
    shown: answerOptions({}),
  }
}

const namedAs = ({ model }: AnyBody, found: FoundModel, { arrived }: GenerationContext): Named => ({
  askedName: nameOf(model, found),
  arrived,
})

/** The request to the model, but for the turn of a conversation. */
function answerRequest(
  body: AnyBody,
  { caller }: GenerationContext,
  inputs: AnswerRequest['inputs'],
): AnswerRequest {
  const { logprobs, top_logprobs, options, stream } = body
  if (top_logprobs && !logprobs) {
    throw wrong('top_logprobs', 'given without `logprobs`', 'only with "logprobs": true')
  }
  const maxTokens = maxTokensOf(options)
  const asked = requestOf(samplingOf(options), {
    inputs,
    constraint: constraintOf(body),
    tenant: caller.name,
    maxTokens,
    logprobs: logprobs ? (top_logprobs ?? 0) : undefined,
    promptLogprobs: undefined,
  })
  if (!stream) {
    checkCandidates('top_logprobs', (maxTokens ?? 0) * candidatesAsked(asked, 'top_logprobs').ofToken)
  }
  // Clients ask for more tokens than the context has, and Ollama answers.
  return { ...asked, ending: { ...asked.ending, isClipped: true } }
}

function constraintOf({ format }: AnyBody): CompileQuestion | undefined {
  const value = format?.exact
  if (value == null || value === '') return undefined
  const constraint =
    value === 'json'
      ? ({ kind: 'json_object' } as const)
      : format?.text.startsWith('{')
        ? { kind: 'json' as const, schema: value }
        : undefined
  if (constraint === undefined) {
    throw wrong(
      'format',
      (format as JsonText).text.slice(0, 40),
      '"json", or a JSON Schema that is an object',
    )
  }
  return { constraint, field: 'format', options: { whitespace: 'bounded' } }
}

/** As Ollama does. A model on a server elsewhere does not tell whether it has thoughts. */
async function checkThoughts({ think }: AnyBody, { model, served }: FoundModel): Promise<void> {
  if (!think) return
  const format = await model.format()
  if (format === undefined || format.reasoning !== undefined) return
  throw refuse('model_lacks', {
    field: 'think',
    model: JSON.stringify(served.names[0]),
    why: 'does not support thinking',
    accepted: '"think": false, or none',
  })
}

/** A text that is continued without the template of the model. */
export type OllamaText = Completion & Named

export async function beginText(
  services: GenerationParts,
  body: GenerateBody,
  asking: GenerationContext,
): Promise<OllamaText> {
  const how = body.raw ? 'raw' : 'suffix'
  for (const field of ['system', 'images', 'think'] as const) {
    if (!body[field] || (Array.isArray(body[field]) && body[field].length === 0)) continue
    throw wrong(field, `given with \`${how}\``, 'only without it')
  }
  const found = findModel(services.models, body.model, asking.caller)
  const { prompt, suffix } = body
  const text = prompt ?? ''
  const inputs = [{ text, addSpecial: true, ...(suffix && { suffix: { text: suffix, isCut: true } }) }]
  const request = answerRequest(body, asking, inputs)
  const names = { prompt: 'prompt', maxTokens: 'options.num_predict' }
  const ignored = ignoredOptions(body.options, found.served.context)
  asking.refuseIgnored?.(ignored)
  const generation = await generate(services, found, request, asking, names)
  const id = `cmpl-${asking.id}`
  return {
    ...generation,
    ...namedAs(body, found, asking),
    ignored: [...generation.ignored, ...ignored],
    id,
    head: { id, object: 'text_completion', ...generation.head },
    openings: [{ echo: '', firstToken: '' }],
    logprobs: body.logprobs ? (body.top_logprobs ?? 0) : undefined,
    candidatesField: 'top_logprobs',
    echoLogprobs: false,
    shown: { ...answerOptions({}), promptLogprobs: false },
  }
}
