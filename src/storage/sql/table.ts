import type { Reader, Transaction } from '../transaction.ts'
import { type Columns, namesOf, type RowOf } from './columns.ts'
import { insertInto } from './inserts.ts'
import { join, rawSql, type Sql, sql } from './sql.ts'

/** A table by its columns, from which the type of its rows and what reads and writes whole rows follow. */
export function tableOf<const C extends Columns>(name: string, kinds: C) {
  const names = namesOf(kinds)
  const columns = rawSql(names.join(', '))
  const selected = (where: Sql) => sql`SELECT ${columns} FROM ${rawSql(name)} WHERE ${where}`
  const insertRows = insertInto(name, names)
  return {
    kinds,
    names,
    /** All of them, as a SELECT lists them. */
    columns,
    /** What follows WHERE may also say in which order, and how many. */
    all: <Row extends RowOf<C> = RowOf<C>>(db: Reader, where: Sql) => db.all<Row>(selected(where)),
    get: <Row extends RowOf<C> = RowOf<C>>(db: Reader, where: Sql) => db.get<Row>(selected(where)),
    async insert(tx: Transaction, rows: readonly RowOf<C>[]): Promise<void> {
      const values = rows.map((row) => names.map((column) => row[column]))
      for (const statement of insertRows(values)) await tx.run(statement)
    },
    /** Writes the columns that are named as they are in the row. */
    update(tx: Transaction, row: RowOf<C>, changed: readonly (keyof C & string)[], where: Sql) {
      const values = changed.map((column) => sql`${rawSql(column)} = ${row[column]}`)
      return tx.run(sql`UPDATE ${rawSql(name)} SET ${join(values, ', ')} WHERE ${where}`)
    },
  }
}

export type RowIn<Table extends { kinds: Columns }> = RowOf<Table['kinds']>
