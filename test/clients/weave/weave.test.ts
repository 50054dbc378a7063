import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { conversationOf, transcriptOf } from '../../../packages/conversations/index.ts'
import { fakeUsage, startFakeChat } from '../../support/fake-chat.ts'
import { type RecordingProxy, startRecordingProxy } from '../../support/recording-proxy.ts'
import { newFolder, type RunningServer, startServer } from '../../support/server.ts'
import type { Done as Evaluated } from './programs/evaluation.ts'
import type { Done as Logged } from './programs/evaluation-logger.ts'
import type { Done as Generated } from './programs/generated-client.ts'
import type { Done as Conversed } from './programs/openai.ts'
import type { Done as Read } from './programs/reading.ts'
import type { Done as Traced } from './programs/tracing.ts'
import type { Done as Refused } from './programs/wrong-key.ts'
import { assertRecorded, refusalsIn } from './recorded.ts'
import { runProgram } from './run-program.ts'
import type { Fields } from './sent.ts'

const project = 'acme/weave-sdk'

interface Place {
  server: RunningServer
  proxy: RecordingProxy
  folder: string
}

async function openPlace(t: Pick<TestContext, 'after'>): Promise<Place> {
  const folder = await newFolder(t)
  const server = await startServer(t, { HEDDLE_DATA: folder })
  return { server, proxy: await startRecordingProxy(t, server.address), folder }
}

function run<Done>(t: TestContext, name: string, { proxy }: Place, env: Record<string, string> = {}) {
  return runProgram<Done>(t, name, { address: proxy.address, project, env })
}

/** Reads the calls back, oldest first. */
async function callsOf(server: RunningServer, body: Fields = {}): Promise<Fields[]> {
  const answer = await server.post('/calls/stream_query', { project_id: project, ...body })
  assert.equal(answer.status, 200)
  const lines = (await answer.text()).split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line) as Fields)
}

function opOf({ op_name }: Fields): string {
  return /\/op\/(.*):/.exec(String(op_name))?.[1] ?? String(op_name)
}

function countOf(things: readonly string[]): Record<string, number> {
  return Object.fromEntries(
    [...Map.groupBy(things, (thing) => thing)].map(([name, all]) => [name, all.length]),
  )
}

describe('the weave SDK, as it is published', () => {
  test('traces calls and saves a dataset, and everything survives kill -9', async (t) => {
    const place = await openPlace(t)
    const { done } = await run<Traced>(t, 'tracing', place)
    assert.deepEqual(refusalsIn(place.proxy.exchanges), [])
    await place.server.end('SIGKILL')

    const server = await startServer(t, { HEDDLE_DATA: place.folder })
    const counts = await assertRecorded(place.proxy.exchanges, { server, project })
    assert.deepEqual(counts, { calls: 13, objects: 12, tables: 1, files: 10, feedback: 0 })

    const calls = await callsOf(server)
    assert.deepEqual(countOf(calls.map(opOf)), {
      outer: 1,
      square: 3,
      divide: 2,
      parse: 1,
      streamed: 1,
      'describe.row': 1,
      nothing: 1,
      'Scale.apply': 1,
      named: 1,
      greet: 1,
    })
    const byOp = new Map(calls.map((call) => [opOf(call), call]))
    const root = byOp.get('outer') as Fields
    assert.equal(root.id, done.rootId)
    assert.equal(root.display_name, 'the whole of it')
    assert.deepEqual(root.output, done.output)
    assert.equal(calls.filter(({ parent_id }) => parent_id === root.id).length, 10)
    assert.deepEqual((root.attributes as Fields).seed, 9007199254740991)
    assert.deepEqual(byOp.get('streamed')?.output, { chunks: [3, 2, 1], total: 6 })
    assert.deepEqual(byOp.get('describe.row')?.attributes, {
      ...(root.attributes as Fields),
      inner: { depth: 2 },
    })
    assert.equal(byOp.get('named')?.display_name, 'shouting “hello”')
    assert.deepEqual(
      [byOp.get('greet')?.id, byOp.get('greet')?.display_name],
      [done.earlyId, 'renamed before it was sent'],
    )
    const failures = calls.filter(({ exception }) => exception !== null)
    assert.deepEqual(
      failures.map((call) => [call.exception, call.output]),
      [
        ['1 cannot be divided by 0 – Größe 🧮', null],
        [`Unexpected token '\ufffd', "👋 {}" is not valid JSON`, null],
        [done.failed, null],
      ],
    )
  })

  test('runs an evaluation', async (t) => {
    const place = await openPlace(t)
    const { done } = await run<Evaluated>(t, 'evaluation', place)
    assert.deepEqual(refusalsIn(place.proxy.exchanges), [])
    const counts = await assertRecorded(place.proxy.exchanges, { server: place.server, project })
    assert.deepEqual(counts, { calls: 25, objects: 8, tables: 1, files: 6, feedback: 0 })
    await assertEvaluation(place.server, done)
    await assertResults(place.server, done)
  })

  test('stores once what it sends again after a lost answer', async (t) => {
    const place = await openPlace(t)
    for (const [path, fault] of [
      ['/call/upsert_batch', 'error'],
      ['/call/upsert_batch', 'cut'],
      ['/obj/create', 'error'],
      ['/obj/create', 'cut'],
      ['/table/create', 'error'],
      ['/file/create', 'cut'],
    ] as const) {
      place.proxy.withholdNext(path, fault)
    }
    const { done } = await run<Evaluated>(t, 'evaluation', place)
    const { exchanges } = place.proxy
    assert.deepEqual(refusalsIn(exchanges), [])
    const withheld = exchanges.filter((exchange) => exchange.withheld)
    assert.equal(withheld.length, 6)
    for (const { path, sent, withheld: fault } of withheld) {
      // Each upload has a different boundary.
      if (path === '/file/create') continue
      const same = exchanges.filter((other) => other.path === path && sent.equals(other.sent))
      assert.ok(same.length > 1, `${path} was sent again after ${fault}`)
    }
    assert.equal(
      exchanges.filter(({ path }) => path === '/file/create').length,
      7,
      'six files, one sent twice',
    )
    const counts = await assertRecorded(exchanges, { server: place.server, project })
    assert.deepEqual(counts, { calls: 25, objects: 8, tables: 1, files: 6, feedback: 0 })
    await assertEvaluation(place.server, done)
  })

  test('logs an evaluation by hand, with feedback for each score', async (t) => {
    const place = await openPlace(t)
    const { done } = await run<Logged>(t, 'evaluation-logger', place)
    const { exchanges } = place.proxy
    assert.deepEqual(refusalsIn(exchanges), [])
    const counts = await assertRecorded(exchanges, { server: place.server, project })
    assert.deepEqual(counts, { calls: 15, objects: 12, tables: 0, files: 5, feedback: 7 })

    assert.equal(done.rootIds.length, 1)
    const calls = await callsOf(place.server)
    assert.deepEqual(countOf(calls.map(opOf)), {
      'Evaluation.evaluate': 1,
      'Evaluation.predict_and_score': 3,
      'Model.predict': 3,
      'exact.score': 3,
      'distance.score': 2,
      'judge.score': 2,
      'Evaluation.summarize': 1,
    })
    const trials = calls.filter((call) => opOf(call) === 'Evaluation.predict_and_score')
    assert.deepEqual(
      trials.map(({ inputs, output }) => [(inputs as Fields).example, output]),
      [
        [
          { country: 'France', capital: 'Paris' },
          {
            output: { guess: 'Paris', confidence: 0.75 },
            scores: { exact: true, distance: 0, judge: { passed: true, note: 'naïve – “très” bien' } },
          },
        ],
        [
          { country: 'Japan', capital: 'Tokyo' },
          {
            output: { guess: 'Kyoto', confidence: 0.75 },
            scores: { exact: false, distance: 363.8, judge: { passed: false, note: 'naïve – “très” bien' } },
          },
        ],
        [
          { country: 'Italy', capital: 'Rome' },
          { output: null, scores: { exact: false } },
        ],
      ],
    )
  })

  test('wraps the OpenAI SDK, and the usage of every answer is summed at the root', async (t) => {
    const place = await openPlace(t)
    const chat = await startFakeChat(t)
    const { done } = await run<Conversed>(t, 'openai', place, { OPENAI_BASE_URL: chat })
    assert.deepEqual(done.answers, ['ONE', 'TWO', 'THREE'])
    assert.equal(done.refused, '400 asked to refuse')
    assert.deepEqual(refusalsIn(place.proxy.exchanges), [])
    await assertRecorded(place.proxy.exchanges, { server: place.server, project })

    const calls = await callsOf(place.server)
    assert.deepEqual(countOf(calls.map(opOf)), {
      conversation: 1,
      ask: 1,
      askStreaming: 1,
      askPatched: 1,
      'openai.chat.completions.create': 4,
    })
    const usage = (call: Fields | undefined) => (call?.summary as Fields | undefined)?.usage
    const one = { 'tiny-llm': { requests: 1, ...fakeUsage } }
    for (const name of ['ask', 'askStreaming', 'askPatched']) {
      assert.deepEqual(usage(calls.find((call) => opOf(call) === name)), one)
    }
    assert.deepEqual(usage(calls.find(({ id }) => id === done.rootId)), {
      'tiny-llm': {
        requests: 3,
        prompt_tokens: 15,
        completion_tokens: 6,
        total_tokens: 21,
        prompt_tokens_details: null,
        completion_tokens_details: { reasoning_tokens: 3 },
      },
    })
    const answered = calls.filter((call) => opOf(call).startsWith('openai.') && call.exception === null)
    const said = answered.map(({ inputs, output }) => {
      const found = conversationOf({ inputs: JSON.stringify(inputs), output: JSON.stringify(output) })
      const { question, answer } = transcriptOf(found ?? { asked: [], answered: [] })
      return [question, answer]
    })
    const questions = ['one', 'two', 'three']
    assert.deepEqual(
      said,
      questions.map((question, index) => [question, done.answers[index]]),
    )
    const refused = calls.filter(({ exception }) => exception !== null)
    assert.deepEqual(
      refused.map(({ exception, parent_id }) => [exception, parent_id]),
      [['400 asked to refuse', null]],
    )
  })

  test('reads back what it published: objects, prompts, datasets, images and audio', async (t) => {
    const place = await openPlace(t)
    const { done } = await run<Read>(t, 'reading', place)
    assert.deepEqual(refusalsIn(place.proxy.exchanges), [{ path: '/obj/read', status: 404 }])
    const counts = await assertRecorded(place.proxy.exchanges, { server: place.server, project })
    assert.deepEqual(counts, { calls: 1, objects: 7, tables: 1, files: 3, feedback: 0 })

    assert.equal(done.missing, 404)
    const settings = { temperature: 0.1, stops: ['\n', '🛑'], nested: { large: 1e21, none: null } }
    const [one, two] = [1, 2].map((revision) => ({ ...settings, revision }))
    assert.deepEqual(done.values, [one, two, one])
    assert.deepEqual(done.latest, one)
    assert.equal(done.digests[0], done.digests[2])
    assert.notEqual(done.digests[0], done.digests[1])
    assert.equal(done.prompt, 'Capital of Chad?')
    assert.deepEqual(done.messages, [{ role: 'system', content: 'You know maps.' }])
    assert.equal(done.sound, 'Coming soon!', 'the SDK found the audio, but cannot load it')

    const { name, rows, rowDigests } = done.dataset
    assert.equal(name, 'pictures')
    assert.deepEqual(
      rows.map(({ n }) => n),
      [1, 2.5, 1],
    )
    assert.equal(rowDigests[0], rowDigests[2])
    assert.notEqual(rowDigests[0], rowDigests[1])
    const fileOf = (value: unknown) => Object.values((value as { files: Record<string, string> }).files)[0]
    const { picture, sounds } = done.drawn as unknown as { picture: unknown; sounds: unknown[] }
    for (const [value, bytes] of [
      [rows[0]?.picture, done.png],
      [picture, done.png],
      [sounds[0], done.wav],
    ]) {
      const content = await place.server.post('/file/content', { project_id: project, digest: fileOf(value) })
      assert.equal(Buffer.from(await content.arrayBuffer()).toString('base64'), bytes)
    }
  })

  test('has a generated client that gets the expected result from every operation', async (t) => {
    const place = await openPlace(t)
    const { done } = await run<Generated>(t, 'generated-client', place)
    assert.deepEqual(refusalsIn(place.proxy.exchanges), [])
    const purged = [done.reaction.id, done.custom.id]
    const counts = await assertRecorded(place.proxy.exchanges, { server: place.server, project, purged })
    assert.deepEqual(counts, { calls: 2, objects: 1, tables: 1, files: 1, feedback: 2 })
    assertGenerated(done)
  })

  test('gets a 401 for a wrong key', async (t) => {
    const { server } = await openPlace(t)
    const { done } = await runProgram<Refused>(t, 'wrong-key', {
      address: server.address,
      project,
      key: 'wrong',
    })
    assert.deepEqual(
      done.map(({ status }) => status),
      [401, 401],
    )
    for (const { error } of done) assert.equal((error as { code: string }).code, 'wrong_credentials')
  })
})

/** Reads back the evaluation of three rows and two trials: its tree of calls and their results. */
async function assertEvaluation(server: RunningServer, { rootId, summary }: Evaluated): Promise<void> {
  const calls = await callsOf(server)
  assert.deepEqual(countOf(calls.map(opOf)), {
    'Evaluation.evaluate': 1,
    'Evaluation.predictAndScore': 6,
    capital: 6,
    exactMatch: 4,
    lengthScore: 4,
    judge: 4,
  })
  const byId = new Map(calls.map((call) => [call.id, call]))
  const root = byId.get(rootId) as Fields
  assert.equal(root.parent_id, null)
  assert.deepEqual(root.output, summary)
  assert.equal(root.display_name, 'capitals of the world_capital')
  assert.deepEqual((root.summary as Fields).usage, {
    'tiny-llm': { requests: 4, prompt_tokens: 20, completion_tokens: 8, total_tokens: 28 },
  })
  for (const call of calls) {
    assert.equal(call.trace_id, root.trace_id)
    const parent = byId.get(call.parent_id)
    if (call === root) continue
    assert.equal(
      opOf(parent as Fields),
      opOf(call) === 'Evaluation.predictAndScore' ? 'Evaluation.evaluate' : 'Evaluation.predictAndScore',
    )
  }
  const trials = calls.filter((call) => opOf(call) === 'Evaluation.predictAndScore')
  const examples = countOf(trials.map(({ inputs }) => String((inputs as Fields).example)))
  assert.deepEqual(Object.values(examples), [2, 2, 2])
  const failed = calls.filter(({ exception }) => exception !== null)
  assert.deepEqual(failed.map(opOf), ['capital', 'capital'])
  for (const { parent_id, exception } of failed) {
    assert.equal(exception, 'Italy is not on the map')
    const trial = byId.get(parent_id) as Fields
    const { model_latency, ...output } = trial.output as Fields
    assert.equal(typeof model_latency, 'number')
    assert.deepEqual(output, { model_success: false, scores: {} })
  }
}

/** The results of the same evaluation: every failed trial is included, and none makes a rate look better than it is. */
async function assertResults(server: RunningServer, { rootId }: Evaluated): Promise<void> {
  const answer = await server.post(`/v2/${project}/eval_results/query`, {
    evaluation_call_ids: [rootId],
    include_raw_data_rows: true,
    resolve_row_refs: true,
    include_summary: true,
    sort_by: [{ field: 'inputs.country' }],
  })
  assert.equal(answer.status, 200)
  const { rows, total_rows, summary, warnings } = (await answer.json()) as {
    rows: { raw_data_row: Fields; evaluations: { evaluation_call_id: string; trials: Fields[] }[] }[]
    total_rows: number
    summary: { row_count: number; evaluations: (Fields & { scorer_stats: Fields[] })[] }
    warnings: string[]
  }
  assert.deepEqual([total_rows, summary.row_count, warnings], [3, 3, []])
  assert.deepEqual(
    rows.map(({ raw_data_row }) => raw_data_row),
    [
      { country: 'France', capital: 'Paris' },
      { country: 'Italy', capital: 'Rome' },
      { country: 'Japan', capital: 'Tokyo' },
    ],
  )
  for (const { raw_data_row, evaluations } of rows) {
    const [one] = evaluations
    assert.deepEqual([evaluations.length, one?.evaluation_call_id, one?.trials.length], [1, rootId, 2])
    for (const trial of one?.trials ?? []) {
      assert.equal(typeof trial.predict_call_id, 'string')
      assert.equal(typeof trial.model_latency_seconds, 'number')
      if (raw_data_row.country === 'Italy') {
        assert.deepEqual([trial.model_output, trial.scores, trial.scorer_call_ids], [null, {}, {}])
        continue
      }
      const isRight = raw_data_row.country === 'France'
      assert.deepEqual([trial.model_output, trial.total_tokens], ['Paris', 7])
      assert.deepEqual(trial.scores, {
        exactMatch: isRight,
        lengthScore: 5,
        judge: {
          passed: isRight,
          score: isRight ? 1 : 0.25,
          note: isRight ? 'right' : 'not Tokyo',
        },
      })
      assert.deepEqual(Object.keys(trial.scorer_call_ids as Fields).sort(), [
        'exactMatch',
        'judge',
        'lengthScore',
      ])
    }
  }
  const [only] = summary.evaluations
  assert.equal(only?.trial_count, 6)
  assert.equal(only.display_name, 'capitals of the world_capital')
  assert.match(String(only.evaluation_ref), /\/object\//)
  assert.match(String(only.model_ref), /\/op\/capital:/)
  assert.deepEqual(
    only.scorer_stats
      .map((stat) => [
        stat.path === null ? stat.scorer_key : `${stat.scorer_key}.${stat.path}`,
        stat.trial_count,
        stat.pass_true_count,
        stat.pass_rate,
        stat.pass_signal_coverage,
        stat.numeric_mean,
        stat.missing_trial_count,
        stat.failed_trial_count,
      ])
      .sort(),
    [
      ['exactMatch', 4, 2, 0.5, 1, null, 2, 2],
      ['judge.note', 4, 0, null, 0, null, 2, 2],
      ['judge.passed', 4, 2, 0.5, 1, null, 2, 2],
      ['judge.score', 4, 0, null, 0, 0.625, 2, 2],
      ['lengthScore', 4, 0, null, 0, 5, 2, 2],
    ],
  )
}

function assertGenerated(done: Generated): void {
  assert.deepEqual(done.health, { status: 'ok' })
  const call = done.read.call as unknown as Fields
  assert.equal(call.id, done.started.id)
  assert.equal(call.display_name, 'asked')
  assert.equal(call.output, "N'Djamena")
  const { costs } = (call.summary as { weave: { costs: Record<string, Fields> } }).weave
  assert.deepEqual(
    [costs['tiny-llm']?.prompt_tokens_total_cost, costs['tiny-llm']?.completion_tokens_total_cost],
    [0.1, 0.02],
  )
  assert.equal(done.prices.ids?.length, 1)
  assert.equal(done.costs.results.length, 1)
  assert.deepEqual(
    done.stream
      .split('\n')
      .slice(0, -1)
      .map((line) => (JSON.parse(line) as Fields).id),
    [done.secondId, done.started.id],
  )
  assert.equal(done.stats.count, 1)

  assert.equal(done.objectRead.obj.digest, done.object.digest)
  assert.deepEqual(done.objectRead.obj.val, { temperature: 0.1 })
  assert.deepEqual(
    done.objects.objs.map(({ digest, is_latest }) => [digest, is_latest]),
    [[done.object.digest, 1]],
  )
  assert.deepEqual(
    done.rows.rows.map(({ val }) => val),
    [{ x: 1 }, { x: 1 }],
  )
  assert.equal(done.rowCount.count, 2)
  assert.deepEqual(done.values.vals, [0.1, { temperature: 0.1 }])
  assert.deepEqual(done.content, [0, 1, 254, 255, 13, 10])

  assert.deepEqual(done.note.payload, { note: 'good – 👍' })
  assert.deepEqual(done.reaction.payload, {
    emoji: '👍🏽',
    alias: ':thumbs_up_medium_skin_tone:',
    detoned: '👍',
    detoned_alias: ':thumbs_up:',
  })
  assert.deepEqual(
    (done.feedback.result as Fields[]).map(({ id, payload, creator }) => ({ id, payload, creator })),
    [
      { id: done.note.id, payload: { note: 'good – 👍' }, creator: 'a reader' },
      { id: done.replaced.id, payload: { stars: 5 }, creator: null },
    ],
  )
}
