import { objectText } from '../../../packages/json/index.ts'
import { messageId } from '../../domain/ids.ts'
import { toldTurnOps } from '../../domain/judge-op.ts'
import { now } from '../../domain/time.ts'
import { listOf, rawSql, sql } from '../sql/sql.ts'
import type { Transaction } from '../transaction.ts'
import { joinedOf, joinSome, storedRows } from './joined.ts'
import type { CallPart, JoinedPart } from './parts.ts'
import { belowTurns, joinAnswers, tokensOf } from './told-answers.ts'
import { deleteCalls } from './writes.ts'

/**
 * Telemetry may arrive at another server before the one that answered has written the answer: the call that records made
 * of it becomes the answer. Called after this was written, under the lock of its conversation.
 */
export async function joinToldBefore(tx: Transaction, answer: CallPart, completion: string): Promise<void> {
  const { project_id } = answer
  const request = await requestTold(tx, answer, completion)
  if (request === undefined) return
  const joined = await joinAnswers(tx, project_id, await partsTold(tx, project_id, request))
  if (joined.some(({ id }) => id === request.id)) return
  await joinSome(tx, project_id, joined)
  await deleteCalls(tx, { project_id, ids: [request.id], now: now() })
}

interface Request {
  id: string
  /** Empty where the client names none, as Codex. */
  response: string
}

/** The call that only records made: it names the answer, or none, and has its tokens. */
async function requestTold(tx: Transaction, { project_id, start, end }: CallPart, completion: string) {
  if (start?.thread_id == null || end === undefined) return undefined
  const { input_tokens, output_tokens } = tokensOf(end)
  const response = tx.dialect.json(rawSql('attributes'), ['gen_ai', 'response', 'id']).text
  return tx.get<Request>(
    sql`WITH ${belowTurns(project_id, start.thread_id, sql`op_name IN (${listOf(toldTurnOps)})`)}
      SELECT calls.id AS id, ${response} AS response FROM below CROSS JOIN calls WHERE calls.project_id = ${project_id}
        AND calls.id = below.id AND operation = 'chat' AND op_name NOT LIKE 'heddle.%' AND deleted_at IS NULL
        AND (${response} = ${completion.slice(messageId('').length)}
          OR (${response} = '' AND input_tokens = ${input_tokens} AND output_tokens = ${output_tokens}))
      ORDER BY abs(ended_at - ${end.ended_at}), id LIMIT 1`,
  )
}

/** The call as each of its records told it. */
async function partsTold(
  tx: Transaction,
  project_id: string,
  { id, response }: Request,
): Promise<JoinedPart[]> {
  const [row] = await storedRows(tx, project_id, [id], rawSql('1 = 1'))
  const { start, end, attributes, records, filled } = joinedOf(row)
  const time = String([...filled.values()].sort().at(-1) ?? 0)
  const log = { time, findsTurn: false, addsMessages: false, request: response && messageId(response) }
  const told = {
    project_id,
    id,
    display_name: null,
    ...(end && { end }),
    ...(start && { start: { ...start, attributes: objectText(attributes) } }),
  }
  return [...records].map(([digest, record]) => ({ ...told, log: { ...log, digest, record } }))
}
