import type pg from 'pg'

/** Type numbers of PostgreSQL, https://github.com/postgres/postgres/blob/master/src/include/catalog/pg_type.dat */
const parsers = new Map<number, (text: string) => unknown>([
  [16, (text) => (text === 't' ? 1 : 0)], // bool, as SQLite says it
  [17, bytes],
  [20, wholeNumber], // int8
  [21, Number], // int2
  [23, Number], // int4
  [26, Number], // oid
  [700, Number], // float4
  [701, Number], // float8
  [1700, Number], // numeric
])

function wholeNumber(text: string): number {
  const value = Number(text)
  // A number that silently changed its last digits would be worse than none.
  if (!Number.isSafeInteger(value)) throw new RangeError(`the database answered ${text}, beyond 2^53`)
  return value
}

function bytes(text: string): Uint8Array {
  return Buffer.from(text.slice(2), 'hex')
}

const plain = (text: string) => text

/** Rows in the same JavaScript values as from SQLite; for our connections alone, `pg.types` stays as it is. */
export const columnTypes = {
  getTypeParser: (type: number) => parsers.get(type) ?? plain,
} as pg.CustomTypesConfig
