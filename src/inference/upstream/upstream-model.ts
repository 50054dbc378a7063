import type { IncomingMessage } from 'node:http'
import type { BackendStatus, ModelTask, ServedModel } from '../../../packages/engine/index.ts'
import { whenAborted } from '../../../packages/waiting/index.ts'
import { Refusal } from '../../domain/refusals.ts'
import type { AnswerEvent, Answering, AnswerRequest, Model } from '../model.ts'
import { notReady } from '../served-model.ts'
import { type AnswerReader, createReader } from './answer-reader.ts'
import { createAnthropicReader } from './anthropic/reader.ts'
import { anthropicRequestOf } from './anthropic/request.ts'
import type { TakenAnswer } from './asking.ts'
import { createUpstreamDeciding } from './deciding.ts'
import { cutOff, isBroken, readingError, unreadableReply, withoutKey } from './failures.ts'
import { createFitting, lengthOf } from './fitting.ts'
import type { UpstreamKind } from './kinds.ts'
import type { ModelAbilities } from './listed.ts'
import { contentTypeOf, piecesOf, textOf } from './pieces.ts'
import { createPooling } from './pooling.ts'
import type { UpstreamServer } from './server.ts'
import { createEventReader } from './server-events.ts'
import { createTokens } from './tokens.ts'
import { type UpstreamRequest, upstreamRequestOf } from './upstream-request.ts'

interface UpstreamModelSettings {
  /** The names under which it is served here. */
  names: string[]
  /** Its name on the server. */
  model: string
  kind: UpstreamKind
  context: number
  /** Where it came from, as given in the setting. */
  source: string
  /** Seconds since the epoch. */
  created: number
  /** Its tasks, if its server reports them; otherwise the server refuses what it cannot do. */
  tasks?: readonly ModelTask[]
  abilities?: ModelAbilities
}

/** A whole answer, with the logprobs of its prompt. */
const maxWhole = 256 * 1024 * 1024

/**
 * After this, a stream is answered even without its first event, so that the client knows it has begun; until then a
 * failure has a status.
 */
const headMs = 1_000

/** How long a server may take to report its usage after it has finished. */
const tailMs = 2_000

/** A comment is a sign of life, too; an unfinished line is not. */
const hasLine = (piece: Buffer) => piece.includes(0x0a) || piece.includes(0x0d)

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

  async function answer(original: AnswerRequest, signal: AbortSignal): Promise<Answering> {
    if (status().state !== 'ready') throw notReady(status())
    const request = await fitting(original, signal)
    const asked = wire.requestOf(request, target)
    request.refuseIgnored?.(asked.ignored)
    const slots = original.lane === 'background' ? server.slots.background : callers
    const slot = await slots.acquire(original.tenant, signal)
    running++
    let isOpen = true
    let reader: AnswerReader | undefined
    let taken: TakenAnswer | undefined
    const over = (error?: unknown) => {
      if (!isOpen) return
      isOpen = false
      running--
      slots.release(slot)
      taken?.done(error)
      stay()
      // Nobody wants what the server still works on. Of a complete answer only the end is missing.
      if (reader?.isComplete() !== true) taken?.answer.destroy()
    }
    const stay = whenAborted(signal, over)
    const take = async (asking: Promise<TakenAnswer>): Promise<TakenAnswer> => {
      taken = await asking
      if (isOpen) return taken
      taken.done()
      taken.answer.destroy()
      throw signal.reason
    }
    try {
      const begun = await take(
        server.ask(
          { ...asked, path: asked.path.slice(1), tenant: original.tenant, kind, shows: 'speed' },
          signal,
        ),
      )
      reader = wire.createReader({
        kind,
        inputs: asked.inputs,
        choices: asked.choices,
        promptLength: lengthOf(request.inputs),
      })
      const groups = eventsOf(begun, take, asked, reader, signal)
      const first = groups.next()
      const events = readOnce(first, groups, over, signal)
      const { ignored } = asked
      const { prompts, promptTexts, usage } = reader
      const answering = { prompts, promptTexts, events, usage, ignored }
      if (isNeededFirst(asked, request)) {
        await first
        return answering
      }
      const underWay = inTime(first).catch((error: unknown) => {
        over(error)
        throw error
      })
      // Nothing may be waiting for it any more.
      underWay.catch(() => undefined)
      return { ...answering, underWay }
    } catch (error) {
      over(error)
      throw error
    }
  }

  /** The events of the answer, or of another address if this one is silent before its first. */
  async function* eventsOf(
    begun: TakenAnswer,
    take: (asking: Promise<TakenAnswer>) => Promise<TakenAnswer>,
    { isWhole }: UpstreamRequest,
    reader: AnswerReader,
    signal: AbortSignal,
  ): AsyncGenerator<AnswerEvent[]> {
    for (let taken = begun; ; ) {
      try {
        for await (const events of read(taken.answer, isWhole, reader, signal)) {
          taken.sign()
          yield events
        }
        return
      } catch (error) {
        if (error instanceof Refusal)
          for (const { key } of server.addresses.all) error.message = withoutKey(error.message, key)
        if (reader.hasBegun()) throw error
        taken = await take(taken.again(error))
      }
    }
  }

  function read(
    response: IncomingMessage,
    isWhole: boolean,
    reader: AnswerReader,
    signal: AbortSignal,
  ): AsyncGenerator<AnswerEvent[]> {
    const type = contentTypeOf(response)
    if (!isWhole && type.startsWith('text/event-stream')) return streamed(response, reader, signal)
    // Some servers stream nothing.
    if (type.includes('json')) return whole(response, reader, signal)
    response.destroy()
    throw unreadableReply(response)
  }

  async function* whole(
    response: IncomingMessage,
    reader: AnswerReader,
    signal: AbortSignal,
  ): AsyncGenerator<AnswerEvent[]> {
    const text = await textOf(response, server.silenceMs, maxWhole).catch((error: unknown) => {
      throw readingError(error, signal)
    })
    const events = reader.read(text)
    checkEnd(reader)
    yield events
  }

  async function* streamed(
    response: IncomingMessage,
    reader: AnswerReader,
    signal: AbortSignal,
  ): AsyncGenerator<AnswerEvent[]> {
    const lines = createEventReader()
    let alarm: NodeJS.Timeout | undefined
    try {
      for await (const piece of piecesOf(response, server.silenceMs, hasLine)) {
        clearTimeout(alarm)
        const events: AnswerEvent[] = []
        try {
          for (const line of lines.read(piece)) for (const event of reader.read(line)) events.push(event)
        } finally {
          // What came together with a failure was still said.
          if (events.length > 0) yield events
        }
        if (lines.isDone) break
        // The usage may come after the answer, and nobody has to wait for it.
        if (reader.isComplete()) alarm = setTimeout(() => response.destroy(), tailMs)
      }
    } catch (error) {
      // Of a complete answer nothing is missing.
      if (signal.aborted || !isBroken(error) || !reader.isComplete()) {
        yield* cutOf(reader)
        throw readingError(error, signal)
      }
    } finally {
      clearTimeout(alarm)
    }
    yield* cutOf(reader)
    checkEnd(reader)
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

function* cutOf(reader: AnswerReader): Generator<AnswerEvent[]> {
  const events = reader.cut()
  if (events.length > 0) yield events
}

function checkEnd(reader: AnswerReader): void {
  if (!reader.isComplete()) throw cutOff(new Error('the answer has no end'))
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
