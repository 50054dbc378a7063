import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import type { Caller } from '../../src/domain/callers.ts'
import { JsonText, writeJson } from '../../src/domain/json/text.ts'
import { now as clock } from '../../src/domain/time.ts'
import { queryResults } from '../../src/operations/evaluations/results.ts'
import { ResultsBody } from '../../src/operations/evaluations/results-contract.ts'
import type { CallPart } from '../../src/storage/calls/parts.ts'
import type { Database } from '../../src/storage/database.ts'
import { checkEvaluation } from '../../src/storage/evaluations/check.ts'
import { storeColumns } from '../../src/storage/evaluations/columns/store-columns.ts'
import { readRowSets } from '../../src/storage/evaluations/row-sets.ts'
import { sql } from '../../src/storage/sql/sql.ts'
import { boundTo } from '../../src/storage/transaction.ts'
import { keys, openApp } from '../support/app.ts'
import { endPart, newProject, startedAt, startPart, wholePart } from '../support/call-parts.ts'
import { completeOf } from '../support/calls.ts'
import { allDrivers } from '../support/drivers.ts'
import { type FinalCall, type ResultsRequest, resultsOf } from './evaluation-results.ts'

const caller: Caller = { name: 'alice', role: 'member', entities: new Set(['acme']) }
const evaluations = ['e1', 'e2']
const trials = ['t1', 't2', 't3', 't4']
const children = ['c1', 'c2', 'c3', 'c4', 'c5']

const json = (value: unknown) => JSON.stringify(value)
const score = fc.oneof(
  fc.boolean(),
  fc.integer({ min: -8, max: 8 }).map((n) => n / 4),
  fc.constantFrom<unknown>('good', '0.5', 'true', '1.0', 1e-20, null, [1], {}),
  fc.record(
    { passed: fc.boolean(), score: fc.integer({ min: 0, max: 4 }).map((n) => n / 4), why: fc.constant('so') },
    { requiredKeys: [] },
  ),
)
const scores = fc.dictionary(fc.constantFrom('judge', 'exact', 'a.b'), score, { maxKeys: 3 })
const example = fc.constantFrom<unknown>(
  { q: 'Chad', n: 10 },
  { n: 10, q: 'Chad' },
  { q: 'Peru', n: 2 },
  { q: 'Mali', n: 'x' },
  'plain',
  null,
  'weave:///acme/qa/object/d:abc/attr/rows/id/abc',
)
const said = fc.constantFrom<unknown>('Lima', 7, null, { n: 1, word: 'b' }, { n: '10', word: 'a' })

const trialStart = fc.record({
  parent_id: fc.constantFrom(...evaluations),
  op_name: fc.constantFrom(
    'Evaluation.predictAndScore',
    'Evaluation.predict_and_score',
    'weave:///acme/qa/op/Evaluation.predict_and_score:abc',
    'other',
  ),
  started_at: fc.nat({ max: 3 }).map((n) => startedAt + n),
  inputs: example.map((row) => json({ self: 'E', model: 'M', example: row })),
})
const trialEnd = fc.record({
  ended_at: fc.nat({ max: 9 }).map((n) => startedAt + 1000 * n),
  exception: fc.constantFrom(null, null, 'Error: no'),
  output: fc.oneof(
    fc
      .tuple(said, scores, fc.constantFrom<unknown>(1.5, { mean: 0.5 }, 'x'))
      .map(([output, given, model_latency]) => json({ output, scores: given, model_latency })),
    fc
      .tuple(said, scores)
      .map(([model_output, given]) => json({ model_output, scores: given, model_success: false })),
    fc.constantFrom('"x"', 'null', '{}'),
  ),
  summary: fc.constantFrom('{}', json({ usage: { m: { total_tokens: 30 }, k: { total_tokens: 2.5 } } })),
})
const childStart = fc.record({
  parent_id: fc.constantFrom(...trials),
  op_name: fc.constantFrom('M', 'Model.predict', 'judge.score', 'exact', 'tone.score'),
  started_at: fc.nat({ max: 3 }).map((n) => startedAt + n),
  inputs: fc.constantFrom('{}', json({ self: 'M' })),
  attributes: fc.constantFrom(
    '{}',
    json({ 'weave.score': 'true' }),
    json({ weave: { score: 'true', scorer: 'weave:///acme/qa/object/late:abc' } }),
    json({ _weave_eval_meta: { score: true } }),
  ),
})
const childEnd = fc.record({
  ended_at: fc.nat({ max: 9 }).map((n) => startedAt + 1000 * n),
  exception: fc.constantFrom(null, null, 'Error: no'),
  output: score.map(json),
  summary: fc.constantFrom('{}', json({ usage: { m: { total_tokens: 7 } } })),
})
const rootStart = fc.record({
  op_name: fc.constant('Evaluation.evaluate'),
  inputs: fc.constant('{"self":"E","model":"M"}'),
})

type Make = (project: string) => CallPart

function partOf(
  ids: readonly string[],
  start: fc.Arbitrary<Parameters<typeof startPart>[2]>,
  end: fc.Arbitrary<Parameters<typeof endPart>[2]>,
): fc.Arbitrary<Make> {
  const id = fc.constantFrom(...ids)
  return fc.oneof(
    fc.tuple(id, start).map(
      ([call, fields]) =>
        (project: string) =>
          startPart(project, call, { trace_id: 't', ...fields }),
    ),
    fc.tuple(id, end).map(
      ([call, fields]) =>
        (project: string) =>
          endPart(project, call, fields),
    ),
    fc.tuple(id, start, end).map(
      ([call, first, last]) =>
        (project: string) =>
          wholePart(project, call, { trace_id: 't', ...first }, last),
    ),
  )
}

const part = fc.oneof(
  { weight: 4, arbitrary: partOf(trials, trialStart, trialEnd) },
  { weight: 4, arbitrary: partOf(children, childStart, childEnd) },
  { weight: 1, arbitrary: partOf(evaluations, rootStart, trialEnd) },
)

type Step = { parts: Make[] } | { remove: string[] }

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.array(part, { minLength: 1, maxLength: 8 }).map((parts) => ({ parts })) },
  {
    weight: 1,
    arbitrary: fc
      .uniqueArray(fc.constantFrom(...trials, ...children), { minLength: 1, maxLength: 2 })
      .map((remove) => ({ remove })),
  },
)

const field = fc.constantFrom(
  'scores.judge',
  'scores.judge.score',
  'scores.judge.passed',
  'scores.exact',
  'scores.late',
  'inputs.n',
  'inputs.q',
  'outputs.n',
  'outputs.word',
  'output.output',
  'output.scores.judge.score',
)
const literal = fc.constantFrom<unknown>(true, false, 0.5, 1, 10, 'x', 'Chad', '', null)
const condition = fc.oneof(
  fc
    .tuple(fc.constantFrom('$eq', '$gt', '$gte', '$lt', '$lte'), field, literal)
    .map(([by, name, value]) => ({ [by]: [{ $getField: name }, { $literal: value }] })),
  fc.tuple(field, fc.constantFrom('good', 'a', '1')).map(([name, substr]) => ({
    $contains: { input: { $getField: name }, substr: { $literal: substr } },
  })),
)
const query = fc.oneof(
  condition,
  condition.map((one) => ({ $not: [one] })),
  fc.tuple(condition, condition).map((both) => ({ $and: both })),
)
const only = fc.option(fc.constantFrom(...evaluations, 'e3'), { nil: undefined })

const question = fc.record(
  {
    evaluation_call_ids: fc.subarray([...evaluations, 'e3'], { minLength: 1 }),
    filters: fc
      .array(fc.tuple(query, only), { minLength: 1, maxLength: 2 })
      .map((list) =>
        list.map(([$expr, id]) => ({ query: { $expr }, ...(id && { evaluation_call_id: id }) })),
      ),
    sort_by: fc.array(
      fc
        .tuple(field, fc.constantFrom('asc', 'desc'), only, fc.boolean())
        .map(([name, direction, id, differs]) => ({
          field: name,
          direction,
          ...(id && { evaluation_call_id: id }),
          ...(differs && name.startsWith('scores.') && { mode: 'difference' }),
        })),
      { minLength: 1, maxLength: 2 },
    ),
    limit: fc.nat({ max: 3 }),
    offset: fc.nat({ max: 2 }),
    require_intersection: fc.boolean(),
    summary_require_intersection: fc.boolean(),
    include_predict_and_score_children: fc.boolean(),
    include_raw_data_rows: fc.boolean(),
    include_summary: fc.constant(true),
  },
  { requiredKeys: ['evaluation_call_ids', 'include_summary'] },
) as fc.Arbitrary<ResultsRequest>

/** The current calls, read without derived results. */
async function finalCalls(db: Database, project: string): Promise<FinalCall[]> {
  return db.all<FinalCall>(
    sql`SELECT id, parent_id, op_name, started_at, ended_at, exception, expire_at, attributes, inputs, output, summary,
        trace_id, coalesce(renamed, display_name) AS display_name FROM calls
        WHERE project_id = ${project} AND started_at IS NOT NULL AND deleted_at IS NULL`,
  )
}

async function answered(db: Database, project: string, request: ResultsRequest): Promise<unknown> {
  const body = ResultsBody.parse({
    ...request,
    ...(request.filters && {
      filters: request.filters.map(({ query, ...rest }) => ({ ...rest, query: new JsonText(json(query)) })),
    }),
  })
  const signal = new AbortController().signal
  const { rows, others } = await queryResults(boundTo(db, signal), caller, project, body)
  const list: string[] = []
  for await (const row of rows) list.push(row)
  const { total_rows, summary } = JSON.parse(writeJson(others))
  return { rows: list.map((row) => JSON.parse(row)), total_rows, summary }
}

/** Each call once, as the store requires. */
function onePartOfEach(parts: readonly CallPart[]): CallPart[] {
  return [...new Map(parts.map((one) => [one.id, one])).values()]
}

async function take(db: Database, project: string, next: Step): Promise<void> {
  if ('parts' in next) await db.write('upsertCalls', onePartOfEach(next.parts.map((make) => make(project))))
  else await db.write('deleteCalls', { project_id: project, ids: next.remove, now: startedAt })
}

async function assertSame(db: Database, project: string, requests: readonly ResultsRequest[]): Promise<void> {
  const calls = await finalCalls(db, project)
  for (const request of requests) {
    assert.deepEqual(await answered(db, project, request), resultsOf(calls, request), json(request))
  }
  // The same again from their columns.
  const signal = new AbortController().signal
  for (const set of await readRowSets(db, project, evaluations)) {
    await storeColumns(boundTo(db, signal), { project_id: project, ...set })
  }
  for (const request of requests) {
    assert.deepEqual(
      await answered(db, project, request),
      resultsOf(calls, request),
      `columns: ${json(request)}`,
    )
  }
  for (const evaluation_id of evaluations) {
    const wrong = await checkEvaluation(boundTo(db, signal), { project_id: project, evaluation_id }, clock())
    assert.deepEqual(wrong, [])
  }
}

async function rebuild(db: Database, project: string): Promise<void> {
  for (const evaluation_id of evaluations) {
    await db.write('rebuildEvaluation', { project_id: project, evaluation_id, now: clock() })
  }
}

for (const driver of allDrivers()) {
  describe(`evaluation results on ${driver.name}`, () => {
    before(driver.start)
    after(driver.stop)

    test('sequential histories give the results of their final calls', async () => {
      const db = await driver.shared()
      await fc.assert(
        fc.asyncProperty(
          fc.array(step, { minLength: 1, maxLength: 12 }),
          fc.array(question, { minLength: 3, maxLength: 3 }),
          async (steps, questions) => {
            const project = newProject()
            for (const next of steps) await take(db, project, next)
            await assertSame(db, project, questions)
            await rebuild(db, project)
            await assertSame(db, project, questions)
          },
        ),
        { numRuns: 150 },
      )
    })

    test('scores of very many shapes and with very many scalars give the same results as others', async () => {
      const db = await driver.shared()
      const project = newProject()
      const given = (n: number): Record<string, unknown> => {
        if (n % 25 === 0)
          return Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`many${i}`, (n + i) / 4]))
        if (n % 25 === 1) return { judge: { score: n / 4, 'a\\b': true, 'x\n': 1 } }
        return { judge: { score: n / 4, passed: n % 3 === 0 }, [`of row ${n}`]: n % 2 === 0 }
      }
      const parts = Array.from({ length: 150 }, (_, n) =>
        wholePart(
          project,
          `many-${n}`,
          {
            trace_id: 't',
            parent_id: evaluations[n % 2] as string,
            op_name: 'Evaluation.predict_and_score',
            inputs: json({ example: { n: Math.floor(n / 2), long: 'x'.repeat(n * 5), part: { n } } }),
          },
          { output: json({ output: n, scores: given(n) }) },
        ),
      )
      for (let from = 0; from < parts.length; from += 40) {
        await db.write('upsertCalls', parts.slice(from, from + 40))
      }
      const asked = { evaluation_call_ids: evaluations, include_summary: true, include_raw_data_rows: true }
      const half = { $literal: 15.5 }
      await assertSame(db, project, [
        asked,
        { ...asked, offset: 60 },
        { ...asked, limit: 7, require_intersection: true },
        { ...asked, sort_by: [{ field: 'scores.judge.score', direction: 'desc' }] },
        { ...asked, sort_by: [{ field: 'scores.judge.score', mode: 'difference' }] },
        { ...asked, sort_by: [{ field: 'scores.many7' }, { field: 'scores.of row 8' }] },
        { ...asked, sort_by: [{ field: 'inputs.part.n', direction: 'desc' }] },
        { ...asked, sort_by: [{ field: 'inputs.long' }], limit: 5 },
        { ...asked, filters: [{ query: { $expr: { $gte: [{ $getField: 'scores.judge.score' }, half] } } }] },
        { ...asked, filters: [{ query: { $expr: { $gte: [{ $getField: 'inputs.n' }, half] } } }] },
        {
          ...asked,
          filters: [
            { query: { $expr: { $eq: [{ $getField: 'scores.judge.passed' }, { $literal: true }] } } },
            {
              query: { $expr: { $gte: [{ $getField: 'inputs.part.n' }, half] } },
              evaluation_call_id: 'e2',
            },
          ],
        },
      ])
      await db.write('deleteCalls', {
        project_id: project,
        ids: parts.slice(20, 130).map(({ id }) => id),
        now: startedAt,
      })
      await assertSame(db, project, [asked, { ...asked, require_intersection: true }])
    })

    test('scores sort and compare by every digit, with booleans as 1 and 0', async () => {
      const db = await driver.shared()
      const project = newProject()
      const given = [
        '9007199254740994',
        '9007199254740992',
        '9007199254740993',
        '9007199254740993.0',
        'true',
        '0.5',
      ]
      const trial = (evaluation: string, n: number, score: string) =>
        wholePart(
          project,
          `${evaluation}-${n}`,
          {
            trace_id: 't',
            parent_id: evaluation,
            op_name: 'Evaluation.predict_and_score',
            inputs: json({ example: { n } }),
          },
          { output: `{"output":1,"scores":{"size":${score},"own":{"n":${n}}}}` },
        )
      await db.write('upsertCalls', [
        ...given.map((score, n) => trial('e1', n, score)),
        ...given.map((score, n) => trial('e2', n, n < 3 ? '9007199254740991' : score)),
      ])
      const order = async (request: Partial<ResultsRequest>) => {
        const asked = { evaluation_call_ids: ['e1'], include_raw_data_rows: true, ...request }
        const { rows } = (await answered(db, project, asked)) as { rows: { raw_data_row: { n: number } }[] }
        return rows.map(({ raw_data_row }) => raw_data_row.n)
      }
      const sizes = { field: 'scores.size' }
      const [half, one, two, three, four] = [5, 4, 1, 2, 0]
      const sorted = await order({ sort_by: [sizes, { field: 'scores.own.n' }] })
      assert.deepEqual(sorted, [half, one, two, three, 3, four])
      const both = { evaluation_call_ids: ['e1', 'e2'] }
      const differing = await order({
        ...both,
        sort_by: [{ ...sizes, mode: 'difference', direction: 'desc' }],
      })
      assert.deepEqual(differing.slice(0, 3), [four, three, two])
      const where = async (by: string, literal: unknown) => {
        const filter = { query: { $expr: { [by]: [{ $getField: 'scores.size' }, { $literal: literal }] } } }
        return (await order({ filters: [filter], sort_by: [sizes] })).toSorted((a, b) => a - b)
      }
      assert.deepEqual(await where('$gt', 0.5), [0, 1, 2, 3, 4])
      assert.deepEqual(await where('$gte', 1), [0, 1, 2, 3, 4])
      assert.deepEqual(await where('$lt', 1), [half])
      assert.deepEqual(await where('$eq', 1), [one])
      assert.deepEqual(await where('$eq', true), [one])
      assert.deepEqual(await where('$gt', 9007199254740992), [0, 2, 3])
      await assertSame(db, project, [
        { evaluation_call_ids: ['e1'], sort_by: [sizes] },
        { ...both, sort_by: [{ ...sizes, mode: 'difference' }, { field: 'scores.own.n' }] },
        { ...both, sort_by: [{ ...sizes, evaluation_call_id: 'e2', direction: 'desc' }] },
      ])
    })

    test('filters and sorts read rows of other projects to which the caller has access', async (t) => {
      const { post } = await openApp(t, { database: await driver.open(t) })
      const rowsOf = async (project_id: string, rows: object[], key: string) => {
        const { json } = await post('/table/create', { table: { project_id, rows } }, key)
        const rowsRef = `weave:///${project_id}/table/${json.digest}`
        const obj = { project_id, object_id: 'capitals', val: { rows: rowsRef } }
        const { digest } = (await post('/obj/create', { obj }, key)).json
        const ref = (row: string) => `weave:///${project_id}/object/capitals:${digest}/attr/rows/id/${row}`
        return (json.row_digests as string[]).map(ref)
      }
      const own = await rowsOf('acme/qa', [{ n: 1 }], keys.alice)
      const shared = await rowsOf('acme/data', [{ n: 3 }, { n: 2 }], keys.alice)
      const foreign = await rowsOf('globex/data', [{ n: 4 }], keys.bob)
      const nowhere = 'weave:///acme/gone/object/capitals:abc/attr/rows/id/none'
      const evaluation = randomUUID()
      const batch = [...own, ...shared, ...foreign, nowhere].map((example) =>
        completeOf({
          ...{ trace_id: evaluation, parent_id: evaluation, op_name: 'Evaluation.predict_and_score' },
          ...{ inputs: { example }, output: { output: 1, scores: {} } },
        }),
      )
      assert.equal((await post('/v2/acme/qa/calls/complete', { batch })).status, 200)
      const query = async (body: object, key: string) => {
        const asked = {
          evaluation_call_ids: [evaluation],
          include_raw_data_rows: true,
          resolve_row_refs: true,
        }
        const { status, json, text } = await post(
          '/v2/acme/qa/eval_results/query',
          { ...asked, ...body },
          key,
        )
        assert.equal(status, 200, text)
        const rows = json.rows as { raw_data_row: string | { n: number } }[]
        const seen = rows.map(({ raw_data_row: row }) => (typeof row === 'string' ? null : row.n))
        return [seen, (json.warnings as string[]).filter((text) => text.startsWith('filters, sort_by'))]
      }
      const n = { $getField: 'inputs.n' }
      const above = (least: number) => ({
        filters: [{ query: { $expr: { $gt: [n, { $literal: least }] } } }],
      })
      const sorted = { sort_by: [{ field: 'inputs.n', direction: 'desc' }] }
      const warning = (rows: string) =>
        `filters, sort_by: ${rows} to no table row that you can read; inputs.… count as missing there.`
      const two = warning('2 rows refer')
      assert.deepEqual(await query({ ...above(1), ...sorted }, keys.alice), [[3, 2], [two]])
      assert.deepEqual(await query(sorted, keys.alice), [[3, 2, 1, null, null], [two]])
      assert.deepEqual(await query({ ...above(3) }, keys.alice), [[], [two]])
      // A caller with access to all entities sees all rows.
      assert.deepEqual(await query({ ...above(1), ...sorted }, keys.root), [
        [4, 3, 2],
        [warning('1 row refers')],
      ])
      assert.deepEqual((await query({}, keys.alice))[1], [])
    })

    test('concurrent histories give the results of their final calls', async () => {
      const db = await driver.shared()
      await fc.assert(
        fc.asyncProperty(
          fc.array(step, { minLength: 4, maxLength: 16 }),
          fc.array(question, { minLength: 2, maxLength: 2 }),
          async (steps, questions) => {
            const project = newProject()
            await Promise.all(steps.map((next) => take(db, project, next)))
            await assertSame(db, project, [
              ...questions,
              { evaluation_call_ids: evaluations, include_summary: true, include_raw_data_rows: true },
            ])
          },
        ),
        { numRuns: 80 },
      )
    })
  })
}
