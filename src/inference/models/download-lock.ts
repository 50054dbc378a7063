import { setTimeout as delay } from 'node:timers/promises'
import Database from 'better-sqlite3'

const retryMs = 500

/**
 * Does the work while no other process does it. The lock is that of an empty SQLite file: the system releases it when a
 * process ends, however it ends.
 */
export async function whileLocked<Result>(
  file: string,
  { signal, onWait }: { signal: AbortSignal; onWait: () => void },
  work: () => Promise<Result>,
): Promise<Result> {
  const lock = new Database(file, { timeout: 0 })
  try {
    for (let attempt = 0; !acquired(lock); attempt++) {
      if (attempt === 0) onWait()
      await delay(retryMs, undefined, { signal })
    }
    return await work()
  } finally {
    lock.close()
  }
}

function acquired(lock: Database.Database): boolean {
  try {
    lock.exec('BEGIN EXCLUSIVE')
    return true
  } catch (error) {
    if ((error as { code?: string }).code === 'SQLITE_BUSY') return false
    throw error
  }
}
