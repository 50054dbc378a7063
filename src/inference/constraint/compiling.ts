import type { Worker } from 'node:worker_threads'
import { refuse } from '../../domain/refusals.ts'
import { startThread } from '../../threads/thread.ts'
import { type CompileMessage, type CompileQuestion, compilingThread } from './compiling-thread.ts'

/**
 * Compiles constraints in a thread of its own, one after the other: most take less than a millisecond, the worst that is
 * accepted a tenth of a second, and nobody else's answer waits for it.
 */
export interface Compiling {
  /** The grammar; rejects with a refusal that names the field. */
  compile(question: CompileQuestion): Promise<string>
  close(): Promise<void>
}

export interface CompilingOptions {
  /** Ends what the compiler's own bounds have not ended. */
  limitMs: number
  heapMb: number
  /** Constraints that may wait. */
  line: number
  /** The module of the thread, for tests. */
  thread: string
}

const defaults: CompilingOptions = { limitMs: 2_000, heapMb: 192, line: 256, thread: compilingThread }

interface Job {
  question: CompileQuestion
  resolve(gbnf: string): void
  reject(error: unknown): void
}

export function createCompiling(given: Partial<CompilingOptions> = {}): Compiling {
  const options = { ...defaults, ...given }
  const line: Job[] = []
  let running: Job | undefined
  let thread: Worker | undefined
  let isReady = false
  let alarm: NodeJS.Timeout | undefined
  let isClosed = false
  const ending = new Set<Promise<unknown>>()

  function next(): void {
    if (running !== undefined) return
    running = line.shift()
    if (running === undefined) thread?.unref()
    else ask()
  }

  function ask(): void {
    thread ??= start()
    thread.ref()
    if (!isReady || running === undefined) return
    thread.postMessage(running.question)
    // The answer may be here already, behind whatever has made this thread late.
    alarm = setTimeout(() => setImmediate(stop, running), options.limitMs)
  }

  function stop(late: Job | undefined): void {
    if (running === undefined || running !== late) return
    drop()
    settle((job) => job.reject(tooLarge(job, `it takes more than ${options.limitMs} ms`)))
  }

  function settle(answer: (job: Job) => void): void {
    clearTimeout(alarm)
    const job = running
    running = undefined
    if (job !== undefined) answer(job)
    if (!isClosed) next()
  }

  function drop(): void {
    const old = thread
    thread = undefined
    isReady = false
    if (old === undefined) return
    const ended: Promise<unknown> = old.terminate().finally(() => ending.delete(ended))
    ending.add(ended)
  }

  function start(): Worker {
    const started = startThread(options.thread, undefined, options.heapMb)
    started.on('message', (message: CompileMessage) => {
      if (thread !== started) return
      if (message === 'ready') {
        isReady = true
        ask()
      } else if ('gbnf' in message) {
        settle((job) => job.resolve(message.gbnf))
      } else {
        settle((job) => job.reject(refuse(message.code, message.values)))
      }
    })
    const failed = (error: unknown) => {
      if (thread !== started) return
      drop()
      const isMemory = (error as { code?: unknown } | undefined)?.code === 'ERR_WORKER_OUT_OF_MEMORY'
      settle((job) => job.reject(isMemory ? tooLarge(job, `it takes more than ${options.heapMb} MB`) : error))
    }
    started.on('error', failed)
    started.on('exit', () => failed(new Error('the thread that compiles constraints has ended')))
    return started
  }

  return {
    compile(question) {
      if (isClosed) return Promise.reject(refuse('stopping'))
      if (line.length >= options.line) return Promise.reject(refuse('queue_full'))
      return new Promise((resolve, reject) => {
        line.push({ question, resolve, reject })
        next()
      })
    },
    async close() {
      isClosed = true
      drop()
      settle((job) => job.reject(refuse('stopping')))
      for (const job of line.splice(0)) job.reject(refuse('stopping'))
      await Promise.all(ending)
    },
  }
}

function tooLarge({ question }: Job, why: string): Error {
  return refuse('constraint_too_large', { field: question.field, why })
}
