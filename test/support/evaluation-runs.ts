import assert from 'node:assert/strict'
import type { Answer, TestApp } from './app.ts'
import { keys } from './app.ts'
import { project } from './calls.ts'

export const root = `/v2/${project}`
export const evaluation = `weave:///${project}/object/capitals:v0`
export const model = `weave:///${project}/object/small:v0`
export const scorerOf = (name: string) => `weave:///${project}/object/${name}:v0`

type Fields = Record<string, unknown>

async function made(answer: Promise<Answer>, name: string): Promise<string> {
  const { status, json, text } = await answer
  assert.equal(status, 200, text)
  return json[name]
}

/** The steps of a program that evaluates a model by hand. Each returns the id, and fails the test if it is refused. */
export function evaluationRunsOf({ post }: Pick<TestApp, 'post'>, key: string = keys.alice) {
  return {
    run: (fields: Fields = {}) =>
      made(post(`${root}/evaluation_runs`, { evaluation, model, ...fields }, key), 'evaluation_run_id'),
    predict: (run: string | null, fields: Fields = {}) =>
      made(
        post(
          `${root}/predictions`,
          { model, inputs: { question: 'capital of Chad' }, output: 1, evaluation_run_id: run, ...fields },
          key,
        ),
        'prediction_id',
      ),
    score: (run: string | null, prediction_id: string, name: string, value: unknown, fields: Fields = {}) =>
      made(
        post(
          `${root}/scores`,
          { prediction_id, scorer: scorerOf(name), value, evaluation_run_id: run, ...fields },
          key,
        ),
        'score_id',
      ),
    finishPrediction: (id: string) => post(`${root}/predictions/${id}/finish`, {}, key),
    finishRun: (id: string, body: Fields = {}) => post(`${root}/evaluation_runs/${id}/finish`, body, key),
  }
}

/** The calls of a trace as clients read them, in the order in which they began. */
export async function callsOf(post: TestApp['post'], trace: string, key: string = keys.alice) {
  const { status, text } = await post(
    '/calls/stream_query',
    { project_id: project, filter: { trace_ids: [trace] } },
    key,
  )
  assert.equal(status, 200, text)
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Answer['json'])
}

/** The output of the only trial of a run. */
export async function trialOutputOf(post: TestApp['post'], run: string, key: string = keys.alice) {
  const trials = (await callsOf(post, run, key)).filter(
    ({ op_name }) => op_name === 'Evaluation.predict_and_score',
  )
  assert.equal(trials.length, 1)
  return trials[0].output
}
