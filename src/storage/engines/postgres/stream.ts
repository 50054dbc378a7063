import { setTimeout as sleep } from 'node:timers/promises'
import { whenAborted } from '../../../../packages/waiting/index.ts'
import { acquireWithTimeout, type Slots } from '../../../threads/slots.ts'
import { bytesOfRow, chunkBytes } from '../chunks.ts'
import type { Connections } from './connections.ts'
import type { Answer, Session } from './session.ts'
import type { Statement } from './statements.ts'
import { mayReconnect, rollBack } from './transaction.ts'

interface StreamParts {
  connections: Connections
  tenant: string
  /** Fewer than there are connections, so that long reads leave some for all other work. */
  streamSlots: Slots
  waitMs: number
  cancel(pid: number): Promise<void>
  /** Called when the connection ends between two fetches: the server limits how long it waits for a reader. */
  givenUp(reason: Error): void
}

const firstRows = 20

/** Between two requests to cancel the same statement. */
const cancelAgainMs = 100

/** Reads rows with a cursor on the server, fetching them as the reader asks. */
export async function* streamRows<T>(
  source: StreamParts,
  statement: Statement,
  rows: number,
  signal: AbortSignal,
): AsyncGenerator<T[], void, undefined> {
  const reading = await openReading(source, statement, signal)
  try {
    // The size of rows is known only once some have arrived.
    for (let asked = Math.min(rows, firstRows); ; ) {
      const chunk = (await reading.ask(`FETCH FORWARD ${asked} FROM heddle_stream`)).rows as T[]
      if (chunk.length > 0) yield chunk
      if (chunk.length < asked) return
      const bytes = chunk.reduce((sum, row) => sum + bytesOfRow(row), 1)
      asked = Math.max(1, Math.min(rows, Math.floor((chunkBytes * chunk.length) / bytes)))
    }
  } finally {
    await reading.end()
  }
}

async function openReading(source: StreamParts, statement: Statement, signal: AbortSignal): Promise<Reading> {
  for (let attempt = 1; ; attempt++) {
    const reading = await startReading(source, signal)
    try {
      await reading.begin('BEGIN READ ONLY')
      const { text, values } = statement
      await reading.ask({ text: `DECLARE heddle_stream NO SCROLL CURSOR FOR ${text}`, values })
      return reading
    } catch (error) {
      await reading.end()
      if (!mayReconnect(error, attempt)) throw error
    }
  }
}

interface Reading {
  ask(statement: Statement | string): Promise<Answer>
  begin(statement: string): Promise<void>
  /** Ends the transaction and returns the connection and the slot; only the first call has an effect. */
  end(): Promise<void>
}

/**
 * A connection for one reader. It is returned when the reader is done, when the signal aborts, and when the connection
 * ends while the reader is busy elsewhere and may never come back.
 */
async function startReading(source: StreamParts, signal: AbortSignal): Promise<Reading> {
  signal.throwIfAborted()
  const slot = await acquireWithTimeout(source.streamSlots, source.tenant, source.waitMs, signal)
  let session: Session
  try {
    session = await source.connections.checkOut(source.tenant, signal)
  } catch (error) {
    source.streamSlots.release(slot)
    throw error
  }
  let running: Promise<unknown> | undefined
  let cancelling: Promise<void> | undefined
  let ended: Promise<void> | undefined

  function end(): Promise<void> {
    ended ??= (async () => {
      stay()
      // A late cancel request would hit whatever the connection runs next.
      await cancelling
      await rollBack(session)
      session.giveBack()
      source.streamSlots.release(slot)
    })()
    return ended
  }

  function leave(): void {
    if (running === undefined) void end()
    else cancelling ??= cancelUntilEnded()
  }

  async function cancelUntilEnded(): Promise<void> {
    try {
      // A cancel request uses another connection and may overtake the statement it is meant for.
      while (running !== undefined && session.lost === undefined) {
        // A pooler has no connection for it yet.
        if (session.pid === 0) return session.hangUp(new Error('the reader has left'))
        await source.cancel(session.pid)
        await Promise.race([running, sleep(cancelAgainMs, undefined, { ref: false })])
      }
    } catch (error) {
      session.hangUp(error as Error)
    }
  }

  const stay = whenAborted(signal, leave)
  session.onLost(() => {
    if (running !== undefined) return
    void end()
    source.givenUp(session.lost ?? new Error('the connection has ended'))
  })

  async function asking<T>(ask: () => Promise<T>): Promise<T> {
    signal.throwIfAborted()
    const answer = ask()
    running = answer.then(
      () => undefined,
      () => undefined,
    )
    try {
      return await answer
    } catch (error) {
      // We caused this failure by cancelling.
      signal.throwIfAborted()
      throw error
    } finally {
      running = undefined
    }
  }

  return {
    ask: (statement) => asking(() => session.query(statement)),
    begin: (statement) => asking(() => session.begin(statement)),
    end,
  }
}
