import { isDeepStrictEqual } from 'node:util'
import { byCaller, type Caller, requireAccess, requireScope } from '../../domain/callers.ts'
import { parseRef } from '../../domain/refs.ts'
import { refuse, wrong } from '../../domain/refusals.ts'
import { formatTime, now } from '../../domain/time.ts'
import type { BoundDatabase, Database } from '../../storage/database.ts'
import type { LabelName } from '../../storage/objects/gated-labels.ts'
import { type LabelMove, readLabel } from '../../storage/objects/label-gates.ts'
import { type Sharer, sharersOf } from '../../storage/objects/label-shares.ts'
import { readVersion } from '../../storage/objects/objects.ts'
import { isReserved } from '../objects/labels.ts'
import { objectDeleted, objectNotFound } from '../objects/resolve.ts'
import { checksOf } from './checks.ts'
import type { Check, Gate, GateBody, MoveBody } from './contract.ts'
import { checkRun } from './run-of-version.ts'

/** The weights of a share together. */
const maxWeights = 10_000

interface LabelPath {
  object_id: string
  alias: string
}

const nameIn = (project_id: string, { object_id, alias }: LabelPath) => ({ project_id, object_id, alias })

export async function labelOf(db: Database, caller: Caller, project: string, path: LabelPath) {
  requireAccess(caller, project)
  const { digest, share, gate, former, user_id, updated_at } = await readLabel(db, nameIn(project, path))
  return {
    digest,
    share: sharersOf(share),
    gate: gate === null ? null : (JSON.parse(gate) as Gate),
    former,
    updated_by: user_id,
    updated_at: updated_at === null ? null : formatTime(updated_at),
  }
}

function checkLabel({ alias }: LabelPath): void {
  if (/^[\w.-]{1,128}$/.test(alias) && !isReserved(alias)) return
  const accepted =
    'letters, digits, "_", "." and "-", but neither `latest`, nor `v` and a number, nor like a digest'
  throw wrong('path.alias', JSON.stringify(alias.slice(0, 200)), accepted)
}

/** Null removes the gate. */
export async function setGateOf(
  db: Database,
  caller: Caller,
  path: LabelPath,
  { project_id, gate }: Pick<GateBody, 'project_id'> & { gate: Gate | null },
) {
  requireAccess(caller, project_id)
  checkLabel(path)
  await liveDigest(db, project_id, path.object_id, 'latest', 'path.object_id')
  const pinned = gate && { ...gate, evaluation: await pinnedEvaluation(db, project_id, gate.evaluation) }
  await db.write('setGate', {
    ...nameIn(project_id, path),
    ...{ gate: pinned && JSON.stringify(pinned), user_id: caller.name, now: now(), by: byCaller(caller) },
  })
  return labelOf(db, caller, project_id, path)
}

/** The version of now, so that what must be passed does not change by itself. */
async function pinnedEvaluation(db: Database, project: string, text: string): Promise<string> {
  const ref = parseRef(text)
  if (ref?.kind !== 'object' || ref.project !== project || ref.path.length > 0) {
    const accepted = `a reference to an evaluation of the same project, <scheme>:///${project}/object/<name>:<version>`
    throw wrong('gate.evaluation', JSON.stringify(text.slice(0, 200)), accepted)
  }
  const digest = await liveDigest(db, project, ref.name, ref.digest, 'gate.evaluation')
  return `${ref.scheme}:///${project}/object/${ref.name}:${digest}`
}

async function liveDigest(db: Database, project: string, name: string, version: string, field: string) {
  const found = await readVersion(db, project, { name, digest: version })
  if (found === undefined) throw objectNotFound(field, project, { name, digest: version })
  if (found.deleted_at !== null)
    throw objectDeleted(field, project, { name, digest: version }, found.deleted_at)
  return found.digest
}

/** Moves a label: through its gate, in spite of it, or back. */
export async function moveLabelOf(db: BoundDatabase, caller: Caller, path: LabelPath, body: MoveBody) {
  const { project_id, override, expected_digest } = body
  requireAccess(caller, project_id)
  checkLabel(path)
  const name = nameIn(project_id, path)
  const way = wayOf(body)
  if (override != null) {
    requireScope(caller, 'administer')
    requireAccess(caller, project_id, 'project_id', 'administer')
  }
  const label = await readLabel(db, name)
  const share = body.share == null ? null : await sharersIn(db, name, body.share, 'share')
  if (share !== null && label.digest === null)
    throw wrong('share', 'a label that names no version', 'one that was moved to a version before')
  const to = await targetOf(db, path, body, label.digest)
  const moved = (digest: string | null, field: string) =>
    refuse('label_moved', { field, label: path.alias, version: JSON.stringify(digest) })
  if (expected_digest != null && expected_digest !== label.digest)
    throw moved(label.digest, 'expected_digest')
  if (expected_digest != null || body.expected_share != null) {
    const expected =
      body.expected_share == null ? null : await sharersIn(db, name, body.expected_share, 'expected_share')
    if (!isDeepStrictEqual(expected, sharersOf(label.share))) throw moved(label.digest, 'expected_share')
  }
  const gate = label.gate === null ? undefined : (JSON.parse(label.gate) as Gate)
  const checks: Check[] = []
  if (way === 'move' && gate !== undefined) {
    for (const candidate of candidatesOf(body, to, share)) {
      // It answers already.
      if (share !== null && candidate.to === label.digest) continue
      checks.push(...(await passed(db, caller, { path, body, gate, ...candidate, present: label.digest })))
    }
  }
  const result = await db.write('moveLabel', {
    ...name,
    ...{ to, share, way, expected: { digest: label.digest, gate: label.gate, share: label.share } },
    ...{ reason: override?.reason ?? null, run: checks.length > 0 ? runsOf(body) : null },
    ...{ user_id: caller.name, now: now(), by: byCaller(caller) },
  })
  if ('changed' in result) throw moved(result.changed, 'path.alias')
  if ('missing' in result) {
    if (to !== null) throw objectNotFound('digest', project_id, { name: path.object_id, digest: to })
    throw wrong('back', 'true', 'nothing: the label names no version before this one')
  }
  return { ...result, share, checks }
}

/** Null goes back. A share leaves the label at its version. */
async function targetOf(db: Database, path: LabelPath, body: MoveBody, present: string | null) {
  if (body.back) return null
  if (body.share != null) return present
  return liveDigest(db, body.project_id, path.object_id, body.digest as string, 'digest')
}

async function sharersIn(
  db: Database,
  { project_id, object_id }: LabelName,
  share: NonNullable<MoveBody['share']>,
  field: string,
): Promise<Sharer[]> {
  const sharers: Sharer[] = []
  for (const [index, { version, weight }] of share.entries()) {
    const at = `${field}.${index}.version`
    const digest = await liveDigest(db, project_id, object_id, version, at)
    if (sharers.some((other) => other.digest === digest))
      throw wrong(at, `${JSON.stringify(version)}, which is there already`, 'each version once')
    sharers.push({ digest, weight })
  }
  const sum = sharers.reduce((all, { weight }) => all + weight, 0)
  if (sum > maxWeights) throw wrong(field, `weights of ${sum} together`, `at most ${maxWeights}`)
  return sharers
}

/** The versions that a gate looks at, each with its run. */
function candidatesOf({ run, share: asked }: MoveBody, to: string | null, share: readonly Sharer[] | null) {
  if (share === null) return to === null ? [] : [{ to, run, runField: 'run' }]
  return share.map(({ digest }, index) => ({
    ...{ to: digest, run: asked?.[index]?.run, runField: `share.${index}.run` },
  }))
}

const runsOf = ({ run, share }: MoveBody) =>
  share == null ? (run ?? null) : share.flatMap((sharer) => sharer.run ?? []).join(' ')

function wayOf({ back, override, digest, share }: MoveBody): LabelMove['way'] {
  if (share != null && (back || digest != null))
    throw wrong('share', `a list together with ${back ? 'back' : 'digest'}`, 'only one of the two')
  if (back && digest != null) throw wrong('back', 'true together with digest', 'only one of the two')
  if (back && override != null) throw wrong('back', 'true together with override', 'only one of the two')
  if (!back && digest == null && share == null) throw wrong('digest', 'nothing', 'a version, or "back": true')
  return back ? 'back' : override == null ? 'move' : 'override'
}

interface Candidate {
  path: LabelPath
  body: MoveBody
  gate: Gate
  to: string
  run: string | null | undefined
  runField: string
  present: string | null
}

/** What the gate looked at. A refusal is kept in the audit log. */
async function passed(
  db: BoundDatabase,
  caller: Caller,
  { path, body, gate, to, run: runId, runField, present }: Candidate,
): Promise<Check[]> {
  const { project_id: project } = body
  const version = { project, name: path.object_id }
  const run = await checkRun(db, runField, runId, gate, { ...version, digest: to })
  const isCompared = gate.conditions.some(
    (condition) => 'min_difference' in condition || 'no_row_lost' in condition,
  )
  const baseline =
    present === null || !isCompared
      ? undefined
      : await checkRun(db, 'baseline_run', body.baseline_run, gate, { ...version, digest: present })
  const checks = await checksOf(db, caller, gate, { project, run, baseline })
  const failed = checks.filter(({ holds }) => !holds)
  if (failed.length === 0) return checks
  const why = failed.map(({ condition, found }) => `${condition}, but ${found}`).join('; ')
  await db.write('noteDeed', {
    ...{ action: 'label.refuse', project_id: project, by: byCaller(caller) },
    details: { object: path.object_id, label: path.alias, from: present, to, run, why },
  })
  throw refuse('gate_not_passed', { field: runField, version: to, label: path.alias, why })
}
