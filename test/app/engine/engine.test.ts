import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keys, openApp } from '../../support/app.ts'
import { prefilled, scriptedBackend, tokens } from '../../support/scripted-backend.ts'
import { until } from '../../support/wait.ts'

const ask = (app: Awaited<ReturnType<typeof openApp>>, key: string) =>
  app.post('/v1/chat/completions', { messages: [{ role: 'user', content: 'Hi' }], stream: true }, key)

test('P6: the engine view shows how busy models are, and answers and counts of others only to admins', async (t) => {
  const go = Promise.withResolvers<void>()
  const backend = scriptedBackend(async function* (request) {
    yield prefilled(request)
    yield tokens('Hello', request)
    await go.promise
    yield { kind: 'finished', choice: 0, reason: 'stop', stop: null }
  })
  backend.state = { state: 'ready', running: 1, waiting: 2, bytes: 1234 }
  const app = await openApp(t, { backend })
  t.after(() => go.resolve())
  const asked = ask(app, keys.alice)
  const view = async (key: string) => (await app.get('/views/engine', key)).json
  const isWriting = async () => (await view(keys.alice)).answers[0]?.state === 'writing'
  await until('the answer is being written', isWriting)
  const own = await view(keys.alice)
  const all = await view(keys.root)
  const others = await view(keys.bob)
  const [model] = all.models
  assert.deepEqual(model.names, ['scripted', 'alias/of-it'])
  assert.deepEqual(
    [model.state, model.doing, model.slots, model.engine_bytes],
    ['ready', null, { total: 4, running: 1, waiting: 2 }, 1234],
  )
  assert.equal(model.card.context, 1_000_000)
  assert.equal(own.recording, 'all')
  assert.ok(all.server.memory_bytes > 0)
  for (const [seen, users, cached] of [
    [own, ['alice'], 3],
    [others, [], 0],
    [all, ['alice'], 3],
  ] as const) {
    assert.deepEqual(
      seen.answers.map((one: { user: string }) => one.user),
      users,
    )
    assert.equal(seen.answers_in_all, users.length)
    const [its] = seen.models
    assert.equal(its.cached_tokens, cached)
    assert.deepEqual(its.slots, model.slots, 'everybody sees how busy it is')
  }
  for (const { models, server } of [own, others]) {
    assert.deepEqual(
      [models[0].prompt_cache, models[0].engine_bytes, server.memory_bytes],
      [null, null, null],
      'what all together use says something of others',
    )
  }
  assert.deepEqual([others.models[0].prompt_tokens, others.models[0].completion_tokens], [0, 0])
  go.resolve()
  assert.equal((await asked).status, 200)
})

test('the engine view works while the model is being downloaded, and without a model', async (t) => {
  const backend = scriptedBackend()
  backend.served = undefined
  backend.state = { state: 'starting', doing: 'downloading it, 12 %' }
  const { get } = await openApp(t, { backend })
  const [model] = (await get('/views/engine')).json.models
  assert.deepEqual(
    [model.state, model.doing, model.card, model.slots],
    ['starting', 'downloading it, 12 %', null, null],
  )
  const without = await openApp(t, { settings: { HEDDLE_RECORD: 'off' } })
  const { json } = await without.get('/views/engine')
  assert.deepEqual([json.models, json.answers, json.recording], [[], [], 'off'])
})
