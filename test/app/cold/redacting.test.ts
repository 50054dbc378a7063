import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { until } from '../../support/wait.ts'
import { admin, coldCall, contentsOf, moveAll, openWithCalls } from './cold-app.ts'

const url = `/projects/${project}/redaction`

test('cold calls: what was stored before is redacted, and no byte of it is left in the store', async (t) => {
  const calls = [coldCall('Grace', 'grace@example.com'), coldCall('Kurt')]
  const { database, folder, read } = await openWithCalls(t, calls)
  assert.equal(await moveAll(database, project), 2)
  assert.match(contentsOf(folder), /grace@/)
  const { send, get } = await openApp(t, { database, sweep: true, settings: { HEDDLE_SEARCH: 'off' } })
  assert.equal((await send('PUT', url, { kinds: ['email'] }, admin)).status, 200)
  assert.equal((await send('POST', `${url}/apply`, undefined, admin)).status, 200)
  await until('the pass is through', async () => (await get(url)).json.earlier.state === 'done')
  const { rows, changed } = (await get(url)).json.earlier
  assert.deepEqual([rows, changed], [2, 1])
  assert.doesNotMatch(contentsOf(folder), /grace@/)
  assert.match(contentsOf(folder), /Kurt/)
  const { call } = (await read(calls[0]?.id ?? '')).json
  assert.deepEqual([call.inputs.user, call.output], ['[email]', calls[0]?.output])
})
