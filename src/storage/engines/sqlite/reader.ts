import { abandon } from '../../../domain/abandoning.ts'
import { refuse } from '../../../domain/refusals.ts'
import { acquireInTime, createSlots } from '../../../domain/slots.ts'
import type { Sql } from '../../sql/sql.ts'
import type { StreamOptions } from '../../transaction.ts'
import { failureError } from './job-failure.ts'
import { createReaderSeat, type ReaderSeat } from './reader-seat.ts'

const seatCount = 4
const line = 256
const defaultRows = 200

/** What an unused thread costs is memory; what a new one costs is some 50 ms. */
const restMs = 60_000

export interface LongReader {
  stream<T>(query: Sql, options: StreamOptions): AsyncIterable<T[]>
  close(): Promise<void>
}

export interface LongReaderOptions {
  /** For the next rows to be found, and for the reader to take them. */
  limitMs: number
  /** For a seat. */
  waitMs: number
}

/** Long reads, each in a thread of its own. The seat that was left last is taken first, so a quiet server has one thread. */
export function createLongReader(file: string, { limitMs, waitMs }: LongReaderOptions): LongReader {
  const turns = createSlots(seatCount, line)
  const seats = Array.from({ length: seatCount }, () => createReaderSeat(file, restMs))

  async function* stream<T>(query: Sql, { signal, rows = defaultRows }: StreamOptions): AsyncIterable<T[]> {
    const number = await acquireInTime(turns, waitMs, signal)
    const seat = seats[number] as ReaderSeat
    seat.take()
    const stop = () => seat.stop()
    signal.addEventListener('abort', stop, { once: true })
    let open = true
    let idle: NodeJS.Timeout | undefined
    let released: Promise<void> | undefined
    const release = () => {
      released ??= (async () => {
        signal.removeEventListener('abort', stop)
        try {
          if (open && seat.running) await seat.ask({ kind: 'close' })
        } finally {
          seat.rest()
          turns.release(number)
        }
      })()
      return released
    }
    const tooSlow = () => refuse('query_too_slow', { limit: limitMs })
    try {
      let answer = await seat.ask({ kind: 'open', text: query.text, values: query.values, rows, limitMs })
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
            abandon(signal, tooSlow())
          }, limitMs).unref()
          yield answer.rows as T[]
          clearTimeout(idle)
        }
        if (!open) return
        if (released) throw tooSlow()
        answer = await seat.ask({ kind: 'next' })
      }
    } finally {
      clearTimeout(idle)
      await release()
    }
  }

  return {
    stream,
    async close() {
      await Promise.all(seats.map((seat) => seat.close()))
    },
  }
}
