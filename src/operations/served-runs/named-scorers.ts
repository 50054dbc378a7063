import { shortened } from '../../domain/described.ts'
import { objectRef, parseRef } from '../../domain/refs.ts'
import type { MonitorScorer } from '../../storage/monitors/monitors.ts'
import type { Reader } from '../../storage/transaction.ts'
import { wrong } from '../generation/checks.ts'
import { readScorer } from '../monitors/bound-scorers.ts'

/** Scorers in the versions of now. Refuses those that do not exist or that this server cannot run. */
export async function namedScorers(
  db: Reader,
  project: string,
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
    const { scheme } = parseRef(text) ?? { scheme: 'weave' }
    const ref = objectRef(scheme, project, 'object', name, digest)
    found.push({ name, ref, kind: 'judge' in scorer ? 'judge' : 'check', fields: {} })
  }
  return found
}
