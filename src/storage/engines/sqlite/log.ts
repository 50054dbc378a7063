import { SqliteError } from 'better-sqlite3'
import type { SqliteHandle } from './connection.ts'
import type { PoolReader } from './pool-reader.ts'

/**
 * What is in the log goes into the database from time to time, and that waits for the disk. Beyond so many pages a thread does it
 * beside the writer, so that no write waits for it (https://www.sqlite.org/wal.html#ckpt).
 *
 * The log begins anew only where all of it is in the database, and what is written meanwhile never is: when the log is large, the
 * writer takes over the few pages that the thread has left. Where the thread does not come to it, the writer takes all of them.
 */
interface LogBounds {
  /** Pages that wait. */
  long: number
  /** Pages in the log, and those that wait at most. */
  large: number
}

const usual: LogBounds = { long: 500, large: 8_000 }

/**
 * Called by the writer after each group, in place of `wal_autocheckpoint`, which goes by all of the log and waits for whatever has
 * just been written. Answers whether the thread is to empty the log. To ask takes some microseconds.
 */
export function createLogLook(handle: SqliteHandle, { long, large }: LogBounds = usual): () => boolean {
  handle.pragma('wal_autocheckpoint = 0')
  /** A reader can keep the log from beginning anew: then it is tried again when it has grown. */
  let from = large
  return () => {
    const [{ log, checkpointed }] = handle.pragma('wal_checkpoint(NOOP)') as [
      { log: number; checkpointed: number },
    ]
    if (log < large) from = large
    const waiting = log - checkpointed
    const isLong = waiting >= long
    if (log >= from && waiting > 0 && (!isLong || waiting >= large)) {
      from = log + long
      takeOver(handle)
    }
    return isLong
  }
}

/** A failure here also shows in the next write; nothing that was answered is lost. */
function takeOver(handle: SqliteHandle): void {
  try {
    handle.pragma('wal_checkpoint(PASSIVE)')
  } catch (error) {
    if (!(error instanceof SqliteError)) throw error
  }
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
      // A failure here also shows in the writer.
      .catch(() => undefined)
      .finally(() => {
        isBusy = false
        reader.release()
      })
  }
}
