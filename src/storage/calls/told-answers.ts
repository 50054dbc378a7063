import { endFacts } from '../../domain/call-facts/facts.ts'
import { codexUsage } from '../../domain/call-facts/kind.ts'
import { messageId } from '../../domain/ids.ts'
import { asText } from '../../domain/json/text.ts'
import { toldTurnOps, turnOp } from '../../domain/judge-op.ts'
import { now } from '../../domain/time.ts'
import { listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import type { Transaction } from '../transaction.ts'
import { isTurn } from './calls.ts'
import type { CallPart, JoinedPart } from './parts.ts'
import { deleteCalls } from './writes.ts'

/*
 * A coding agent may ask a model of this server and send its telemetry, too. Its request and the answer are one call
 * then, in the turn of the telemetry: nothing is there twice, and no token counts twice.
 */

/** An answer of this server is the root of its trace, or below the turn that was made of several. */
interface Answer {
  id: string
  parent_id: string | null
  ended_at: number | string
}

interface Below {
  trace_id: string
  parent_id: string
  turn_id: string | null
}

/** Two answers that go on with the same turn must find the same call for it. */
export const lockOfTurns = (project: string, thread: string | null | undefined) =>
  `turns of ${project} ${thread}`

/* All of this is done where all writes wait for it: no turn is so long that others notice. */

/** Turns of one conversation in which an answer is looked for, the latest first: answers that are not told of yet are turns. */
const maxTurns = 200
/** Calls below these turns that are looked at. */
const maxKnown = 2_000
/** A turn with more calls than these stays where it is. */
const maxFamily = 1_000
/** Requests of a trace whose answers are looked for, the latest first. */
const maxRequests = 1_000

/** Called before anything is read: answers are written under the same locks. */
export async function lockTurns(
  tx: Transaction,
  project: string,
  joinedParts: readonly JoinedPart[],
): Promise<void> {
  const threads = joinedParts.flatMap(({ start, log }) =>
    log?.request === undefined ? [] : (start?.thread_id ?? []),
  )
  for (const thread of [...new Set(threads)].sort()) await tx.lock(lockOfTurns(project, thread))
}

/** Records of requests whose answers are known become records of these. */
export async function joinAnswers(
  tx: Transaction,
  project: string,
  joinedParts: readonly JoinedPart[],
): Promise<JoinedPart[]> {
  const joined: JoinedPart[] = []
  // Of these the first records may be here, and not be written yet.
  const turns = new Set(joinedParts.flatMap(({ start }) => start?.turn_id ?? []))
  for (const told of joinedParts) {
    const answer = await answerOf(tx, project, told)
    if (answer === undefined || told.log === undefined || told.start?.parent_id == null) {
      joined.push(told)
      continue
    }
    const { trace_id, parent_id, turn_id = null } = told.start
    const known = told.log.request === '' ? undefined : turns
    await moveBelow(tx, project, answer, { trace_id, parent_id, turn_id }, known)
    joined.push({ ...told, id: answer.id, log: { ...told.log, isOfAnswer: true } })
  }
  return joined
}

function answerOf(tx: Transaction, project: string, told: JoinedPart): Promise<Answer | undefined> {
  const { log } = told
  if (log?.request === undefined) return Promise.resolve(undefined)
  return log.request === '' ? answerWithTokens(tx, project, told) : answerNamed(tx, project, log.request)
}

const answerNamed = (tx: Transaction, project: string, completion: string) =>
  tx.get<Answer>(
    sql`SELECT id, parent_id, ended_at FROM completions CROSS JOIN calls
        WHERE completions.project_id = ${project} AND completion_id = ${completion}
          AND calls.project_id = ${project} AND calls.id = completions.call_id AND deleted_at IS NULL
        ORDER BY completions.created_at DESC, call_id DESC LIMIT 1`,
  )

export const tokensOf = ({ summary }: Pick<NonNullable<CallPart['end']>, 'summary'>) =>
  endFacts({ exception: null, output: null, summary: asText(summary) })

/** The latest turns of a conversation, and calls below those of them that are meant. */
export const belowTurns = (project: string, thread: string, isMeant: Sql): Sql =>
  sql`turns AS (SELECT id, op_name FROM calls WHERE project_id = ${project} AND thread_id = ${thread}
        AND ${isTurn} AND deleted_at IS NULL ORDER BY started_at DESC, id DESC LIMIT ${maxTurns}),
      below AS (SELECT calls.id AS id FROM (SELECT id FROM turns WHERE ${isMeant}) AS above CROSS JOIN calls
        WHERE calls.project_id = ${project} AND calls.parent_id = above.id LIMIT ${maxKnown})`

/** Codex names no answer: of those with the same tokens in the conversation it is the nearest that no other record has. */
async function answerWithTokens(
  tx: Transaction,
  project: string,
  { start, end, log }: JoinedPart,
): Promise<Answer | undefined> {
  if (start?.thread_id == null || end === undefined || log === undefined) return undefined
  const { input_tokens, output_tokens } = tokensOf(end)
  if (input_tokens === null || output_tokens === null) return undefined
  const attributes = rawSql('answers.attributes')
  const has = (text: Sql) => sql`${tx.dialect.position(attributes, text)} > 0`
  const found = await tx.all<Answer & { is_same: number; is_told: number }>(
    sql`WITH ${belowTurns(project, start.thread_id, rawSql('1 = 1'))},
        known AS (SELECT id FROM turns WHERE op_name LIKE 'heddle.%' UNION ALL SELECT id FROM below)
      SELECT answers.id AS id, parent_id, ended_at, CASE WHEN ${has(sql`${`"${log.digest}"`}`)} THEN 1 ELSE 0 END AS is_same,
        CASE WHEN ${has(rawSql(`'"otel_logs":{"records":'`))} THEN 1 ELSE 0 END AS is_told
      FROM known CROSS JOIN calls AS answers WHERE answers.project_id = ${project} AND answers.id = known.id
        AND op_name LIKE 'heddle.%' AND deleted_at IS NULL AND ended_at IS NOT NULL
        AND input_tokens = ${input_tokens} AND output_tokens = ${output_tokens}`,
  )
  const away = ({ ended_at }: Answer) => Math.abs(Number(ended_at) - Number(end.ended_at))
  return (
    found.find(({ is_same }) => Number(is_same) === 1) ??
    found
      .filter(({ is_told }) => Number(is_told) === 0)
      .sort((answer, other) => away(answer) - away(other))[0]
  )
}

/**
 * An answer whose request names a caller stays there. With it goes the whole turn that it is of. If that is a turn that
 * telemetry tells of (`turns`, or one that is written), the answer goes alone; undefined where its name is not known.
 */
async function moveBelow(
  tx: Transaction,
  project: string,
  answer: Answer,
  to: Below,
  turns: ReadonlySet<string> | undefined,
): Promise<void> {
  const above = answer.parent_id ?? answer.id
  if (above === to.parent_id) return
  const found = await tx.get<{ op_name: string }>(
    sql`SELECT op_name FROM calls WHERE project_id = ${project} AND id = ${above} AND parent_id IS NULL
        AND deleted_at IS NULL`,
  )
  const isOurs = found?.op_name.startsWith('heddle.') ?? false
  const isTold = found ? [...toldTurnOps, ...rootOps].includes(found.op_name) : turns?.has(above)
  if (!isOurs && (turns === undefined || !isTold)) return
  const root = isOurs ? above : answer.id
  // What people said of a turn stays with it.
  const isEmpty =
    found?.op_name === turnOp &&
    (await tx.get(
      sql`SELECT 1 AS one FROM feedback WHERE project_id = ${project} AND call_id = ${root} LIMIT 1`,
    )) === undefined
  const family = await tx.all<{ id: string; parent_id: string | null }>(
    sql`WITH RECURSIVE family (id, parent_id) AS (
          SELECT id, parent_id FROM calls WHERE project_id = ${project} AND id = ${root}
          UNION SELECT calls.id, calls.parent_id FROM family CROSS JOIN calls
            WHERE calls.project_id = ${project} AND calls.parent_id = family.id AND calls.deleted_at IS NULL)
        SELECT id, parent_id FROM family LIMIT ${maxFamily + 1}`,
  )
  if (family.length > maxFamily) return
  const moved = family.filter(({ id }) => !isEmpty || id !== root)
  for (const { id, parent_id } of moved) {
    const isTop = id === root || (isEmpty && parent_id === root)
    const parent = isTop ? to.parent_id : parent_id
    await tx.run(
      sql`UPDATE calls SET trace_id = ${to.trace_id}, parent_id = ${parent}, turn_id = ${to.turn_id}
          WHERE project_id = ${project} AND id = ${id}`,
    )
  }
  tx.changed({ project, kind: 'call', ids: moved.map(({ id }) => id) })
  if (isEmpty) await deleteCalls(tx, { project_id: project, ids: [root], now: now() })
}

/** Spans of requests: that of Claude Code names its answer, that of Codex has its tokens. */
const requestOps = ['claude_code.llm_request', codexUsage]

export const tracesOfRequests = (joinedParts: readonly JoinedPart[]): Set<string> =>
  new Set(
    joinedParts.flatMap(({ start, log }) =>
      log === undefined && start && (requestOps.includes(start.op_name) || rootOps.includes(start.op_name))
        ? start.trace_id
        : [],
    ),
  )

/** Spans are sent when they end: an answer goes below that of its request once the turn is there. */
const rootOps = ['claude_code.interaction', 'turn/start']

interface Request {
  id: string
  trace_id: string
  op_name: string
  request_id: string | null
  input_tokens: number | null
  output_tokens: number | null
  ended_at: number | string
}

/** Called after spans of one project were written. */
export async function moveBelowSpans(
  tx: Transaction,
  project: string,
  joinedParts: readonly JoinedPart[],
): Promise<void> {
  for (const trace of tracesOfRequests(joinedParts)) {
    const root = await tx.get<{ id: string }>(
      sql`SELECT id FROM calls WHERE project_id = ${project} AND trace_id = ${trace} AND parent_id IS NULL
          AND op_name IN (${listOf(rootOps)}) AND deleted_at IS NULL LIMIT 1`,
    )
    if (root === undefined) continue
    const requestId = tx.dialect.json(rawSql('attributes'), ['request_id']).text
    const requests = await tx.all<Request>(
      sql`SELECT id, trace_id, op_name, ${requestId} AS request_id, input_tokens, output_tokens, ended_at FROM calls
          WHERE project_id = ${project} AND trace_id = ${trace} AND op_name IN (${listOf(requestOps)})
            AND deleted_at IS NULL AND ended_at IS NOT NULL ORDER BY started_at DESC, id DESC LIMIT ${maxRequests}`,
    )
    // Those with the same tokens are told apart by their order.
    for (const request of requests.toReversed()) {
      const answer = await answerOfSpan(tx, project, request)
      if (answer === undefined) continue
      const to = { trace_id: trace, parent_id: root.id, turn_id: null }
      await moveBelow(tx, project, answer, to, request.op_name === codexUsage ? undefined : new Set())
      await tx.run(
        sql`UPDATE calls SET parent_id = ${request.id} WHERE project_id = ${project} AND id = ${answer.id} AND parent_id = ${root.id}`,
      )
    }
  }
}

function answerOfSpan(tx: Transaction, project: string, request: Request): Promise<Answer | undefined> {
  if (request.op_name !== codexUsage) {
    const { request_id } = request
    return request_id ? answerNamed(tx, project, messageId(request_id)) : Promise.resolve(undefined)
  }
  const { trace_id, input_tokens, output_tokens, ended_at } = request
  // Its request names a span of the trace, so that the answer is in it.
  return tx.get<Answer>(
    sql`SELECT id, parent_id, ended_at FROM calls AS answers WHERE project_id = ${project} AND trace_id = ${trace_id}
        AND op_name = 'heddle.responses' AND input_tokens = ${input_tokens} AND output_tokens = ${output_tokens}
        AND deleted_at IS NULL AND NOT EXISTS (SELECT 1 FROM calls AS request WHERE request.project_id = ${project}
          AND request.id = answers.parent_id AND request.op_name = ${codexUsage})
      ORDER BY abs(ended_at - ${Number(ended_at)}), id LIMIT 1`,
  )
}
