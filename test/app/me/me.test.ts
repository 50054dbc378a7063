import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keys, openApp } from '../../support/app.ts'

test('me: returns the user of the key, and the entities it has access to', async (t) => {
  const { app } = await openApp(t)
  const me = async (headers: Record<string, string>) => {
    const answer = await app.inject({ method: 'GET', url: '/me', headers })
    const json = answer.json()
    return [answer.statusCode, json.name, json.role, json.entities, json.settings]
  }
  assert.deepEqual(await me({ 'x-api-key': keys.alice }), [200, 'alice', 'member', ['acme'], {}])
  assert.deepEqual(await me({ 'api-key': keys.bob }), [200, 'bob', 'member', ['globex'], {}])
  const [status, , , entities] = await me({ authorization: `Bearer ${keys.root}` })
  assert.deepEqual([status, entities], [200, ['*']])
  assert.equal((await me({ 'api-key': 'wrong-secret-key' }))[0], 401)
})
