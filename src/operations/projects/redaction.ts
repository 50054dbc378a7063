import { byCaller, type Caller } from '../../domain/callers.ts'
import type { RedactionSettings } from '../../domain/project-settings.ts'
import { refuse, wrong } from '../../domain/refusals.ts'
import { formatTime, now } from '../../domain/time.ts'
import { storeOfProject } from '../../storage/cold/cleaning.ts'
import type { Database } from '../../storage/database.ts'
import { readProjectSettings } from '../../storage/projects/projects.ts'
import { readRedactionCounts, streamForRedaction } from '../../storage/redaction/counts.ts'
import { type RedactionPass, readPass } from '../../storage/redaction/passes.ts'
import type { Redacting } from '../../storage/redaction/redaction.ts'
import { boundTo } from '../../storage/transaction.ts'
import type { OperationParts } from '../parts.ts'
import type { Scope } from '../scope.ts'
import { type TryRedactionBody, triedByDefault } from './contract.ts'

type Parts = Pick<OperationParts, 'db' | 'redacting'>

export async function redactionOf(db: Database, project: string) {
  const { redaction = null } = await readProjectSettings(db, project)
  const [counts, pass] = [await readRedactionCounts(db, project), await readPass(db, project)]
  return { redaction, counts, earlier: pass === undefined ? null : passAnswer(pass) }
}

function passAnswer({ by, begun_at, ended_at, is_stopped, ...pass }: RedactionPass) {
  const ended = is_stopped ? 'stopped' : 'done'
  return {
    state: ended_at === null ? ('running' as const) : (ended as typeof ended),
    ...{ by, begun_at: formatTime(begun_at), ended_at: ended_at === null ? null : formatTime(ended_at) },
    ...{ rows: pass.rows, changed: pass.changed, failed: pass.failed, overwritten: pass.overwritten },
  }
}

/** Begins a pass over what is stored: see earlier-texts.ts. */
export async function redactEarlier(db: Database, { caller, project }: Scope) {
  const { redaction } = await readProjectSettings(db, project)
  if (redaction === undefined) throw refuse('redaction_unset', { project })
  await storeOfProject(db, project)
  const user = { user: caller.name, by: byCaller(caller) }
  await db.write('beginRedactionPass', { project_id: project, now: now(), ...user })
  return redactionOf(db, project)
}

/** Null turns it off. The audit log has what was set. */
export async function setRedaction(
  { db, redacting }: Parts,
  { caller, project }: Scope,
  redaction: RedactionSettings | null,
) {
  if (redaction !== null) await requireUsable(redacting, caller, redaction)
  const change = { redaction: isEmpty(redaction) ? null : redaction }
  await db.write('changeProjectSettings', { project_id: project, change, by: byCaller(caller) })
  return redactionOf(db, project)
}

const isEmpty = (redaction: RedactionSettings | null) =>
  redaction === null || Object.values(redaction).every((list) => list === undefined || list.length === 0)

async function requireUsable(
  redacting: Redacting,
  caller: Caller,
  { patterns }: RedactionSettings,
  path = '',
): Promise<void> {
  if (patterns === undefined || patterns.length === 0) return
  const fault = await redacting.faultOf(caller.name, { patterns })
  if (fault === undefined) return
  throw wrong(
    `${path}patterns.${fault.index}.pattern`,
    JSON.stringify(patterns[fault.index]?.pattern),
    `a regular expression that an automaton can follow: ${fault.why}`,
  )
}

/** What is read of old calls, and sent to be counted at a time. */
const maxCharacters = 64 << 20

/** Counts what would be replaced in the latest calls. It returns numbers only. */
export async function tryRedaction(
  { db, redacting }: Parts,
  { caller, project }: Scope,
  { redaction, limit = triedByDefault }: TryRedactionBody,
  signal: AbortSignal,
) {
  if (redaction) await requireUsable(redacting, caller, redaction, 'redaction.')
  const rules = {
    redaction: redaction ?? (await readProjectSettings(db, project)).redaction ?? {},
    secret: '',
  }
  const counts: Record<string, number> = {}
  let [calls, matching, characters] = [0, 0, 0]
  for await (const rows of streamForRedaction(boundTo(db, signal), { project, limit, now: now() })) {
    for (const texts of rows) {
      const found = await redacting.redact(caller.name, rules, texts)
      calls++
      characters += texts.reduce((sum, { text }) => sum + text.length, 0)
      if (found.texts.some((text) => text !== undefined)) matching++
      for (const [kind, count] of Object.entries(found.counts)) counts[kind] = (counts[kind] ?? 0) + count
    }
    signal.throwIfAborted()
    if (characters > maxCharacters) break
  }
  return { calls, matching, counts }
}
