import { rawSql, sql } from '../sql/sql.ts'
import { allRows, type BoundReader, onlyRow } from '../transaction.ts'
import type { ShadowKey } from './label-shadows.ts'

interface JudgedPairs {
  pairs: number
  wins: number
  losses: number
  ties: number
  latency_ms: number | null
  tokens: number | null
  cost: number | null
  shadow_latency_ms: number | null
  shadow_tokens: number | null
  shadow_cost: number | null
}

const meanOfBoth = (name: string) => {
  const mean = (column: string, other: string) =>
    `CAST(avg(CASE WHEN ${other} IS NOT NULL THEN ${column} END) AS DOUBLE PRECISION) AS ${column}`
  return rawSql(`${mean(name, `shadow_${name}`)}, ${mean(`shadow_${name}`, name)}`)
}

/** Counts of the pairs that were judged; the rest are means over the pairs where both sides are known. */
export function countJudgedPairs(
  db: BoundReader,
  { project_id, shadow_id }: ShadowKey,
): Promise<JudgedPairs> {
  return onlyRow<JudgedPairs>(
    db,
    sql`SELECT count(*) AS pairs,
          count(CASE WHEN difference > 0 THEN 1 END) AS wins,
          count(CASE WHEN difference < 0 THEN 1 END) AS losses,
          count(CASE WHEN difference = 0 THEN 1 END) AS ties,
          ${meanOfBoth('latency_ms')}, ${meanOfBoth('tokens')}, ${meanOfBoth('cost')}
        FROM shadow_pairs WHERE project_id = ${project_id} AND shadow_id = ${shadow_id} AND state = 'judged'
          AND ${db.dialect.cancellable}`,
  )
}

interface OtherPairs {
  state: 'waiting' | 'skipped' | 'failed'
  reason: string | null
  count: number
  /** An example of the details. */
  detail: string | null
}

export function countOtherPairs(
  db: BoundReader,
  { project_id, shadow_id }: ShadowKey,
): Promise<OtherPairs[]> {
  return allRows<OtherPairs>(
    db,
    sql`SELECT state, reason, count(*) AS count, max(detail) AS detail FROM shadow_pairs
        WHERE project_id = ${project_id} AND shadow_id = ${shadow_id} AND state <> 'judged' AND ${db.dialect.cancellable}
        GROUP BY state, reason ORDER BY state, count(*) DESC, reason`,
  )
}
