import { costOfCall } from '../calls/cost.ts'
import { costField } from '../calls/fields.ts'
import type { Dialect } from '../sql/dialect.ts'
import { emptySql, rawSql, type Sql, sql } from '../sql/sql.ts'
import { digestLength, type SummedPrices } from './priced.ts'

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
/** What a call costs depends on prices, too: their digest is before its text, also if no call has a cost. */
const costColumn = 'max_cost'
export const largestColumns = [...byColumn.map(([column]) => column), costColumn] as const
type LargestColumn = (typeof largestColumns)[number]

/** Empty if no call has a value, null if it is not known, as in sums that an older server has stored. */
export type Largest = Record<LargestColumn, string | null>

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
  /** Whether keys are in the order of values and ids, not only in that of rounded values. */
  isExact: boolean
  /** Calls with this key, or a larger one, have at least this value. */
  lowestOf(key: string): number
  /** Calls with this key, or a smaller one, have at most this value. */
  highestOf(key: string): number
}

/** Undefined if sums do not know the order by this field. Without prices they do not know what calls cost. */
export function orderBy(
  field: string,
  dialect: Dialect,
  prices: SummedPrices | undefined,
): Order | undefined {
  if (field === costField) return prices && orderByCost(dialect, prices)
  if (!isOrdered(field)) return undefined
  const [column, value] = orders[field as keyof typeof orders]
  return {
    largest: rawSql(`CASE WHEN count(${column}) = count(*) THEN max(${column}) END`),
    value: rawSql(value),
    isExact: true,
    lowestOf: numberOf,
    highestOf: numberOf,
  }
}

export const isOrdered = (field: string): boolean => field === costField || Object.hasOwn(orders, field)

function orderByCost(dialect: Dialect, { digest, compared }: SummedPrices): Order {
  const priced = rawSql(`substr(${costColumn}, 1, ${digestLength})`)
  return {
    largest: sql`CASE WHEN count(${rawSql(costColumn)}) = count(*) AND min(${priced}) = ${digest} AND max(${priced}) = ${digest}
      THEN substr(max(${rawSql(costColumn)}), ${rawSql(String(digestLength + 1))}) END`,
    value: costOfCall(dialect, compared),
    isExact: false,
    // By as much may it be less, rounded and multiplied.
    lowestOf: (key) => (numberOf(key) - 2) / perUnit,
    highestOf: (key) => (numberOf(key) < maxCost * perUnit ? (numberOf(key) + 2) / perUnit : Infinity),
  }
}

/** The columns of a call in SQL, of which `largestOfGroup` is made. */
export const keysOfCall = (dialect: Dialect, prices: SummedPrices | undefined): Sql =>
  sql`${rawSql(plainKeys)}${prices === undefined ? emptySql : sql`, calls.id AS id, CAST(${costOfCall(dialect, prices.compared)} AS DOUBLE PRECISION) AS cost`}`
const plainKeys = byColumn
  .map(
    ([column, value]) =>
      `, CASE WHEN ${value} IS NOT NULL THEN CAST(${value} + ${zero} AS TEXT) || calls.id END AS ${column}`,
  )
  .join('')

export function largestOfGroup(prices: SummedPrices | undefined): Sql {
  const plain = byColumn.map(([column]) => `, coalesce(max(${column}), '') AS ${column}`).join('')
  const cost = prices && sql`CAST(${prices.digest} AS TEXT) || coalesce(max(${rawSql(costKey)}), '')`
  return sql`${rawSql(plain)}, ${cost ?? rawSql('CAST(NULL AS TEXT)')} AS ${rawSql(costColumn)}`
}
const limited = `CASE WHEN cost >= ${maxCost} THEN ${maxCost * perUnit} WHEN cost <= ${-maxCost} THEN ${-maxCost * perUnit} ELSE cost * ${perUnit} END`
const costKey = `CASE WHEN cost IS NOT NULL THEN CAST(CAST(${limited} AS BIGINT) + ${zero} AS TEXT) || id END`

export const noLargest = (): Largest => ({
  max_latency: '',
  max_first_token: '',
  max_input: '',
  max_output: '',
  max_cost: '',
})

export function addLargest(to: Largest, other: Largest): void {
  to.max_latency = larger(to.max_latency, other.max_latency)
  to.max_first_token = larger(to.max_first_token, other.max_first_token)
  to.max_input = larger(to.max_input, other.max_input)
  to.max_output = larger(to.max_output, other.max_output)
  to.max_cost = dearer(to.max_cost, other.max_cost)
}

const larger = (key: string | null, other: string | null) =>
  key === null || other === null ? null : key < other ? other : key

function dearer(key: string | null, other: string | null): string | null {
  const isComparable = key === '' || other === '' || digestIn(key) === digestIn(other)
  return isComparable ? larger(key, other) : null
}

export const digestIn = (key: string | null): string | undefined => key?.slice(0, digestLength)

const numberOf = (key: string): number => Number(BigInt(key.slice(0, digits)) - zero)
export const idOfKey = (key: string): string => key.slice(digits)

/**
 * Databases compare by code points, which is the same up to here. If the largest key is plain, all are in the same order for
 * both; another one says nothing.
 */
export const isPlain = (key: string): boolean => !/[\ud800-\uffff]/.test(key)
