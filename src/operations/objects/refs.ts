import type { Caller } from '../../domain/callers.ts'
import { refuse } from '../../domain/refusals.ts'
import type { Reader } from '../../storage/transaction.ts'
import type { RefsBody } from './contract.ts'
import { resolveRefs } from './resolve.ts'

const mostRefs = 1000

/** One JSON text for each reference. */
export async function* readRefs(db: Reader, caller: Caller, { refs }: RefsBody): AsyncGenerator<string> {
  if (refs.length > mostRefs) {
    throw refuse('invalid_value', {
      field: 'refs',
      given: `${refs.length} entries`,
      accepted: `at most ${mostRefs}`,
    })
  }
  for (const { text } of await resolveRefs(db, caller, refs)) yield text
}
