import { newId } from '../../domain/ids.ts'
import { now } from '../../domain/time.ts'
import { allOf, type Sql, sql } from '../sql/sql.ts'
import { allRows, type BoundReader, type Command, type Transaction } from '../transaction.ts'

/** Who did something: a Heddle user over HTTP, or an operating system user on the command line. */
export interface Actor {
  via: 'http' | 'command line' | 'start'
  name: string
}

/** What was done, never the content. */
interface Deed {
  action: string
  project_id?: string
  /** How many ids it was about. */
  count?: number
  details?: Record<string, unknown>
}

export interface AuditEntry {
  id: string
  at: number
  via: Actor['via'] | null
  actor: string | null
  action: string
  project_id: string | null
  count: number | null
  /** JSON object. */
  details: string
}

async function note(tx: Transaction, by: Actor | undefined, deed: Deed): Promise<void> {
  const { action, project_id = null, count = null, details = {} } = deed
  await tx.run(
    sql`INSERT INTO audit (id, at, via, actor, action, project_id, count, details)
        VALUES (${newId()}, ${now()}, ${by?.via ?? null}, ${by?.name ?? null}, ${action}, ${project_id}, ${count}, ${JSON.stringify(details)})`,
  )
}

/**
 * Wraps a command so that its deed is written to the audit log in the same transaction. A command that did nothing
 * writes no line.
 */
export function audited<Input, Output>(
  command: Command<Input, Output>,
  deedOf: (input: Input, output: Output) => Deed | undefined,
): Command<Input & { by?: Actor }, Output> {
  return async (tx, input) => {
    const output = await command(tx, input)
    const deed = deedOf(input, output)
    if (deed !== undefined) await note(tx, input.by, deed)
    return output
  }
}

/** For deeds that are not the result of another command. */
export const noteDeed: Command<Deed & { by?: Actor }, void> = (tx, { by, ...deed }) => note(tx, by, deed)

/** Whether a user of this name was removed. What it left, as its place in queues and its usage, is still under its name. */
export async function wasRemoved(db: BoundReader, name: string): Promise<boolean> {
  const query = sql`SELECT 1 FROM audit WHERE action = 'user.remove' AND details = ${JSON.stringify({ user: name })}
    AND ${db.dialect.cancellable} LIMIT 1`
  return (await allRows(db, query)).length > 0
}

interface Times {
  /** Microseconds, inclusive. */
  from: number
  until: number
}

export function streamAudit(db: BoundReader, { from, until }: Times): AsyncIterable<AuditEntry[]> {
  const query: Sql = sql`SELECT id, at, via, actor, action, project_id, count, details FROM audit
    WHERE at >= ${from} AND at <= ${until} ORDER BY id`
  return db.stream<AuditEntry>(query)
}

interface AuditView extends Times {
  actor?: string | undefined
  /** A name, or its beginning up to a dot. */
  action?: string | undefined
  /** The id behind which the page ends. */
  before?: string | undefined
  limit: number
}

/** One page, the latest first. */
export function readAudit(db: BoundReader, view: AuditView): Promise<AuditEntry[]> {
  const { from, until, actor, action, before, limit } = view
  const conditions = [sql`at >= ${from}`, sql`at <= ${until}`, db.dialect.cancellable]
  if (actor !== undefined) conditions.push(sql`actor = ${actor}`)
  if (action?.endsWith('.')) conditions.push(sql`substr(action, 1, ${action.length}) = ${action}`)
  else if (action !== undefined) conditions.push(sql`action = ${action}`)
  if (before !== undefined) conditions.push(sql`id < ${before}`)
  const query = sql`SELECT id, at, via, actor, action, project_id, count, details FROM audit
    WHERE ${allOf(conditions)} ORDER BY id DESC LIMIT ${limit}`
  return allRows<AuditEntry>(db, query)
}
