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
 * A row, what a condition makes of it, and the copy that is sent on. Where V8 meets this limit it ends the process, so it is
 * well above what `heddle_condition` allows itself.
 */
const heapMb = 1_024

/** On top of the limit of a query, for a thread that is deep in one row, before it is given up. */
const defaultGraceMs = 5_000

export type PoolReader = ReturnType<typeof createPoolReader>

/** Runs one query at a time in a thread of its own, so that no query is in the way of another. */
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
      const one = expecting
      expecting = undefined
      started.unref()
      one?.resolve(answer)
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
    // Until it has closed its connection the process waits for it.
    last.ref()
    return last
  }

  /** Its query heeds no deadline: the thread ends when SQLite lets go of it, and the next question starts another. */
  function abandon(): void {
    Atomics.store(left, 0, 1)
    left = newCell()
    const one = expecting
    expecting = undefined
    void end()?.terminate()
    one?.reject(refuse('query_too_slow', { limit: limitMs }))
  }

  return {
    /** There is a thread. */
    get running(): boolean {
      return thread !== undefined
    },
    /** For one query. */
    acquire(): void {
      clearTimeout(resting)
      Atomics.store(left, 0, 0)
    },
    /** Stops the query in the middle. */
    stop(): void {
      Atomics.store(left, 0, 1)
    },
    /** One question at a time. The first starts the thread. */
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
        // A query that is under way keeps the process alive; a thread that waits does not.
        thread.ref()
        thread.postMessage(question)
      })
    },
    /** The query is over. Unused for a while, the thread ends. */
    release(): void {
      clearTimeout(resting)
      if (!closed) resting = setTimeout(() => end(), restMs).unref()
    },
    /** Ends the thread; there is no question after this. */
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

/** One cell of memory that two threads share. */
function newCell(): Int32Array<SharedArrayBuffer> {
  return new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
}
