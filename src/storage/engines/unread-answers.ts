import { acquireWithTimeout, createSlots } from '../../threads/slots.ts'
import { createSpools, type Spool } from './spool.ts'

/** How long a reader waits for its client. When others are waiting for a reader, the wait is minimal. */
const unreadMs = 1_000
const contendedMs = 50

/**
 * Answers that are read at a time, each with a chunk of rows in memory: the most of one tenant, and further ones
 * reserved for tenants that have none.
 */
const openAnswers = { shared: 32, reserved: 32 }

interface UnreadOptions {
  /** For files that are removed with the answer. */
  folder: string
  waitMs: number
  /** Whether other reads are waiting for a reader. */
  isContended(): boolean
}

/**
 * Sits between the readers and the clients. When a client is stalled, the rest of its answer goes to a file, so that
 * the reader and its snapshot are free again. The client gets the same rows, at its own pace. If there is no room for
 * the rest, the answer is read at the pace of its client.
 */
export function createUnreadAnswers({ folder, waitMs, isContended }: UnreadOptions) {
  const slots = createSlots(openAnswers, { perTenant: 64, total: 1_024 })
  const spools = createSpools(folder)

  return async function* answer<T>(
    tenant: string,
    signal: AbortSignal,
    chunks: () => AsyncIterable<T[]>,
  ): AsyncGenerator<T[], void, undefined> {
    const slot = await acquireWithTimeout(slots, tenant, waitMs, signal)
    const paced = createPacedReading(chunks()[Symbol.asyncIterator](), spools.open(tenant))
    try {
      for (let rows = await paced.next(); rows !== undefined; rows = await paced.next()) {
        const late = setTimeout(paced.readAhead, isContended() ? contendedMs : unreadMs)
        try {
          yield rows
        } finally {
          clearTimeout(late)
        }
      }
    } finally {
      await paced.close()
      slots.release(slot)
    }
  }
}

/** Returns rows as they are requested; after `readAhead` they are read into the spool until it is full. */
function createPacedReading<T>(source: AsyncIterator<T[]>, spool: Spool) {
  let reading: Promise<void> | undefined
  /** Resolves with the next step of reading ahead. */
  let step = Promise.withResolvers<void>()
  let unspooled: IteratorResult<T[]> | undefined
  let failure: { error: unknown } | undefined
  let closed = false

  async function readToSpool(): Promise<void> {
    try {
      await spool.clear()
      while (!closed && unspooled === undefined) {
        const next = await source.next()
        if (next.done || !(await spool.add(next.value))) unspooled = next
        step.resolve()
        step = Promise.withResolvers()
      }
    } catch (error) {
      failure = { error }
    } finally {
      reading = undefined
      step.resolve()
    }
  }

  async function next(): Promise<T[] | undefined> {
    for (;;) {
      const progress = reading && step.promise
      const rows = (await spool.take()) as T[] | undefined
      if (rows !== undefined) return rows
      if (progress === undefined) break
      await progress
    }
    if (failure !== undefined) throw failure.error
    const { value, done } = unspooled ?? (await source.next())
    if (!done) unspooled = undefined
    return done ? undefined : value
  }

  return {
    next,
    readAhead(): void {
      if (unspooled === undefined && failure === undefined) reading ??= readToSpool()
    },
    async close(): Promise<void> {
      closed = true
      // Ends the query, and with it the reading ahead.
      await Promise.all([source.return?.(), reading])
      await spool.close()
    },
  }
}
