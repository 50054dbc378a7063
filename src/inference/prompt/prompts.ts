import { createHash } from 'node:crypto'
import { extname } from 'node:path'
import { LRUCache } from 'lru-cache'
import type {
  AnswerFormat,
  FormatQuestion,
  Found,
  Rendering,
  RenderQuestion,
} from '../../../packages/chat-format/index.ts'
import { hermes } from '../../../packages/chat-format/index.ts'
import { refuse } from '../../domain/refusals.ts'
import { BudgetExceededError } from '../../threads/bounded-worker.ts'
import { inProcess } from '../../threads/process.ts'
import { type AskedBy, createWorkerPool, type PoolOptions } from '../../threads/worker-pool.ts'

type Question = RenderQuestion | FormatQuestion
type Answer = Rendering | Found

export type Prompts = ReturnType<typeof createPrompts>

export interface PromptOptions extends PoolOptions {
  heapMb: number
  maxTextLength: number
  maxListLength: number
  /** The module of the process, for tests. */
  entry: URL
}

const defaults: PromptOptions = {
  limitMs: 1_000,
  maxMs: 10_000,
  workers: 3,
  startMs: 30_000,
  heapMb: 192,
  maxTextLength: 8 * 1024 * 1024,
  maxListLength: 1_000_000,
  queuePerTenant: 256,
  queueTotal: 1_024,
  // The process takes 50 MB.
  idleMs: 600_000,
  // Before and after the build.
  entry: new URL(`./rendering-process${extname(import.meta.url)}`, import.meta.url),
}

/** The number of templates whose formats are cached. */
const maxFormats = 64

/**
 * Renders chat templates. A template in a request is untrusted code, so it runs in a separate process, which is killed
 * when it takes too long (docs/decisions/0009 says why a thread does not suffice). The model's own template never waits
 * for those of requests: it has its own processes.
 */
export function createPrompts(overrides: Partial<PromptOptions> = {}) {
  const options = { ...defaults, ...overrides }
  const { entry, heapMb, limitMs, maxTextLength, maxListLength } = options
  const bounds = [limitMs, maxTextLength, maxListLength].map(String)
  const poolOf = (from: 'model' | 'request') => {
    const args = [from, ...bounds]
    return createWorkerPool(
      inProcess<AskedBy<Question>, Answer>({ entry, args, heapMb, purpose: 'templates' }),
      options,
    )
  }
  const pools = { model: poolOf('model'), request: poolOf('request') }
  // Separate caches: new templates in requests do not evict the model's format, and those of a tenant are found for it
  // alone, because the time to examine one would tell another that it was used.
  const formats = {
    model: new LRUCache<string, AnswerFormat>({ max: maxFormats }),
    request: new LRUCache<string, AnswerFormat>({ max: maxFormats }),
  }

  /** `from` tells whether the template is the model's or a request's. */
  const ask = (tenant: string, question: Question, signal: AbortSignal, from: keyof typeof pools) =>
    pools[from].ask(tenant, question, signal).catch((error: unknown): Answer => {
      if (error instanceof BudgetExceededError) return { kind: 'costly', limit: error.limit }
      throw error
    })

  return {
    async render(
      tenant: string,
      question: RenderQuestion,
      signal: AbortSignal,
      from: keyof typeof pools = 'request',
    ): Promise<string> {
      // Not sent to the process, which would refuse it.
      if (lengthOf(question) > maxTextLength) throw tooCostly(`${maxTextLength} characters`)
      const answer = await ask(tenant, question, signal, from)
      if (answer.kind === 'rendered') return answer.text
      if (answer.kind === 'costly') throw tooCostly(answer.limit)
      const why = answer.kind === 'failed' ? answer.why : 'it has no text'
      throw refuse('template_failed', { field: 'chat_template', why })
    },
    /**
     * How the model of this template writes thoughts and calls. If the template cannot be examined, the format is
     * generic.
     */
    async formatOf(
      tenant: string,
      template: string,
      tokens: FormatQuestion['tokens'],
      signal: AbortSignal,
      from: keyof typeof pools = 'request',
    ): Promise<AnswerFormat> {
      const key = createHash('sha256')
        .update(JSON.stringify([template, tokens, from === 'request' ? tenant : null]))
        .digest('base64')
      const known = formats[from].get(key)
      if (known !== undefined) return known
      const answer = await ask(tenant, { template, tokens }, signal, from)
      const format =
        answer.kind === 'found'
          ? answer.format
          : generic(answer.kind === 'costly' ? 'it takes too long' : 'it does not render')
      formats[from].set(key, format)
      return format
    },
    close: async () => {
      await Promise.all([pools.model.close(), pools.request.close()])
    },
  }
}

function lengthOf({ messages }: RenderQuestion): number {
  let length = 0
  for (const { content } of messages) {
    length +=
      typeof content === 'string' ? content.length : content.reduce((sum, text) => sum + text.length, 0)
  }
  return length
}

const generic = (why: string): AnswerFormat => ({
  calls: hermes,
  proof: 'generic',
  note: `the template could not be tried: ${why}`,
})

function tooCostly(limit: string): Error {
  return refuse('template_too_costly', { field: 'chat_template', limit })
}
