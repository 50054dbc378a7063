import { isLive } from '../calls/calls.ts'
import type { Dialect } from '../sql/dialect.ts'
import { allOf, joined, listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import type { BoundReader } from '../transaction.ts'

/** Which feedback is read. Times are microseconds; of the refs and types each list holds alternatives. */
interface JudgedView {
  project: string
  start: number
  end: number
  /** Beginnings of types. */
  types: readonly string[]
  /** With * at the end they are beginnings. */
  triggers: readonly string[]
  scorers: readonly string[]
  agents: readonly string[]
  prompts: readonly string[]
  /** Only feedback about roots of traces, or about conversations; one of them must hold. */
  about: readonly ('root' | 'conversation')[]
  /** Whether versions of prompts are read: they stand in the attributes of calls. */
  isByPrompt: boolean
}

export interface JudgedFeedback {
  created_at: number
  feedback_type: string
  runnable_ref: string | null
  agent: string | null
  agent_version: string | null
  /** The version of the prompt that the call named. */
  prompt_version: string | null
  /** Of the call: null while it runs, or where it is gone. */
  status: string | null
  /** JSON; null where it is too large to be opened. */
  payload: string | null
}

/** The largest payload in bytes that is opened. */
const maxPayloadBytes = 64 * 1024

function beginsWith(column: string, names: readonly string[], dialect: Dialect): Sql {
  const alternatives = names.map((name) => {
    const isStart = name.endsWith('*')
    return isStart
      ? sql`${dialect.position(rawSql(column), sql`${name.slice(0, -1)}`)} = 1`
      : sql`${rawSql(column)} = ${name}`
  })
  return joined(alternatives, ' OR ')
}

const isAbout = {
  root: rawSql('calls.id IS NOT NULL AND calls.parent_id IS NULL'),
  conversation: rawSql('feedback.thread_id IS NOT NULL'),
}

/** In the order of their creation, with what is known of their calls. */
export function streamJudged(
  db: BoundReader,
  view: JudgedView,
  now: number,
): AsyncIterable<JudgedFeedback[]> {
  const { dialect } = db
  const conditions = [
    sql`feedback.project_id = ${view.project} AND created_at >= ${view.start} AND created_at < ${view.end}`,
  ]
  const types = view.types.map((type) => `${type}*`)
  if (types.length > 0) conditions.push(beginsWith('feedback_type', types, dialect))
  if (view.triggers.length > 0) conditions.push(beginsWith('trigger_ref', view.triggers, dialect))
  if (view.scorers.length > 0) conditions.push(beginsWith('runnable_ref', view.scorers, dialect))
  if (view.agents.length > 0) {
    const sent = dialect.json(rawSql('feedback.payload'), ['span_agent_name']).text
    conditions.push(sql`coalesce(calls.agent, ${sent}) IN (${listOf(view.agents)})`)
  }
  const ofPrompt = (name: string) => dialect.json(rawSql('calls.attributes'), ['heddle', 'prompt', name]).text
  if (view.prompts.length > 0) conditions.push(sql`${ofPrompt('id')} IN (${listOf(view.prompts)})`)
  const version = view.isByPrompt ? ofPrompt('version') : rawSql('NULL')
  if (view.about.length > 0)
    conditions.push(
      joined(
        view.about.map((subject) => isAbout[subject]),
        ' OR ',
      ),
    )
  const payload = sql`CASE WHEN ${dialect.bytes(rawSql('payload'))} <= ${rawSql(String(maxPayloadBytes))} THEN payload END`
  return db.stream<JudgedFeedback>(
    sql`SELECT feedback.created_at AS created_at, feedback_type, runnable_ref, calls.agent AS agent, calls.agent_version AS agent_version,
          calls.status AS status, ${version} AS prompt_version, ${payload} AS payload
        FROM feedback LEFT JOIN calls ON calls.project_id = feedback.project_id AND calls.id = feedback.call_id
          AND ${isLive(now)}
        WHERE ${allOf([...conditions, dialect.cancellable])} ORDER BY feedback.created_at, feedback.id`,
    { rows: 500 },
  )
}
