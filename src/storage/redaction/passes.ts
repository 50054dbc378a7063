import { keepBeside, readBeside } from '../projects/beside.ts'
import { projectLock } from '../projects/projects.ts'
import { rawSql, sql } from '../sql/sql.ts'
import type { Command, Reader, Transaction } from '../transaction.ts'
import type { StoredTableName } from './stored-tables.ts'

/** A pass over what a project stored before: its texts are replaced as those of new writes are. */
export interface RedactionPass {
  /** First in the text of the settings, where open passes are looked for. */
  ended_at: number | null
  begun_at: number
  by: string
  /** Where it is; null once all tables are done. */
  table: StoredTableName | null
  /** The key of the last row that it has seen of the table. */
  after: readonly (string | number)[] | null
  rows: number
  changed: number
  failed: number
  /** When it was through all tables. */
  read_at: number | null
  /** It ended before it was through. */
  is_stopped: boolean
  /** Whether the files of the record have nothing left of what was replaced. */
  overwritten: boolean
  held_by: string
  held_until: number
}

/** Other servers may write by the former settings for a second. */
const settleUs = 1_200_000

export const readPass = (db: Reader, project: string): Promise<RedactionPass | undefined> =>
  readBeside<RedactionPass>(db, project, 'redaction_pass')

/** Begins from the start: what was replaced before stays as it is. */
export const beginRedactionPass: Command<{ project_id: string; user: string; now: number }, void> = async (
  tx,
  { project_id, user, now },
) => {
  await tx.lock(projectLock(project_id))
  const nothing = { rows: 0, changed: 0, failed: 0, read_at: null, is_stopped: false, overwritten: false }
  const held = { held_by: '', held_until: now + settleUs }
  const at = { table: 'calls', after: null } as const
  await keepPass(tx, project_id, { ended_at: null, begun_at: now, by: user, ...at, ...nothing, ...held })
}

const keepPass = (tx: Transaction, project: string, pass: RedactionPass): Promise<void> =>
  keepBeside(tx, project, 'redaction_pass', pass)

export interface HeldPass {
  project: string
  pass: RedactionPass
}

/** Of the open passes the one that waits longest; this process then holds it. */
export const takeRedactionPass: Command<
  { holder: string; now: number; until: number },
  HeldPass | undefined
> = async (tx, { holder, now, until }) => {
  const open = tx.dialect.position(rawSql('settings'), rawSql(`'"redaction_pass":{"ended_at":null,'`))
  const rows = await tx.all<{ project_id: string; settings: string }>(
    sql`SELECT project_id, settings FROM projects WHERE ${open} > 0 AND deletion IS NULL`,
  )
  const free = rows
    .map(({ project_id, settings }) => ({
      project: project_id,
      pass: (JSON.parse(settings) as { redaction_pass: RedactionPass }).redaction_pass,
    }))
    .filter(({ pass }) => pass.held_by === holder || pass.held_until <= now)
    .sort((a, b) => a.pass.held_until - b.pass.held_until)
  for (const { project, pass } of free) {
    await tx.lock(projectLock(project))
    const present = await readPass(tx, project)
    if (present?.begun_at !== pass.begun_at || present.held_until !== pass.held_until) continue
    const held = { ...present, held_by: holder, held_until: until }
    await keepPass(tx, project, held)
    return { project, pass: held }
  }
  return undefined
}

/** A pass that is not this process's any more is left as it is. */
export async function movePass(
  tx: Transaction,
  project: string,
  pass: RedactionPass,
  change: (present: RedactionPass) => Partial<RedactionPass>,
): Promise<void> {
  const present = await readPass(tx, project)
  if (present?.held_by !== pass.held_by || present.begun_at !== pass.begun_at) return
  await keepPass(tx, project, { ...present, ...change(present) })
}

export const moveRedactionPass: Command<HeldPass & { change: Partial<RedactionPass> }, void> = async (
  tx,
  { project, pass, change },
) => {
  await tx.lock(projectLock(project))
  await movePass(tx, project, pass, () => change)
}
