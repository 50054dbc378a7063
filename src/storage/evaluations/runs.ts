import { canonicalJson } from '../../../packages/json/index.ts'
import { asText } from '../../domain/json/text.ts'
import { refuse } from '../../domain/refusals.ts'
import { tellEndpoints } from '../alerts/events.ts'
import { isLive } from '../calls/calls.ts'
import type { CallPart, CallStart } from '../calls/parts.ts'
import { deleteCalls, upsertCalls } from '../calls/writes.ts'
import type { Feedback } from '../feedback/feedback.ts'
import { addFeedback, removeFeedback } from '../feedback/writes.ts'
import { listOf, rawSql, sql } from '../sql/sql.ts'
import type { Command, Transaction } from '../transaction.ts'
import {
  findMarked,
  type Kind,
  liveAmong,
  type MarkedCall,
  type MarkedCalls,
  requireMarked,
} from './marked-calls.ts'
import { trialOf, trialOutput, writeTrialOutput } from './trial-outputs.ts'

/**
 * Everything that changes a run or a prediction takes this lock, so what is read is still true when the write follows.
 */
const lockOf = (kind: Kind, projectId: string, id: string) => `${kind} ${projectId} ${id}`

export const lockOfRun = (projectId: string, id: string): string => lockOf('run', projectId, id)

interface NewCall {
  call: CallPart & { start: CallStart }
  /** How a refusal names the id; null if the server made the id, so that no other call can have it. */
  field: string | null
  now: number
}

/** Whether the call already exists because it was sent before. Refuses if another call has the id. */
async function callExists(tx: Transaction, { call, field, now }: NewCall): Promise<boolean> {
  if (field === null) return false
  const { project_id, id, start, end } = call
  await tx.lock(`new call ${project_id} ${id}`)
  const of = sql`project_id = ${project_id} AND id = ${id}`
  const taken = await tx.get(sql`SELECT id FROM calls WHERE ${of}`)
  if (taken === undefined) return false
  type Stored = Record<'op_name' | 'attributes' | 'inputs', string> &
    Record<'parent_id' | 'output' | 'user_id', string | null>
  const stored = await tx.get<Stored>(
    sql`SELECT op_name, parent_id, user_id, attributes, inputs, output FROM calls WHERE ${of} AND ${isLive(now)}`,
  )
  const isSame =
    stored !== undefined &&
    stored.op_name === start.op_name &&
    stored.user_id === start.user_id &&
    isSameJson(stored.attributes, start.attributes) &&
    isSameJson(stored.inputs, start.inputs) &&
    (end === undefined || isSameJson(stored.output, end.output && asText(end.output)))
  if (isSame) return true
  throw refuse('call_conflict', { field, received: id, project: project_id })
}

function isSameJson(json: string | null, other: string | null): boolean {
  return json === other || canonicalJson(json ?? 'null') === canonicalJson(other ?? 'null')
}

export const addEvaluationRun: Command<NewCall, void> = async (tx, run) => {
  if (!(await callExists(tx, run))) await upsertCalls(tx, [run.call])
}

interface NewPrediction extends NewCall {
  /** Within a run: the trial that begins with the prediction. */
  trial: (CallPart & { start: CallStart }) | null
  run: { id: string; field: string } | null
}

export const addPrediction: Command<NewPrediction, void> = async (tx, newPrediction) => {
  if (await callExists(tx, newPrediction)) return
  const { call, trial, run, now } = newPrediction
  if (run) await requireMarked(tx, 'run', call.project_id, run.id, run.field, now)
  await upsertCalls(tx, trial ? [trial, call] : [call])
}

interface PredictionKey {
  project_id: string
  prediction_id: string
}

/** Ends the trial of the prediction with the scores so far. Happens once; later scores are added to it. */
export const finishPrediction: Command<PredictionKey & { field: string; now: number }, void> = async (
  tx,
  { project_id, prediction_id, field, now },
) => {
  await tx.lock(lockOf('prediction', project_id, prediction_id))
  const prediction = await requireMarked(tx, 'prediction', project_id, prediction_id, field, now)
  const trial = await trialOf(tx, project_id, prediction, now)
  if (trial === undefined || trial.ended_at !== null) return
  const output = await trialOutput(tx, project_id, prediction, trial, now)
  await writeTrialOutput(tx, project_id, trial, output, now)
}

interface NewScore extends NewCall, PredictionKey {
  /** How a refusal names the prediction. */
  predictionField: string
  /** The same score as feedback on the prediction. */
  feedback: Feedback
}

/** If the trial is finished, the score is added to it, so that the order of the two makes no difference. */
export const addScore: Command<NewScore, void> = async (tx, newScore) => {
  if (await callExists(tx, newScore)) return
  const { call, field, project_id, prediction_id, predictionField, feedback, now } = newScore
  await tx.lock(lockOf('prediction', project_id, prediction_id))
  const prediction = await requireMarked(tx, 'prediction', project_id, prediction_id, predictionField, now)
  await changeScores(tx, project_id, prediction, now, async () => {
    await upsertCalls(tx, [call])
    await addFeedback(tx, [{ record: feedback, field: field ?? 'id' }])
  })
}

/**
 * Updates the output of a finished trial when scores are added or removed. An output that another client wrote is left
 * as it is.
 */
async function changeScores(
  tx: Transaction,
  projectId: string,
  prediction: MarkedCall,
  now: number,
  change: () => Promise<void>,
): Promise<void> {
  const trial = await trialOf(tx, projectId, prediction, now)
  const ended = trial?.ended_at ?? null
  if (trial === undefined || ended === null) return change()
  const isOurs = trial.output === (await trialOutput(tx, projectId, prediction, trial, now))
  await change()
  if (!isOurs) return
  const output = await trialOutput(tx, projectId, prediction, trial, now)
  await writeTrialOutput(tx, projectId, trial, output, ended)
}

interface RunEnd {
  project_id: string
  run_id: string
  field: string
  /** The end of the root. */
  end: CallPart & { end: { summary: string } }
  summarize: CallPart
  now: number
}

/** A run ends once; ending it again in the same way changes nothing. */
export const finishEvaluationRun: Command<RunEnd, void> = async (
  tx,
  { project_id, run_id, field, end, summarize, now },
) => {
  await tx.lock(lockOf('run', project_id, run_id))
  const run = await requireMarked(tx, 'run', project_id, run_id, field, now)
  if (run.ended_at === null) {
    await upsertCalls(tx, [end, summarize])
    const data = { run_id, exception: end.end.exception?.slice(0, 200) ?? null }
    return tellEndpoints(tx, project_id, 'evaluation_run.finished', { subject: `run ${run_id}`, data }, now)
  }
  if (!run.exception && isSameJson(run.summary, end.end.summary)) return
  const how = run.exception ? 'with an exception' : 'with another summary'
  throw refuse('evaluation_run_ended', { field, run: run_id, how })
}

/** All locks are taken in the same order, so that no two writes wait for each other. */
async function lockAll(tx: Transaction, kind: Kind, projectId: string, ids: Iterable<string>) {
  for (const id of [...new Set(ids)].sort()) await tx.lock(lockOf(kind, projectId, id))
}

/** Deletes each run with everything in it. Returns how many runs were deleted. */
export const deleteEvaluationRuns: Command<MarkedCalls, number> = async (tx, marked) => {
  await lockAll(tx, 'run', marked.project_id, marked.ids)
  const runs = await liveAmong(tx, 'run', marked)
  await deleteCalls(tx, { ...marked, ids: runs.map(({ id }) => id) })
  return runs.length
}

/** Deleting a prediction also deletes the trial that begins with it. */
export const deletePredictions: Command<MarkedCalls, number> = async (tx, marked) => {
  const { project_id, now } = marked
  await lockAll(tx, 'prediction', project_id, marked.ids)
  const predictions = await liveAmong(tx, 'prediction', marked)
  const ids: string[] = []
  for (const prediction of predictions) {
    const trial = await trialOf(tx, project_id, prediction, now)
    ids.push(trial?.id ?? prediction.id)
  }
  await deleteCalls(tx, { project_id, ids, now })
  return predictions.length
}

/** Also removes the feedback on the prediction, and the score from a finished trial. */
export const deleteScores: Command<MarkedCalls, number> = async (tx, marked) => {
  const { project_id, now } = marked
  const predictionId = tx.dialect.json(rawSql('calls.attributes'), ['weave', 'prediction_id']).text
  const named = await tx.all<{ id: string; prediction_id: string }>(
    sql`SELECT id, ${predictionId} AS prediction_id FROM calls
        WHERE project_id = ${project_id} AND id IN (${listOf(marked.ids)})`,
  )
  const predictions = named.map(({ prediction_id }) => prediction_id)
  await lockAll(tx, 'prediction', project_id, predictions)
  const live = new Set((await liveAmong(tx, 'score', marked)).map(({ id }) => id))
  const byPrediction = Map.groupBy(
    named.filter(({ id }) => live.has(id)),
    ({ prediction_id }) => prediction_id,
  )
  for (const [prediction_id, scores] of byPrediction) {
    const ids = scores.map(({ id }) => id)
    const remove = async () => {
      await deleteCalls(tx, { project_id, ids, now })
      await removeFeedback(tx, { project_id, ids })
    }
    const prediction = await findMarked(tx, 'prediction', project_id, prediction_id, now)
    if (prediction === undefined) await remove()
    else await changeScores(tx, project_id, prediction, now, remove)
  }
  return live.size
}
