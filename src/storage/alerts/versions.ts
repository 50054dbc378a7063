import { LRUCache } from 'lru-cache'
import { now } from '../../domain/time.ts'
import { maxEntries } from '../../threads/cache-bounds.ts'
import { sql } from '../sql/sql.ts'
import type { Transaction } from '../transaction.ts'

/**
 * A change takes effect at once in the process that made it, and within a second in others: what is known of a project
 * is held in memory, because every write of a call needs it and most projects have no rules.
 */
const freshMs = 1_000
const maxKnown = 10_000

interface Known {
  version: number
  readAt: number
  value: object
}

const byRecord = new WeakMap<object, LRUCache<string, Known>>()

function knownOf({ record }: Transaction): LRUCache<string, Known> {
  const known = byRecord.get(record) ?? new LRUCache<string, Known>(maxEntries(maxKnown))
  byRecord.set(record, known)
  return known
}

/** What was read of the project, read again after a change. `none` is for projects without rules and endpoints. */
export async function remembered<T extends object>(
  tx: Transaction,
  project: string,
  none: T,
  read: () => Promise<T>,
): Promise<T> {
  const known = knownOf(tx)
  const found = known.get(project)
  const readAt = performance.now()
  if (found !== undefined && readAt - found.readAt < freshMs) return found.value as T
  const row = await tx.get<{ version: number }>(
    sql`SELECT version FROM alert_versions WHERE project_id = ${project}`,
  )
  const version = Number(row?.version ?? 0)
  const isSame = found?.version === version
  const value = isSame ? (found.value as T) : version === 0 ? none : await read()
  known.set(project, { version, readAt, value })
  return value
}

/**
 * Called by all that changes rules or endpoints of a project, which thereby happens one after the other. A project that
 * was deleted does not begin with a number that it had before.
 */
export async function countChange(tx: Transaction, project: string): Promise<void> {
  await tx.run(
    sql`INSERT INTO alert_versions (project_id, version) VALUES (${project}, ${now()})
        ON CONFLICT (project_id) DO UPDATE SET version = alert_versions.version + 1`,
  )
  knownOf(tx).delete(project)
}
