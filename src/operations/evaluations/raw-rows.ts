import { batchesOf } from '../../domain/batches.ts'
import type { Caller } from '../../domain/callers.ts'
import { exampleKinds, rowDigestOfRef } from '../../domain/evaluations/example.ts'
import { valueAt } from '../../domain/expressions/json-value.ts'
import { JsonText } from '../../domain/json/text.ts'
import { parseRef } from '../../domain/refs.ts'
import { Refusal } from '../../domain/refusals.ts'
import type { Database } from '../../storage/database.ts'
import type { Results, TrialRow } from '../../storage/evaluations/results.ts'
import { readRows } from '../../storage/objects/tables.ts'
import { type NamedRef, resolveEach } from '../objects/resolve.ts'

interface RawRows {
  db: Database
  caller: Caller
  project: string
  resolve: boolean
  results: Results
  /** Reports what could not be resolved. */
  warn(text: string): void
}

const rowsAtOnce = 50

/** The data rows of some result rows, by digest. `firsts` has, for each row, the first trial with it. */
export async function rawRowsOf(
  { db, caller, project, resolve, results, warn }: RawRows,
  firsts: readonly TrialRow[],
): Promise<Map<string, JsonText>> {
  const found = new Map<string, JsonText>()
  const refs = new Map<string, string>()
  const digestOf = new Map(firsts.map(({ trial_id, row_digest }) => [trial_id, row_digest]))
  for (const some of batchesOf(firsts, rowsAtOnce)) {
    for await (const chunk of results.inputsOf(some.map(({ trial_id }) => trial_id))) {
      for (const { id, inputs } of chunk) {
        const example = inputs === null ? undefined : valueAt(inputs, ['example'])
        if (example === undefined) continue
        const digest = digestOf.get(id) as string
        found.set(digest, new JsonText(example))
        const text: unknown = example[0] === '"' ? JSON.parse(example) : undefined
        if (typeof text === 'string' && rowDigestOfRef(text) !== undefined) refs.set(digest, text)
      }
    }
  }
  if (!resolve || refs.size === 0) return found
  // In the order of the rows, which the warnings keep.
  const digests = firsts.map(({ row_digest }) => row_digest).filter((digest) => refs.has(digest))
  for (const some of batchesOf(digests, rowsAtOnce)) {
    for (const { digest, val } of await readRows(db, project, some)) {
      found.set(digest, new JsonText(val))
      refs.delete(digest)
    }
  }
  const named: { digest: string; text: string; ref: NamedRef }[] = []
  for (const digest of digests) {
    const text = refs.get(digest)
    const ref = text === undefined ? undefined : parseRef(text)
    if (text === undefined) continue
    if (ref?.kind === 'object') named.push({ digest, text, ref })
    else warn(unresolved(text, 'the project does not have this table row'))
  }
  const values = await resolvedOrWhy(
    db,
    caller,
    named.map(({ ref }) => ref),
  )
  for (const [index, { digest, text }] of named.entries()) {
    const value = values[index]
    if (value instanceof JsonText) found.set(digest, value)
    else warn(unresolved(text, value ?? 'it refers to nothing'))
  }
  return found
}

function unresolved(ref: string, why: string): string {
  const shown = ref.length > 300 ? `${ref.slice(0, 300)}…` : ref
  return `raw_data_row: the dataset row reference ${shown} could not be resolved: ${why}.`
}

const unknown = 'the object or row does not exist'

/** The values, or why there is none. Reads one batch, and halves it when one of them refuses the whole batch. */
async function resolvedOrWhy(
  db: Database,
  caller: Caller,
  refs: readonly NamedRef[],
): Promise<(JsonText | string)[]> {
  if (refs.length === 0) return []
  try {
    const resolved = await resolveEach(db, caller, refs)
    return resolved.map((result) => {
      if ('found' in result) return result.found.text === 'null' ? unknown : result.found
      return 'deleted' in result ? 'the object was deleted' : unknown
    })
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    // An object of another tenant looks like one that does not exist.
    if (refs.length === 1) return [error.code === 'entity_forbidden' ? unknown : error.message]
    const middle = Math.ceil(refs.length / 2)
    return [
      ...(await resolvedOrWhy(db, caller, refs.slice(0, middle))),
      ...(await resolvedOrWhy(db, caller, refs.slice(middle))),
    ]
  }
}

/** Whether the trial has a row. */
export function hasRow({ row_kind }: TrialRow): boolean {
  return row_kind !== exampleKinds.none
}
