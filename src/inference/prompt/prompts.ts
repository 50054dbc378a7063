import { type ChildProcess, fork } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { LRUCache } from 'lru-cache'
import { refuse } from '../../domain/refusals.ts'
import { BudgetExceededError, type Start } from '../../threads/bounded-worker.ts'
import { createWorkerPool, type PoolOptions } from '../../threads/worker-pool.ts'
import type { AnswerFormat } from '../answer-format.ts'
import { hermes } from '../tools/call-format.ts'
import type { FormatQuestion, Found, Rendering, RenderQuestion } from './rendering.ts'

type Question = RenderQuestion | FormatQuestion
type Answer = Rendering | Found

export type Prompts = ReturnType<typeof createPrompts>

export interface PromptOptions extends PoolOptions {
  heapMb: number
  longestText: number
  longestList: number
  /** The module of the process, for tests. */
  entry: URL
}

const defaults: PromptOptions = {
  limitMs: 1_000,
  longestMs: 10_000,
  workers: 3,
  startMs: 30_000,
  heapMb: 192,
  longestText: 8 * 1024 * 1024,
  longestList: 1_000_000,
  queuePerTenant: 256,
  queueTotal: 1_024,
  // It takes 50 MB.
  idleMs: 600_000,
  // Before the build and after it.
  entry: new URL(`./rendering-process${extname(import.meta.url)}`, import.meta.url),
}

/** Templates whose formats are remembered. */
const mostFormats = 64

/**
 * Renders chat templates. A template of a request is a stranger's code, so it runs in a process of its own, which is killed
 * when it takes too long (docs/decisions/0009 says why a thread does not suffice). The model's own template never waits for
 * those of requests: it has processes of its own.
 */
export function createPrompts(given: Partial<PromptOptions> = {}) {
  const options = { ...defaults, ...given }
  const { longestText } = options
  const pools = {
    model: createWorkerPool(inProcess(options), options),
    request: createWorkerPool(inProcess(options), options),
  }
  const formats = new LRUCache<string, AnswerFormat>({ max: mostFormats })

  /** `from` says whose the template is. */
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
      // Not sent to the process when it would be refused there anyway.
      if (lengthOf(question) > longestText) throw tooCostly(`${longestText} characters`)
      const answer = await ask(tenant, question, signal, from)
      if (answer.kind === 'rendered') return answer.text
      if (answer.kind === 'costly') throw tooCostly(answer.limit)
      const why = answer.kind === 'failed' ? answer.why : 'it has no text'
      throw refuse('template_failed', { field: 'chat_template', why })
    },
    /** How the model of this template writes thoughts and calls. Whoever cannot be asked has the generic format. */
    async formatOf(
      tenant: string,
      template: string,
      tokens: FormatQuestion['tokens'],
      signal: AbortSignal,
      from: keyof typeof pools = 'request',
    ): Promise<AnswerFormat> {
      const key = createHash('sha256')
        .update(JSON.stringify([template, tokens]))
        .digest('base64')
      const known = formats.get(key)
      if (known !== undefined) return known
      const answer = await ask(tenant, { template, tokens }, signal, from)
      const format =
        answer.kind === 'found'
          ? answer.format
          : generic(answer.kind === 'costly' ? 'it takes too long' : 'it does not render')
      formats.set(key, format)
      return format
    },
    close: async () => {
      await Promise.all([pools.model.close(), pools.request.close()])
    },
  }
}

function inProcess(options: PromptOptions): Start<Question, Answer> {
  const { entry, limitMs, longestText, longestList, heapMb } = options
  const { SystemRoot, TZ, NODE_COMPILE_CACHE } = process.env
  return (listener) => {
    const child = fork(entry, [limitMs, longestText, longestList].map(String), {
      serialization: 'advanced',
      execArgv: [`--max-old-space-size=${heapMb}`, '--max-semi-space-size=4'],
      // What Node needs, and the time zone for templates, without the secrets of the server. Undefined ones are left out.
      env: { SystemRoot, TZ, NODE_COMPILE_CACHE },
      // V8 would print a report about a full heap.
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    child.on('message', (message: 'ready' | Answer) => {
      if (message === 'ready') listener.ready()
      else listener.answer(message)
    })
    child.on('error', (error) => listener.failed(error))
    child.on('exit', (code, signal) => {
      const isMemory = signal === 'SIGABRT' || signal === 'SIGKILL' || code === 134
      listener.failed(
        isMemory
          ? new BudgetExceededError(`${heapMb} MB`)
          : new Error(`the process for templates has ended with ${signal ?? code}`),
      )
    })
    return {
      ask: (question) => {
        child.send(question, (error) => error && listener.failed(error))
      },
      cpuMs: () => cpuOf(child.pid),
      hold(isHeld) {
        for (const handle of [child, child.channel]) isHeld ? handle?.ref() : handle?.unref()
      },
      end: () => ended(child),
    }
  }
}

/** What Linux says of a process, https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html: ticks of ten milliseconds. */
async function cpuOf(pid: number | undefined): Promise<number | undefined> {
  if (process.platform !== 'linux') return undefined
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1')
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
    .map(Number)
  return 10 * ((user ?? 0) + (system ?? 0))
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = new Promise((resolve) => child.once('exit', resolve))
  child.ref()
  child.kill('SIGKILL')
  await exit
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
