import { setTimeout as sleep } from 'node:timers/promises'
import { Gauge, type Registry } from '@prometheus-io/client'
import { createMeters } from '../../http/metrics.ts'
import type { Database } from '../../storage/database.ts'
import { countUnread } from '../../storage/search/indexing.ts'
import type { RecorderParts } from './recorder.ts'

interface Log {
  info(message: string): void
  error(values: object, message: string): void
}

/** Reports to the log and to metrics how answers are recorded. */
export function recordingEvents(
  registry: Registry,
  log: Log,
  waiting: () => { count: number; bytes: number },
): RecorderParts['events'] {
  const { counter, readGauge } = createMeters(registry)
  const recorded = counter(
    'recorded_total',
    'Answers to be recorded, by outcome: written, or failed if the record could not store the answer.',
    'outcome',
  )
  readGauge('record_queue_answers', 'Answers that are waiting to be written.', [], () => [
    [{}, waiting().count],
  ])
  readGauge('record_queue_bytes', 'Size in bytes of the answers that are waiting to be written.', [], () => [
    [{}, waiting().bytes],
  ])
  return {
    written: (answers) => recorded.inc({ outcome: 'written' }, answers),
    refused({ code, message }, count) {
      log.error(
        { code, waiting: count },
        `the record accepts no writes: answers wait, and requests whose answers are recorded get 503 (${message})`,
      )
    },
    recovered: () => log.info('the record accepts writes again: waiting answers are written'),
    failed(error, call) {
      recorded.inc({ outcome: 'failed' })
      log.error({ err: error, call }, 'the record could not store an answer')
    },
    lost: (answers) => log.error({ answers }, 'answers could not be recorded before the server stopped'),
  }
}

/** A scrape waits no longer for the record. */
const scrapeMs = 1_000

/** What operators watch of the record itself. */
export function registerRecord(registry: Registry, db: Database): void {
  new Gauge({
    name: 'heddle_search_writes_waiting',
    help: 'Writes of calls that the search does not find yet, counted to 100,000. Absent while the record does not answer.',
    registers: [registry],
    async collect() {
      const late = sleep(scrapeMs, undefined, { ref: false })
      const waiting = await Promise.race([countUnread(db).catch(() => undefined), late])
      if (waiting === undefined) this.remove()
      else this.set(waiting)
    },
  })
  const { connections } = db
  if (connections === undefined) return
  const help = 'Connections to PostgreSQL in use, the most there may be, and requests that wait for one.'
  createMeters(registry).readGauge('postgres_connections', help, ['of'], () =>
    Object.entries(connections()).map(([of, count]) => [{ of }, count] as const),
  )
}
