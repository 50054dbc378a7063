import { type Caller, requireScope } from '../../domain/callers.ts'
import { shortened } from '../../domain/described.ts'
import { parseRef } from '../../domain/refs.ts'
import { type Refusal, refuse } from '../../domain/refusals.ts'
import type { MonitorScorer } from '../../storage/monitors/monitors.ts'
import { isOf } from '../../storage/objects/objects.ts'
import type { Reader } from '../../storage/transaction.ts'
import { liveObject } from '../objects/read.ts'
import type { Fields } from '../scorers/contract.ts'
import { checkFields, type RunnableScorer, runnableOf } from '../scorers/runnable.ts'
import type { CreateBody } from './contract.ts'

/** A scorer of a monitor in its present version. */
export interface BoundScorer {
  name: string
  digest: string
  scorer: RunnableScorer
}

const form = (project: string) => `<scheme>:///${project}/object/<name>:<version>`

/**
 * The scorers that a request binds. Refuses those that this server cannot run, and field names that a scorer does not
 * have.
 */
export async function bindScorers(
  db: Reader,
  project: string,
  scorers: CreateBody['scorers'],
): Promise<MonitorScorer[]> {
  const bound: MonitorScorer[] = []
  for (const [index, { scorer: ref, fields }] of scorers.entries()) {
    const path = `scorers.${index}`
    const { name, scorer } = await readScorer(db, project, ref, `${path}.scorer`)
    if (bound.some((other) => other.name === name)) {
      throw wrong(`${path}.scorer`, ref, 'a scorer with another name: names must be unique')
    }
    checkMapped(fields ?? {}, scorer.fields, `${path}.fields`)
    bound.push({ name, ref, kind: 'judge' in scorer ? 'judge' : 'check', fields: { ...fields } })
  }
  return bound
}

/** Judges ask a model, whatever else the request does. */
export function requireJudging(caller: Caller, scorers: readonly MonitorScorer[]): void {
  if (scorers.some(({ kind }) => kind === 'judge')) requireScope(caller, 'infer')
}

/** Reads the scorer that a reference leads to, in its project. */
export async function readScorer(
  db: Reader,
  project: string,
  text: string,
  field: string,
): Promise<BoundScorer> {
  const ref = parseRef(text)
  if (ref?.kind !== 'object' || ref.project !== project || ref.path.length > 0) {
    throw wrong(field, text, `a reference to a scorer of the same project, ${form(project)}`)
  }
  const version = await liveObject(db, project, ref, field)
  const scorer = isOf({ base_object_classes: ['Scorer'] }, version)
    ? runnableOf(version.val)
    : { why: 'it is an object of another class' }
  if ('why' in scorer) {
    throw refuse('scorer_not_runnable', { field, received: shortened(text, 200), why: scorer.why })
  }
  return { name: ref.name, digest: version.digest, scorer }
}

function checkMapped(mapped: Fields, own: Fields, path: string): void {
  checkFields(mapped, path)
  for (const name of Object.keys(mapped)) {
    if (Object.hasOwn(own, name)) continue
    const names = Object.keys(own).join(', ')
    throw refuse('invalid_value', {
      field: `${path}.${name}`,
      received: 'a name that the scorer does not have',
      accepted: names === '' ? 'none: the scorer has no fields' : names,
    })
  }
}

function wrong(field: string, value: string, accepted: string): Refusal {
  return refuse('invalid_value', { field, received: JSON.stringify(shortened(value, 200)), accepted })
}
