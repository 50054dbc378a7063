import { formatTime, parseTime } from '../../domain/time.ts'
import type { Database } from '../../storage/database.ts'
import { readAudit } from '../../storage/users/audit.ts'
import type { AuditBody } from './contract.ts'

const defaultLimit = 100

/** A page of the audit log, the latest first. */
export async function queryAudit(db: Database, body: AuditBody, signal: AbortSignal) {
  const { from, until, limit = defaultLimit, ...view } = body
  const times = {
    from: from === undefined ? 0 : (parseTime(from) ?? 0),
    until: (until === undefined ? undefined : parseTime(until)) ?? Number.MAX_SAFE_INTEGER,
  }
  const found = await readAudit(db, { ...view, ...times, limit: limit + 1 }, signal)
  const entries = found.slice(0, limit).map(({ at, details, ...entry }) => ({
    ...entry,
    at: formatTime(at),
    details: JSON.parse(details) as Record<string, unknown>,
  }))
  return { entries, next: found.length > limit ? (entries.at(-1)?.id ?? null) : null }
}
