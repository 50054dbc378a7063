import type { BackendStatus, ServedModel } from '../../../packages/engine/index.ts'
import { whenAborted } from '../../../packages/waiting/index.ts'
import type { AnswerEvent, Answering, AnswerRequest, Model } from '../model.ts'
import { notReady } from '../served-model.ts'
import { eventsOf } from './answer-events.ts'
import { type AnswerReader, createReader } from './answer-reader.ts'
import { createAnthropicReader } from './anthropic/reader.ts'
import { anthropicRequestOf } from './anthropic/request.ts'
import type { TakenAnswer } from './asking.ts'
import { createUpstreamDeciding } from './deciding.ts'
import { createFitting, lengthOf } from './fitting.ts'
import type { ListedModel } from './listed.ts'
import { createPooling } from './pooling.ts'
import type { UpstreamServer } from './server.ts'
import { createTokens } from './tokens.ts'
import { type UpstreamRequest, upstreamRequestOf } from './upstream-request.ts'

interface UpstreamModelSettings extends ListedModel {
  /** Its name on the server. */
  model: string
  /** Where it came from, as given in the setting. */
  source: string
  /** Seconds since the epoch. */
  created: number
}

/**
 * After this, a stream is answered even without its first event, so that the client knows it has begun; until then a
 * failure has a status.
 */
const headMs = 1_000

/** How a server is asked, and how its answers are read. */
const wires = {
  openai: { requestOf: upstreamRequestOf, createReader },
  anthropic: { requestOf: anthropicRequestOf, createReader: createAnthropicReader },
}

/** What servers do not tell of their models. */
export const ofServer = {
  parallel: 0,
  threads: 0,
  vocabulary: 0,
  controlTokens: [],
  parameters: 0,
  bytes: 0,
  template: undefined,
  passesPictures: true,
  tokens: { bos: '', eos: '' },
}

/** A model on a server with the API of OpenAI or Anthropic. */
export function createUpstreamModel(server: UpstreamServer, settings: UpstreamModelSettings): Model {
  const {
    names,
    model,
    kind,
    context,
    source,
    created,
    tasks = kind === 'anthropic' ? ['answers'] : ['answers', 'embeddings', 'ranking'],
    abilities,
  } = settings
  const wire = wires[kind === 'anthropic' ? 'anthropic' : 'openai']
  const target = { kind, model, ...(abilities && { abilities }) }
  const served: ServedModel = {
    names,
    tasks,
    created,
    source: `${source}#${model}`,
    context,
    device: `upstream: ${kind}`,
    ...ofServer,
  }
  const { callers } = server.slots
  let running = 0
  const tokens = createTokens(server, { kind, model })
  const fitting = createFitting(tokens.tokenize, { kind, context })

  const count = (change: 1 | -1) => {
    running += change
  }

  function status(): BackendStatus {
    const well = server.addresses.all.some(({ fault }) => fault === undefined)
    if (!well) return { state: 'starting', doing: 'the server behind it does not answer' }
    return { state: 'ready', running, waiting: callers.waiting }
  }

  /** The slot of one answer and the connection that it comes by, until either is over. */
  async function openAnswer(tenant: string, lane: AnswerRequest['lane'], signal: AbortSignal) {
    const slots = lane === 'background' ? server.slots.background : callers
    const slot = await slots.acquire(tenant, signal)
    running++
    let isOpen = true
    let taken: TakenAnswer | undefined
    const opened = {
      reader: undefined as AnswerReader | undefined,
      /** Called again, it does nothing. */
      close(error?: unknown) {
        if (!isOpen) return
        isOpen = false
        running--
        slots.release(slot)
        taken?.done(error)
        ignoreAbort()
        // Nobody wants what the server still works on. Of a complete answer only the end is missing.
        if (opened.reader?.isComplete() !== true) taken?.answer.destroy()
      },
      async take(asking: Promise<TakenAnswer>): Promise<TakenAnswer> {
        taken = await asking
        if (isOpen) return taken
        taken.done()
        taken.answer.destroy()
        throw signal.reason
      },
    }
    const ignoreAbort = whenAborted(signal, opened.close)
    return opened
  }

  async function answer(original: AnswerRequest, signal: AbortSignal): Promise<Answering> {
    if (status().state !== 'ready') throw notReady(status())
    const { tenant, lane, traceparent } = original
    const request = await fitting(original, signal)
    const sent = wire.requestOf(request, target)
    const { inputs, choices, ignored, isWhole } = sent
    request.refuseIgnored?.(ignored)
    const opened = await openAnswer(tenant, lane, signal)
    try {
      const delivery = {
        ...sent,
        path: sent.path.slice(1),
        tenant,
        kind,
        traceparent,
        shows: 'speed' as const,
      }
      const begun = await opened.take(server.ask(delivery, signal))
      const reader = wire.createReader({ kind, inputs, choices, promptLength: lengthOf(request.inputs) })
      opened.reader = reader
      const groups = eventsOf({ server, begun, take: opened.take, isWhole, reader, signal })
      const first = groups.next()
      const events = readOnce(first, groups, opened.close, signal)
      const { prompts, promptTexts, usage } = reader
      const answering = { prompts, promptTexts, events, usage, ignored }
      if (isNeededFirst(sent, request)) {
        await first
        return answering
      }
      const underWay = inTime(first).catch((error: unknown) => {
        opened.close(error)
        throw error
      })
      // Nothing may be waiting for it any more.
      underWay.catch(() => undefined)
      return { ...answering, underWay }
    } catch (error) {
      opened.close(error)
      throw error
    }
  }

  return {
    status,
    served: () => served,
    format: async () => undefined,
    answer,
    pool: createPooling(server, { kind, model }, count),
    decide: createUpstreamDeciding(server, { kind, model }, answer, count),
    tokenize: tokens.tokenize,
    count: tokens.count,
    detokenize: tokens.detokenize,
    upstream: server.load,
    async close() {},
  }
}

/** An answer that repeats its prompt needs the prompt's tokens before it begins. */
function isNeededFirst({ isWhole }: UpstreamRequest, { body }: AnswerRequest): boolean {
  return isWhole || body?.echo === true
}

function inTime(first: Promise<unknown>): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(resolve, headMs)
    first.then(resolve, reject).finally(() => clearTimeout(late))
  })
}

/** The events, and `over` however they end. If nobody reads them, the signal is aborted. */
function readOnce(
  first: Promise<IteratorResult<AnswerEvent[]>>,
  rest: AsyncGenerator<AnswerEvent[]>,
  over: (error?: unknown) => void,
  signal: AbortSignal,
): AsyncIterable<AnswerEvent[]> {
  let isFirst = true
  const iterator: AsyncIterator<AnswerEvent[]> = {
    async next() {
      try {
        const step = await (isFirst ? first : rest.next())
        isFirst = false
        if (step.done) over()
        return step
      } catch (error) {
        over(error)
        throw signal.aborted ? signal.reason : error
      }
    },
    async return() {
      over()
      await rest.return(undefined).catch(() => undefined)
      return { done: true, value: undefined }
    },
  }
  return { [Symbol.asyncIterator]: () => iterator }
}
