import { EventEmitter, once } from 'node:events'
import type {
  Backend,
  BackendStatus,
  Candidate,
  Generation,
  GenerationEvent,
  PoolingInput,
  ServedModel,
  TokenLogprob,
} from '../../packages/engine/index.ts'
import { refuse } from '../../src/domain/refusals.ts'
import { inBatches } from './in-batches.ts'

/** A turn of the script: what happens next, or the error that ends it. */
export type Turn = GenerationEvent | Error

export type Script = (request: Generation, signal: AbortSignal) => Iterable<Turn> | AsyncIterable<Turn>

export interface ScriptedBackend extends Backend {
  /** The requests to it, in order. */
  asked: Generation[]
  /** Generations that have begun and not ended. */
  running: number
  /** Generations that were ended by their signal. */
  aborted: number
  /** Events that were read, of all generations. */
  taken: number
  /** Resolves when nothing runs. */
  idle(): Promise<void>
  /** Resolves when this many have been aborted. */
  abortedAtLeast(count: number): Promise<void>
  state: BackendStatus
  served: ServedModel | undefined
  script: Script
}

/** Like many real ones: turns between marks, a system message, space for tools and for documents. */
export const scriptedTemplate = `{{ bos_token }}{% for message in messages %}<|{{ message.role }}|>{{ message.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}`

export const scriptedModel: ServedModel = {
  tasks: ['answers', 'embeddings', 'ranking'],
  dimensions: 4,
  shorter: [2],
  names: ['scripted', 'alias/of-it'],
  created: 1_767_000_000,
  source: 'builtin',
  context: 1_000_000,
  parallel: 4,
  threads: 1,
  device: 'cpu',
  vocabulary: 0x110000,
  controlTokens: [],
  parameters: 1_000,
  bytes: 2_000,
  template: scriptedTemplate,
  tokens: { bos: '<s>', eos: '</s>' },
}

/** A vector of how often the first four letters occur; for a document, the share of its letters that the query has. */
function scriptedPooling(input: PoolingInput): { values: Float32Array; tokens: number } {
  if ('query' in input) {
    const letters = Array.from(input.document)
    const shared = letters.filter((letter) => input.query.includes(letter)).length
    return { values: Float32Array.of(shared / (letters.length || 1)), tokens: letters.length }
  }
  const tokens = 'tokens' in input ? input.tokens : tokensOf(input.text)
  const counts = Array.from('abcd', (letter) => tokens.filter((one) => one === letter.codePointAt(0)).length)
  const length = Math.hypot(...counts) || 1
  return { values: Float32Array.from(counts, (count) => count / length), tokens: tokens.length }
}

const bytesOf = (text: string) => new TextEncoder().encode(text)

/** In this model a token is a code point. */
export function tokensOf(text: string): number[] {
  return Array.from(text, (character) => character.codePointAt(0) as number)
}

export function candidate(text: string, logprob: number): Candidate {
  return { token: text.codePointAt(0) as number, bytes: bytesOf(text), logprob }
}

/** The drawn token with as many candidates as were requested: itself, then the letters before it. */
export function logprobOf(text: string, count: number): TokenLogprob {
  const drawn = candidate(text, -0.25)
  const top = Array.from({ length: count }, (_, index) =>
    candidate(String.fromCodePoint(drawn.token - index), -0.25 - index),
  )
  return { ...drawn, top }
}

/** One word at a time, as a whole answer of each choice: the default script. */
export function scriptOf(...words: string[]): Script {
  return function* (request) {
    yield prefilled(request)
    for (const word of words) {
      for (let choice = 0; choice < request.choices; choice++) yield tokens(word, request, choice)
    }
    for (let choice = 0; choice < request.choices; choice++) {
      yield { kind: 'finished', choice, reason: 'stop', stop: null }
    }
  }
}

export function prefilled(request: Generation, cachedTokens = 3): GenerationEvent {
  const { promptLogprobs: count } = request
  if (count === undefined) return { kind: 'prefilled', cachedTokens }
  const promptLogprobs = promptTokensOf(request).map((token, index) =>
    index === 0
      ? null
      : [{ ...candidate(String.fromCodePoint(token), -1.5), rank: 2 }].concat(
          count > 0 ? [{ ...candidate('!', -0.5), rank: 1 }] : [],
        ),
  )
  return { kind: 'prefilled', cachedTokens, promptLogprobs }
}

/** One token for each character. */
export function tokens(text: string, request: Generation, choice = 0): GenerationEvent {
  return {
    kind: 'tokens',
    choice,
    text,
    tokens: tokensOf(text),
    ...(request.logprobs !== undefined && {
      logprobs: Array.from(text, (character) => logprobOf(character, request.logprobs as number)),
    }),
  }
}

export function promptTokensOf({ prompt }: Generation): number[] {
  return 'tokens' in prompt ? prompt.tokens : tokensOf(prompt.text)
}

/** A backend that answers according to its script, as fast as it is read. */
export function scriptedBackend(script: Script = scriptOf('Hel', 'lo')): ScriptedBackend {
  const changes = new EventEmitter()
  let closed = false
  async function* play(request: Generation, signal: AbortSignal): AsyncGenerator<GenerationEvent> {
    let ended = false
    const onAbort = () => {
      if (!ended) backend.aborted++
      changes.emit('change')
    }
    signal.addEventListener('abort', onAbort, { once: true })
    try {
      for await (const turn of backend.script(request, signal)) {
        signal.throwIfAborted()
        if (turn instanceof Error) throw turn
        backend.taken++
        yield turn
      }
    } finally {
      ended = true
      signal.removeEventListener('abort', onAbort)
    }
  }
  /** Ends with its signal, even if the script waits for something that never comes, or nobody reads. */
  function run(request: Generation, signal: AbortSignal): AsyncIterable<GenerationEvent> {
    backend.running++
    let isRunning = true
    const over = () => {
      if (!isRunning) return
      isRunning = false
      backend.running--
      changes.emit('change')
    }
    const left = new Promise<never>((_, reject) => {
      const leave = () => {
        over()
        reject(signal.reason)
      }
      if (signal.aborted) leave()
      else signal.addEventListener('abort', leave, { once: true })
    })
    left.catch(() => over())
    return {
      [Symbol.asyncIterator]() {
        const events = play(request, signal)
        return {
          async next() {
            try {
              const next = await Promise.race([events.next(), left])
              if (next.done) over()
              return next
            } catch (error) {
              over()
              throw error
            }
          },
          async return() {
            over()
            return { done: true, value: undefined }
          },
        }
      },
    }
  }
  async function until(holds: () => boolean): Promise<void> {
    while (!holds()) await once(changes, 'change')
  }

  const backend: ScriptedBackend = {
    asked: [],
    running: 0,
    aborted: 0,
    taken: 0,
    state: { state: 'ready', running: 0, waiting: 0 },
    served: scriptedModel,
    script,
    status: () => backend.state,
    model: () => backend.served,
    idle: () => until(() => backend.running === 0),
    abortedAtLeast: (count) => until(() => backend.aborted >= count),
    async tokenize(text, _options, signal) {
      signal.throwIfAborted()
      return tokensOf(text)
    },
    async detokenize(given, _options, signal) {
      signal.throwIfAborted()
      return String.fromCodePoint(...given)
    },
    async generate(request, signal) {
      if (closed) throw refuse('stopping')
      signal.throwIfAborted()
      // The engine receives its input from another process, so it must consist of plain values.
      backend.asked.push(structuredClone(request))
      return { promptTokens: promptTokensOf(request), events: inBatches(run(request, signal)) }
    },
    async pool(request, each, signal) {
      for (const [input, one] of request.inputs.entries()) {
        await new Promise((resolve) => setImmediate(resolve))
        signal.throwIfAborted()
        each({ input, ...scriptedPooling(one) })
      }
    },
    async close() {
      closed = true
    },
  }
  return backend
}
