import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import { sumAll } from '../../src/operations/calls/sums.ts'
import type { CallEnd, CallStart } from '../../src/storage/calls/parts.ts'
import { hoursWithEvaluations } from '../../src/storage/evaluations/evaluation-list.ts'
import { sql } from '../../src/storage/sql/sql.ts'
import { boundTo } from '../../src/storage/transaction.ts'
import { type Answer, keys, openApp, type TestApp } from '../support/app.ts'
import { newProject, secondMicros, startedAt, startPart, wholePart } from '../support/call-parts.ts'
import { allDrivers } from '../support/drivers.ts'

const [e1, e2, e3] = ['e1', 'e2', 'e3']
const evaluations = [e1, e2, e3]

interface Scored {
  evaluation: string
  row: number
  score: unknown
}

/** Writes the scores as trials of a new project. */
async function written({ database }: Pick<TestApp, 'database'>, scored: readonly Scored[]): Promise<string> {
  const project = newProject()
  const trials = scored.map(({ evaluation, row, score }, index) =>
    wholePart(
      project,
      `trial-${index}`,
      {
        trace_id: evaluation,
        parent_id: evaluation,
        op_name: 'Evaluation.predict_and_score',
        started_at: startedAt + index,
        inputs: JSON.stringify({ example: { row } }),
      },
      {
        output: JSON.stringify({ output: row, scores: { judge: score } }),
        exception: row === 99 ? 'no' : null,
      },
    ),
  )
  const roots = [...new Set(scored.map(({ evaluation }) => evaluation))].map((id, index) =>
    wholePart(project, id, {
      op_name: 'Evaluation.evaluate',
      started_at: startedAt - 10 + index,
      inputs: '{"self":"E","model":"M"}',
    }),
  )
  await database.write('upsertCalls', [...roots, ...trials])
  return project
}

async function asked(answer: Promise<Answer>) {
  const { status, json, text } = await answer
  assert.equal(status, 200, text)
  return json
}

const number = (value: unknown) =>
  typeof value === 'number' ? value : typeof value === 'boolean' ? Number(value) : undefined
const mean = (values: readonly number[]) => values.reduce((all, one) => all + one, 0) / values.length

/** The mean of each row that has values. */
function rowMeans(scored: readonly Scored[], of: string): Map<number, number> {
  const rows = Map.groupBy(
    scored.filter(({ evaluation, score }) => evaluation === of && number(score) !== undefined),
    ({ row }) => row,
  )
  return new Map([...rows].map(([row, own]) => [row, mean(own.map(({ score }) => number(score) as number))]))
}

const history = fc.array(
  fc.record({
    evaluation: fc.constantFrom(...evaluations),
    row: fc.nat({ max: 5 }),
    // Quarters, so that sums are exact in any order.
    score: fc.oneof(
      { weight: 5, arbitrary: fc.integer({ min: -8, max: 8 }).map((n) => n / 4) },
      { weight: 1, arbitrary: fc.constantFrom<unknown>(true, false, 'good', null, [1]) },
    ),
  }),
  { minLength: 1, maxLength: 40 },
)

/** Two rows whose means differ by -1.75 each. */
const sameDifferences: Scored[] = [
  { evaluation: e1, row: 1, score: 1.25 },
  { evaluation: e1, row: 1, score: 1.75 },
  { evaluation: e1, row: 2, score: 0.75 },
  { evaluation: e2, row: 1, score: -0.25 },
  { evaluation: e2, row: 2, score: -1 },
]

for (const driver of allDrivers()) {
  describe(`views of evaluations on ${driver.name}`, () => {
    before(driver.start)
    after(driver.stop)

    const opened = async (t: Parameters<typeof openApp>[0]) =>
      openApp(t, { database: await driver.open(t as never) })

    test('scores count each trial once, and pairs count each row that both have', async (t) => {
      const app = await opened(t)
      await fc.assert(
        fc.asyncProperty(history, fc.integer({ min: 1, max: 64 }), async (scored, bins) => {
          const project = await written(app, scored)
          const json = await asked(
            app.post('/views/scores', {
              project_id: project,
              evaluation_call_ids: evaluations,
              field: 'scores.judge',
              heat_for: e2,
              bins,
            }),
          )
          for (const own of json.evaluations) {
            const all = scored.filter(({ evaluation }) => evaluation === own.evaluation_call_id)
            const known = all.flatMap(({ score }) => number(score) ?? [])
            assert.equal(own.trial_count, all.length)
            assert.equal(own.value_count, known.length)
            assert.equal(own.missing_trial_count, all.length - known.length)
            assert.equal(own.mean, known.length === 0 ? null : mean(known))
            assert.equal(
              own.counts.length,
              json.is_binary ? 2 : json.least === null ? own.counts.length : bins,
            )
            assert.equal(
              own.counts.reduce((sum: number, one: number) => sum + one, 0),
              known.length,
            )
          }
          const base = rowMeans(scored, e1)
          for (const pair of json.pairs) {
            const other = rowMeans(scored, pair.evaluation_call_id)
            const steps = [...base].flatMap(([row, own]) => {
              const given = other.get(row)
              return given === undefined ? [] : [given - own]
            })
            const wins = steps.filter((step) => step > 1e-9).length
            const losses = steps.filter((step) => step < -1e-9).length
            assert.deepEqual(
              [pair.row_count, pair.wins, pair.ties, pair.losses],
              [steps.length, wins, steps.length - wins - losses, losses],
            )
            if (steps.length === 0) assert.equal(pair.mean_difference, null)
            else assert.ok(Math.abs(pair.mean_difference - mean(steps)) < 1e-9)
            if (steps.length < 2) assert.equal(pair.interval, null)
            else {
              const { low, high, method } = pair.interval
              assert.ok(low <= pair.mean_difference + 1e-9 && high >= pair.mean_difference - 1e-9)
              if (method === 'agresti_min') {
                // Numbers only where all rows differ by the same; others may then differ by as much either way.
                const bound = (json.is_binary ? 1 : Math.abs(steps[0] as number)) + 1e-9
                assert.ok(low >= -bound && high <= bound)
              } else assert.ok(Math.abs((low + high) / 2 - pair.mean_difference) < 1e-9)
            }
            if (pair.evaluation_call_id === e2 && json.heat !== null) {
              const cells: [number, number, number][] = json.heat.cells
              assert.equal(
                cells.reduce((sum, [, , rows]) => sum + rows, 0),
                steps.length,
              )
              assert.ok(cells.every(([x, y]) => x >= 0 && x < 20 && y >= 0 && y < 20))
            }
          }
        }),
        { numRuns: 20, examples: [[sameDifferences, 1]] },
      )
    })

    test('the rank and neighbours of a row are those in the answer of the query', async (t) => {
      const app = await opened(t)
      await fc.assert(
        fc.asyncProperty(
          history,
          fc.constantFrom('value', 'difference', 'digest'),
          fc.constantFrom('asc', 'desc'),
          async (scored, mode, direction) => {
            const project = await written(app, scored)
            const view = {
              evaluation_call_ids: evaluations.slice(0, 2),
              ...(mode !== 'digest' && { sort_by: [{ field: 'scores.judge', mode, direction }] }),
            }
            const all = await asked(app.post(`/v2/${project}/eval_results/query`, view))
            const digests = all.rows.map(({ row_digest }: { row_digest: string }) => row_digest)
            for (const [place, row_digest] of digests.entries()) {
              const rank = { ...view, project_id: project, row_digest, neighbours: 2 }
              assert.deepEqual(await asked(app.post('/views/rank', rank)), {
                rank: place,
                total_rows: digests.length,
                before: digests.slice(Math.max(0, place - 2), place),
                after: digests.slice(place + 1, place + 3),
              })
            }
            const none = { ...view, project_id: project, row_digest: 'none' }
            assert.deepEqual(await asked(app.post('/views/rank', none)), {
              rank: null,
              total_rows: digests.length,
              before: [],
              after: [],
            })
          },
        ),
        { numRuns: 8 },
      )
    })

    test('numbers beyond any axis count as missing, without an error', async (t) => {
      const app = await opened(t)
      const scores = [1e308, -1e308, '1e400', 1e-300, 5e-324, 0.1, '0.25', 1e100, -1e100]
      const scored = [e1, e2].flatMap((evaluation) =>
        scores.map((score, row) => ({ evaluation, row, score })),
      )
      const project = await written(app, scored)
      const json = await asked(
        app.post('/views/scores', {
          project_id: project,
          evaluation_call_ids: [e1, e2],
          field: 'scores.judge',
          heat_for: e2,
        }),
      )
      assert.deepEqual(
        json.evaluations.map(({ value_count, missing_trial_count }: Record<string, number>) => [
          value_count,
          missing_trial_count,
        ]),
        [
          [6, 3],
          [6, 3],
        ],
      )
      assert.deepEqual([json.pairs[0].wins, json.pairs[0].ties, json.pairs[0].losses], [0, 6, 0])
    })

    test('booleans are compared by rows that pass in both, with an interval of shares', async (t) => {
      const app = await opened(t)
      const scored = [e1, e2].flatMap((evaluation, at) =>
        Array.from({ length: 1500 }, (_, row) => ({ evaluation, row, score: row % (at + 2) === 0 })),
      )
      const project = await written(app, scored)
      const body = { project_id: project, evaluation_call_ids: [e1, e2], field: 'scores.judge', baseline: e2 }
      const json = await asked(app.post('/views/scores', body))
      assert.equal(json.is_binary, true)
      assert.deepEqual(json.evaluations[0].counts, [750, 750])
      const [pair] = json.pairs
      assert.deepEqual(pair.agreement, { both: 250, baseline_only: 250, other_only: 500, neither: 500 })
      assert.deepEqual([pair.wins, pair.ties, pair.losses], [500, 750, 250])
      assert.equal(pair.interval.method, 'agresti_min')
      assert.ok(pair.interval.low > 0.12 && pair.interval.high < 0.21, JSON.stringify(pair.interval))
      const few = {
        ...body,
        filters: [{ query: { $expr: { $lt: [{ $getField: 'inputs.row' }, { $literal: 600 }] } } }],
      }
      const drawn = await asked(app.post('/views/scores', few))
      assert.equal(drawn.pairs[0].interval.method, 'agresti_min')
      assert.deepEqual(drawn, await asked(app.post('/views/scores', few)))
    })

    test('evaluations are listed newest first, with totals over their trials', async (t) => {
      const app = await opened(t)
      const project = await written(app, [
        { evaluation: e1, row: 1, score: 1 },
        { evaluation: e2, row: 1, score: 1 },
        { evaluation: e2, row: 99, score: 1 },
      ])
      const body = { project_id: project }
      const { evaluations: found, total } = await asked(app.post('/views/evaluations', body))
      assert.equal(total, 2)
      assert.deepEqual(
        found.map((one: Record<string, unknown>) => [
          one.evaluation_call_id,
          one.row_count,
          one.trial_count,
          one.failed_trial_count,
          one.model_ref,
          one.status,
        ]),
        [
          [e2, 2, 2, 1, 'M', 'success'],
          [e1, 1, 1, 0, 'M', 'success'],
        ],
      )
      const page = await asked(app.post('/views/evaluations', { ...body, limit: 1, offset: 1 }))
      assert.deepEqual(
        [page.total, page.evaluations.length, page.evaluations[0].evaluation_call_id],
        [2, 1, e1],
      )
    })

    test('evaluations without any trial are listed with what is the matter, counted and paged', async (t) => {
      const app = await opened(t)
      const project = await written(app, [{ evaluation: e1, row: 1, score: 1 }])
      const root = (id: string, start: Partial<CallStart>, end?: Partial<CallEnd>) => {
        const part = { op_name: 'Evaluation.evaluate', ...start }
        return end === undefined ? startPart(project, id, part) : wholePart(project, id, part, end)
      }
      const day = 86_400 * secondMicros
      await app.database.write('upsertCalls', [
        root('begun', { started_at: startedAt + day }),
        root('broken', { started_at: startedAt + 2 * day }, { exception: 'x'.repeat(900) }),
        root('halted', { started_at: startedAt + 3 * day }, { summary: '{"stopped":true}' }),
        root(
          'bare',
          {
            started_at: startedAt + 4 * day,
            op_name: `weave:///${project}/op/MyEvaluation.evaluate:${'a'.repeat(43)}`,
          },
          {},
        ),
        root('gone', { started_at: startedAt + day, expire_at: startedAt + 2 * day }, {}),
        root('other', { started_at: startedAt + day, op_name: 'Evaluation.evaluate_all' }, {}),
        startPart(newProject(), 'foreign', { op_name: 'Evaluation.evaluate' }),
        // A call within the run, in the same hour.
        wholePart(project, 'summary', {
          ...{ trace_id: 'broken', parent_id: 'broken', op_name: 'Evaluation.summarize' },
          started_at: startedAt + 2 * day,
        }),
        // Shadows count as evaluations, and may be many.
        wholePart(project, 'shadow', { op_name: 'heddle.shadow', started_at: startedAt + 6 * day }),
      ])
      const ids = ['bare', 'halted', 'broken', 'begun', e1]
      const body = { project_id: project }
      // Before and after the hours of the calls were added up.
      for (const isSettled of [false, true]) {
        if (isSettled) await sumAll(boundTo(app.database, new AbortController().signal))
        const { evaluations: found, total } = await asked(app.post('/views/evaluations', body))
        assert.deepEqual(
          found.map((one: Record<string, unknown>) => [one.evaluation_call_id, one.status, one.trial_count]),
          [
            ['bare', 'no_rows', 0],
            ['halted', 'stopped', 0],
            ['broken', 'error', 0],
            ['begun', 'running', 0],
            [e1, 'success', 1],
          ],
        )
        assert.equal(total, ids.length)
        assert.match(found[2].error, /^x{400,}…$/)
        const page = await asked(app.post('/views/evaluations', { ...body, limit: 2, offset: 3 }))
        assert.deepEqual(
          [page.total, ...page.evaluations.map((one: Record<string, unknown>) => one.evaluation_call_id)],
          [5, 'begun', e1],
        )
      }
      const time = startedAt + 9 * day
      const hours = await hoursWithEvaluations(
        boundTo(app.database, new AbortController().signal),
        project,
        time,
      )
      assert.ok(hours !== undefined)
      const read = await app.database.all<{ at: number }>(sql`SELECT at FROM ${hours} ORDER BY at`)
      const hour = 3_600 * secondMicros
      const began = [-10, day, 2 * day, 3 * day, 4 * day].map((after) => startedAt + after)
      assert.deepEqual(
        read.map(({ at }) => Number(at)),
        began.map((at) => at - (at % hour)),
      )
    })

    test('invalid requests are refused by the name of the field', async (t) => {
      const { post } = await opened(t)
      const body = { project_id: 'acme/qa', evaluation_call_ids: [e1], field: 'scores.x' }
      const { field: _, ...ofRank } = body
      const bodies = new Map<string, object>([
        ['/views/rank', { ...ofRank, row_digest: 'x' }],
        ['/views/evaluations', { project_id: 'acme/qa' }],
      ])
      const refused = async (url: string, given: object, status: number, word: string, key = keys.alice) => {
        const answer = await post(url, { ...(bodies.get(url) ?? body), ...given }, key)
        assert.equal(answer.status, status, answer.text)
        assert.match(answer.text, new RegExp(word))
      }
      await refused('/views/scores', { field: 'inputs.x' }, 400, 'field')
      await refused('/views/scores', { baseline: e2 }, 400, 'baseline')
      await refused('/views/scores', { heat_for: e2 }, 400, 'heat_for')
      await refused('/views/scores', { bins: 65 }, 422, 'bins')
      await refused('/views/rank', { sort_by: [{ field: 'nothing' }] }, 400, 'sort_by.0.field')
      await refused('/views/scores', {}, 403, 'project_id', keys.bob)
      await refused('/views/rank', {}, 403, 'project_id', keys.bob)
      await refused('/views/evaluations', {}, 403, 'project_id', keys.bob)
      const empty = await post('/views/scores', body)
      assert.deepEqual([empty.status, empty.json.least, empty.json.pairs], [200, null, []])
    })
  })
}
