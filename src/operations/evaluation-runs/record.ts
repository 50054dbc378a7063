import { JsonText } from '../../domain/json/text.ts'
import { formatTime } from '../../domain/time.ts'
import type { CallRow } from '../../storage/calls/calls.ts'
import type { LargeColumn } from '../../storage/calls/columns.ts'
import type { Kind } from '../../storage/evaluations/marked-calls.ts'
import { Value } from '../objects/values.ts'

type Row = Pick<CallRow, 'id' | 'started_at' | 'ended_at' | 'exception' | 'user_id' | LargeColumn>

/** The columns that the record of each kind of call needs, and the fields that it has besides those of every call. */
export const records: Record<Kind, { large: readonly LargeColumn[]; of(row: Row): Record<string, unknown> }> =
  {
    run: { large: ['attributes', 'output', 'summary'], of: runRecord },
    prediction: { large: ['attributes', 'inputs', 'output'], of: predictionRecord },
    score: { large: ['attributes', 'output'], of: scoreRecord },
  }

function runRecord(row: Row) {
  const weave = weaveOf(row)
  return {
    evaluation_run_id: row.id,
    evaluation: weave('evaluation') ?? '',
    model: weave('model') ?? '',
    status: statusOf(row),
    started_at: formatTime(row.started_at),
    finished_at: row.ended_at === null ? null : formatTime(row.ended_at),
    summary: row.ended_at === null || row.summary === null ? null : new JsonText(row.summary),
    output: jsonOrNull(row.output),
  }
}

function statusOf({ exception, ended_at }: Row): 'running' | 'completed' | 'failed' {
  if (exception) return 'failed'
  return ended_at === null ? 'running' : 'completed'
}

function predictionRecord(row: Row) {
  const weave = weaveOf(row)
  return {
    prediction_id: row.id,
    model: weave('model') ?? '',
    inputs: new JsonText(new Value(row.inputs ?? '{}').member('inputs')?.text ?? '{}'),
    output: jsonOrNull(row.output),
    evaluation_run_id: weave('evaluation_run_id') ?? null,
    svc_user_id: row.user_id,
  }
}

function scoreRecord(row: Row) {
  const weave = weaveOf(row)
  return {
    score_id: row.id,
    prediction_id: weave('prediction_id') ?? '',
    scorer: weave('scorer') ?? '',
    value: jsonOrNull(row.output),
    evaluation_run_id: weave('evaluation_run_id') ?? null,
    svc_user_id: row.user_id,
  }
}

function jsonOrNull(text: string | null): JsonText | null {
  return text === null ? null : new JsonText(text)
}

/** Reads the texts under `weave` in the attributes. */
export function weaveOf({ attributes }: Pick<Row, 'attributes'>): (name: string) => string | undefined {
  const weave = new Value(attributes ?? '{}').member('weave')
  return (name) => weave?.member(name)?.string
}
