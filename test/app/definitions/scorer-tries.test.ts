import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { openApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'
import { root } from '../../support/evaluation-runs.ts'
import { monitorsOf, scoreSchema } from '../../support/monitors.ts'
import { simulatedBackend } from '../../support/simulated-backend.ts'

const url = `${root}/scorers/try`
const check = { kind: 'length', max: 3 }

test('a judge is tried on calls: scores, reasons, and nothing stored', async (t) => {
  const opened = await openApp(t, { backend: simulatedBackend(t, '{"score": 0.5}') })
  const { calls, judgeCalls } = monitorsOf(opened)
  const call_ids = [...(await calls({ output: 'four' }, { output: null })), randomUUID()]
  const judge = { prompt: 'Rate {answer}', schema: scoreSchema }
  const { status, json } = await opened.post(url, { judge, fields: { answer: 'output' }, call_ids })
  assert.equal(status, 200)
  assert.deepEqual(
    json.results.map(({ state, output, detail }: Record<string, unknown>) => [state, output, detail]),
    [
      ['judged', { score: 0.5 }, null],
      ['skipped', null, 'the call has no value at answer'],
      ['skipped', null, 'there is no such call'],
    ],
  )
  assert.deepEqual(await judgeCalls(), [])
  const { result } = (await opened.post('/feedback/query', { project_id: project })).json
  assert.deepEqual(result, [])
})

test('a try without a scorer, or with one that cannot run, is refused by name', async (t) => {
  await assertCommonRefusals(t, url, { check, call_ids: ['x'] })
  const { post } = await openApp(t)
  for (const [body, field] of [
    [{}, 'check'],
    [{ check, judge: { prompt: '{output}', schema: scoreSchema } }, 'check'],
    [{ judge: { prompt: 'no field', schema: scoreSchema } }, 'judge.prompt'],
  ] as const) {
    const { status, json } = await post(url, { ...body, call_ids: ['x'] })
    assert.deepEqual([status, json.code], [400, 'invalid_value'])
    assert.ok(json.reason.startsWith(`${field}:`), json.reason)
  }
})
