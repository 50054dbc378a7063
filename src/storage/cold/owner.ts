import { randomUUID } from 'node:crypto'
import { refuse } from '../../domain/refusals.ts'
import type { Database } from '../database.ts'
import { StorageRefusal } from '../failures.ts'
import { sql } from '../sql/sql.ts'
import { hasRows } from '../transaction.ts'
import type { ColdStore, OwnedStore } from './store.ts'

/**
 * A record and a copy of it name the same files, and each removes what the other still needs: so a store belongs to one
 * record, whose name is in a file of it. A store without that file is no store if this record has files in one: a disk is
 * not mounted.
 */
export function ownedStore(db: Database, store: ColdStore): OwnedStore {
  let isOwn = false

  async function check(): Promise<void> {
    if (isOwn) return
    const record = await db.write('nameColdRecord', { record: randomUUID() })
    const owner = await store.readOwner()
    if (owner === undefined) {
      if (await hasFiles(db)) throw new Error(`${store.address} has no file heddle-owner with ${record}`)
      await store.writeOwner(record)
    }
    const written = owner ?? (await store.readOwner())
    if (written !== record) {
      throw new StorageRefusal(
        'foreign',
        `The store of cold calls ${store.address} is that of the record ${written}, and this is the record ${record}. Name another store; if that record is gone, write ${record} into the file heddle-owner there.`,
      )
    }
    isOwn = true
  }

  async function asked<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    try {
      await check()
      return await work()
    } catch (cause) {
      if (signal?.aborted && !(signal.reason as Error | undefined)?.name.startsWith('Timeout'))
        throw signal.reason
      const refusal = refuse('cold_store_unreachable')
      refusal.cause = cause
      throw refusal
    }
  }

  return {
    address: store.address,
    readOwner: store.readOwner,
    writeOwner: store.writeOwner,
    check,
    write: (file, bytes) => asked(() => store.write(file, bytes)),
    read: (file, from, length, signal) => asked(() => store.read(file, from, length, signal), signal),
    remove: (file) => asked(() => store.remove(file)),
    size: (file, signal) => asked(() => store.size(file, signal), signal),
  }
}

/** Also files that are still to be removed. */
const hasFiles = (db: Database): Promise<boolean> => hasRows(db, sql`cold_files`, sql`cold_removals`)
