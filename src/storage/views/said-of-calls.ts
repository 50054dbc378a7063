import { allOf, type Sql, sql, trusted } from '../sql/sql.ts'
import { type CallsView, callsQueryOf } from '../tables/call-queries.ts'
import { isLive, matchingCalls } from '../tables/calls.ts'
import { allRows, type LongReader, onlyRow } from '../transaction.ts'
import type { Group } from './groups.ts'

/** What calls are grouped by that stands in their feedback: each kind of it, and the last reaction. */
export const saidFields = ['feedback', 'reaction'] as const
export type SaidField = (typeof saidFields)[number]

export interface SaidGroups {
  /** The largest first. A call is in the group of each kind of its feedback. */
  top: Group[]
  /** Calls of which none of that kind is there. */
  without: number
  /** Calls that have some of it beside the largest groups. */
  others: number
}

/** Bytes of a value that is counted by itself. */
const longestValue = 300

/** A condition on a row of `feedback`: it is about a call of the view. */
export function isAboutCallOf(db: LongReader, view: CallsView, now: number): Sql {
  const { conditions } = callsQueryOf(db, { ...view, sort: [] })
  return sql`EXISTS (SELECT 1 FROM calls WHERE calls.project_id = feedback.project_id AND calls.id = feedback.call_id
      AND ${allOf([isLive(now), ...conditions])})`
}

/** By what was said of the calls of a view. */
export async function topSaid(
  db: LongReader,
  view: CallsView,
  field: SaidField,
  most: number,
  now: number,
  signal: AbortSignal,
): Promise<SaidGroups> {
  const of = allOf([
    sql`project_id = ${view.project} AND call_id IS NOT NULL`,
    isAboutCallOf(db, view, now),
    db.dialect.going,
  ])
  const said = field === 'feedback' ? kindsOf(of) : lastReactions(db, of)
  const rows = await allRows<{ place: number; value: string; count: number }>(
    db,
    sql`WITH said AS (${said}),
        top AS (SELECT value, count(*) AS count FROM said WHERE value IS NOT NULL GROUP BY value
          ORDER BY count DESC, value LIMIT ${most})
        SELECT 0 AS place, value, count FROM top
        UNION ALL SELECT 1, '', count(DISTINCT call_id) FROM said
        UNION ALL SELECT 2, '', count(DISTINCT call_id) FROM said
          LEFT JOIN top ON top.value = said.value WHERE top.value IS NULL
        ORDER BY place, count DESC, value`,
    signal,
  )
  const countAt = (place: number) => Number(rows.find((row) => Number(row.place) === place)?.count ?? 0)
  const query = callsQueryOf(db, { ...view, sort: [] })
  const all = sql`SELECT count(*) AS count ${matchingCalls(db, query, now)}`
  const { count } = await onlyRow<{ count: number }>(db, all, signal)
  const top = rows.filter(({ place }) => Number(place) === 0)
  return {
    top: top.map(({ value, count }) => ({ value, count: Number(count) })),
    // What is said while this is counted must not make it less than none.
    without: Math.max(0, Number(count) - countAt(1)),
    others: countAt(2),
  }
}

const kindsOf = (of: Sql) => sql`SELECT DISTINCT call_id, feedback_type AS value FROM feedback WHERE ${of}`

/** The same as the query field `feedback.[wandb.reaction.1].payload.emoji` reads. */
function lastReactions({ dialect }: LongReader, of: Sql): Sql {
  const { text, exists } = dialect.json(trusted('feedback.payload'), ['emoji'])
  const place = trusted('row_number() OVER (PARTITION BY call_id ORDER BY created_at DESC, id DESC)')
  const reactions = sql`SELECT call_id, ${text} AS value, ${place} AS place FROM feedback
    WHERE feedback_type = 'wandb.reaction.1' AND ${exists} AND ${of}`
  const short = sql`CASE WHEN ${dialect.bytes(trusted('value'))} <= ${longestValue} THEN value END`
  return sql`SELECT call_id, ${short} AS value FROM (${reactions}) AS reactions WHERE place = 1`
}
