import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keys, openApp } from '../support/app.ts'

test('a single request is answered before the many that another user sent at once', async (t) => {
  const { get } = await openApp(t)
  // The clock stands still, so that both users count as active however slow the machine is.
  t.mock.method(performance, 'now', () => 1_000)
  await get('/me', keys.bob)
  const answered: string[] = []
  const ask = async (name: 'alice' | 'bob') => {
    const { status, json } = await get('/me', keys[name])
    assert.deepEqual([status, json.name], [200, name])
    answered.push(name)
  }
  await Promise.all([...Array.from({ length: 50 }, () => ask('alice')), ask('bob')])
  assert.equal(answered.length, 51)
  // Each of her requests takes turns of the event loop; his takes only those that any answer takes.
  assert.ok(answered.indexOf('bob') < 25, `bob was number ${answered.indexOf('bob')}`)
})
