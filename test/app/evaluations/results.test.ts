import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { keys, openApp, type TestApp } from '../../support/app.ts'
import { onPostgres } from '../../support/app-record.ts'
import { completeOf } from '../../support/calls.ts'
import { pricesOf } from '../../support/prices.ts'

const url = '/v2/acme/qa/eval_results/query'
const evaluationRef = 'weave:///acme/qa/object/capitals-eval:abc'
const [e1, e2] = ['00000000-0000-4000-8000-0000000000e1', '00000000-0000-4000-8000-0000000000e2']
const r0 = { q: 'capital of Chad', n: 10 }
const r1 = { q: 'capital of Peru', n: 2 }

function root(id: string, model: string, fields: Record<string, unknown> = {}) {
  return completeOf({
    id,
    trace_id: id,
    op_name: 'Evaluation.evaluate',
    inputs: { self: evaluationRef, model },
    ...fields,
  })
}

let made = 0

function trial(parent_id: string, example: unknown, output: unknown, fields: Record<string, unknown> = {}) {
  return completeOf({
    parent_id,
    trace_id: parent_id,
    op_name: 'weave:///acme/qa/op/Evaluation.predict_and_score:abc',
    // In the order of their creation.
    started_at: `2026-01-02T03:05:00.${String(made++).padStart(3, '0')}Z`,
    ended_at: '2026-01-02T03:06:00Z',
    inputs: { self: evaluationRef, model: 'M1', example },
    output,
    ...fields,
  })
}

const calls = {
  e1: root(e1, 'M1', { display_name: 'first' }),
  e2: root(e2, 'M2'),
  e1r0: trial(e1, r0, {
    output: "N'Djamena",
    scores: { exact: true, judge: { passed: true, score: 0.8 } },
    model_latency: { mean: 1.5 },
  }),
  e1r1: trial(e1, r1, {
    output: 'Lima?',
    scores: { exact: false, judge: { passed: true, score: 0.4 } },
    model_latency: { mean: 0.5 },
  }),
  e2r0: trial(e2, r0, {
    output: "N'Djamena",
    scores: { exact: true, judge: { passed: false, score: 0.1, why: 'terse' } },
  }),
}

async function store({ post }: Pick<TestApp, 'post'>, batch: unknown[] = Object.values(calls)) {
  const answer = await post('/v2/acme/qa/calls/complete', { batch })
  assert.equal(answer.status, 200, answer.text)
}

async function ask({ post }: Pick<TestApp, 'post'>, body: Record<string, unknown> = {}) {
  const answer = await post(url, { evaluation_call_ids: [e1, e2], ...body })
  assert.equal(answer.status, 200, answer.text)
  return answer.json
}

// biome-ignore lint/suspicious/noExplicitAny: an answer is compared, never trusted
const questions = (answer: any) => answer.rows.map(({ raw_data_row }: any) => raw_data_row.q.slice(11))

/** The questions of the rows, in the order of the answer. */
async function order(app: TestApp, body: Record<string, unknown>) {
  const answer = await ask(app, { include_raw_data_rows: true, ...body })
  return questions(answer)
}

/** Shared by the tests that write nothing. */
const app = await openApp({ after })
await store(app)

test('eval_results: shows the rows of two evaluations next to each other', async () => {
  const answer = await ask(app, { include_raw_data_rows: true })
  assert.deepEqual(Object.keys(answer), ['rows', 'total_rows', 'summary', 'warnings'])
  assert.deepEqual([answer.total_rows, answer.summary, answer.warnings], [2, null, []])
  const digests = answer.rows.map((row: { row_digest: string }) => row.row_digest)
  assert.deepEqual(digests, digests.toSorted())
  const chad = answer.rows.find((row: { raw_data_row: { n: number } }) => row.raw_data_row.n === 10)
  assert.deepEqual(chad, {
    row_digest: chad.row_digest,
    evaluations: [
      {
        evaluation_call_id: e1,
        trials: [
          {
            predict_and_score_call_id: calls.e1r0.id,
            model_latency_seconds: 1.5,
            model_output: "N'Djamena",
            predict_call_id: null,
            scorer_call_ids: {},
            scores: { exact: true, judge: { passed: true, score: 0.8 } },
            total_tokens: null,
          },
        ],
      },
      {
        evaluation_call_id: e2,
        trials: [
          {
            predict_and_score_call_id: calls.e2r0.id,
            model_latency_seconds: null,
            model_output: "N'Djamena",
            predict_call_id: null,
            scorer_call_ids: {},
            scores: { exact: true, judge: { passed: false, score: 0.1, why: 'terse' } },
            total_tokens: null,
          },
        ],
      },
    ],
    raw_data_row: r0,
  })
})

test('eval_results: the intersection applies to the rows, the summary, or both', async () => {
  const both = await ask(app, { require_intersection: true, include_raw_data_rows: true })
  assert.deepEqual([questions(both), both.total_rows], [['Chad'], 1])
  const { rows, summary } = await ask(app, {
    require_intersection: true,
    summary_require_intersection: false,
    include_summary: true,
  })
  const counts = summary.evaluations.map((one: { evaluation_call_id: string; trial_count: number }) => [
    one.evaluation_call_id,
    one.trial_count,
  ])
  assert.deepEqual(
    [rows.length, summary.row_count, new Map(counts)],
    [
      1,
      2,
      new Map([
        [e1, 2],
        [e2, 1],
      ]),
    ],
  )
})

test('eval_results: returns the summary', async () => {
  const { summary, rows, total_rows } = await ask(app, { include_summary: true, include_rows: false })
  assert.deepEqual([rows, total_rows], [[], 0])
  const one = summary.evaluations.find(
    (entry: { evaluation_call_id: string }) => entry.evaluation_call_id === e1,
  )
  const base = { numeric_count: 0, numeric_mean: null, missing_trial_count: 0, failed_trial_count: 0 }
  const [exact, passed, score] = one.scorer_stats
  assert.ok(Math.abs(score.numeric_mean - 0.6) < 1e-9)
  assert.deepEqual(one, {
    evaluation_call_id: e1,
    display_name: 'first',
    evaluation_ref: evaluationRef,
    model_ref: 'M1',
    scorer_stats: [exact, passed, score],
    started_at: '2026-01-02T03:04:05.123456Z',
    trace_id: e1,
    trial_count: 2,
  })
  assert.deepEqual(exact, {
    scorer_key: 'exact',
    path: null,
    value_type: 'binary',
    trial_count: 2,
    pass_known_count: 2,
    pass_true_count: 1,
    pass_rate: 0.5,
    pass_signal_coverage: 1,
    ...base,
  })
  assert.deepEqual([passed.path, passed.pass_rate, passed.pass_true_count], ['passed', 1, 2])
  assert.deepEqual(score, {
    ...score,
    ...{ scorer_key: 'judge', path: 'score', value_type: 'continuous', trial_count: 2, numeric_count: 2 },
    ...{ pass_known_count: 0, pass_true_count: 0, pass_rate: null, pass_signal_coverage: 0 },
  })
  const why = summary.evaluations.find((entry: { model_ref: string }) => entry.model_ref === 'M2')
    .scorer_stats[3]
  assert.deepEqual(why, {
    scorer_key: 'judge',
    path: 'why',
    value_type: 'text',
    trial_count: 1,
    pass_known_count: 0,
    pass_true_count: 0,
    pass_rate: null,
    pass_signal_coverage: 0,
    ...base,
  })
})

for (const [sort, expected] of [
  [{ field: 'scores.judge.score', direction: 'desc' }, ['Chad', 'Peru']],
  [{ field: 'scores.judge.score' }, ['Peru', 'Chad']],
  [{ field: 'scores.judge.score', direction: 'asc', evaluation_call_id: e2 }, ['Chad', 'Peru']],
  [{ field: 'scores.judge.score', direction: 'desc', evaluation_call_id: e2 }, ['Chad', 'Peru']],
  [{ field: 'scores.judge.score', direction: 'asc', mode: 'difference' }, ['Chad', 'Peru']],
  [{ field: 'scores.exact', direction: 'asc' }, ['Peru', 'Chad']],
  [{ field: 'inputs.n', direction: 'asc' }, ['Peru', 'Chad']],
  [{ field: 'inputs.q', direction: 'desc' }, ['Peru', 'Chad']],
  [{ field: 'output.output', direction: 'asc' }, ['Peru', 'Chad']],
  [{ field: 'output.scores.exact', direction: 'desc' }, ['Chad', 'Peru']],
] as [Record<string, unknown>, string[]][]) {
  test(`eval_results: sorted by ${JSON.stringify(sort)}`, async () => {
    const found = await order(app, { sort_by: [sort] })
    assert.deepEqual(found, expected)
  })
}

const literal = (value: unknown) => ({ $literal: value })
const field = (name: string) => ({ $getField: name })
const atLeast = (name: string, value: unknown) => ({ $gte: [field(name), literal(value)] })

for (const [expression, evaluation, expected] of [
  [
    { $gte: [{ $convert: { input: field('scores.judge.score'), to: 'double' } }, literal(0.5)] },
    e1,
    ['Chad'],
  ],
  [atLeast('scores.judge.score', 1), e1, []],
  [atLeast('scores.judge.score', 0.5), undefined, ['Chad']],
  [atLeast('scores.judge.score', 0), e2, ['Chad']],
  [{ $eq: [field('scores.exact'), literal(false)] }, undefined, ['Peru']],
  [{ $eq: [field('scores.judge.passed'), literal(false)] }, undefined, ['Chad']],
  [{ $eq: [field('scores.judge.passed'), literal(false)] }, e1, []],
  [{ $gt: [field('inputs.n'), literal(2)] }, undefined, ['Chad']],
  [{ $eq: [field('output.output'), literal('Lima?')] }, undefined, ['Peru']],
  [{ $contains: { input: field('inputs.q'), substr: literal('Peru') } }, undefined, ['Peru']],
  [{ $eq: [field('row_digest'), literal('nothing')] }, undefined, []],
  // The filter that the specification shows: a literal is true, false, or neither.
  [{ $and: [literal('x')] }, undefined, []],
  [{ $and: [literal(true), literal('1')] }, undefined, ['Chad', 'Peru']],
  [{ $and: [literal(0)] }, undefined, []],
  [{ $not: [literal('x')] }, undefined, []],
  [{ $not: [literal('false')] }, undefined, ['Chad', 'Peru']],
] as [unknown, string | undefined, string[]][]) {
  test(`eval_results: where ${JSON.stringify(expression)} ${evaluation ?? ''}`, async () => {
    const filters = [{ query: { $expr: expression }, ...(evaluation && { evaluation_call_id: evaluation }) }]
    const answer = await ask(app, { filters, include_raw_data_rows: true, include_summary: true })
    assert.deepEqual(questions(answer).toSorted(), expected)
    assert.deepEqual([answer.total_rows, answer.summary.row_count], [expected.length, expected.length])
  })
}

test('eval_results: pages follow each other', async () => {
  const all = await ask(app)
  const page = await ask(app, { limit: 1, offset: 1 })
  assert.deepEqual([page.rows, page.total_rows], [[all.rows[1]], 2])
  for (const [body, rows] of [
    [{ limit: 0 }, 0],
    [{ offset: 2 }, 0],
    [{ offset: -5 }, 2],
    [{ limit: 10_000 }, 2],
  ] as const) {
    const answer = await ask(app, body)
    assert.deepEqual([answer.rows.length, answer.total_rows], [rows, 2], JSON.stringify(body))
  }
})

test('eval_results: fields of newer clients are accepted where their values change nothing', async () => {
  const all = await ask(app)
  const filter = { query: { $expr: { $gt: [{ $getField: 'inputs.n' }, { $literal: 0 }] } } }
  for (const body of [
    { include_costs: false, filter_logic_operator: 'or' },
    { include_costs: null, filter_logic_operator: null },
    { filter_logic_operator: 'or', filters: [filter, filter] },
    { filter_logic_operator: 'and', filters: [filter, { ...filter, evaluation_call_id: e1 }] },
  ]) {
    assert.deepEqual(await ask(app, body), all, JSON.stringify(body))
  }
})

test('eval_results: the calls inside a trial are attributed to it', async (t) => {
  const app = await openApp(t)
  const trace_id = e1
  const parent_id = calls.e1r0.id
  const predict = completeOf({
    trace_id,
    parent_id,
    op_name: 'answer',
    inputs: { self: 'M1' },
    started_at: '2026-01-02T03:04:05Z',
    ended_at: '2026-01-02T03:04:06.25Z',
    summary: { usage: { m: { total_tokens: 30 } } },
  })
  const score = completeOf({
    trace_id,
    parent_id,
    op_name: 'weave:///acme/qa/op/judge.score:abc',
    summary: { usage: { m: { total_tokens: 100 } } },
    attributes: { 'weave.score': 'true' },
    output: { passed: true },
  })
  const whole = { ...calls.e1r0, summary: { usage: { m: { total_tokens: 130 } } } }
  await store(app, [score, predict, calls.e1, whole])
  const own = async (body = {}) => {
    const { rows } = await ask(app, { evaluation_run_ids: [e1], evaluation_call_ids: null, ...body })
    const found = rows[0].evaluations[0].trials[0]
    return [found.predict_call_id, found.model_latency_seconds, found.total_tokens, found.scorer_call_ids]
  }
  assert.deepEqual(await own(), [predict.id, 1.25, 30, { judge: score.id }])
  assert.deepEqual(await own({ include_predict_and_score_children: false }), [null, 1.5, 130, {}])

  await app.post('/cost/create', pricesOf({ m: { prompt_token_cost: 0.5, completion_token_cost: 2 } }))
  const priced = { evaluation_call_ids: [e1], include_costs: true, include_summary: true }
  const usage = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 }
  await store(app, [{ ...predict, summary: { usage: { m: usage } } }])
  const costs = await ask(app, priced)
  const trials = costs.rows.flatMap(
    (row: { evaluations: { trials: object[] }[] }) => row.evaluations[0]?.trials,
  )
  assert.deepEqual(
    trials
      .map(({ total_cost }: { total_cost: number | null }) => total_cost)
      .filter((cost: number | null) => cost !== null && cost > 0),
    [45],
  )
  const [sums] = costs.summary.evaluations
  assert.deepEqual([sums.predict_total_cost, sums.predict_total_tokens], [45, 30])
  const without = await ask(app, { ...priced, include_costs: false })
  assert.ok(!('total_cost' in without.rows[0].evaluations[0].trials[0]))

  const late = completeOf({
    ...{ trace_id, parent_id, op_name: 'tone.score', output: 0.5 },
    attributes: { 'weave.score': 'true', 'weave.scorer': 'weave:///acme/qa/object/politeness:abc' },
  })
  await store(app, [late])
  const { rows } = await ask(app, { evaluation_call_ids: [e1] })
  const { scores, scorer_call_ids } = rows[0].evaluations[0].trials[0]
  assert.deepEqual([scores.politeness, scorer_call_ids.politeness], [0.5, late.id])

  assert.equal(
    (await app.post('/calls/delete', { project_id: 'acme/qa', call_ids: [late.id, predict.id] })).status,
    200,
  )
  assert.deepEqual(await own(), [null, 1.5, 130, { judge: score.id }])
  await app.post('/calls/delete', { project_id: 'acme/qa', call_ids: [parent_id] })
  assert.equal((await ask(app, { evaluation_call_ids: [e1] })).total_rows, 0)
})

test('eval_results: scorers with similar names keep their own scores, also late ones', async (t) => {
  const judged = { output: 'x', scores: { judge: 1, 'My tone': 2 } }
  const scored = (call: ReturnType<typeof trial>, op_name: string, output: unknown, fields = {}) =>
    completeOf({
      ...{ trace_id: e1, parent_id: call.id, op_name, output, attributes: { 'weave.score': 'true' } },
      ...fields,
    })
  const by = (name: string) => ({
    attributes: { 'weave.score': 'true', 'weave.scorer': `weave:///acme/qa/object/${name}:abc` },
  })
  const self = (name: string) => ({ inputs: { self: `weave:///acme/qa/object/${name}:abc` } })
  for (const [strict, own] of [
    [
      ['judge_strict.score', 9],
      ['judge.score', 1],
    ],
    [
      ['weave:///acme/qa/op/judge_strict.score:abc', 9],
      ['weave:///acme/qa/op/judge.score:abc', 1],
    ],
    [
      ['judge.score', 9, by('judge_strict')],
      ['judge.score', 1, by('judge')],
    ],
    [
      ['Judge.score', 9, self('judge_strict')],
      ['Judge.score', 1, self('judge')],
    ],
  ] as [[string, number, object?], [string, number, object?]][]) {
    // The late score began first, and the one of `judge` may be missing.
    for (const isThere of [true, false]) {
      const app = await openApp(t)
      const call = trial(e1, r0, judged)
      const late = scored(call, ...strict)
      const judge = scored(call, ...own)
      const tone = scored(call, 'my_tone_scorer', 2)
      await store(app, [calls.e1, call, late, ...(isThere ? [judge] : []), tone])
      const { rows } = await ask(app, { evaluation_call_ids: [e1] })
      const { scores, scorer_call_ids } = rows[0].evaluations[0].trials[0]
      assert.deepEqual(scores, { ...judged.scores, judge_strict: 9 })
      assert.deepEqual(scorer_call_ids, {
        ...(isThere && { judge: judge.id }),
        judge_strict: late.id,
        'My tone': tone.id,
      })
    }
  }
})

test('eval_results: dataset rows stay refs until they are resolved, and unresolvable ones are named', async (t) => {
  const app = await openApp(t)
  const table = await app.post('/table/create', { table: { project_id: 'acme/qa', rows: [r0, r1] } })
  const [known] = table.json.row_digests
  const refOf = (name: string, digest: string) => `weave:///acme/qa/object/${name}/attr/rows/id/${digest}`
  const refs: string[] = [refOf('capitals:abc', known), refOf('gone:abc', 'x'), refOf('gone:abc', 'y')]
  const foreign = 'weave:///globex/qa/object/capitals:abc/attr/rows/id/z'
  await store(app, [
    calls.e1,
    ...[...refs, foreign].map((ref) => trial(e1, ref, { output: 'x', scores: {} })),
    trial(e2, r0, { output: 'y', scores: {} }),
  ])
  const one = { evaluation_call_ids: [e1], include_raw_data_rows: true }
  const raw = (answer: { rows: { row_digest: string; raw_data_row: unknown }[] }) =>
    new Map(answer.rows.map((row) => [row.row_digest, row.raw_data_row]))
  const plain = await ask(app, one)
  assert.deepEqual(
    raw(plain),
    new Map<string, unknown>([
      [known, refs[0]],
      ['x', refs[1]],
      ['y', refs[2]],
      ['z', foreign],
    ]),
  )
  assert.deepEqual(plain.warnings, [])
  const resolved = await ask(app, { ...one, resolve_row_refs: true })
  assert.deepEqual(
    raw(resolved),
    new Map<string, unknown>([
      [known, r0],
      ['x', refs[1]],
      ['y', refs[2]],
      ['z', foreign],
    ]),
  )
  assert.deepEqual(
    resolved.warnings,
    [refs[1], refs[2], foreign].map(
      (ref) =>
        `raw_data_row: the dataset row reference ${ref} could not be resolved: the object or row does not exist.`,
    ),
  )
  assert.deepEqual(
    (await ask(app, { ...one, include_raw_data_rows: false, resolve_row_refs: true })).warnings,
    ['resolve_row_refs: it has no effect without include_raw_data_rows.'],
  )
  // The inline row and the row of the table are the same row.
  assert.equal((await ask(app, { require_intersection: true })).total_rows, 1)
  const byInput = await ask(app, { ...one, sort_by: [{ field: 'inputs.n' }], limit: 1 })
  assert.deepEqual([...raw(byInput).keys()], [known])
})

test('eval_results: failed trials are counted next to the rates', async (t) => {
  const app = await openApp(t)
  await store(app, [
    calls.e1,
    calls.e1r0,
    trial(e1, r1, { model_success: false, scores: {}, model_latency: 1 }),
    trial(e1, { q: 'x' }, null, { exception: 'Error: no' }),
  ])
  const { summary } = await ask(app, { evaluation_call_ids: [e1], include_summary: true })
  const [exact] = summary.evaluations[0].scorer_stats
  assert.deepEqual(
    [exact.trial_count, exact.pass_rate, exact.missing_trial_count, exact.failed_trial_count],
    [1, 1, 2, 2],
  )
})

test('eval_results: next to a number the text of a boolean score is 1 or 0, and no mean is infinite', async (t) => {
  const app = await openApp(t)
  const scores = [{ sure: 'true', size: 1e308 }, { sure: false, size: 1e308 }, { sure: 'no' }]
  const trials = scores.map((each, index) => trial(e1, { index }, { output: 'x', scores: each }))
  await store(app, [calls.e1, ...trials])
  const expression = { $gte: [{ $getField: 'scores.sure' }, { $literal: 0.5 }] }
  const sure = await ask(app, { evaluation_call_ids: [e1], filters: [{ query: { $expr: expression } }] })
  assert.deepEqual([sure.total_rows, sure.rows[0].evaluations[0].trials[0].scores], [1, scores[0]])
  const { summary } = await ask(app, { evaluation_call_ids: [e1], include_summary: true })
  const stats: { scorer_key: string; numeric_count: number; numeric_mean: number | null }[] =
    summary.evaluations[0].scorer_stats
  const size = stats.find(({ scorer_key }) => scorer_key === 'size')
  assert.deepEqual([size?.numeric_count, size?.numeric_mean], [2, null])
})

test('eval_results: a score overrides one nested in it under an empty key, in either order of arrival', async (t) => {
  for (const scores of [
    [{ exact: 1 }, { exact: { '': 2 } }],
    [{ exact: { '': 2 } }, { exact: 1 }],
  ]) {
    const app = await openApp(t)
    await store(app, [calls.e1])
    for (const [n, said] of scores.entries()) {
      // Results are derived in the order of their ids.
      await store(app, [
        trial(e1, { n }, { scores: said }, { id: `00000000-0000-4000-8000-00000000000${n}` }),
      ])
    }
    const { summary } = await ask(app, { evaluation_call_ids: [e1], include_summary: true })
    const paths = summary.evaluations[0].scorer_stats.map(({ path }: { path: string | null }) => path)
    assert.deepEqual(paths, [null, ''])
  }
})

test('eval_results: warnings state why rows cannot be compared', async (t) => {
  const app = await openApp(t)
  const { ended_at, output, summary, ...running } = root(e2, 'M2')
  await store(app, [calls.e1, calls.e1r0])
  await app.post('/call/start', { start: running })
  await store(app, [trial(e2, r1, { output: 'Lima', scores: {} })])
  const none = randomUUID()
  assert.deepEqual((await ask(app)).warnings, [
    'The evaluations have no row in common.',
    `The evaluation ${e2} has not finished.`,
  ])
  assert.deepEqual((await ask(app, { evaluation_call_ids: [e1, none] })).warnings, [
    'The evaluations have no row in common.',
    `The evaluation ${none} was not found.`,
  ])
  assert.deepEqual((await ask(app, { evaluation_call_ids: [none] })).warnings, [
    `The evaluation ${none} was not found.`,
  ])
  await store(app, [root(none, 'M3')])
  assert.deepEqual((await ask(app, { evaluation_call_ids: [none] })).warnings, [
    `The evaluation ${none} has no trials.`,
  ])
  assert.deepEqual((await ask(app, { evaluation_call_ids: [e2] })).warnings, [])
})

const ownClock = onPostgres && 'PostgreSQL has a clock of its own, which a test cannot set'

test('eval_results: expired calls disappear at once', { skip: ownClock }, async (t) => {
  const app = await openApp(t)
  const hour = 3_600_000
  const expire_at = new Date(Date.now() + hour).toISOString()
  await store(app, [calls.e1, calls.e1r0, { ...calls.e1r1, expire_at }])
  assert.equal((await ask(app)).total_rows, 2)
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + hour + 1 })
  const { total_rows, summary } = await ask(app, { include_summary: true })
  assert.deepEqual([total_rows, summary.row_count, summary.evaluations[0].trial_count], [1, 1, 1])
})

test('eval_results: unknown evaluations and those of other tenants look the same', async () => {
  const unknown = randomUUID()
  const empty = (id: string) => ({
    ...{ rows: [], total_rows: 0, summary: { row_count: 0, evaluations: [] } },
    warnings: [`The evaluation ${id} was not found.`],
  })
  const body = { evaluation_call_ids: [e1], include_summary: true }
  assert.deepEqual((await app.post('/v2/globex/qa/eval_results/query', body, keys.bob)).json, empty(e1))
  assert.deepEqual(await ask(app, { ...body, evaluation_call_ids: [unknown] }), empty(unknown))
  const forbidden = await app.post('/v2/globex/qa/eval_results/query', body)
  assert.deepEqual([forbidden.status, forbidden.json.code], [403, 'entity_forbidden'])
})

/** Each of the three steps `0` may mean a list or an object, so eight paths are tried. */
const longFilter = {
  query: {
    $expr: {
      $or: Array.from({ length: 300 }, (_, n) => ({
        $contains: { input: field('scores.0.0.0'), substr: literal(`${n}`) },
      })),
    },
  },
}
const manyIds = (count: number) => Array.from({ length: count }, (_, n) => `e${n}`)

for (const [body, status, code, named] of [
  [{ evaluation_call_ids: [] }, 422, 'invalid_request', 'evaluation_call_ids'],
  [{ evaluation_call_ids: null, evaluation_run_ids: [] }, 422, 'invalid_request', 'evaluation_call_ids'],
  [{ evaluation_call_ids: manyIds(101) }, 413, 'too_many_ids', 'evaluation_call_ids'],
  [{ evaluation_run_ids: manyIds(100) }, 413, 'too_many_ids', 'evaluation_run_ids'],
  [{ evaluation_call_ids: manyIds(10_000) }, 422, 'invalid_request', 'expected at most 100 entries'],
  [{ filter_logic_operator: 'xor' }, 422, 'invalid_request', 'filter_logic_operator'],
  [
    {
      filter_logic_operator: 'or',
      filters: [e1, e2].map((evaluation_call_id) => ({
        evaluation_call_id,
        query: { $expr: { $eq: [{ $getField: 'row_digest' }, { $literal: 'x' }] } },
      })),
    },
    400,
    'not_available',
    'filter_logic_operator',
  ],
  [{ evaluation_call_ids: ['a\0'] }, 422, 'invalid_request', 'evaluation_call_ids.0'],
  [{ evaluation_run_ids: ['\ud800'] }, 422, 'invalid_request', 'evaluation_run_ids.0'],
  [
    { sort_by: [{ field: 'scores.x', evaluation_call_id: '\0' }] },
    422,
    'invalid_request',
    'sort_by.0.evaluation_call_id',
  ],
  [{ limit: -1 }, 422, 'invalid_request', 'limit'],
  [{ limit: 10_001 }, 422, 'invalid_request', 'limit'],
  [{ limit: 1e300 }, 422, 'invalid_request', 'limit'],
  [{ offset: 1.5 }, 422, 'invalid_request', 'offset'],
  [{ sort_by: [{ field: 'row_digest' }] }, 400, 'invalid_value', 'sort_by.0.field'],
  [{ sort_by: [{ field: 'scores.' }] }, 400, 'invalid_value', 'sort_by.0.field'],
  [{ sort_by: [{ field: `scores.${'a.'.repeat(40)}a` }] }, 400, 'invalid_value', 'sort_by.0.field'],
  [{ sort_by: [{ field: 'inputs.0.0.0.0.0' }] }, 400, 'invalid_value', 'sort_by.0.field'],
  // PostgreSQL reads each path in one way, and stays within its number of parameters.
  ...(onPostgres
    ? []
    : ([[{ filters: Array(16).fill(longFilter) }, 422, 'invalid_expression', 'filters.11.query']] as const)),
  [{ sort_by: [{ field: 'scores.x', direction: 'up' }] }, 422, 'invalid_request', 'sort_by.0.direction'],
  [{ sort_by: [{ field: 'scores.x', mode: 'x' }] }, 422, 'invalid_request', 'sort_by.0.mode'],
  [{ sort_by: [{ field: 'inputs.x', mode: 'difference' }] }, 400, 'invalid_value', 'sort_by.0.mode'],
  [
    { filters: [{ query: { $expr: { $eq: [field('id'), literal(1)] } } }] },
    400,
    'invalid_value',
    'filters.0.query',
  ],
  [
    { filters: [{ query: { $expr: { $eq: [field('scores.x')] } } }] },
    422,
    'invalid_expression',
    'filters.0.query',
  ],
  [{ filters: [{ query: { $expr: { $and: [] } } }] }, 422, 'invalid_expression', 'filters.0.query'],
  [{ filters: [{ query: { $expr: { $like: [] } } }] }, 422, 'invalid_expression', 'filters.0.query'],
  [{ filters: [{ query: 5 }] }, 422, 'invalid_request', 'filters.0.query'],
  [{ filters: 'x' }, 422, 'invalid_request', 'filters'],
  [{ include_rows: 'yes' }, 422, 'invalid_request', 'include_rows'],
] as [Record<string, unknown>, number, string, string][]) {
  test(`eval_results: refused ${JSON.stringify(body).slice(0, 90)}`, async () => {
    const answer = await app.post(url, { evaluation_call_ids: [e1], ...body })
    assert.deepEqual([answer.status, answer.json.code], [status, code], answer.text)
    assert.ok(answer.json.reason.includes(named), answer.json.reason)
  })
}

test('eval_results: an expression that is too deep is refused', async () => {
  let expression: unknown = { $eq: [field('scores.x'), literal(1)] }
  for (let i = 0; i < 101; i++) expression = { $not: [expression] }
  const answer = await app.post(url, {
    evaluation_call_ids: [e1],
    filters: [{ query: { $expr: expression } }],
  })
  assert.deepEqual([answer.status, answer.json.code], [413, 'body_too_deep'])
})
