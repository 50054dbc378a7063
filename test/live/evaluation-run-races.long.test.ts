import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, type TestContext, test } from 'node:test'
import { openApp } from '../support/app.ts'
import { allDrivers, type Driver } from '../support/drivers.ts'
import { callsOf, evaluationRunsOf, root, trialOutputOf } from '../support/evaluation-runs.ts'
import { allFeedback } from '../support/feedback.ts'

async function openRuns(t: Pick<TestContext, 'after'>, driver: Driver) {
  const opened = await openApp(t, { database: await driver.open(t) })
  return { ...opened, ...evaluationRunsOf(opened) }
}

const statusesOf = (answers: readonly { status: number }[]) =>
  answers.map(({ status }) => status).toSorted((a, b) => a - b)

for (const driver of allDrivers()) {
  describe(`concurrent evaluation runs, with ${driver.name}`, () => {
    before(driver.start)
    after(driver.stop)

    test('all scores that arrive while their prediction finishes are in its trial', async (t) => {
      const { post, run, predict, score, finishPrediction } = await openRuns(t, driver)
      for (let round = 0; round < 5; round++) {
        const id = await run()
        const prediction = await predict(id)
        const names = Array.from({ length: 12 }, (_, n) => `scorer${n}`)
        const work = names.map((name, n) => () => score(id, prediction, name, n))
        const finish = () => finishPrediction(prediction)
        await Promise.all(
          [...work.slice(0, 4), finish, ...work.slice(4, 8), finish, ...work.slice(8)].map((f) => f()),
        )
        const { scores } = await trialOutputOf(post, id)
        assert.deepEqual(scores, Object.fromEntries(names.map((name, n) => [name, n])))
      }
    })

    test('the trial has the remaining scores when some are added and removed while the prediction finishes', async (t) => {
      const { post, send, run, predict, score, finishPrediction } = await openRuns(t, driver)
      const id = await run()
      const prediction = await predict(id)
      const gone = await Promise.all(['a', 'b', 'c', 'd'].map((name) => score(id, prediction, name, 1)))
      await Promise.all([
        ...gone.map((one) => send('DELETE', `${root}/scores?score_ids=${one}`)),
        finishPrediction(prediction),
        ...['e', 'f', 'g'].map((name) => score(id, prediction, name, 2)),
      ])
      assert.deepEqual((await trialOutputOf(post, id)).scores, { e: 2, f: 2, g: 2 })
      assert.equal((await allFeedback(post)).length, 3)
    })

    test('a run that several clients finish at once ends once, with one summary', async (t) => {
      const { post, get, run, predict, score, finishPrediction, finishRun } = await openRuns(t, driver)
      const id = await run()
      const prediction = await predict(id)
      await score(id, prediction, 'exact', 1)
      await finishPrediction(prediction)
      const summaries = [1, 2, 1, 2, 1, 2, 1, 2].map((n) => ({ summary: { n } }))
      const answers = await Promise.all(summaries.map((body) => finishRun(id, body)))
      assert.deepEqual(statusesOf(answers), [200, 200, 200, 200, 409, 409, 409, 409])
      const record = (await get(`${root}/evaluation_runs/${id}`)).json
      for (const [n, { status }] of answers.entries()) {
        assert.equal(status === 200, summaries[n]?.summary.n === record.summary.n)
      }
      const summarized = (await callsOf(post, id)).filter(({ op_name }) => op_name === 'Evaluation.summarize')
      assert.equal(summarized.length, 1)
      assert.deepEqual(summarized[0].output, record.output)
    })

    test('the same run, prediction and score sent several times at once are stored once', async (t) => {
      const { post, run, predict, score } = await openRuns(t, driver)
      const six = [1, 2, 3, 4, 5, 6]
      const id = randomUUID()
      await Promise.all(six.map(() => run({ id })))
      const prediction = randomUUID()
      await Promise.all(six.map(() => predict(id, { id: prediction })))
      const one = randomUUID()
      await Promise.all(six.map(() => score(id, prediction, 'exact', 1, { id: one })))
      assert.equal((await callsOf(post, id)).length, 4)
      assert.equal((await allFeedback(post)).length, 1)
    })

    test('when one id is sent for different values at once, one of them gets it', async (t) => {
      const { post, run, predict } = await openRuns(t, driver)
      const id = await run()
      const wanted = randomUUID()
      const bodies = [1, 2, 3, 4].map((output) => ({
        model: 'm',
        inputs: {},
        output,
        evaluation_run_id: id,
        id: wanted,
      }))
      const answers = await Promise.all(bodies.map((body) => post(`${root}/predictions`, body)))
      assert.deepEqual(statusesOf(answers), [200, 409, 409, 409])
      const winner = answers.findIndex(({ status }) => status === 200)
      const calls = await callsOf(post, id)
      assert.equal(calls.length, 3)
      assert.equal(calls.find((call) => call.id === wanted).output, bodies[winner]?.output)
      assert.ok(await predict(id))
    })

    test('a run that is deleted while it finishes leaves no call', async (t) => {
      const { post, send, run, finishRun } = await openRuns(t, driver)
      for (let round = 0; round < 5; round++) {
        const id = await run()
        const remove = () => send('DELETE', `${root}/evaluation_runs?evaluation_run_ids=${id}`)
        const [finished, removed] = await Promise.all([finishRun(id), remove()])
        assert.ok([200, 404].includes(finished.status), finished.text)
        assert.deepEqual(removed.json, { num_deleted: 1 })
        assert.deepEqual(await callsOf(post, id), [])
      }
    })
  })
}
