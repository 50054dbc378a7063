import { workerData } from 'node:worker_threads'
import { refuse } from '../../domain/refusals.ts'
import { ownPort } from '../../threads/thread.ts'
import { bytesOfRow, chunkBytes } from '../chunks.ts'
import { Sql, type SqlValue } from '../sql.ts'
import { type Connection, connect } from './connection.ts'
import { sqliteFailure } from './failures.ts'
import { describeFailure, type JobFailure } from './group.ts'

export interface ReaderThreadData {
  file: string
  /** One cell a query: 1 means that its reader has left. Shared memory, because a thread deep in a query takes no messages. */
  left: SharedArrayBuffer
}

export type ReaderMessage =
  | { kind: 'open'; slot: number; text: string; values: readonly SqlValue[]; rows: number; limitMs: number }
  | { kind: 'next'; slot: number }
  | { kind: 'close'; slot: number }
  | { kind: 'end' }

export type ReaderAnswer =
  | { slot: number; kind: 'rows'; rows: unknown[]; done: boolean }
  | { slot: number; kind: 'failed'; failure: JobFailure }
  | { slot: number; kind: 'closed' }

interface Query {
  connection: Connection
  rows: Iterator<unknown>
  most: number
  deadline: number
  limitMs: number
}

/** Where `startThread` finds this file, before and after the build. */
export const readerThread = import.meta.url

/** What the thread does. */
export function serve(): void {
  const port = ownPort()
  const { file, left } = workerData as ReaderThreadData
  const leftCells = new Int32Array(left)

  // A connection serves one query at a time: two that overlap would share one snapshot and never see a newer one.
  const connections = new Map<number, Connection>()
  const queries = new Map<number, Query>()

  function connectionOf(slot: number): Connection {
    let connection = connections.get(slot)
    if (connection === undefined) {
      connection = connect(file, 'read', () => {
        const query = queries.get(slot)
        if (Atomics.load(leftCells, slot) === 1) throw new Error('the reader has left')
        if (query !== undefined && performance.now() > query.deadline)
          throw refuse('query_too_slow', { limit: query.limitMs })
      })
      connections.set(slot, connection)
    }
    return connection
  }

  function next(slot: number, query: Query): ReaderAnswer {
    const rows: unknown[] = []
    let bytes = 0
    while (rows.length < query.most && bytes < chunkBytes) {
      const step = query.rows.next()
      if (step.done) return { slot, kind: 'rows', rows, done: true }
      rows.push(step.value)
      bytes += bytesOfRow(step.value)
    }
    return { slot, kind: 'rows', rows, done: false }
  }

  function close(slot: number): void {
    queries.get(slot)?.rows.return?.()
    queries.delete(slot)
  }

  port.on('message', (message: ReaderMessage) => {
    if (message.kind === 'end') {
      for (const slot of queries.keys()) close(slot)
      for (const connection of connections.values()) connection.close()
      port.close()
      return
    }
    const { slot } = message
    if (message.kind === 'close') {
      close(slot)
      port.postMessage({ slot, kind: 'closed' } satisfies ReaderAnswer)
      return
    }
    try {
      if (message.kind === 'open') {
        const connection = connectionOf(slot)
        const query: Query = {
          connection,
          rows: [][Symbol.iterator](),
          most: message.rows,
          deadline: Number.POSITIVE_INFINITY,
          limitMs: message.limitMs,
        }
        queries.set(slot, query)
        query.rows = connection.prepare(new Sql(message.text, message.values)).iterate(message.values)
      }
      const query = queries.get(slot)
      if (query === undefined) throw new Error(`no query in slot ${slot}`)
      query.deadline = performance.now() + query.limitMs
      const answer = next(slot, query)
      if (answer.kind === 'rows' && answer.done) close(slot)
      port.postMessage(answer)
    } catch (error) {
      close(slot)
      port.postMessage({
        slot,
        kind: 'failed',
        failure: describeFailure(sqliteFailure(error)),
      } satisfies ReaderAnswer)
    }
  })
}
