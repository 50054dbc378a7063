import { refuse } from '../../domain/refusals.ts'
import { referencesIn } from './reference.ts'

/** The rows, unless a text of them is in the store, for which no transaction waits: see cold-record.ts. */
export function refuseCold<Rows extends readonly unknown[]>(rows: Rows): Rows {
  const references = referencesIn(rows)
  if (references.size > 0) throw refuse('cold_call_in_write', { references: [...references].join('\n') })
  return rows
}
