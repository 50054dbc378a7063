import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { whole } from '../../support/answers.ts'
import { openApp } from '../../support/app.ts'
import { endOf, project, startOf } from '../../support/calls.ts'
import { assertCommonRefusals } from '../../support/common-refusals.ts'

const { post } = await openApp({ after })

const [startUrl, endUrl] = ['/v2/acme/qa/call/start', '/v2/acme/qa/call/end']

test('v2 call/start and call/end: write a call like /call/start and /call/end', async () => {
  const start = startOf({ trace_id: '0'.repeat(32) })
  assert.deepEqual(whole(await post(startUrl, { start })), {
    status: 200,
    body: { id: start.id, trace_id: '0'.repeat(32) },
  })
  const read = async () => (await post('/call/read', { project_id: project, id: start.id })).json.call
  assert.equal((await read()).summary.weave.status, 'running')
  assert.deepEqual(whole(await post(endUrl, { end: endOf(start.id, { output: 42 }) })), {
    status: 200,
    body: {},
  })
  const { output, summary } = await read()
  assert.deepEqual([output, summary.weave.status], [42, 'success'])
})

test('v2 call/end: an end may arrive before its start', async () => {
  const start = startOf({ trace_id: '0'.repeat(32) })
  assert.equal((await post(endUrl, { end: endOf(start.id, { output: 'early' }) })).status, 200)
  assert.equal((await post(startUrl, { start })).status, 200)
  const { json } = await post('/call/read', { project_id: project, id: start.id })
  assert.equal(json.call.output, 'early')
})

test('v2 call/start and call/end: the project in the body must be the one in the path', async (t) => {
  await assertCommonRefusals(t, startUrl, { start: startOf() })
  const start = startOf({ project_id: 'acme/other' })
  for (const [url, body, field] of [
    [startUrl, { start }, 'start'],
    [endUrl, { end: endOf(start.id, { project_id: 'acme/other' }) }, 'end'],
  ] as const) {
    assert.deepEqual(whole(await post(url, body)), {
      status: 400,
      body: {
        reason: `${field}.project_id: "acme/other"; accepted: the project of the path, acme/qa.`,
        code: 'invalid_value',
      },
    })
    assert.deepEqual(whole(await post(url.replace('acme', 'globex'), body)), {
      status: 403,
      body: {
        reason: 'Your key has no access to the entity of path: "globex/qa".',
        code: 'entity_forbidden',
      },
    })
  }
  assert.equal((await post('/call/read', { project_id: 'acme/other', id: start.id })).status, 404)
})
