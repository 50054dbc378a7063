import { dirname } from 'node:path'
import { whenAborted } from '../../../../packages/waiting/index.ts'
import { abandon } from '../../../domain/abandoning.ts'
import { refuse } from '../../../domain/refusals.ts'
import { acquireWithTimeout, createSlots } from '../../../threads/slots.ts'
import type { Sql } from '../../sql/sql.ts'
import type { StreamOptions } from '../../transaction.ts'
import { createUnreadAnswers } from '../unread-answers.ts'
import { failureError } from './failures.ts'
import { createPoolReader, type PoolReader } from './pool-reader.ts'

/** An unused reader has no thread, so the reserved ones cost nothing until several tenants read. */
const readerCounts = { shared: 4, reserved: 12 }
/** Reads that may wait for a reader. */
const maxWaiting = { perTenant: 128, total: 1_024 }
const defaultRows = 200

/** An idle thread costs memory; starting a new one takes some 50 ms. */
const restMs = 60_000

interface ReaderPoolOptions {
  /** Limit for finding the next rows, and for the client to take them. */
  limitMs: number
  /** Limit for waiting until a reader is free. */
  waitMs: number
}

/**
 * Long reads, each in its own thread. The reader that was released last is used first, so a quiet server has one
 * thread.
 */
export function createReaderPool(file: string, { limitMs, waitMs }: ReaderPoolOptions) {
  const slots = createSlots(readerCounts, maxWaiting)
  const readers = Array.from({ length: readerCounts.shared + readerCounts.reserved }, () =>
    createPoolReader(file, restMs),
  )
  const answer = createUnreadAnswers({ folder: dirname(file), waitMs, isContended: () => slots.waiting > 0 })

  async function* read<T>(query: Sql, { signal, tenant = '', rows = defaultRows }: StreamOptions) {
    const slot = await acquireWithTimeout(slots, tenant, waitMs, signal)
    const reader = readers[slot] as PoolReader
    reader.acquire()
    const stay = whenAborted(signal, () => reader.stop())
    let open = true
    let idle: NodeJS.Timeout | undefined
    let released: Promise<void> | undefined
    const release = () => {
      released ??= (async () => {
        stay()
        try {
          if (open && reader.running) await reader.ask({ kind: 'close' })
        } finally {
          reader.release()
          slots.release(slot)
        }
      })()
      return released
    }
    const tooSlow = () => refuse('query_too_slow', { limit: limitMs })
    try {
      let answer = await reader.ask({ kind: 'open', text: query.text, values: query.values, rows, limitMs })
      for (;;) {
        signal.throwIfAborted()
        if (answer.kind !== 'rows' || answer.done) open = false
        if (answer.kind === 'failed') throw failureError(answer.failure)
        if (answer.kind === 'closed') return
        if (answer.rows.length > 0) {
          // An open query holds a snapshot, and with it the log of the database, so it is ended if the caller stops
          // reading.
          idle = setTimeout(() => {
            // Fails if the thread has ended; the reader's next question fails the same way.
            release().catch(() => undefined)
            abandon(signal, tooSlow())
          }, limitMs).unref()
          yield answer.rows as T[]
          clearTimeout(idle)
        }
        if (!open) return
        if (released) throw tooSlow()
        answer = await reader.ask({ kind: 'next' })
      }
    } finally {
      clearTimeout(idle)
      await release()
    }
  }

  return {
    stream: <T>(query: Sql, options: StreamOptions): AsyncIterable<T[]> =>
      answer(options.tenant ?? '', options.signal, () => read<T>(query, options)),
    async close(): Promise<void> {
      await Promise.all(readers.map((reader) => reader.close()))
    },
  }
}
