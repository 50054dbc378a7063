import { parseRef } from '../../domain/refs.ts'
import { isLive } from '../calls/calls.ts'
import { upsertCalls } from '../calls/writes.ts'
import { rawSql, sql } from '../sql/sql.ts'
import type { Transaction } from '../transaction.ts'
import type { MarkedCall } from './marked-calls.ts'

const attributes = rawSql('calls.attributes')

interface Trial {
  id: string
  ended_at: number | null
  output: string | null
}

/** The parent call of a prediction and its scores, if the prediction was made within a run. */
export async function trialOf(
  tx: Transaction,
  projectId: string,
  prediction: Pick<MarkedCall, 'id' | 'parent_id'>,
  now: number,
): Promise<Trial | undefined> {
  const predicted = tx.dialect.json(attributes, ['weave', 'predict_call_id']).text
  if (prediction.parent_id === null) return undefined
  return tx.get<Trial>(
    sql`SELECT id, ended_at, output FROM calls WHERE project_id = ${projectId} AND id = ${prediction.parent_id}
        AND ${isLive(now)} AND ${predicted} = ${tx.dialect.text(prediction.id)}`,
  )
}

/** The output of a finished trial: the model's output, and the last score of each scorer by name. */
export async function trialOutput(
  tx: Transaction,
  projectId: string,
  prediction: MarkedCall,
  trial: Trial,
  now: number,
): Promise<string> {
  const weave = (name: string) => tx.dialect.json(attributes, ['weave', name]).text
  const scored = await tx.all<{ scorer: string; output: string }>(
    sql`SELECT ${weave('scorer')} AS scorer, output FROM calls
        WHERE project_id = ${projectId} AND parent_id = ${trial.id} AND ${isLive(now)} AND output IS NOT NULL
        AND ${weave('score')} = 'true' ORDER BY started_at, id`,
  )
  const scores = new Map(scored.map(({ scorer, output }) => [scorerName(scorer), output]))
  const { started_at, ended_at, output } = prediction
  const latency = ended_at === null ? 'null' : `{"mean":${(ended_at - started_at) / 1_000_000}}`
  const members = [...scores].map(([name, value]) => `${JSON.stringify(name)}:${value}`)
  return `{"output":${output ?? 'null'},"scores":{${members.join(',')}},"model_latency":${latency}}`
}

function scorerName(scorer: string): string {
  const ref = parseRef(scorer)
  return ref?.kind === 'object' || ref?.kind === 'op' ? ref.name : scorer
}

export async function writeTrialOutput(
  tx: Transaction,
  projectId: string,
  { id }: Trial,
  output: string,
  ended_at: number,
): Promise<void> {
  const summary = '{}'
  const end_bytes = Buffer.byteLength(output) + summary.length
  const end = { ended_at, end_bytes, output, summary }
  await upsertCalls(tx, [{ project_id: projectId, id, display_name: null, end }])
}
