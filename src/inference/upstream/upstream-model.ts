import type { IncomingMessage } from 'node:http'
import { refuse } from '../../domain/refusals.ts'
import type { BackendStatus, ServedModel } from '../backend.ts'
import type { AnswerEvent, Answering, AnswerRequest, Input, Model } from '../model.ts'
import { notReady } from '../served-model.ts'
import { type AskedUpstream, askedOf } from './asked.ts'
import { piecesOf, textOf } from './exchange.ts'
import { unreadable } from './failures.ts'
import { kindsOfUpstreams, type UpstreamKind } from './kinds.ts'
import { type AnswerReader, createReader } from './reading.ts'
import type { UpstreamServer } from './server.ts'
import { dataOf } from './server-events.ts'
import { createTokens } from './tokens.ts'

export interface UpstreamModelSettings {
  /** The names under which it is served here. */
  names: string[]
  /** Its name on the server. */
  model: string
  kind: UpstreamKind
  context: number
  /** Where it came from, as the setting said it. */
  source: string
  /** Seconds since the epoch. */
  created: number
}

/** A whole answer, with the log-probabilities of its prompt. */
const mostWhole = 256 * 1024 * 1024

/** A stream that has begun is answered at once, so that its client knows; until then a failure has a status. */
const headMs = 1_000

/** A model on a server that speaks the wire of OpenAI. */
export function createUpstreamModel(server: UpstreamServer, settings: UpstreamModelSettings): Model {
  const { names, model, kind, context, source, created } = settings
  const served: ServedModel = {
    names,
    created,
    source: `${source}#${model}`,
    context,
    parallel: 0,
    threads: 0,
    device: `upstream: ${kind}`,
    vocabulary: 0,
    controlTokens: [],
    parameters: 0,
    bytes: 0,
    template: undefined,
    tokens: { bos: '', eos: '' },
  }
  const { callers } = server.slots
  let running = 0
  const tokens = createTokens(server, { kind, model })

  function status(): BackendStatus {
    const well = server.addresses.all.some(({ trouble }) => trouble === undefined)
    if (!well) return { state: 'starting', doing: 'the server behind it does not answer' }
    return { state: 'ready', running, waiting: callers.waiting }
  }

  /** As many tokens as are left, where the request may be given less than it asks for. */
  async function fitting(request: AnswerRequest, signal: AbortSignal): Promise<AnswerRequest> {
    const { ending, inputs, tenant } = request
    const [input] = inputs
    if (!ending.isClipped || ending.maxTokens === undefined || context === 0 || input === undefined)
      return request
    if (!kindsOfUpstreams[kind].tokenizes) return request
    const left = context - (await tokens.tokenize(input, tenant, signal)).length
    const maxTokens = Math.max(1, Math.min(ending.maxTokens, left))
    return { ...request, ending: { ...ending, maxTokens } }
  }

  async function answer(given: AnswerRequest, clientSignal: AbortSignal): Promise<Answering> {
    if (status().state !== 'ready') throw notReady(status())
    const request = await fitting(given, clientSignal)
    const asked = askedOf(request, { kind, model })
    const slots = given.lane === 'background' ? server.slots.background : callers
    const slot = await slots.acquire(given.tenant, clientSignal)
    running++
    const ending = new AbortController()
    const signal = AbortSignal.any([clientSignal, ending.signal])
    let isOpen = true
    let done = () => {}
    const over = () => {
      if (!isOpen) return
      isOpen = false
      running--
      slots.release(slot)
      done()
      clientSignal.removeEventListener('abort', over)
      // Whatever the server still works on is for nobody.
      ending.abort(new Error('the answer is over'))
    }
    clientSignal.addEventListener('abort', over, { once: true })
    try {
      const { answer: response, done: left } = await server.ask(
        { ...asked, path: asked.path.slice(1), kind },
        signal,
      )
      done = left
      if (!isOpen) throw clientSignal.reason
      const reader = createReader({
        kind,
        inputs: asked.inputs,
        choices: asked.choices,
        isNamed: asked.isNamed,
        promptLength: lengthOf(request.inputs),
      })
      const groups = eventsOf(response, asked, reader, signal)
      const first = groups.next()
      // Nobody may be left to hear of it.
      first.catch(() => undefined)
      await headOf(first, asked, request)
      return {
        prompts: reader.prompts,
        events: readOnce(first, groups, over, clientSignal),
        usage: reader.usage,
      }
    } catch (error) {
      over()
      throw error
    }
  }

  function eventsOf(
    response: IncomingMessage,
    { isWhole }: AskedUpstream,
    reader: AnswerReader,
    signal: AbortSignal,
  ): AsyncGenerator<AnswerEvent[]> {
    const type = response.headers['content-type'] ?? ''
    if (!isWhole && type.startsWith('text/event-stream')) return streamed(response, reader, signal)
    // There are servers that stream nothing.
    if (type.includes('json')) return whole(response, reader)
    response.destroy()
    throw unreadable(response)
  }

  async function* whole(response: IncomingMessage, reader: AnswerReader): AsyncGenerator<AnswerEvent[]> {
    const events = reader.read(await textOf(response, server.silenceMs, mostWhole))
    checkEnd(reader)
    yield events
  }

  async function* streamed(
    response: IncomingMessage,
    reader: AnswerReader,
    signal: AbortSignal,
  ): AsyncGenerator<AnswerEvent[]> {
    const data = dataOf(piecesOf(response, server.silenceMs))
    try {
      for await (const group of data) {
        const events: AnswerEvent[] = []
        for (const one of group) for (const event of reader.read(one)) events.push(event)
        if (events.length > 0) yield events
      }
    } catch (error) {
      if (signal.aborted || !isBroken(error)) throw error
      throw cutOff()
    }
    checkEnd(reader)
  }

  return {
    status,
    served: () => served,
    format: async () => undefined,
    answer,
    tokenize: tokens.tokenize,
    detokenize: tokens.detokenize,
    async close() {},
  }
}

const cutOff = () => refuse('upstream_failed', { why: 'it ended in the middle of the answer' })

function checkEnd(reader: AnswerReader): void {
  if (!reader.isComplete()) throw cutOff()
}

/** What Node says when the other side goes (https://nodejs.org/api/errors.html). */
function isBroken(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ECONNRESET' || code === 'EPIPE' || code === 'ERR_STREAM_PREMATURE_CLOSE'
}

/** What an answer needs to know before it begins: where its prompt comes back, the tokens of that. */
async function headOf(
  first: Promise<unknown>,
  { isWhole }: AskedUpstream,
  { given }: AnswerRequest,
): Promise<void> {
  if (isWhole || given?.echo === true) {
    await first
    return
  }
  let alarm: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    alarm = setTimeout(resolve, headMs)
  })
  await Promise.race([first, late]).finally(() => clearTimeout(alarm))
}

/** The events, and whatever becomes of them the end: a reader that never comes has its signal aborted. */
async function* readOnce(
  first: Promise<IteratorResult<AnswerEvent[]>>,
  rest: AsyncGenerator<AnswerEvent[]>,
  over: () => void,
  signal: AbortSignal,
): AsyncGenerator<AnswerEvent[]> {
  try {
    const { done, value } = await first
    if (done) return
    yield value
    yield* rest
  } catch (error) {
    if (signal.aborted) throw signal.reason
    throw error
  } finally {
    over()
  }
}

function lengthOf(inputs: readonly Input[]): number {
  let length = 0
  for (const input of inputs) {
    if ('text' in input) length += input.text.length
    else if ('conversation' in input) {
      for (const { content } of input.conversation.messages) {
        if (typeof content === 'string') length += content.length
        else
          for (const part of content ?? [])
            length += typeof part === 'string' ? part.length : String(part.text ?? '').length
      }
    }
  }
  return length
}
