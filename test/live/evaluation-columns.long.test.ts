import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import { now } from '../../src/domain/time.ts'
import { startStoringColumns } from '../../src/operations/evaluations/behind-the-writes.ts'
import type { Database } from '../../src/storage/database.ts'
import { checkEvaluation } from '../../src/storage/evaluations/check.ts'
import { findUnstored, headerName } from '../../src/storage/evaluations/columns/gather.ts'
import { storeColumns } from '../../src/storage/evaluations/columns/store-columns.ts'
import { readRowSets } from '../../src/storage/evaluations/row-sets.ts'
import { sql } from '../../src/storage/sql/sql.ts'
import { boundTo } from '../../src/storage/transaction.ts'
import { openApp, type TestApp } from '../support/app.ts'
import { newProject, startedAt, wholePart } from '../support/call-parts.ts'
import { allDrivers } from '../support/drivers.ts'
import { until } from '../support/wait.ts'

const evaluations = ['e1', 'e2', 'e3']
const signal = new AbortController().signal
const path = (project: string) => `/v2/${project}/eval_results/query`

interface Scored {
  evaluation: string
  row: number
  scores: object
  isFailed?: boolean
}

function trialsOf(project: string, scored: readonly Scored[], first = 0) {
  return scored.map(({ evaluation, row, scores, isFailed }, index) =>
    wholePart(
      project,
      `trial-${first + index}`,
      {
        ...{ trace_id: evaluation, parent_id: evaluation, op_name: 'Evaluation.predict_and_score' },
        started_at: startedAt + first + index,
        inputs: JSON.stringify({
          example: {
            n: row % 4,
            kind: row % 3 === 0 ? 'hard' : row,
            ...(row % 5 === 0 && { extra: true }),
            row,
          },
        }),
      },
      {
        output: JSON.stringify({ output: row, scores, model_latency: row / 4 }),
        exception: isFailed ? 'no' : null,
        summary: JSON.stringify({ usage: { m: { total_tokens: row } } }),
      },
    ),
  )
}

async function keepAll(db: Database, project: string): Promise<void> {
  for (const set of await readRowSets(db, project, evaluations)) {
    assert.equal(await storeColumns(boundTo(db, signal), { project_id: project, ...set }), true)
  }
}

const ops = ['$eq', '$gt', '$gte']
const field = fc.constantFrom('scores.judge.score', 'scores.exact', 'scores.other')
const input = fc.constantFrom('inputs.n', 'inputs.kind', 'inputs.extra', 'inputs.row', 'inputs.none')
const literal = fc.constantFrom<unknown>(0.5, 1, 0, true, false, 'hard', 2, null)

const comparison = (of: fc.Arbitrary<string>) =>
  fc
    .tuple(fc.constantFrom(...ops), of, literal)
    .map(([op, name, value]) => ({ [op]: [{ $getField: name }, { $literal: value }] }))

const condition = (of: fc.Arbitrary<string>) =>
  fc.oneof(
    comparison(of),
    fc.tuple(comparison(of), comparison(of)).map((both) => ({ $or: both })),
    fc.tuple(comparison(of), comparison(of)).map(([one, other]) => ({ $and: [{ $not: [one] }, other] })),
    of.map((name) => ({ $not: [{ $getField: name }] })),
    of.map((name) => ({
      $gt: [{ $convert: { input: { $getField: name }, to: 'double' } }, { $literal: 0.25 }],
    })),
    fc
      .tuple(of, fc.array(literal, { minLength: 1, maxLength: 3 }))
      .map(([name, list]) => ({ $in: [{ $getField: name }, list.map((one) => ({ $literal: one }))] })),
  )

const one = fc.constantFrom(...evaluations)
const filter = fc.record(
  {
    query: fc.oneof(condition(field), condition(input)).map(($expr) => ({ $expr })),
    evaluation_call_id: one,
  },
  { requiredKeys: ['query'] },
)
const sort = fc.oneof(
  fc.record(
    { field, direction: fc.constantFrom('asc', 'desc'), evaluation_call_id: one },
    { requiredKeys: ['field'] },
  ),
  fc.record({ field, direction: fc.constantFrom('asc', 'desc'), mode: fc.constant('difference') }),
  fc.record({ field: input, direction: fc.constantFrom('asc', 'desc') }),
)
const question = fc.record({
  evaluation_call_ids: fc.shuffledSubarray(evaluations, { minLength: 1 }),
  filters: fc.array(filter, { maxLength: 2 }),
  sort_by: fc.array(sort, { maxLength: 3 }),
  limit: fc.constantFrom(null, 3, 50),
  offset: fc.constantFrom(0, 0, 2, 700),
  require_intersection: fc.boolean(),
  include_summary: fc.constant(true),
})

/** Quarters, so that sums are exact in any order. */
const quarter = fc.integer({ min: -4, max: 8 }).map((n) => n / 4)
const scored = fc.record({
  evaluation: one,
  row: fc.nat({ max: 12 }),
  scores: fc.oneof(
    { weight: 6, arbitrary: quarter.map((score) => ({ judge: { score }, exact: score > 0.5 })) },
    { weight: 1, arbitrary: fc.constantFrom<object>({}, { judge: 'good', exact: null }, { exact: true }) },
    { weight: 1, arbitrary: quarter.map((other) => ({ other, exact: 1 })) },
  ),
  isFailed: fc.boolean(),
})

for (const driver of allDrivers()) {
  describe(`columns of evaluations on ${driver.name}`, () => {
    before(driver.start)
    after(driver.stop)

    const opened = async (t: Parameters<typeof openApp>[0]) =>
      openApp(t, { database: await driver.open(t as never) })

    async function answers({ post }: TestApp, project: string, body: object): Promise<unknown[]> {
      const { evaluation_call_ids, filters, sort_by, require_intersection } = body as Record<string, unknown>
      const view = { project_id: project, evaluation_call_ids, filters, require_intersection }
      const results = await post(path(project), body)
      const all = [
        results,
        await post('/views/scores', { ...view, field: 'scores.judge.score', heat_for: 'e2', bins: 7 }),
        await post('/views/rank', { ...view, sort_by, row_digest: 'x', neighbours: 2 }),
        await post('/views/evaluations', { project_id: project }),
      ]
      const first = (results.json.rows as { row_digest: string }[]).at(-1)?.row_digest
      if (first !== undefined) {
        all.push(await post('/views/rank', { ...view, sort_by, row_digest: first, neighbours: 2 }))
      }
      return all.map(({ status, json }) => [status, json])
    }

    test('give the same answers as the trials, for any query', async (t) => {
      const app = await opened(t)
      await fc.assert(
        fc.asyncProperty(
          fc.array(scored, { minLength: 1, maxLength: 60 }),
          fc.array(question, { minLength: 3, maxLength: 3 }),
          async (all, questions) => {
            const project = newProject()
            const roots = evaluations.map((id) => wholePart(project, id, { op_name: 'Evaluation.evaluate' }))
            await app.database.write('upsertCalls', [...roots, ...trialsOf(project, all)])
            const heat = questions.map((body) => ({
              ...body,
              evaluation_call_ids: [...new Set([...body.evaluation_call_ids, 'e2'])],
            }))
            const before = []
            for (const body of heat) before.push(await answers(app, project, body))
            await keepAll(app.database, project)
            for (const [i, body] of heat.entries()) {
              assert.deepEqual(await answers(app, project, body), before[i], JSON.stringify(body))
            }
          },
        ),
        { numRuns: 25 },
      )
    })

    test('are used only while they match the trials', async (t) => {
      const app = await opened(t)
      const { database: db, post } = app
      const project = newProject()
      const all = Array.from({ length: 600 }, (_, n) => ({
        ...{ evaluation: n % 2 === 0 ? 'e1' : 'e2', row: Math.floor(n / 2) },
        scores: { judge: { score: (n * 7) % 100 } },
      }))
      await db.write('upsertCalls', trialsOf(project, all))
      const asked = { evaluation_call_ids: ['e1', 'e2'], limit: 2, include_summary: true }
      const sorted = { ...asked, sort_by: [{ field: 'scores.judge.score', direction: 'desc' }] }
      const right = (await post(path(project), sorted)).json
      await keepAll(db, project)
      assert.deepEqual((await post(path(project), sorted)).json, right)

      // Any write of one trial is visible at once.
      const late = { evaluation: 'e1', row: 7, scores: { judge: { score: 1000 } }, isFailed: true }
      await db.write('upsertCalls', trialsOf(project, [late], 10_000))
      const { json } = await post(path(project), sorted)
      assert.notDeepEqual(json.rows, right.rows)
      assert.equal(json.summary.evaluations[0].trial_count + json.summary.evaluations[1].trial_count, 601)

      // Columns of an old version are not stored, and do not remain.
      const [set] = await readRowSets(db, project, ['e1'])
      assert.ok(set)
      const old = { project_id: project, evaluation_id: 'e1', version: 'gone' }
      assert.equal(await db.write('keepColumn', { ...old, name: 'v0', bytes: new Uint8Array(9) }), false)
      assert.equal(await db.write('finishColumns', { ...old, header: '{}' }), false)
      // A server that is killed in between leaves columns without a header, which are not read.
      await db.write('keepColumn', {
        ...{ project_id: project, ...set, name: 'v0', bytes: new Uint8Array(9) },
      })
      assert.deepEqual((await post(path(project), sorted)).json, json)
      await keepAll(db, project)
      assert.deepEqual((await post(path(project), sorted)).json, json)
      const versions = await db.all<{ version: string }>(
        sql`SELECT DISTINCT version FROM eval_columns WHERE project_id = ${project} AND evaluation_id = 'e1'`,
      )
      assert.deepEqual(versions, [{ version: set.version }])

      // `heddle db check` finds them.
      const checked = () =>
        checkEvaluation(boundTo(db, signal), { project_id: project, evaluation_id: 'e1' }, now())
      assert.deepEqual(await checked(), [])
      await db.write('keepColumn', {
        ...{ project_id: project, ...set, name: 'v0', bytes: new Uint8Array(9) },
      })
      assert.match((await checked()).join(), /^the columns of evaluation e1 in .* do not match its trials$/)

      // An unreadable header is reported as damage.
      const cut = new TextEncoder().encode('{"cut')
      await db.write('keepColumn', { ...{ project_id: project, ...set, name: headerName, bytes: cut } })
      const damaged = await post(path(project), sorted)
      assert.deepEqual([damaged.status, damaged.json.code], [503, 'storage_corrupt'])

      // They are deleted with the last trial.
      const ids = [...all.keys(), 10_000].map((n) => `trial-${n}`)
      await db.write('deleteCalls', { project_id: project, ids, now: startedAt })
      assert.equal((await post(path(project), sorted)).json.total_rows, 0)
      assert.deepEqual(await db.all(sql`SELECT name FROM eval_columns WHERE project_id = ${project}`), [])
    })

    test('are stored in the background, once the trials no longer change', async (t) => {
      const db = await driver.open(t)
      const project = newProject()
      const all = Array.from({ length: 250 }, (_, row) => ({
        evaluation: 'e1',
        row,
        scores: { exact: true },
      }))
      await db.write('upsertCalls', trialsOf(project, all))
      const ids = all.map((_, n) => `trial-${n}`)
      await db.write('derivePending', { project_id: project, trial_ids: ids, now: startedAt })
      assert.equal((await findUnstored(db, 10)).length, 1)
      const keeping = startStoringColumns(db, (error) => assert.fail(error as Error))
      t.after(() => keeping.stop())
      await until('the columns are kept', async () => (await findUnstored(db, 10)).length === 0)
    })
  })
}
