import { unreadMembers } from '../../packages/chat-format/index.ts'
import type { Backend, Generation, GenerationEvent, Run, ServedModel } from '../../packages/engine/index.ts'
import { maxUnknown } from '../domain/json/read.ts'
import { wrong } from '../domain/refusals.ts'
import { withAdapters } from './adapter-models.ts'
import { type Compiling, type CompilingOptions, createCompiling } from './constraints/compiling.ts'
import type { Compiled } from './constraints/constraint.ts'
import { createDeciding } from './decisions/deciding.ts'
import { endingOfGap, infillTokensOf, promptOfGap } from './infill.ts'
import { mergeIterables } from './merge-iterables.ts'
import type { AnswerEvent, Answering, AnswerRequest, Input, Model } from './model.ts'
import { formatOf, renderConversation } from './prompt/chat-prompt.ts'
import { createPrompts, type Prompts } from './prompt/prompts.ts'
import { createModels, type Models } from './registry.ts'
import { notReady } from './served-model.ts'
import { createTemplateFormat, type FormatLog } from './template-format.ts'
import { planTurn } from './turn.ts'

/**
 * Cuts vectors to a length and normalizes them again. Only for models trained to have the most information in the first
 * numbers.
 */
function shortening(
  { dimensions, shorter }: Pick<ServedModel, 'dimensions' | 'shorter'>,
  requested: number | undefined,
): (vector: Float32Array) => Float32Array {
  if (requested === undefined || requested === dimensions) return (vector) => vector
  const canBeCut =
    dimensions !== undefined && requested < dimensions && (shorter === 'any' || shorter?.includes(requested))
  if (!canBeCut) {
    const lengths = shorter === 'any' ? `1 to ${dimensions}` : [...(shorter ?? []), dimensions].join(', ')
    const why = shorter === undefined ? ': this model does not say that its vectors can be cut' : ''
    throw wrong(
      'dimensions',
      String(requested),
      dimensions === undefined ? 'nothing: this model makes no vectors' : `${lengths}${why}`,
    )
  }
  return (vector) => {
    const beginning = vector.subarray(0, requested)
    const length = Math.hypot(...beginning) || 1
    return beginning.map((value) => value / length)
  }
}

type ConversationInput = Extract<Input, { conversation: unknown }>

export interface LocalModelParts {
  /** Renders conversations. */
  prompts: Prompts
  /** Compiles constraints. */
  compiling: Compiling
  /** Logs how the model calls tools, once it is loaded. */
  log?: FormatLog
}

/** The models of a server with a single embedded engine, and what they share. */
export function localModels(
  engine: Backend,
  log?: FormatLog,
  options: Partial<CompilingOptions> = {},
): Models {
  const prompts = createPrompts()
  const compiling = createCompiling(options)
  const model = createLocalModel(engine, { prompts, compiling, ...(log && { log }) })
  return createModels(withAdapters(model), async () => {
    await Promise.all([prompts.close(), compiling.close()])
  })
}

/**
 * A model that the embedded engine runs: constraints are compiled and conversations rendered before the engine gets a
 * prompt.
 */
export function createLocalModel(engine: Backend, { prompts, compiling, log }: LocalModelParts): Model {
  const templateFormat = createTemplateFormat(engine, prompts, log)

  function loaded(): ServedModel {
    const served = engine.model()
    if (served === undefined) throw notReady(engine.status())
    return served
  }

  async function promptOf(
    input: Input,
    tenant: string,
    signal: AbortSignal,
    maxTokens = 0,
  ): Promise<Generation['prompt']> {
    if ('tokens' in input) return input
    if ('text' in input) {
      const { text, suffix, addSpecial } = input
      if (suffix) return promptOfGap(engine, loaded(), { ...input, suffix }, maxTokens, signal)
      return { text, special: true, add: addSpecial }
    }
    return (await renderedOf(input, tenant, signal)).prompt
  }

  async function renderedOf(
    { conversation, addSpecial: add }: ConversationInput,
    tenant: string,
    signal: AbortSignal,
  ) {
    const served = loaded()
    const format = await formatOf(prompts, served, tenant, conversation, signal)
    const rendered = await renderConversation(prompts, served, tenant, conversation, format, signal)
    return { served, format, prompt: { ...rendered, special: true, add } }
  }

  /** The engine's request for one input, and how its answers are read. */
  async function prepared(
    input: Input,
    { turn, constraint: content, inputs: _, body: __, refuseIgnored: ___, ...request }: AnswerRequest,
    signal: AbortSignal,
  ) {
    const { tenant } = request
    if (turn === undefined || !('conversation' in input)) {
      const gap = 'text' in input ? input.suffix : undefined
      const ending = gap ? endingOfGap(request.ending, infillTokensOf(loaded(), gap.field)) : request.ending
      return {
        request: { ...request, ending },
        prompt: await promptOf(input, tenant, signal, ending.maxTokens),
        constraint: content,
        continued: undefined,
      }
    }
    const conversation = { ...input.conversation, mayCall: turn.calls !== undefined }
    const { served, format, prompt } = await renderedOf({ ...input, conversation }, tenant, signal)
    const { text } = request
    const plan = planTurn({
      asked: turn,
      format,
      served,
      conversation,
      prompt: prompt.text,
      content,
      isShown: !text.skipSpecial,
      isBeam: request.beam !== undefined,
    })
    const { markers, thinking, constraint, continued, createParser } = plan
    const withTurn = {
      ...request,
      ...(markers.length > 0 && { text: { ...text, markers } }),
      ...(thinking && { thinking }),
    }
    return { request: withTurn, prompt, constraint, continued, createParser }
  }

  /** Has the engine begin with each input. One after the other, so that they are queued in order. */
  async function beginRuns(request: AnswerRequest, signal: AbortSignal) {
    const runs: Run[] = []
    const promptTexts: string[] = []
    let createParser: Answering['createParser']
    let compiled: Compiled | undefined
    for (const input of request.inputs) {
      const ready = await prepared(input, request, signal)
      const { prompt, constraint, continued } = ready
      if ('text' in prompt) promptTexts.push(withoutMark(prompt))
      createParser ??= ready.createParser
      // The same for all of them: turns have only one input.
      compiled ??= constraint && (await compiling.compile(request.tenant, constraint, signal))
      const form = compiled &&
        constraint && {
          ...{ grammar: compiled.grammar, field: constraint.field },
          ...(continued && { continued }),
        }
      const generation = { ...ready.request, prompt, ...(form && { constraint: form }) }
      runs.push(await engine.generate(generation, signal))
    }
    return { runs, promptTexts, createParser, compiled }
  }

  return {
    status: () => engine.status(),
    served: () => engine.model(),
    format: () => templateFormat.find(),
    async answer(request, clientSignal) {
      const { inputs, choices } = request
      const ignored = inputs.flatMap((input) =>
        'conversation' in input ? unreadMembers(input.conversation.messages, maxUnknown + 1) : [],
      )
      request.refuseIgnored?.(ignored)
      const cancelling = new AbortController()
      const signal = inputs.length === 1 ? clientSignal : AbortSignal.any([clientSignal, cancelling.signal])
      const begun = await beginRuns(request, signal).catch((error: unknown) => {
        cancelling.abort(error)
        throw error
      })
      const { runs, promptTexts, createParser, compiled } = begun
      const sources = runs.map(({ events }, input) => numbered(events, input, choices))
      const [only] = sources
      return {
        prompts: runs.map(({ promptTokens }) => promptTokens),
        promptTexts,
        events:
          only !== undefined && sources.length === 1
            ? only
            : mergeIterables(sources, () => cancelling.abort(new Error('the answer is over'))),
        ...(createParser && { createParser }),
        widened: compiled?.widened ?? [],
        ignored,
        notes: compiled?.notes ?? [],
      }
    },
    async pool({ dimensions, user: _, ...request }, each, signal) {
      const shorten = shortening(loaded(), dimensions)
      await engine.pool(request, (pooled) => each({ ...pooled, values: shorten(pooled.values) }), signal)
      return {}
    },
    decide: createDeciding(engine, prompts),
    async tokenize(input, tenant, signal) {
      const prompt = await promptOf(input, tenant, signal)
      if ('tokens' in prompt) return prompt.tokens
      const { text, ...options } = prompt
      return engine.tokenize(text, options, signal)
    },
    detokenize: (...args) => engine.detokenize(...args),
    async close() {
      await templateFormat.close()
      await engine.close()
    },
  }
}

/** The events of one run, renumbered among all inputs. */
async function* numbered(
  events: AsyncIterable<GenerationEvent[]>,
  input: number,
  choices: number,
): AsyncGenerator<AnswerEvent[]> {
  const first = input * choices
  for await (const group of events) {
    yield group.map((event) => {
      if (event.kind === 'prefilled') return { ...event, input }
      return first === 0 ? event : { ...event, choice: first + event.choice }
    })
  }
}

const withoutMark = ({ text, mark }: { text: string; mark?: string }) =>
  mark === undefined ? text : text.replaceAll(mark, '')
