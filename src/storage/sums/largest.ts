import type { SortBy } from '../../domain/view.ts'
import { costOfCall } from '../calls/cost.ts'
import { costField } from '../calls/fields.ts'
import type { Dialect } from '../sql/dialect.ts'
import { emptySql, join, rawSql, type Sql, sql } from '../sql/sql.ts'
import { digestLength, type SummedPrices } from './priced.ts'

/**
 * Sums hold the largest of their calls in each of these orders, as a text that compares as the value and then the id of
 * the call: lists break ties by the id.
 */

const latency = '((calls.ended_at - calls.started_at) / 1000)'
const size = '(calls.start_bytes + calls.end_bytes)'

/** Upwards, the first has the largest of the values with another sign. */
const orders = {
  'summary.weave.latency_ms desc': ['max_latency', latency],
  'summary.weave.latency_ms asc': ['min_latency', `(-${latency})`],
  'first_token_ms desc': ['max_first_token', '(calls.first_token_us / 1000)'],
  'input_tokens desc': ['max_input', 'calls.input_tokens'],
  'output_tokens desc': ['max_output', 'calls.output_tokens'],
  'output_tokens asc': ['min_output', '(-calls.output_tokens)'],
  'storage_size_bytes desc': ['max_size', size],
  'storage_size_bytes asc': ['min_size', `(-${size})`],
} as const satisfies Record<string, readonly [column: string, value: string]>

const byColumn = Object.values(orders)
/** What a call costs depends on prices, too: their digest is before its text, also if no call has a cost. */
const costColumns = { desc: ['max_cost', 'cost'], asc: ['min_cost', '(-cost)'] } as const
const byCost = Object.values(costColumns)
const costKeys = byCost.map(([column]) => column)
export const largestColumns = [...byColumn.map(([column]) => column), ...costKeys, 'max_id'] as const

/** Empty if no call has a value, null if it is not known, as in sums that an older server has stored. */
export type Largest = Record<(typeof largestColumns)[number], string | null>

/** Added to a value, so that all that are stored have as many digits. */
const zero = 20_000_000_000_000_000n
const digits = String(zero).length
/** Costs are stored as whole billionths, those beyond this one as if they were this one. */
const maxCost = 1e7
const perUnit = 1e9

export interface Order {
  /** The largest of a group of sums, in SQL; null if it is not known. */
  largest: Sql
  value: Sql
  /** Where the value of a call is that comes before another one. */
  isBefore: '>' | '<'
  /** Whether keys are in the order of values and ids, not only in that of rounded values. */
  isExact: boolean
  /** The last value of calls with this key, or with a larger one. */
  lastOf(key: string): number | string
}

/** Calls with a key, or a smaller one, have at most a number. */
export type NumberOrder = Order & { highestOf(key: string): number }

/** Undefined if sums do not know the order by this field. Without prices they do not know what calls cost. */
export function orderBy(
  { field, direction }: SortBy,
  dialect: Dialect,
  prices: SummedPrices | undefined,
): NumberOrder | undefined {
  if (field === costField) return prices && orderByCost(direction, dialect, prices)
  const order = Object.entries(orders).find(([name]) => name === `${field} ${direction}`)
  if (order === undefined) return undefined
  const [, [column, value]] = order
  return {
    largest: rawSql(`CASE WHEN count(${column}) = count(*) THEN max(${column}) END`),
    value: rawSql(value),
    isBefore: '>',
    isExact: true,
    lastOf: numberOf,
    highestOf: numberOf,
  }
}

export const isOrdered = ({ field, direction }: SortBy): boolean =>
  field === costField || Object.hasOwn(orders, `${field} ${direction}`)

function orderByCost(direction: SortBy['direction'], dialect: Dialect, prices: SummedPrices): NumberOrder {
  const { digest, compared } = prices
  const [name] = costColumns[direction]
  const column = rawSql(name)
  const priced = rawSql(`substr(${name}, 1, ${digestLength})`)
  const cost = costOfCall(dialect, compared)
  return {
    largest: sql`CASE WHEN count(${column}) = count(*) AND min(${priced}) = ${digest} AND max(${priced}) = ${digest}
      THEN substr(max(${column}), ${rawSql(String(digestLength + 1))}) END`,
    value: direction === 'desc' ? cost : sql`(-${cost})`,
    isBefore: '>',
    isExact: false,
    // By as much may it be less, rounded and multiplied.
    lastOf: (key) => (numberOf(key) - 2) / perUnit,
    highestOf: (key) => (numberOf(key) < maxCost * perUnit ? (numberOf(key) + 2) / perUnit : Infinity),
  }
}

/** The columns of a call in SQL, of which `largestOfGroup` is made. */
export const keysOfCall = (dialect: Dialect, prices: SummedPrices | undefined): Sql =>
  sql`${rawSql(plainKeys)}, calls.id AS id${prices === undefined ? emptySql : sql`, CAST(${costOfCall(dialect, prices.compared)} AS DOUBLE PRECISION) AS cost`}`
const plainKeys = byColumn
  .map(
    ([column, value]) =>
      `, CASE WHEN ${value} IS NOT NULL THEN CAST(${value} + ${zero} AS TEXT) || calls.id END AS ${column}`,
  )
  .join('')

export function largestOfGroup(prices: SummedPrices | undefined): Sql {
  const plain = byColumn.map(([column]) => `, coalesce(max(${column}), '') AS ${column}`).join('')
  const costs = byCost.map(([column, cost]) => {
    const key = prices && sql`CAST(${prices.digest} AS TEXT) || coalesce(max(${rawSql(keyOfCost(cost))}), '')`
    return sql`, ${key ?? rawSql('CAST(NULL AS TEXT)')} AS ${rawSql(column)}`
  })
  return sql`${rawSql(plain)}${join(costs, '')}, max(id) AS max_id`
}
const keyOfCost = (cost: string) =>
  `CASE WHEN cost IS NOT NULL THEN CAST(CAST(${limited(cost)} AS BIGINT) + ${zero} AS TEXT) || id END`
const limited = (cost: string) =>
  `CASE WHEN ${cost} >= ${maxCost} THEN ${maxCost * perUnit} WHEN ${cost} <= ${-maxCost} THEN ${-maxCost * perUnit} ELSE ${cost} * ${perUnit} END`

export const noLargest = () => Object.fromEntries(largestColumns.map((column) => [column, ''])) as Largest

export function addLargest(to: Largest, other: Largest): void {
  for (const column of largestColumns) {
    const add = costKeys.some((cost) => cost === column) ? dearer : larger
    to[column] = add(to[column], other[column])
  }
}

const larger = (key: string | null, other: string | null) =>
  key === null || other === null ? null : key < other ? other : key

function dearer(key: string | null, other: string | null): string | null {
  const isComparable = key === '' || other === '' || digestIn(key) === digestIn(other)
  return isComparable ? larger(key, other) : null
}

export const digestIn = (key: string | null): string | undefined => key?.slice(0, digestLength)

export const numberOf = (key: string): number => Number(BigInt(key.slice(0, digits)) - zero)
/** What the key of a call with this number begins with. */
export const beginningOf = (number: number): string => String(zero + BigInt(number))
export const idOfKey = (key: string): string => key.slice(digits)

/**
 * Databases compare by code points, which is the same up to here. If the largest key is plain, all are in the same order for
 * both; another one says nothing.
 */
export const isPlain = (key: string): boolean => !/[\ud800-\uffff]/.test(key)
