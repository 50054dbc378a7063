import { requireScope } from '../../domain/callers.ts'
import { shortened } from '../../domain/described.ts'
import { objectRef, parseRef } from '../../domain/refs.ts'
import { wrong } from '../../domain/refusals.ts'
import type { MonitorScorer } from '../../storage/monitors/monitors.ts'
import { readScorer } from '../monitors/bound-scorers.ts'
import type { OperationParts } from '../parts.ts'
import type { Scope } from '../scope.ts'

/** Scorers in the versions of now. Refuses those that do not exist or that this server cannot run now. */
export async function namedScorers(
  { db, models }: OperationParts,
  { project, caller }: Scope,
  refs: readonly string[],
  field: string,
): Promise<MonitorScorer[]> {
  const found: MonitorScorer[] = []
  for (const [index, text] of refs.entries()) {
    const { name, digest, scorer } = await readScorer(db, project, text, `${field}.${index}`)
    if (found.some((other) => other.name === name)) {
      const accepted = 'a scorer with another name: names must be unique'
      throw wrong(`${field}.${index}`, JSON.stringify(shortened(text, 200)), accepted)
    }
    if ('judge' in scorer) {
      requireScope(caller, 'infer')
      // A judge whose model nobody serves would wait without end.
      models.find(scorer.judge.model, caller)
    }
    const { scheme } = parseRef(text) ?? { scheme: 'weave' }
    const ref = objectRef(scheme, project, 'object', name, digest)
    found.push({ name, ref, kind: 'judge' in scorer ? 'judge' : 'check', fields: {} })
  }
  return found
}
