import { type CallsQuery, isLive, matchingCalls } from '../calls/calls.ts'
import { type CallsView, narrowedQuery } from '../calls/queries.ts'
import { allOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import { totalOfCalls } from '../sums/reading.ts'
import { allRows, type BoundReader, type LongReader, onlyRow } from '../transaction.ts'
import type { Group } from './bucket-parts.ts'

/** Groups of calls that depend on their feedback: each kind of it, and the last reaction. */
export const feedbackGroupFields = ['feedback', 'reaction'] as const
export type FeedbackGroupField = (typeof feedbackGroupFields)[number]

interface FeedbackGroups {
  /** Largest first. A call is in the group of each kind of its feedback. */
  top: Group[]
  /** Calls with no feedback of that kind. */
  without: number
  /** Calls with feedback outside the largest groups. */
  others: number
  /** How many calls were examined; null means the whole view. */
  sampled: number | null
}

/** The longest value in bytes that is counted separately. */
const maxValueBytes = 300

/** A condition on a row of `feedback`: it is about a call of the query. */
export const isAboutCallOf = ({ conditions }: CallsQuery, now: number): Sql =>
  sql`EXISTS (SELECT 1 FROM calls WHERE calls.project_id = feedback.project_id AND calls.id = feedback.call_id
      AND ${allOf([isLive(now), ...conditions])})`

/** The most feedback of a project that is read in full. */
const maxRead = 20_000

/** Groups the calls of a view by their feedback; if the project has much feedback, only the newest `sample` calls. */
export async function topFeedbackGroups(
  db: BoundReader,
  view: CallsView,
  field: FeedbackGroupField,
  { most, sample }: { most: number; sample: number },
  now: number,
): Promise<FeedbackGroups> {
  const { project } = view
  const query = await narrowedQuery(db, { ...view, sort: [] }, now)
  const isSampled = await hasMuchFeedback(db, project)
  const newest = sql`SELECT calls.id AS call_id ${matchingCalls(db, query, now)}
    ORDER BY calls.started_at DESC, calls.id DESC LIMIT ${sample}`
  const own = sql`feedback.project_id = ${project} AND ${db.dialect.cancellable}`
  const about = isSampled
    ? sql`FROM (${newest}) AS newest CROSS JOIN feedback WHERE ${own} AND feedback.call_id = newest.call_id`
    : sql`FROM feedback WHERE ${own} AND feedback.call_id IS NOT NULL AND ${isAboutCallOf(query, now)}`
  const counted = field === 'feedback' ? kindsIn(about) : lastReactions(db, about)
  const rows = await allRows<{ section: number; value: string; count: number }>(
    db,
    sql`WITH said AS (${counted}),
        top AS (SELECT value, count(*) AS count FROM said WHERE value IS NOT NULL GROUP BY value
          ORDER BY count DESC, value LIMIT ${most})
        SELECT 0 AS section, value, count FROM top
        UNION ALL SELECT 1, '', count(DISTINCT call_id) FROM said
        UNION ALL SELECT 2, '', count(DISTINCT call_id) FROM said
          LEFT JOIN top ON top.value = said.value WHERE top.value IS NULL
        ORDER BY section, count DESC, value`,
  )
  const countAt = (section: number) => Number(rows.find((row) => Number(row.section) === section)?.count ?? 0)
  const examined = sql`SELECT count(*) AS count FROM (${newest}) AS newest`
  const count = isSampled
    ? Number((await onlyRow<{ count: number }>(db, examined)).count)
    : (await totalOfCalls(db, { ...view, sort: [], limit: null, offset: 0 }, false, now)).count
  const top = rows.filter(({ section }) => Number(section) === 0)
  return {
    top: top.map(({ value, count }) => ({ value, count: Number(count) })),
    // Feedback that arrives during the count must not make this negative.
    without: Math.max(0, count - countAt(1)),
    others: countAt(2),
    sampled: isSampled ? count : null,
  }
}

async function hasMuchFeedback(db: BoundReader, project: string): Promise<boolean> {
  const some = sql`SELECT 1 AS one FROM feedback WHERE project_id = ${project} LIMIT ${maxRead + 1}`
  const counted = sql`SELECT count(*) AS count FROM (${some}) AS found`
  return Number((await onlyRow<{ count: number }>(db, counted)).count) > maxRead
}

/** `about` selects from `feedback`. */
const kindsIn = (about: Sql) =>
  sql`SELECT DISTINCT feedback.call_id AS call_id, feedback_type AS value ${about}`

/** Reads what the query field `feedback.[wandb.reaction.1].payload.emoji` reads. */
function lastReactions({ dialect }: LongReader, about: Sql): Sql {
  const { text, exists } = dialect.json(rawSql('feedback.payload'), ['emoji'])
  const rank = rawSql(
    'row_number() OVER (PARTITION BY feedback.call_id ORDER BY feedback.created_at DESC, feedback.id DESC)',
  )
  const reactions = sql`SELECT feedback.call_id AS call_id, ${text} AS value, ${rank} AS place ${about}
    AND feedback_type = 'wandb.reaction.1' AND ${exists}`
  const short = sql`CASE WHEN ${dialect.bytes(rawSql('value'))} <= ${maxValueBytes} THEN value END`
  return sql`SELECT call_id, ${short} AS value FROM (${reactions}) AS reactions WHERE place = 1`
}
