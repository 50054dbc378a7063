import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { whole } from '../../support/answers.ts'
import { openApp } from '../../support/app.ts'
import { completeOf } from '../../support/calls.ts'

const { post } = await openApp({ after })

const project_id = 'acme/my first  project'
const path = '/v2/acme/my%20first%20%20project'

test('the name of a project may contain spaces, in a body, a path and a reference', async () => {
  const call = completeOf({ project_id })
  assert.deepEqual(whole(await post(`${path}/calls/complete`, { batch: [call] })), { status: 200, body: {} })
  const { json } = await post('/call/read', { project_id, id: call.id })
  assert.equal(json.call.project_id, project_id)
  const svc_ref = `weave:///${project_id}/call/${call.id}`
  const feedback = { project_id, svc_ref, feedback_type: 'custom', payload: {} }
  assert.equal((await post('/feedback/create', feedback)).status, 200)
  const found = await post('/feedback/query', { project_id, fields: ['svc_ref'] })
  assert.deepEqual(found.json.result, [{ svc_ref }])
  const results = await post(`${path}/eval_results/query`, { evaluation_call_ids: [call.id] })
  assert.equal(results.status, 200)
})

test('spaces anywhere else in the name of a project are refused', async () => {
  for (const name of [
    'ac me/qa',
    ' acme/qa',
    'acme /qa',
    'acme/ qa',
    'acme/qa ',
    'acme/q\ta',
    'acme/q\u00a0a',
    'acme/ ',
  ]) {
    const { status, json } = await post('/call/read', { project_id: name, id: '0'.repeat(16) })
    assert.equal(status, 422, name)
    assert.deepEqual(json.detail[0].loc, ['body', 'project_id'])
  }
  for (const at of ['/v2/ac%20me/qa', '/v2/acme/%20qa', '/v2/acme/qa%20']) {
    assert.equal((await post(`${at}/eval_results/query`, { evaluation_call_ids: [] })).status, 422, at)
  }
})

test('a name of megabytes is refused, whatever it is made of', async () => {
  for (const part of ['a ', 'a', ' ', 'ab  ']) {
    const name = `acme/a${part.repeat(8_000_000 / part.length)}/`
    const feedback = { project_id: name, svc_ref: 'a', feedback_type: 'custom', payload: {} }
    const { status, json } = await post('/feedback/create', feedback)
    assert.equal(status, 422)
    assert.deepEqual(json.detail[0].loc, ['body', 'project_id'])
  }
})
