import { workerData } from 'node:worker_threads'
import { refuse } from '../../../domain/refusals.ts'
import { lowerThreadPriority } from '../../../threads/priority.ts'
import { portToParent } from '../../../threads/thread.ts'
import { Sql, type SqlValue } from '../../sql/sql.ts'
import { bytesOfRow, chunkBytes } from '../chunks.ts'
import { type Connection, connect } from './connection.ts'
import { describeFailure, type JobFailure, sqliteFailure } from './failures.ts'

export interface ReaderThreadData {
  file: string
  /**
   * One cell: 1 means that the caller has left. Shared memory, because a thread in the middle of a query receives no
   * messages.
   */
  left: SharedArrayBuffer
}

export type ReaderQuestion =
  | { kind: 'open'; text: string; values: readonly SqlValue[]; rows: number; limitMs: number }
  | { kind: 'next' }
  | { kind: 'empty log'; limitMs: number }
  | { kind: 'close' }

export type ReaderMessage = ReaderQuestion | { kind: 'end' }

export type ReaderAnswer =
  | { kind: 'rows'; rows: unknown[]; done: boolean }
  | { kind: 'failed'; failure: JobFailure }
  | { kind: 'closed' }

interface Query {
  rows: Iterator<unknown>
  most: number
  deadline: number
  limitMs: number
  /** When its current question began. */
  since: number
}

/**
 * Once a query takes longer than this, its thread lowers its priority for good, also for later queries: a thread cannot
 * raise it again.
 */
const shortMs = 20

/** Where `startThread` finds this file, before and after the build. */
export const readerThread = import.meta.url

/** What the thread runs: one query at a time. */
export function serve(): void {
  const port = portToParent()
  const { file, left } = workerData as ReaderThreadData
  const leftCells = new Int32Array(left)
  let connection: Connection | undefined
  let query: Query | undefined
  let givesWay = false

  function giveWayOnce(): void {
    if (!givesWay) lowerThreadPriority()
    givesWay = true
  }

  function checkRunning(): void {
    if (Atomics.load(leftCells, 0) === 1) throw new Error('the reader has left')
    if (query !== undefined && performance.now() - query.since > shortMs) giveWayOnce()
    if (query !== undefined && performance.now() > query.deadline)
      throw refuse('query_too_slow', { limit: query.limitMs })
  }

  function open({ text, values, rows, limitMs }: Extract<ReaderQuestion, { kind: 'open' }>): Query {
    connection ??= connect(file, 'read', checkRunning)
    return {
      rows: connection.prepare(new Sql(text, values)).iterate(values),
      most: rows,
      deadline: Number.POSITIVE_INFINITY,
      limitMs,
      since: Number.POSITIVE_INFINITY,
    }
  }

  function next(from: Query, binaries: ArrayBuffer[]): ReaderAnswer {
    const rows: unknown[] = []
    let bytes = 0
    while (rows.length < from.most && bytes < chunkBytes) {
      const step = from.rows.next()
      if (step.done) return { kind: 'rows', rows, done: true }
      rows.push(step.value)
      bytes += bytesOfRow(step.value, binaries)
    }
    return { kind: 'rows', rows, done: false }
  }

  function close(): void {
    query?.rows.return?.()
    query = undefined
  }

  function answer(question: ReaderQuestion, binaries: ArrayBuffer[]): ReaderAnswer {
    if (question.kind === 'close') {
      close()
      return { kind: 'closed' }
    }
    try {
      if (question.kind === 'empty log') {
        giveWayOnce()
        connection ??= connect(file, 'read', checkRunning)
        connection.handle.pragma('wal_checkpoint(PASSIVE)')
        return { kind: 'closed' }
      }
      if (question.kind === 'open') query = open(question)
      if (query === undefined) throw new Error('there is no query to continue')
      query.since = performance.now()
      query.deadline = query.since + query.limitMs
      const rows = next(query, binaries)
      if (rows.kind === 'rows' && rows.done) close()
      return rows
    } catch (error) {
      close()
      return { kind: 'failed', failure: describeFailure(sqliteFailure(error)) }
    }
  }

  port.on('message', (message: ReaderMessage) => {
    if (message.kind !== 'end') {
      const binaries: ArrayBuffer[] = []
      return port.postMessage(answer(message, binaries), binaries)
    }
    close()
    connection?.close()
    port.close()
  })
}
