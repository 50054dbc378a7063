import { newId } from '../../domain/ids.ts'
import { toldTurnOps, turnOp } from '../../domain/judge-op.ts'
import { isLive, isTurn } from '../calls/calls.ts'
import type { CallPart } from '../calls/parts.ts'
import { lockOfTurns } from '../calls/told-answers.ts'
import { upsertCalls } from '../calls/writes.ts'
import { listOf, rawSql, sql } from '../sql/sql.ts'
import type { Transaction } from '../transaction.ts'

/** The turn of its conversation that an answer goes on with. */
export interface TurnOfAnswer {
  /** As the client names it, in `heddle.turn` of the attributes. The latest turn without. */
  name: string | null
  agent: string | null
  /** JSON, of the call that stands for the turn. */
  attributes: string
}

/** Turns of one conversation that are looked at, the latest first. */
const maxTurns = 20

type Answered = { call: CallPart; turn?: TurnOfAnswer; isOfAgent?: boolean }

/** Each call appears once in the list. */
export async function upsertAnswers(tx: Transaction, answers: readonly Answered[]): Promise<void> {
  const continuing = answers.filter(({ turn }) => turn !== undefined)
  const keys = answers.flatMap(({ call, turn, isOfAgent }) =>
    turn || isOfAgent ? lockOfTurns(call.project_id, call.start?.thread_id) : [],
  )
  for (const key of [...new Set(keys)].sort()) await tx.lock(key)
  await upsertCalls(
    tx,
    answers.flatMap(({ call, turn }) => (turn === undefined ? [call] : [])),
  )
  for (const { call, turn } of continuing) {
    if (turn !== undefined) await upsertCalls(tx, await belowTurn(tx, call, turn))
  }
}

interface Found {
  id: string
  trace_id: string
  op_name: string
  started_at: number
  ended_at: number
}

/** The call and that of its turn. The first answer of a turn is the turn until there is another. */
async function belowTurn(
  tx: Transaction,
  call: CallPart,
  { name, agent, attributes }: TurnOfAnswer,
): Promise<CallPart[]> {
  const { project_id, start, end } = call
  if (start?.thread_id == null || end === undefined) return [call]
  const { started_at } = start
  // A client has an answer before it goes on: what was still answered then is another turn.
  const isMeant =
    name === null
      ? sql`(op_name IN (${listOf([turnOp, ...toldTurnOps])}) OR ended_at <= ${started_at})`
      : sql`${tx.dialect.json(rawSql('attributes'), ['heddle', 'turn']).text} = ${name}`
  const turn = await tx.get<Found>(sql`SELECT id, trace_id, op_name, started_at, ended_at FROM (
      SELECT id, trace_id, op_name, started_at, ended_at, attributes FROM calls WHERE project_id = ${project_id}
        AND thread_id = ${start.thread_id} AND ${isTurn} AND ${isLive(started_at)}
        AND started_at <= ${started_at} AND id <> ${call.id}
      ORDER BY started_at DESC, id DESC LIMIT ${maxTurns}) AS latest
    WHERE (op_name LIKE 'heddle.%' OR op_name IN (${listOf(toldTurnOps)})) AND ended_at IS NOT NULL AND ${isMeant} ORDER BY started_at DESC, id DESC LIMIT 1`)
  if (turn === undefined) return [call]
  const { trace_id } = turn
  if (toldTurnOps.includes(turn.op_name)) return [below(call, start, turn)]
  const isFirst = turn.op_name !== turnOp
  const id = isFirst ? newId() : turn.id
  if (isFirst) {
    await tx.run(
      sql`UPDATE calls SET parent_id = ${id}, turn_id = ${id} WHERE project_id = ${project_id} AND id = ${turn.id}`,
    )
    tx.changed({ project: project_id, kind: 'call', ids: [turn.id] })
  }
  const whole: CallPart = {
    ...{ project_id, id, display_name: agent },
    start: {
      ...start,
      ...{ trace_id, turn_id: id, op_name: turnOp, started_at: Number(turn.started_at) },
      ...{ attributes, inputs: '{}', start_bytes: Buffer.byteLength(attributes) + 2 },
    },
    end: {
      ...{ exception: null, output: null, summary: '{}', end_bytes: 2 },
      ended_at: Math.max(Number(turn.ended_at), end.ended_at),
    },
  }
  return [whole, below(call, start, { id, trace_id })]
}

const below = (
  call: CallPart,
  start: NonNullable<CallPart['start']>,
  { id, trace_id }: Pick<Found, 'id' | 'trace_id'>,
): CallPart => ({ ...call, start: { ...start, trace_id, parent_id: id, turn_id: id } })
