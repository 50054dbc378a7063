import type { View } from '../../domain/view.ts'
import type { BoundReader, LongReader } from '../transaction.ts'
import { pageOf } from './rows-in-order.ts'
import { columnOrder } from './sorting.ts'
import { allOf, join, rawSql, type Sql, sql } from './sql.ts'

interface NamedView extends View {
  /** A part of the name, in upper or lower case. */
  name: string | undefined
}

const sortable = { id: 'id', name: 'name', created_at: 'created_at', updated_at: 'updated_at' }

/** Lists rows that have names and were not deleted, newest first by default. */
export function namedRows<Row>(table: string, columnsOf: (db: LongReader) => Sql) {
  return (db: BoundReader, view: NamedView): AsyncIterable<Row[]> => {
    const { dialect } = db
    const conditions = [sql`project_id = ${view.project}`, rawSql('deleted_at IS NULL'), dialect.cancellable]
    if (view.name) {
      const position = dialect.position(dialect.lower(rawSql('name')), dialect.lower(dialect.text(view.name)))
      conditions.push(sql`${position} > 0`)
    }
    const order = columnOrder(view.sort, sortable, ['created_at DESC'], ['id DESC'])
    const statement = sql`SELECT ${columnsOf(db)} FROM ${rawSql(table)} WHERE ${allOf(conditions)}
      ORDER BY ${join(order, ', ')}${pageOf(dialect, view)}`
    return db.stream<Row>(statement)
  }
}
