import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Database } from '../../../src/storage/database.ts'
import { findMarked } from '../../../src/storage/evaluations/marked-calls.ts'
import { countTrials, streamTrialValues } from '../../../src/storage/evaluations/trial-calls.ts'
import { boundTo } from '../../../src/storage/transaction.ts'
import {
  endPart,
  newProject,
  secondMicros,
  startedAt,
  startPart,
  storedRows,
  visibleCalls,
  wholePart,
} from '../../support/call-parts.ts'
import type { Driver } from '../../support/drivers.ts'
import { refusedWith } from '../../support/refusals.ts'
import { collect } from '../../support/views.ts'

const now = startedAt + 100 * secondMicros
const field = 'id'
const weave = (marks: Record<string, string>) => JSON.stringify({ weave: marks })

function runPart(project: string, id = 'run') {
  const attributes = weave({ evaluation_run: 'true' })
  return startPart(project, id, { op_name: 'Evaluation.evaluate', attributes })
}

function feedbackPart(project_id: string, id: string) {
  return {
    project_id,
    id,
    feedback_type: 'wandb.runnable.exact',
    svc_ref: 'x',
    call_id: 'prediction',
    thread_id: null,
    user_id: 'alice',
    creator: null,
    created_at: startedAt,
    payload: '{"output":1}',
    annotation_ref: null,
    runnable_ref: null,
    call_ref: null,
    trigger_ref: null,
    queue_id: null,
  }
}

/** A run with one prediction in one trial. */
async function beginTrial(db: Database, project = newProject()) {
  const trial = startPart(project, 'trial', {
    trace_id: 'run',
    parent_id: 'run',
    op_name: 'Evaluation.predict_and_score',
    attributes: weave({ predict_call_id: 'prediction' }),
  })
  const prediction = {
    call: wholePart(
      project,
      'prediction',
      { trace_id: 'run', parent_id: 'trial', attributes: weave({ prediction: 'true' }) },
      { output: '5.0', ended_at: startedAt + 1_500_000 },
    ),
    field,
    trial,
    run: { id: 'run', field },
    now,
  }
  await db.write('addEvaluationRun', { call: runPart(project), field, now })
  await db.write('addPrediction', prediction)
  const score = (id: string, name: string, output: string) => {
    const scorer = `weave:///acme/qa/object/${name}:v0`
    const attributes = weave({ score: 'true', scorer, prediction_id: 'prediction' })
    return {
      call: wholePart(project, id, { trace_id: 'run', parent_id: 'trial', attributes }, { output }),
      field,
      project_id: project,
      prediction_id: 'prediction',
      predictionField: field,
      feedback: feedbackPart(project, id),
      now,
    }
  }
  const output = async () => {
    const rows = await storedRows(db, project)
    return rows.find(({ id }) => id === 'trial')?.output
  }
  const finish = () =>
    db.write('finishPrediction', { project_id: project, prediction_id: 'prediction', field, now })
  return { project, prediction, score, output, finish }
}

const endOf = (project_id: string, summary = '{"a":1}') => ({
  project_id,
  run_id: 'run',
  field,
  end: endPart(project_id, 'run', { summary, output: '{"x":1}' }),
  summarize: wholePart(project_id, `summarize ${summary}`, { trace_id: 'run', parent_id: 'run' }),
  now,
})

export function evaluationRuns(open: Driver['open']): void {
  describe('evaluation runs', () => {
    test('adding the same again changes nothing, and adding something else is a conflict', async (t) => {
      const db = await open(t)
      const { project, prediction, score } = await beginTrial(db)
      const one = score('s1', 'exact', '1.0')
      await db.write('addScore', one)
      const before = await storedRows(db, project)
      const run = { call: runPart(project), field, now }
      await db.write('addEvaluationRun', run)
      await db.write('addPrediction', prediction)
      await db.write('addScore', one)
      assert.deepEqual(await storedRows(db, project), before)

      const changed = { ...run, call: startPart(project, 'run', { ...run.call.start, inputs: '{"a":1}' }) }
      const other = {
        ...prediction,
        call: { ...prediction.call, end: { ...prediction.call.end, output: '6' } },
      }
      await assert.rejects(db.write('addEvaluationRun', changed), refusedWith('call_conflict'))
      await assert.rejects(db.write('addPrediction', other), refusedWith('call_conflict'))
      await assert.rejects(db.write('addScore', score('s1', 'exact', '1')), refusedWith('call_conflict'))
      await assert.rejects(db.write('addScore', score('s1', 'judge', '1.0')), refusedWith('call_conflict'))
      assert.deepEqual(await storedRows(db, project), before)
    })

    test('a refused write leaves nothing', async (t) => {
      const db = await open(t)
      const { project, prediction, score } = await beginTrial(db)
      const ids = async () => (await storedRows(db, project)).map(({ id }) => id)
      const before = await ids()
      const nowhere = { ...prediction, call: { ...prediction.call, id: 'other' }, run: { id: 'x', field } }
      await assert.rejects(db.write('addPrediction', nowhere), refusedWith('evaluation_run_not_found'))
      const lost = { ...score('s1', 'exact', '1'), prediction_id: 'trial' }
      await assert.rejects(db.write('addScore', lost), refusedWith('prediction_not_found'))
      const said = feedbackPart(project, 's2')
      await db.write('addFeedback', [{ record: { ...said, payload: '{}' }, field }])
      await assert.rejects(db.write('addScore', score('s2', 'exact', '1')), refusedWith('feedback_conflict'))
      assert.deepEqual(await ids(), before)
      const elsewhere = newProject()
      await assert.rejects(
        db.write('finishPrediction', { project_id: elsewhere, prediction_id: 'prediction', field, now }),
        refusedWith('prediction_not_found'),
      )
      await assert.rejects(
        db.write('finishEvaluationRun', endOf(elsewhere)),
        refusedWith('evaluation_run_not_found'),
      )
      assert.deepEqual(await storedRows(db, elsewhere), [])
    })

    test('a finished trial has every score, whenever it arrived', async (t) => {
      const db = await open(t)
      const { project, score, output, finish } = await beginTrial(db)
      await db.write('addScore', score('s1', 'exact', '1.0'))
      assert.equal(await output(), null)
      await finish()
      const latency = '"model_latency":{"mean":1.5}}'
      assert.equal(await output(), `{"output":5.0,"scores":{"exact":1.0},${latency}`)
      await db.write('addScore', score('s2', 'exact', '2'))
      await db.write('addScore', score('s3', 'judge', '{"a":1E2}'))
      assert.equal(await output(), `{"output":5.0,"scores":{"exact":2,"judge":{"a":1E2}},${latency}`)
      const remove = (...ids: string[]) => db.write('deleteScores', { project_id: project, ids, now })
      assert.equal(await remove('s2', 's2x', 'prediction'), 1)
      assert.equal(await output(), `{"output":5.0,"scores":{"exact":1.0,"judge":{"a":1E2}},${latency}`)
      assert.equal(await remove('s1', 's3'), 2)
      assert.equal(await output(), `{"output":5.0,"scores":{},${latency}`)
    })

    test('a run ends once', async (t) => {
      const db = await open(t)
      const { project } = await beginTrial(db)
      await db.write('finishEvaluationRun', endOf(project))
      const before = await storedRows(db, project)
      await db.write('finishEvaluationRun', endOf(project, '{"a": 1}'))
      await assert.rejects(
        db.write('finishEvaluationRun', endOf(project, '{}')),
        refusedWith('evaluation_run_ended'),
      )
      assert.deepEqual(await storedRows(db, project), before)
      const run = await findMarked(db, 'run', project, 'run', now)
      assert.deepEqual([run?.output, run?.summary], ['{"x":1}', '{"a":1}'])
      assert.equal(await findMarked(db, 'prediction', project, 'run', now), undefined)
      assert.equal(await findMarked(db, 'run', newProject(), 'run', now), undefined)
    })

    test('a run that many end at once ends once', async (t) => {
      const db = await open(t)
      for (let round = 0; round < 5; round++) {
        const { project } = await beginTrial(db)
        const summaries = ['{"a":1}', '{"a":2}', '{"a":1}', '{"a":2}']
        const settled = await Promise.allSettled(
          summaries.map((summary) => db.write('finishEvaluationRun', endOf(project, summary))),
        )
        const run = await findMarked(db, 'run', project, 'run', now)
        assert.deepEqual(
          settled.map(({ status }) => status === 'fulfilled'),
          summaries.map((summary) => summary === run?.summary),
        )
        const rows = await storedRows(db, project)
        assert.deepEqual(
          rows.map(({ id }) => id),
          ['prediction', 'run', `summarize ${run?.summary}`, 'trial'],
        )
      }
    })

    test('a run that is deleted while it ends leaves nothing', async (t) => {
      const db = await open(t)
      for (let round = 0; round < 10; round++) {
        const { project } = await beginTrial(db)
        const remove = () => db.write('deleteEvaluationRuns', { project_id: project, ids: ['run'], now })
        const end = () => db.write('finishEvaluationRun', endOf(project))
        const [first, second] = round % 2 ? [remove, end] : [end, remove]
        await Promise.allSettled([first(), second()])
        assert.deepEqual(await visibleCalls(db, project, { now }), [])
      }
    })

    test('deleting removes only calls of the given kind', async (t) => {
      const db = await open(t)
      const { project, score } = await beginTrial(db)
      await db.write('addScore', score('s1', 'exact', '1'))
      await db.write('upsertCalls', [startPart(project, 'beside')])
      const all = { project_id: project, ids: ['run', 'trial', 'prediction', 's1', 'beside', 'nobody'], now }
      const left = async () => (await visibleCalls(db, project, { now })).map(({ id }) => id).toSorted()
      assert.equal(await db.write('deleteScores', all), 1)
      assert.deepEqual(await left(), ['beside', 'prediction', 'run', 'trial'])
      assert.equal(await db.write('deletePredictions', all), 1)
      assert.deepEqual(await left(), ['beside', 'run'])
      assert.equal(await db.write('deleteEvaluationRuns', all), 1)
      assert.deepEqual(await left(), ['beside'])
      assert.equal(await db.write('deleteEvaluationRuns', all), 0)
    })

    test('the values of trials are read from their outputs', async (t) => {
      const db = await open(t)
      const project = newProject()
      const trial = (id: string, output: string | null, fields = {}) =>
        wholePart(
          project,
          id,
          { parent_id: 'root', op_name: 'Evaluation.predict_and_score', ...fields },
          { output },
        )
      await db.write('upsertCalls', [
        trial('number', '{"output":1.0,"scores":{"b":9007199254740993,"a":1.0}}'),
        trial('sdk', '{"model_output":{"x":[2]},"scores":{}}', { op_name: 'Evaluation.predictAndScore' }),
        trial('ref', '{"output":true}', { op_name: 'weave:///a/b/op/Evaluation.predict_and_score:x' }),
        trial('text', `{"output":"\\u0000${'long'.repeat(100)}","scores":"no"}`),
        trial('null', '{"output":null,"model_output":4,"scores":null}'),
        trial('list', '[{"output":5}]'),
        trial('plain', '"text"'),
        trial('none', null),
        trial('other', '{"output":7}', { op_name: 'answer' }),
        trial('child', '{"output":8}', { parent_id: 'number' }),
        startPart(project, 'open', { parent_id: 'root', op_name: 'Evaluation.predict_and_score' }),
        trial('gone', '{"output":9}', { expire_at: now }),
      ])
      const signal = new AbortController().signal
      const found = await collect(streamTrialValues(boundTo(db, signal), project, 'root', now))
      const shown = found.map(({ scores, output }) => `${scores} ${output}`).toSorted()
      assert.deepEqual(
        shown,
        [
          '{"b":9007199254740993,"a":1.0} 1.0',
          '{} {"x":[2]}',
          'null true',
          '"no" null',
          'null null',
          'null null',
          'null null',
        ].toSorted(),
      )
      assert.deepEqual(
        { ...(await countTrials(boundTo(db, signal), project, 'root', now)) },
        { begun: 9, ended: 8 },
      )
    })
  })
}
