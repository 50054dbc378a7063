import { newId } from '../../domain/ids.ts'
import { now } from '../../domain/time.ts'
import { cleanAtOnce, storeOfProject } from '../../storage/cold/cleaning.ts'
import type { BoundDatabase } from '../../storage/database.ts'
import { readProjectSettings } from '../../storage/projects/projects.ts'
import type { HeldPass, RedactionPass } from '../../storage/redaction/passes.ts'
import { redactionSecret } from '../../storage/redaction/redacting-record.ts'
import type { Redacting } from '../../storage/redaction/redaction.ts'
import { type StoredTableName, storedTableNames } from '../../storage/redaction/stored-tables.ts'
import { isBehind, nextRows, redactRows } from '../../storage/redaction/stored-texts.ts'
import { boundTo } from '../../storage/transaction.ts'
import { type BackgroundWork, inBackground } from '../background.ts'
import { overwritten } from '../erasures/overwriting.ts'
import type { OperationParts } from '../parts.ts'

type Parts = Pick<OperationParts, 'db' | 'redacting'>

const idleMs = 1_000
const failedMs = 5_000
/** A pass whose holder has ended is taken by another process after this, in microseconds. */
const lease = 15_000_000
/** Of one hold: others that wait have their turn. */
const stepsAtOnce = 16
/** How soon a pass looks again whether all is derived from what it has changed, in microseconds. */
const deriving = 500_000
/** The hour that calls are written to is added up when it is over. */
const maxDeriving = 7_200_000_000

/** Replaces private texts in what projects stored before, some rows at a time. A pass that was cut short goes on. */
export function startRedactingEarlier(
  { db, redacting }: Parts,
  failed: (error: unknown) => void,
): BackgroundWork {
  const holder = newId()
  return inBackground({
    firstMs: idleMs,
    failedMs,
    failed,
    async run(signal) {
      const time = now()
      const held = await db.write('takeRedactionPass', { holder, now: time, until: time + lease })
      if (held === undefined) return idleMs
      const began = performance.now()
      const change = await advance(boundTo(db, signal), redacting, held)
      await db.write('moveRedactionPass', { ...held, change })
      // Half of the time is for others.
      return performance.now() - began
    },
  })
}

/** What has become of the pass, besides what its steps have stored. */
async function advance(
  db: BoundDatabase,
  redacting: Redacting,
  { project, pass }: HeldPass,
): Promise<Partial<RedactionPass>> {
  const { redaction } = await readProjectSettings(db, project)
  if (redaction === undefined) return { ended_at: now(), is_stopped: true, held_until: 0 }
  if (pass.table === null) return ending(db, project, pass)
  const asked = { tenant: pass.by, rules: { redaction, secret: await redactionSecret(db) } }
  let [table, after]: [StoredTableName | null, RedactionPass['after']] = [pass.table, pass.after]
  for (let step = 0; step < stepsAtOnce && table !== null && !db.signal.aborted; step++) {
    const rows = await nextRows(db, project, table, after)
    const last = rows.at(-1)
    if (last === undefined) {
      table = storedTableNames[storedTableNames.indexOf(table) + 1] ?? null
      after = null
      continue
    }
    after = last.key
    const redacted = await redactRows(redacting, { ...asked, table }, rows)
    const read = rows.length
    await db.write('redactStored', { project, pass, table, after, ...redacted, read, now: now() })
  }
  return { table, after, ...(table === null && { read_at: now() }), held_until: now() }
}

/** The files are overwritten once nothing is derived from the former texts any more. */
async function ending(
  db: BoundDatabase,
  project: string,
  { changed, read_at }: RedactionPass,
): Promise<Partial<RedactionPass>> {
  const since = read_at ?? now()
  const isWaiting = await isBehind(db, project, since)
  if (isWaiting && now() - since < maxDeriving) return { held_until: now() + deriving }
  const cold = await storeOfProject(db, project)
  if (cold !== undefined) await cleanAtOnce(cold, project, db.signal)
  const isClean = (await overwritten(db, changed > 0)) && !isWaiting
  return { overwritten: isClean, ended_at: now(), held_until: 0 }
}
