import { SqliteError } from 'better-sqlite3'
import type { SqliteHandle } from './connection.ts'
import type { PoolReader } from './pool-reader.ts'

/**
 * The log (WAL) has to be copied into the database from time to time, and that waits for the disk. Beyond `long` pages
 * a thread does it alongside the writer, so that no write waits for it (https://www.sqlite.org/wal.html#ckpt).
 *
 * The log starts over only when all of it is in the database, which it never is while writes continue. So when the log
 * is large, the writer copies the few pages that the thread has left. If the thread cannot keep up, the writer copies
 * all of them.
 */
interface LogBounds {
  /** Pages not yet copied. */
  long: number
  /** Pages in the log, and the most of them not yet copied. */
  large: number
}

const defaultBounds: LogBounds = { long: 500, large: 8_000 }

/**
 * Called by the writer after each group. Replaces `wal_autocheckpoint`, which counts the whole log and waits for what
 * has just been written. Returns whether the thread should empty the log. Checking takes some microseconds.
 */
export function createLogCheck(
  handle: SqliteHandle,
  { long, large }: LogBounds = defaultBounds,
): () => boolean {
  handle.pragma('wal_autocheckpoint = 0')
  /** A reader can keep the log from starting over; it is tried again once the log has grown. */
  let from = large
  return () => {
    const { log = 0, checkpointed = 0 } = checkpoint(handle, 'NOOP') ?? {}
    if (log < large) from = large
    const waiting = log - checkpointed
    const isLong = waiting >= long
    if (log >= from && waiting > 0 && (!isLong || waiting >= large)) {
      from = log + long
      checkpoint(handle, 'PASSIVE')
    }
    return isLong
  }
}

/**
 * A failure, such as that of a file that can only be read, also shows in the next write; nothing that was answered is
 * lost.
 */
function checkpoint(
  handle: SqliteHandle,
  mode: 'NOOP' | 'PASSIVE',
): { log: number; checkpointed: number } | undefined {
  try {
    return (handle.pragma(`wal_checkpoint(${mode})`) as [{ log: number; checkpointed: number }])[0]
  } catch (error) {
    if (!(error instanceof SqliteError)) throw error
    return undefined
  }
}

/** Returns a function that makes the thread empty the log, one run after the other. */
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
