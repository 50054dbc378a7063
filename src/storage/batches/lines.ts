import { insertInto } from '../sql/inserts.ts'
import { rawSql, type Sql, sql } from '../sql/sql.ts'
import type { BoundReader, Command, Reader, Transaction } from '../transaction.ts'
import {
  type Batch,
  type BatchKey,
  type BatchStatus,
  batchOfUser,
  type HeldBatch,
  heldBy,
  of as ofBatch,
} from './batches.ts'
import { dropFile, fileOfProject } from './wire-files.ts'

/** Where a request is in the input of its batch. */
export interface BatchLine {
  line: number
  custom_id: string
  /** In bytes. */
  at: number
  length: number
}

/** The same with its line of the output; both are null if it was not answered. */
interface AnsweredLine extends Pick<BatchLine, 'line' | 'custom_id'> {
  status: number | null
  answer: string | null
}

const columns = ['project_id', 'batch_id', 'line', 'custom_id', 'at', 'length'] as const
const insertLine = insertInto('batch_lines', columns)
const of = ({ project_id, id }: BatchKey): Sql => sql`project_id = ${project_id} AND batch_id = ${id}`

/** Whether this process still holds the batch; then no other process takes it before the transaction ends. */
async function isHeld(tx: Transaction, held: HeldBatch): Promise<boolean> {
  return (await tx.run(sql`UPDATE batches SET held_by = held_by WHERE ${heldBy(held)}`)) > 0
}

/** False if the batch is held by another process, or was cancelled. */
export const addBatchLines: Command<HeldBatch & { lines: readonly BatchLine[] }, boolean> = async (
  tx,
  { lines, ...held },
) => {
  if (!(await isHeld(tx, held))) return false
  const row = await tx.get(sql`SELECT id FROM batches WHERE ${heldBy(held)} AND status = 'validating'`)
  if (row === undefined) return false
  const { project_id, id } = held
  const rows = lines.map(({ line, custom_id, at, length }) => [project_id, id, line, custom_id, at, length])
  for (const statement of insertLine(rows)) await tx.run(statement)
  return true
}

/** Requests that wait for their answer, in the order of the input. */
export const waitingLines = (db: Reader, key: BatchKey, after: number, limit: number): Promise<BatchLine[]> =>
  db.all<BatchLine>(
    sql`SELECT line, custom_id, at, length FROM batch_lines
        WHERE ${of(key)} AND status IS NULL AND line > ${after} ORDER BY line LIMIT ${limit}`,
  )

type Tokens = Pick<Batch, 'input_tokens' | 'cached_tokens' | 'output_tokens' | 'reasoning_tokens'>

interface SettledLine extends HeldBatch {
  line: number
  status: number
  answer: string
  model: string | null
  tokens: Tokens
}

/** The answer of a request, once. Returns the status of the batch; undefined if it is no longer held. */
export const settleLine: Command<SettledLine, BatchStatus | undefined> = async (tx, settled) => {
  const { line, status, answer, model, tokens, ...held } = settled
  if (!(await isHeld(tx, held))) return undefined
  const isNew = await tx.run(
    sql`UPDATE batch_lines SET status = ${status}, answer = ${answer}
        WHERE ${of(held)} AND line = ${line} AND status IS NULL`,
  )
  const counted = rawSql(status < 400 ? 'completed = completed + 1' : 'failed = failed + 1')
  if (isNew > 0)
    await tx.run(
      sql`UPDATE batches SET ${counted}, model = coalesce(model, ${model}),
            input_tokens = input_tokens + ${tokens.input_tokens},
            cached_tokens = cached_tokens + ${tokens.cached_tokens},
            output_tokens = output_tokens + ${tokens.output_tokens},
            reasoning_tokens = reasoning_tokens + ${tokens.reasoning_tokens} WHERE ${heldBy(held)}`,
    )
  return (await tx.get<{ status: BatchStatus }>(sql`SELECT status FROM batches WHERE ${heldBy(held)}`))
    ?.status
}

const rowsAtOnce = 8

export async function* answeredLines(db: BoundReader, key: BatchKey): AsyncGenerator<AnsweredLine> {
  const query = sql`SELECT line, custom_id, status, answer FROM batch_lines WHERE ${of(key)} ORDER BY line`
  for await (const rows of db.stream<AnsweredLine>(query, { rows: rowsAtOnce })) yield* rows
}

const linesAtOnce = 200

/** Removes some lines of a batch that is over, or whose input is read anew. Returns whether there may be more. */
export const dropBatchLines: Command<HeldBatch, boolean> = async (tx, held) => {
  if (!(await isHeld(tx, held))) return false
  if (await removeLines(tx, held)) return true
  await tx.run(sql`UPDATE batches SET is_open = 0 WHERE ${heldBy(held)} AND ended_at IS NOT NULL`)
  return false
}

/** Some of them. Returns whether there may be more. */
async function removeLines(tx: Transaction, batch: BatchKey): Promise<boolean> {
  const removed = await tx.run(
    sql`DELETE FROM batch_lines WHERE ${of(batch)} AND line IN
          (SELECT line FROM batch_lines WHERE ${of(batch)} ORDER BY line LIMIT ${linesAtOnce})`,
  )
  return removed === linesAtOnce
}

/**
 * Removes a batch that is over, with its requests and results: first its lines, some at a time. Returns whether there
 * may be more.
 */
export const dropMessageBatch: Command<{ user: string; id: string }, boolean> = async (tx, { user, id }) => {
  const batch = await batchOfUser(tx, user, id)
  if (batch === undefined) return false
  // A process that removes its lines, too, stops, or is waited for.
  const isOver = await tx.run(
    sql`UPDATE batches SET held_by = NULL WHERE ${ofBatch(batch)} AND ended_at IS NOT NULL`,
  )
  if (isOver === 0) return false
  if (await removeLines(tx, batch)) return true
  for (const file of [batch.input_file_id, batch.output_file_id]) {
    const found = file === null ? undefined : await fileOfProject(tx, batch.project_id, file)
    if (found !== undefined) await dropFile(tx, found)
  }
  await tx.run(sql`DELETE FROM batches WHERE ${ofBatch(batch)}`)
  return false
}
