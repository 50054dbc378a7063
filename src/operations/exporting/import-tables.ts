import { digestOfJson, digestOfTable } from '../../domain/digests.ts'
import { refuse } from '../../domain/refusals.ts'
import type { Database } from '../../storage/database.ts'
import { readTable } from '../../storage/objects/tables.ts'
import { storeAllRows, storeOrder } from '../tables/store.ts'
import type { ImportLine } from './contract.ts'
import type { Outcome } from './outcome.ts'

/** Accepts the rows of one table after the other. A table becomes visible when all of its rows have come. */
export function createTableImport(db: Database, outcome: Outcome) {
  let table: { digest: string; rows: string[] } | undefined

  return {
    async take(project: string, batch: NonNullable<ImportLine['rows']>): Promise<void> {
      const { table: digest, from, count, values } = batch
      if (from === 0) {
        table = undefined
        if ((await readTable(db, project, digest)) !== undefined) {
          outcome.there++
          return
        }
        table = { digest, rows: [] }
      }
      if (table?.digest !== digest) return
      if (table.rows.length !== from) {
        const values = { field: 'rows.from', received: from, accepted: String(table.rows.length) }
        throw refuse('invalid_value', values)
      }
      const rows = values.map((val) => ({ digest: digestOfJson(val.text), val }))
      await storeAllRows(db, project, rows)
      for (const row of rows) table.rows.push(row.digest)
      if (table.rows.length < count) return
      const found = await digestOfTable(table.rows)
      if (found !== digest) {
        const received = JSON.stringify(digest)
        throw refuse('digest_differs', { field: 'rows.table', received, digest: found })
      }
      await storeOrder(db, project, digest, table.rows)
      table = undefined
      outcome.added++
    },
  }
}
