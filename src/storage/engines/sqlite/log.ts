import type { SqliteHandle } from './connection.ts'
import type { PoolReader } from './pool-reader.ts'

/**
 * What is in the log goes into the database from time to time, and that waits for the disk. Beyond so many pages a thread does it
 * beside the writer, so that no write waits for it (https://www.sqlite.org/wal.html#ckpt).
 */
const longLog = 500

/** Whether so much waits in the log that it is worth a look of the thread. To ask takes some microseconds. */
export function isLogLong(handle: SqliteHandle): boolean {
  const [found] = handle.pragma('wal_checkpoint(NOOP)') as [{ log: number; checkpointed: number }]
  return found.log - found.checkpointed >= longLog
}

/** Answers what has the thread empty the log, one time after the other. */
export function createLogEmptying(reader: PoolReader, limitMs: number): () => void {
  let isBusy = false
  return () => {
    if (isBusy) return
    isBusy = true
    reader.acquire()
    reader
      .ask({ kind: 'empty log', limitMs })
      // What fails here is met by the writer, too.
      .catch(() => undefined)
      .finally(() => {
        isBusy = false
        reader.release()
      })
  }
}
