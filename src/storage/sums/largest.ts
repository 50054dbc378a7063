import { rawSql, type Sql } from '../sql/sql.ts'

/**
 * Sums hold the largest of their calls in each of these orders, as a text that compares as the value and then the id of
 * the call: lists break ties by the id.
 */

const orders = {
  'summary.weave.latency_ms': ['max_latency', '((calls.ended_at - calls.started_at) / 1000)'],
  first_token_ms: ['max_first_token', '(calls.first_token_us / 1000)'],
  input_tokens: ['max_input', 'calls.input_tokens'],
  output_tokens: ['max_output', 'calls.output_tokens'],
} as const satisfies Record<string, readonly [column: string, value: string]>

const byColumn = Object.values(orders)
export const largestColumns = byColumn.map(([column]) => column)
type LargestColumn = (typeof largestColumns)[number]

/** Empty if no call has a value, null if it is not known, as in sums that an older server has stored. */
export type Largest = Record<LargestColumn, string | null>

/** Added to a value, so that all that are stored have as many digits. */
const zero = 20_000_000_000_000_000n
const digits = String(zero).length

export interface Order {
  column: LargestColumn
  value: Sql
}

/** Undefined if sums do not know the order by this field. */
export function orderBy(field: string): Order | undefined {
  if (!Object.hasOwn(orders, field)) return undefined
  const [column, value] = orders[field as keyof typeof orders]
  return { column, value: rawSql(value) }
}

/** The columns of a call and their largest in a group of calls, in SQL. */
export const keysOfCall = byColumn
  .map(
    ([column, value]) =>
      `, CASE WHEN ${value} IS NOT NULL THEN CAST(${value} + ${zero} AS TEXT) || calls.id END AS ${column}`,
  )
  .join('')
export const largestOfGroup = largestColumns
  .map((column) => `, coalesce(max(${column}), '') AS ${column}`)
  .join('')

export const noLargest = (): Largest => ({
  max_latency: '',
  max_first_token: '',
  max_input: '',
  max_output: '',
})

export function addLargest(to: Largest, other: Largest): void {
  to.max_latency = larger(to.max_latency, other.max_latency)
  to.max_first_token = larger(to.max_first_token, other.max_first_token)
  to.max_input = larger(to.max_input, other.max_input)
  to.max_output = larger(to.max_output, other.max_output)
}

const larger = (key: string | null, other: string | null) =>
  key === null || other === null ? null : key < other ? other : key

export const valueOfKey = (key: string): number => Number(BigInt(key.slice(0, digits)) - zero)
export const idOfKey = (key: string): string => key.slice(digits)

/**
 * Databases compare by code points, which is the same up to here. If the largest key is plain, all are in the same order for
 * both; another one says nothing.
 */
export const isPlain = (key: string): boolean => !/[\ud800-\uffff]/.test(key)
