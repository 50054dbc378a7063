import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, describe, test } from 'node:test'
import { newFolder } from '../../support/server.ts'
import { until } from '../../support/wait.ts'
import { type Project, prices, projectOn, type Read, startReady } from './place.ts'
import { type Answered, type Sdk, sdks } from './sdks.ts'

/** From a question to a comparison: what a team can do with an answer when its client keeps only the id. */

const server = await startReady({ after }, await newFolder({ after }))

const thread = 'support'
const questions = ['What is the capital of Mali?', 'What is the capital of Japan?', 'Who are you?']

for (const [name, sdk] of Object.entries(sdks)) {
  describe(name, () => {
    const slug = name.replaceAll(/\W+/g, '-').replace(/^-/, '')
    test('an answer is a call with a cost, gets feedback, enters a queue and is scored', async () => {
      const project = projectOn(server, `acme/loop-${slug}`)
      await project.prices()
      const queue = await project.queue(sdk)
      await project.monitor(sdk, thread)
      for (const stream of [false, true]) {
        const question = `What is the capital of Mali? ${stream ? 'As a stream.' : ''}`
        const client = project.client({ 'x-heddle-thread': thread })
        const answered = await sdk.ask({ ...client, question, stream, maxTokens: 24 })
        const call = await assertRecorded(project, sdk, answered)
        assert.equal(call.thread_id, thread)
        assert.equal(call.attributes.heddle.stream, stream)
        assert.ok(JSON.stringify(call.inputs).includes(question))

        await project.feedback(answered.id, { helpful: true })
        const items = await project.items(queue, answered.id)
        assert.deepEqual(
          items.map(({ call_id, call_op_name }) => [call_id, call_op_name]),
          [[call.id, sdk.op]],
        )
        await assertScored(project, answered, call)
      }
    })

    test('answers of two settings to the same questions are compared', async () => {
      const project = projectOn(server, `acme/settings-${slug}`)
      const runs = new Map<string, Map<string, Answered>>()
      for (const maxTokens of [4, 24]) {
        const { run, answers } = await evaluate(project, sdk, maxTokens)
        runs.set(run, answers)
      }
      const { rows, summary } = await project.v2('eval_results/query', {
        evaluation_call_ids: [...runs.keys()],
        include_raw_data_rows: true,
        include_summary: true,
      })
      assert.deepEqual(
        rows.map(({ raw_data_row }: Read) => raw_data_row.question).sort(),
        questions.toSorted(),
      )
      for (const { raw_data_row, evaluations } of rows) {
        assert.deepEqual(
          evaluations
            .map(({ evaluation_call_id, trials: [trial] }: Read) => [
              evaluation_call_id,
              trial.model_output,
              trial.scores.length,
            ])
            .sort(),
          [...runs]
            .map(([run, answers]) => {
              const { text } = answers.get(raw_data_row.question) as Answered
              return [run, text, text.length]
            })
            .sort(),
        )
      }
      for (const { evaluation_call_id, trial_count, scorer_stats } of summary.evaluations) {
        const answers = [...(runs.get(evaluation_call_id)?.values() ?? [])]
        const total = answers.reduce((sum, { text }) => sum + text.length, 0)
        assert.equal(trial_count, questions.length)
        assert.ok(Math.abs(scorer_stats[0].numeric_mean - total / questions.length) < 1e-9)
      }
      assert.equal(summary.evaluations.length, 2)
    })
  })
}

/** The id that the SDK received finds the call, and the call agrees with the SDK. */
async function assertRecorded(project: Project, sdk: Sdk, answered: Answered): Promise<Read> {
  const { id, text, promptTokens, completionTokens } = answered
  const call = await project.read(id)
  assert.deepEqual(
    [call.op_name, call.exception, call.attributes.heddle.completion, call.output.id],
    [sdk.op, null, id, id],
  )
  assert.equal(
    sdk.text.split('.').reduce((value, step) => value?.[step], call),
    text,
  )
  assert.ok(promptTokens && completionTokens)
  assert.deepEqual(call.summary.usage, {
    'heddle-tiny': {
      requests: 1,
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: promptTokens + completionTokens,
    },
  })
  return call
}

/** The call has the feedback of a person, of two checks and of a judge, and the right cost. */
async function assertScored(project: Project, { id, ...answered }: Answered, call: Read) {
  const { promptTokens = 0, completionTokens = 0, text } = answered
  const cost = promptTokens * prices.prompt_token_cost + completionTokens * prices.completion_token_cost
  const { prompt_tokens_total_cost, completion_tokens_total_cost } = call.summary.weave.costs['heddle-tiny']
  assert.equal(prompt_tokens_total_cost + completion_tokens_total_cost, cost)

  let said: Read[] = []
  await until(`${id} is scored`, async () => {
    const [listed] = await project.calls({ call_ids: [id] })
    said = listed.summary.weave.feedback
    return said.length === 4
  })
  const byType = new Map(said.map((one) => [one.feedback_type, one]))
  assert.deepEqual(byType.get('review').payload, { helpful: true })
  const score = (scorer: string) => byType.get(`wandb.runnable.${scorer}`).payload.output
  const { length } = Array.from(text)
  assert.deepEqual(score('long'), { passed: length >= 20, length })
  assert.deepEqual(score('cheap'), { passed: cost <= 50, cost })
  assert.equal(typeof score('good').good, 'boolean')
  const judged = byType.get('wandb.runnable.good').call_ref.split('/').at(-1)
  const own = await project.read(judged)
  assert.equal(own.op_name, 'heddle.judge')
  assert.equal(own.attributes.heddle.judge.call, `weave:///${project.project_id}/call/${call.id}`)
}

/** Asks each question as a child of its prediction, and records the length of each answer as a score. */
async function evaluate(project: Project, sdk: Sdk, maxTokens: number) {
  const ref = (kind: string) => `weave:///${project.project_id}/object/${kind}:v0`
  const model = ref(`tiny-${maxTokens}`)
  const { evaluation_run_id: run } = await project.v2('evaluation_runs', { evaluation: ref('three'), model })
  const answers = new Map<string, Answered>()
  for (const question of questions) {
    const id = randomUUID()
    const client = project.client({ 'x-heddle-parent': id, 'x-heddle-trace': run })
    const answered = await sdk.ask({ ...client, question, stream: false, maxTokens })
    await project.v2('predictions', {
      id,
      evaluation_run_id: run,
      model,
      inputs: { question },
      output: answered.text,
    })
    const call = await assertRecorded(project, sdk, answered)
    assert.deepEqual([call.parent_id, call.trace_id], [id, run])
    const value = answered.text.length
    await project.v2('scores', {
      evaluation_run_id: run,
      prediction_id: id,
      scorer: ref('length'),
      value,
    })
    await project.v2(`predictions/${id}/finish`)
    answers.set(question, answered)
  }
  await project.v2(`evaluation_runs/${run}/finish`)
  return { run, answers }
}
