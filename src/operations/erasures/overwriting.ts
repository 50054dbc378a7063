import { setTimeout } from 'node:timers/promises'
import type { BoundDatabase } from '../../storage/database.ts'

/** A reader that began before may use the log for as long as its query takes. */
const patienceMs = 10_000
const pauseMs = 20

async function mergeWords(db: BoundDatabase): Promise<void> {
  let hasMore = await db.write('mergeSearch', { isFirst: true })
  while (hasMore) {
    db.signal.throwIfAborted()
    hasMore = await db.writeInBackground('mergeSearch', { isFirst: false })
  }
}

/**
 * Leaves nothing of what was removed in the files. Returns whether it did. The words of all projects are in one index: it
 * is only rewritten if it had some of them.
 */
export async function overwritten(db: BoundDatabase, hasWords: boolean): Promise<boolean> {
  if (db.dialect.engine !== 'sqlite') return false
  if (hasWords) {
    // The first may end a merge that had read words before they were removed; the second removes those.
    await mergeWords(db)
    await mergeWords(db)
  }
  for (let until = performance.now() + patienceMs; ; ) {
    db.signal.throwIfAborted()
    const state = await db.scrub()
    if (state === 'clean') return true
    if (state === 'freed') until = performance.now() + patienceMs
    else if (performance.now() > until) return false
    else await setTimeout(pauseMs, undefined)
  }
}
