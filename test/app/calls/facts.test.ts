import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type EndFacts, endFacts, type StartFacts, startFacts } from '../../../src/domain/call-facts/facts.ts'
import { answerPreview, requestPreview } from '../../../src/domain/call-facts/preview.ts'
import { factColumns } from '../../../src/storage/calls/columns.ts'
import { sql } from '../../../src/storage/sql/sql.ts'
import { openApp, type TestApp } from '../../support/app.ts'
import { completeOf, endOf, project, startOf } from '../../support/calls.ts'
import { tried } from '../../support/campaign-share.ts'
import { asking, chatUrl } from '../../support/chat.ts'
import { evaluationRunsOf } from '../../support/evaluation-runs.ts'
import { exportOf, spanOf } from '../../support/otlp.ts'
import { scriptedBackend } from '../../support/scripted-backend.ts'

interface Carried {
  inputs: Record<string, unknown>
  output: unknown
  summary: Record<string, unknown>
}

interface StoredCall extends StartFacts, EndFacts {
  op_name: string
  attributes: string
  inputs: string
  exception: string | null
  output: string | null
  summary: string | null
}

/** The project of answers whose requests name none. */
const answers = 'acme/default'

/** Some texts are longer than the previews of a list, and some make a body that a worker thread reads. */
const said = fc
  .tuple(fc.string(), fc.constantFrom(0, 1, 5000, 70_000))
  .map(([text, n]) => text + 'é'.repeat(n))
const model = fc.constantFrom('small', 'large', 5, null)
const carried: fc.Arbitrary<Carried> = fc.record({
  inputs: fc.oneof(
    fc.record({
      model,
      messages: fc.array(fc.record({ role: fc.constantFrom('user', 'x'), content: said })),
    }),
    fc.dictionary(fc.string(), fc.jsonValue()),
    fc.record({ prompt: said }),
  ),
  output: fc.oneof(
    fc.record({ choices: fc.array(fc.record({ message: fc.record({ content: said }) })) }),
    fc.jsonValue(),
  ),
  summary: fc.record({
    usage: fc.dictionary(fc.constantFrom('a', 'b'), fc.record({ prompt_tokens: fc.nat() })),
    status_counts: fc.record({ error: fc.nat({ max: 1 }) }),
  }),
})

/** Writes calls with the given contents, and possibly others. */
type Way = (app: TestApp, given: Carried) => Promise<void>

async function accepted(app: TestApp, url: string, body: unknown): Promise<void> {
  const { status, text } = await app.post(url, body)
  assert.equal(status, 200, text)
}

const ways: Record<string, Way> = {
  'a start and then its end': async (app, { inputs, output, summary }) => {
    const start = startOf({ inputs })
    await accepted(app, '/call/start', { start })
    await accepted(app, '/call/end', { end: endOf(start.id, { output, summary, exception: 'boom' }) })
  },
  'a batch of starts and ends': async (app, { inputs, output, summary }) => {
    const start = startOf({ inputs, op_name: `weave:///${project}/op/answer:v1` })
    const batch = [
      { mode: 'end', req: { end: endOf(start.id, { output, summary }) } },
      { mode: 'start', req: { start } },
    ]
    await accepted(app, '/call/upsert_batch', { batch })
  },
  'a whole call': (app, given) =>
    accepted(app, `/v2/${project}/calls/complete`, { batch: [completeOf({ ...given })] }),
  'a span': (app, { inputs, output }) => {
    const attributes = { 'input.value': JSON.stringify(inputs), 'output.value': JSON.stringify(output) }
    return accepted(app, '/otel/v1/traces', exportOf([spanOf(attributes)]))
  },
  'a run over the evaluation routes': async (app, { inputs, output }) => {
    const { run, predict, score, finishPrediction, finishRun } = evaluationRunsOf(app)
    const id = await run()
    const prediction = await predict(id, { inputs, output })
    await score(id, prediction, 'exact', { right: true })
    assert.equal((await finishPrediction(prediction)).status, 200)
    assert.equal((await finishRun(id)).status, 200)
  },
  'an answer of a model': async (app) => {
    const { headers } = await app.post(chatUrl, asking())
    // Reading the call waits until it is written.
    await accepted(app, '/call/read', { project_id: answers, id: headers['x-heddle-call-id'] })
  },
}

/** Stored facts and the previews of lists follow from the contents of the calls. Returns the number of calls. */
async function haveTheirFacts({ post, database }: TestApp): Promise<number> {
  let count = 0
  for (const project_id of [project, answers]) {
    const { status, json, text } = await post('/views/calls', { project_id, limit: 1000 })
    assert.equal(status, 200, text)
    for (const { id, input_preview, output_preview } of json.calls) {
      const call = await database.get<StoredCall>(
        sql`SELECT * FROM calls WHERE project_id = ${project_id} AND id = ${id}`,
      )
      assert.ok(call)
      const { op_name, attributes, inputs, exception, output, summary } = call
      const start = startFacts({ op_name, inputs, attributes })
      for (const name of factColumns('start')) assert.equal(call[name], start[name], name)
      if (summary !== null) {
        const end = endFacts({ exception, output, summary })
        for (const name of factColumns('end')) assert.equal(call[name], end[name], name)
      }
      assert.equal(input_preview, requestPreview(inputs).preview)
      assert.equal(output_preview, output === null ? null : answerPreview(output))
      count++
    }
  }
  return count
}

for (const [name, write] of Object.entries(ways)) {
  test(`the facts of a call are derived from its contents: ${name}`, async (t) => {
    const app = await openApp(t, { backend: scriptedBackend() })
    await fc.assert(
      fc.asyncProperty(carried, async (given) => {
        await write(app, given)
        assert.ok((await haveTheirFacts(app)) > 0)
      }),
      tried({ share: 3, whole: 8 }),
    )
  })
}
