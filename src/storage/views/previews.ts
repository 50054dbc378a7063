import { inSteps } from '../../../packages/waiting/index.ts'
import { answerPreview, maxBytesWithoutPreview, requestPreview } from '../../domain/call-facts/preview.ts'
import { turnOp } from '../../domain/judge-op.ts'
import { isLive } from '../calls/calls.ts'
import { isHere } from '../cold/reference.ts'
import type { Dialect } from '../sql/dialect.ts'
import { listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import { allRows, type BoundReader } from '../transaction.ts'

interface Previews {
  input_preview: string | null
  output_preview: string | null
}

/** With texts that have no stored preview, because they are short. */
export type PreviewRow = Previews & { inputs: string | null; output: string | null }

export const previewColumns = (dialect: Dialect): Sql =>
  sql`input_preview, output_preview, ${unkept(dialect, 'inputs', 'input_preview')}, ${unkept(dialect, 'output', 'output_preview')}`

function unkept(dialect: Dialect, column: 'inputs' | 'output', preview: string): Sql {
  const name = rawSql(column)
  return sql`CASE WHEN ${rawSql(preview)} IS NULL AND ${isHere(column)} AND ${dialect.bytes(name)} <= ${rawSql(String(maxBytesWithoutPreview))} THEN ${name} END AS ${name}`
}

export const previewsIn = ({ inputs, output, input_preview, output_preview }: PreviewRow): Previews => ({
  input_preview: inputs === null ? input_preview : previewOf(() => requestPreview(inputs).preview),
  output_preview: output === null ? output_preview : previewOf(() => answerPreview(output)),
})

/** Text that was damaged on disk has no preview; reading the call reports the damage. */
function previewOf(read: () => string | null): string | null {
  try {
    return read()
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}

type Shown = Previews & { id: string; op_name: string }

/** The call of a turn has no texts: it is shown with what its first answer was asked, and what its last one says. */
export async function addPreviewsOfTurns(
  db: BoundReader,
  project: string,
  calls: readonly Shown[],
  now: number,
): Promise<void> {
  const turns = new Map(calls.flatMap((call) => (call.op_name === turnOp ? [[call.id, call] as const] : [])))
  if (turns.size === 0) return
  const rows = await allRows<PreviewRow & { turn: string; is_first: number; is_last: number }>(
    db,
    selectEndsOfTurns(db.dialect, project, [...turns.keys()], now),
  )
  await inSteps(rows, (row) => {
    const [turn, { input_preview, output_preview }] = [turns.get(row.turn), previewsIn(row)]
    if (turn === undefined) return
    if (Number(row.is_first) === 1) turn.input_preview = input_preview
    if (Number(row.is_last) === 1) turn.output_preview = output_preview
  })
}

/** What an agent below the one that the user talks to was asked and says is not of the turn. */
export function selectEndsOfTurns(
  dialect: Dialect,
  project: string,
  turns: readonly string[],
  now: number,
): Sql {
  const subagent = dialect.json(rawSql('attributes'), ['heddle', 'subagent']).exists
  const end = (name: string, order: string) =>
    rawSql(
      `CASE WHEN row_number() OVER (PARTITION BY parent_id ORDER BY ${order}) = 1 THEN 1 ELSE 0 END AS ${name}`,
    )
  return sql`SELECT * FROM (SELECT parent_id AS turn, ${end('is_first', 'started_at, id')},
      ${end('is_last', 'coalesce(ended_at, started_at) DESC, started_at DESC, id DESC')}, ${previewColumns(dialect)}
    FROM calls WHERE project_id = ${project} AND parent_id IN (${listOf(turns)}) AND op_name LIKE 'heddle.%'
      AND ${isLive(now)} AND ${dialect.callsCancellable} AND NOT ${subagent}) AS answers
    WHERE is_first = 1 OR is_last = 1`
}
