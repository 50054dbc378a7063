import { refuse } from '../../domain/refusals.ts'
import { coldColumns, isReference } from './reference.ts'

/** The rows, unless a text of them is in the store, for which no transaction waits: see cold-record.ts. */
export function refuseCold<Rows extends readonly unknown[]>(rows: Rows): Rows {
  let references: string[] | undefined
  for (const row of rows as readonly (Record<string, unknown> | undefined)[]) {
    if (row === undefined) continue
    for (const column of coldColumns) {
      const value = row[column]
      if (!isReference(value)) continue
      references ??= []
      references.push(value)
    }
  }
  if (references !== undefined) throw refuse('cold_call_in_write', { references: references.join('\n') })
  return rows
}
