import type { Worker } from 'node:worker_threads'
import { refuse } from '../domain/refusals.ts'
import { createFairLine } from '../threads/fair-line.ts'
import { startThread } from '../threads/thread.ts'
import { type CheckMessage, type CheckQuestion, checksThread } from './checks-thread.ts'
import type { Judgement } from './judge.ts'

/** `costly`: stopped, because it took more time or more memory than a check may take. */
export type Verdict = Judgement | { kind: 'costly'; limit: string }

/**
 * Checks values against JSON Schemas that someone sent: code of a stranger, in effect. A pattern can backtrack and
 * branches can double until the end of time, so it runs in a thread of its own that is ended when it takes too long
 * (docs/decisions/0006).
 */
export interface SchemaChecks {
  /**
   * `tenant` is whose schema it is: those who wait take turns, so that what one of them sends slows the others down by one
   * check each. Both texts are JSON; without a value the schema alone is looked at.
   */
  check(tenant: string, schema: string, value?: string): Promise<Verdict>
  close(): Promise<void>
}

export interface ChecksOptions {
  /** For one check, the compiling of its schema included. */
  limitMs: number
  heapMb: number
  /** Checks that may wait: of one tenant, and of all. */
  line: number
  longestLine: number
  /** The module of the thread, for tests. */
  thread: string
  /** Unused for so long, the thread and its 25 MB go; the next check starts another. */
  idleMs: number
}

const defaults: ChecksOptions = {
  limitMs: 1_000,
  heapMb: 96,
  line: 128,
  longestLine: 1_024,
  thread: checksThread,
  idleMs: 60_000,
}

interface Job extends CheckQuestion {
  resolve(verdict: Verdict): void
  reject(error: Error): void
}

export function createSchemaChecks(given: Partial<ChecksOptions> = {}): SchemaChecks {
  const options = { ...defaults, ...given }
  const line = createFairLine<Job>({ ofTenant: options.line, ofAll: options.longestLine })
  let running: Job | undefined
  let thread: Worker | undefined
  let ready = false
  let answered = 0
  let alarm: NodeJS.Timeout | undefined
  let idle: NodeJS.Timeout | undefined
  let closed = false
  const ending = new Set<Promise<unknown>>()

  function next(): void {
    if (running !== undefined) return
    running = line.take()
    clearTimeout(idle)
    if (running !== undefined) {
      ask()
      return
    }
    thread?.unref()
    idle = setTimeout(drop, options.idleMs).unref()
  }

  function ask(): void {
    thread ??= start()
    thread.ref()
    if (!ready || running === undefined) return
    const { schema, value } = running
    thread.postMessage({ schema, value } satisfies CheckQuestion)
    // The answer may be here already, behind whatever has made this thread late.
    alarm = setTimeout(() => setImmediate(stop, running), options.limitMs)
  }

  function stop(late: Job | undefined): void {
    if (running === undefined || running !== late) return
    drop()
    settle((job) => job.resolve({ kind: 'costly', limit: `${options.limitMs} ms` }))
  }

  function settle(answer: (job: Job) => void): void {
    clearTimeout(alarm)
    const job = running
    running = undefined
    if (job !== undefined) answer(job)
    if (!closed) next()
  }

  function drop(): void {
    const old = thread
    thread = undefined
    ready = false
    answered = 0
    if (old === undefined) return
    const ended: Promise<unknown> = old.terminate().finally(() => ending.delete(ended))
    ending.add(ended)
  }

  function start(): Worker {
    const started = startThread(options.thread, undefined, options.heapMb)
    started.on('message', (message: CheckMessage) => {
      if (thread !== started) return
      if (message === 'ready') {
        ready = true
        ask()
      } else {
        answered++
        settle((job) => job.resolve(message))
      }
    })
    const failed = (error: unknown) => {
      if (thread !== started) return
      const mayBeOfAnother = answered > 0
      drop()
      if (mayBeOfAnother && running !== undefined) {
        // The thread may have died of what an earlier check left behind, so this one is asked again, as the first.
        clearTimeout(alarm)
        ask()
        return
      }
      const isMemory = (error as { code?: unknown } | undefined)?.code === 'ERR_WORKER_OUT_OF_MEMORY'
      settle((job) =>
        isMemory
          ? job.resolve({ kind: 'costly', limit: `${options.heapMb} MB` })
          : job.reject(error instanceof Error ? error : new Error(String(error))),
      )
    }
    started.on('error', failed)
    started.on('exit', () => failed(new Error('the thread for checks has ended')))
    return started
  }

  return {
    check(tenant, schema, value) {
      if (closed) return Promise.reject(refuse('stopping'))
      return new Promise((resolve, reject) => {
        line.join(tenant, { schema, value, resolve, reject })
        next()
      })
    },
    async close() {
      closed = true
      clearTimeout(idle)
      drop()
      settle((job) => job.reject(refuse('stopping')))
      for (const job of line.clear()) job.reject(refuse('stopping'))
      await Promise.all(ending)
    },
  }
}
