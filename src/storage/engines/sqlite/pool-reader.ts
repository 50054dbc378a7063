import type { Worker } from 'node:worker_threads'
import { refuse } from '../../../domain/refusals.ts'
import { startThread } from '../../../threads/thread.ts'
import {
  type ReaderAnswer,
  type ReaderMessage,
  type ReaderQuestion,
  type ReaderThreadData,
  readerThread,
} from './reader-thread.ts'

/**
 * Must fit a row, what a condition makes of it, and the copy that is sent on. V8 ends the process at this limit, so it
 * is well above what `heddle_condition` allows itself.
 */
const heapMb = 1_024

/** Added to the limit of a query before its thread is abandoned, in case it is busy with a single row. */
const defaultGraceMs = 5_000

export type PoolReader = ReturnType<typeof createPoolReader>

/** Runs one query at a time in its own thread, so that queries do not block each other. */
export function createPoolReader(file: string, restMs: number, graceMs = defaultGraceMs) {
  let left = newCell()
  const ending = new Set<Promise<void>>()
  let thread: Worker | undefined
  let expecting: { resolve(answer: ReaderAnswer): void; reject(error: Error): void } | undefined
  let resting: NodeJS.Timeout | undefined
  let limitMs = 0
  let closed = false

  function fail(error: Error): void {
    thread = undefined
    expecting?.reject(error)
    expecting = undefined
  }

  function start(): Worker {
    const started = startThread(readerThread, { file, left: left.buffer } satisfies ReaderThreadData, heapMb)
    started.on('message', (answer: ReaderAnswer) => {
      if (thread !== started) return
      const asker = expecting
      expecting = undefined
      started.unref()
      asker?.resolve(answer)
    })
    started.on('error', (error) => {
      if (thread === started) fail(error instanceof Error ? error : new Error(String(error)))
    })
    started.on('exit', () => {
      if (thread === started) fail(new Error('the reader thread has ended'))
    })
    return started
  }

  function end(): Worker | undefined {
    const last = thread
    if (last === undefined) return undefined
    thread = undefined
    const ended = new Promise<void>((resolve) => {
      last.once('exit', () => {
        ending.delete(ended)
        resolve()
      })
    })
    ending.add(ended)
    last.postMessage({ kind: 'end' } satisfies ReaderMessage)
    // Until the thread has closed its connection, the process waits for it.
    last.ref()
    return last
  }

  /**
   * Its query ignores the deadline: the thread ends when SQLite returns, and the next question starts another thread.
   */
  function abandon(): void {
    Atomics.store(left, 0, 1)
    left = newCell()
    const asker = expecting
    expecting = undefined
    void end()?.terminate()
    asker?.reject(refuse('query_too_slow', { limit: limitMs }))
  }

  return {
    /** Whether a thread is running. */
    get running(): boolean {
      return thread !== undefined
    },
    /** Called before each query. */
    acquire(): void {
      clearTimeout(resting)
      Atomics.store(left, 0, 0)
    },
    /** Interrupts the running query. */
    stop(): void {
      Atomics.store(left, 0, 1)
    },
    /** One question at a time. The first one starts the thread. */
    ask(question: ReaderQuestion): Promise<ReaderAnswer> {
      if (closed) return Promise.reject(refuse('stopping'))
      return new Promise((resolve, reject) => {
        thread ??= start()
        if ('limitMs' in question) limitMs = question.limitMs
        const alarm = setTimeout(abandon, limitMs + graceMs).unref()
        const answered =
          <V>(settle: (value: V) => void) =>
          (value: V) => {
            clearTimeout(alarm)
            settle(value)
          }
        expecting = { resolve: answered(resolve), reject: answered(reject) }
        // A running query keeps the process alive; an idle thread does not.
        thread.ref()
        thread.postMessage(question)
      })
    },
    /** The query is over. After a while unused, the thread ends. */
    release(): void {
      clearTimeout(resting)
      if (!closed) resting = setTimeout(() => end(), restMs).unref()
    },
    /** Ends the thread; no question may follow. */
    async close(): Promise<void> {
      closed = true
      clearTimeout(resting)
      Atomics.store(left, 0, 1)
      end()
      await Promise.all(ending)
      fail(refuse('stopping'))
    },
  }
}

/** One memory cell that two threads share. */
function newCell(): Int32Array<SharedArrayBuffer> {
  return new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
}
