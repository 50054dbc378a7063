import { Refusal } from '../../domain/refusals.ts'
import type { Database } from '../../storage/database.ts'
import { firstKeyless, hasUnread, searchState } from '../../storage/search/indexing.ts'
import { boundTo } from '../../storage/transaction.ts'
import { type BackgroundWork, inBackground } from '../background.ts'

/** Small enough that a write waiting behind it is hardly delayed. */
const atOnce = { limit: 32, characters: 128 * 1024 }
const droppedAtOnce = { limit: 500 }
const firstMs = 200
/** Parts of one call that arrive within this time are read once. */
const idleMs = 1_000
const failedMs = 60_000

/** Calls that were written again and whose store is away keep their former words: the others do not wait for them. */
const indexSome = (db: Database): Promise<boolean> =>
  db.writeInBackground('indexCalls', atOnce).catch((error: unknown) => {
    if (!(error instanceof Refusal && error.code.startsWith('cold_'))) throw error
    return db.writeInBackground('indexCalls', { ...atOnce, isColdLeft: true })
  })

/** Indexes new calls for the search, after the pending writes; or frees the space of the index if the search is off. */
export function startIndexing(db: Database, isOn: boolean, failed: (error: unknown) => void): BackgroundWork {
  let isSwitched = false
  return inBackground({
    firstMs,
    failedMs,
    failed,
    async run(signal) {
      if (!isSwitched) {
        const state = await searchState(db)
        if (state !== undefined && (state.is_on === 1) !== isOn) await db.write('switchSearch', { isOn })
        const project_id = isOn ? await firstKeyless(boundTo(db, signal)) : undefined
        if (project_id !== undefined) await db.write('renewSearch', { project_id })
        isSwitched = true
      }
      let hasMore = !isOn || (await hasUnread(db))
      while (hasMore && !signal.aborted) {
        hasMore = await (isOn ? indexSome(db) : db.writeInBackground('dropSearch', droppedAtOnce))
      }
      return isOn ? idleMs : 60 * idleMs
    },
  })
}
