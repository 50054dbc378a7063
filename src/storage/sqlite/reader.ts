import type { Worker } from 'node:worker_threads'
import { refuse } from '../../domain/refusals.ts'
import { createTurns } from '../../domain/turns.ts'
import { startThread } from '../../threads/thread.ts'
import type { StreamOptions } from '../database.ts'
import type { Sql } from '../sql.ts'
import { failureError } from './group.ts'
import {
  type ReaderAnswer,
  type ReaderMessage,
  type ReaderThreadData,
  readerThread,
} from './reader-thread.ts'

const seats = 4
const line = 256
const defaultRows = 200

export interface LongReader {
  stream<T>(query: Sql, options: StreamOptions): AsyncIterable<T[]>
  close(): Promise<void>
}

/** Long reads, in a thread that starts with the first of them. */
export function createLongReader(file: string, limitMs: number): LongReader {
  const left = new SharedArrayBuffer(seats * Int32Array.BYTES_PER_ELEMENT)
  const leftCells = new Int32Array(left)
  const turns = createTurns(seats, line)
  const expecting = new Map<number, { resolve(answer: ReaderAnswer): void; reject(error: Error): void }>()
  let thread: Worker | undefined
  let closed = false

  function fail(error: Error): void {
    thread = undefined
    for (const one of expecting.values()) one.reject(error)
    expecting.clear()
  }

  function running(): Worker {
    if (thread !== undefined) return thread
    const started = startThread(readerThread, { file, left } satisfies ReaderThreadData, 256)
    started.on('message', (answer: ReaderAnswer) => {
      const one = expecting.get(answer.slot)
      expecting.delete(answer.slot)
      if (expecting.size === 0) started.unref()
      one?.resolve(answer)
    })
    started.on('error', (error) => fail(error instanceof Error ? error : new Error(String(error))))
    started.on('exit', () => {
      if (thread === started) fail(new Error('the reader thread has ended'))
    })
    thread = started
    return started
  }

  function ask(message: ReaderMessage & { slot: number }): Promise<ReaderAnswer> {
    if (closed) return Promise.reject(refuse('stopping'))
    return new Promise((resolve, reject) => {
      expecting.set(message.slot, { resolve, reject })
      const reader = running()
      // A query that is under way keeps the process alive; a thread that waits does not.
      reader.ref()
      reader.postMessage(message)
    })
  }

  async function* stream<T>(query: Sql, { signal, rows = defaultRows }: StreamOptions): AsyncIterable<T[]> {
    const slot = await turns.take(signal)
    Atomics.store(leftCells, slot, 0)
    const leave = () => Atomics.store(leftCells, slot, 1)
    signal.addEventListener('abort', leave, { once: true })
    let open = true
    let idle: NodeJS.Timeout | undefined
    let released: Promise<void> | undefined
    const release = () => {
      released ??= (async () => {
        signal.removeEventListener('abort', leave)
        try {
          if (open && thread !== undefined) await ask({ kind: 'close', slot })
        } finally {
          turns.give(slot)
        }
      })()
      return released
    }
    try {
      let answer = await ask({ kind: 'open', slot, text: query.text, values: query.values, rows, limitMs })
      for (;;) {
        signal.throwIfAborted()
        if (answer.kind !== 'rows' || answer.done) open = false
        if (answer.kind === 'failed') throw failureError(answer.failure)
        if (answer.kind === 'closed') return
        if (answer.rows.length > 0) {
          // An open query holds a snapshot, and with it the log of the database: who does not read on loses it.
          idle = setTimeout(() => {
            // It fails when the thread has ended; the next question of the reader meets that too.
            release().catch(() => undefined)
          }, limitMs).unref()
          yield answer.rows as T[]
          clearTimeout(idle)
        }
        if (!open) return
        if (released) throw refuse('query_too_slow', { limit: limitMs })
        answer = await ask({ kind: 'next', slot })
      }
    } finally {
      clearTimeout(idle)
      await release()
    }
  }

  return {
    stream,
    async close() {
      closed = true
      const ending = thread
      if (ending === undefined) return
      thread = undefined
      for (let slot = 0; slot < seats; slot++) Atomics.store(leftCells, slot, 1)
      const ended = new Promise((resolve) => ending.once('exit', resolve))
      ending.ref()
      ending.postMessage({ kind: 'end' } satisfies ReaderMessage)
      await ended
      for (const one of expecting.values()) one.reject(refuse('stopping'))
      expecting.clear()
    },
  }
}
