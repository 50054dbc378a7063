import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { keys } from '../support/app.ts'
import { type FakeUpstream, startFakeUpstream, streamWords } from '../support/fake-upstream.ts'
import { newFolder, startServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

/** A server whose list has one upstream at two addresses, and that serves all models of the upstream. */

const listed = ['large', 'small'].map((id) => ({
  id,
  object: 'model',
  owned_by: 'vllm',
  max_model_len: 4096,
}))

test('requests are routed by weight and prefix, and to the other address when one is down', async (t) => {
  const heavy = await startFakeUpstream(t, streamWords('heavy'), { models: listed })
  const light = await startFakeUpstream(t, streamWords('light'), { models: listed })
  const folder = await newFolder(t)
  const list = join(folder, 'models.json')
  const write = (addresses: object[]) =>
    writeFile(list, JSON.stringify({ upstreams: [{ name: 'cluster', serves: 'all', addresses }] }))
  await write([{ url: heavy.url, weight: 3 }, { url: light.url }])
  const server = await startServer(t, {
    HEDDLE_DATA: join(folder, 'data'),
    HEDDLE_MODEL: '',
    HEDDLE_MODELS: list,
  })
  await until('both are reached', async () => (await server.get('/ready')).status === 200)

  const ask = async (content: string, model = 'large') => {
    const answer = await server.post('/v1/chat/completions', { model, messages: [{ role: 'user', content }] })
    const text = await answer.text()
    assert.equal(answer.status, 200, text)
    const { choices, ...said } = JSON.parse(text) as {
      model: string
      choices: { message: { content: string } }[]
    }
    assert.equal(said.model, model)
    return choices[0]?.message.content
  }
  const models = async () => {
    const { data } = (await (await server.get('/v1/models')).json()) as {
      data: { id: string; state: string; max_model_len: number; device: string }[]
    }
    return data.map(({ id, state, max_model_len, device }) => [id, state, max_model_len, device])
  }
  const cards = ['large', 'small'].map((id) => [id, 'ready', 4096, 'upstream: vllm'])
  assert.deepEqual(await models(), cards)
  await ask('Hello', 'small')

  // Expected are 120 of 160, with a deviation of five.
  const said = new Map<string, string | undefined>()
  for (let i = 0; i < 160; i++) said.set(`Question ${i}`, await ask(`Question ${i}`))
  const share = [...said.values()].filter((one) => one === 'heavy').length
  assert.ok(share > 80 && share < 152, `${share} of 160`)
  for (const [question, before] of [...said].slice(0, 20)) assert.equal(await ask(question), before)

  const ofHeavy = [...said].find(([, one]) => one === 'heavy')?.[0] as string
  await heavy.end()
  const streaming = await Promise.all(Array.from({ length: 12 }, (_, i) => ask(`After ${i}`)))
  assert.deepEqual(new Set(streaming), new Set(['light']))
  assert.equal(await ask(ofHeavy), 'light')
  assert.deepEqual(await models(), cards)
  const gone = server.log.filter((line) => line.includes('does not answer'))
  assert.deepEqual(
    gone.map((line) => (JSON.parse(line) as { address: string }).address),
    [heavy.url],
  )

  const again: FakeUpstream = await startFakeUpstream(t, streamWords('heavy'), {
    models: listed,
    port: Number(new URL(heavy.url).port),
  })
  await until('it is asked again', async () => (await ask(ofHeavy)) === 'heavy')
  assert.ok(again.asked.length > 0)

  // One address is removed from the list while the other answers.
  await write([{ url: light.url }])
  await until('it is not asked any more', async () => (await ask(ofHeavy)) === 'light')
  assert.deepEqual(await models(), cards)
})

test('an invalid list written while requests run loses none of them, and the reason is reported', async (t) => {
  const far = await startFakeUpstream(t, streamWords('here'), { models: listed })
  const folder = await newFolder(t)
  const list = join(folder, 'models.json')
  const right = JSON.stringify({ upstreams: [{ name: 'cluster', serves: 'all', addresses: [far.url] }] })
  await writeFile(list, right)
  const server = await startServer(t, {
    HEDDLE_DATA: join(folder, 'data'),
    HEDDLE_MODEL: '',
    HEDDLE_MODELS: list,
  })
  await until('it is reached', async () => (await server.get('/ready')).status === 200)
  let isOver = false
  const statuses = new Set<number>()
  const asking = Array.from({ length: 3 }, async () => {
    while (!isOver) {
      const answer = await server.post('/v1/chat/completions', {
        model: 'small',
        messages: [{ role: 'user', content: 'Hi' }],
      })
      await answer.text()
      statuses.add(answer.status)
    }
  })
  const trouble = async () => {
    const { list } = (await (await server.get('/views/engine', keys.root)).json()) as {
      list: { fault: string | null }
    }
    return list.fault ?? ''
  }
  const secret = join(folder, 'secret')
  await writeFile(secret, 'sk-not-to-be-shown\nsecond line')
  const withKey = (key: object) =>
    JSON.stringify({ upstreams: [{ name: 'a', serves: 'all', addresses: [far.url], key }] })
  for (const [hostile, says] of [
    ['', /it is not JSON/],
    ['[]', /the file: given /],
    [`{"models": ${'['.repeat(100_000)}`, /it is not JSON/],
    [`{"models": [${'1,'.repeat(900_000)}1]}`, /models: given 900001 entries; accepted: at most 256/],
    [' '.repeat(5 * 1024 * 1024), /it has 5242880 bytes/],
    ['{"__proto__": {"models": []}, "constructor": 1}', /constructor: given an unknown field/],
    [withKey({ file: secret }), /key\.file: given a file that is not a key/],
    [withKey({ file: folder }), /key\.file: given .*it is not a file/],
    [withKey({ file: '/dev/zero' }), /key\.file: given .*it is not a file/],
  ] as const) {
    await writeFile(list, hostile)
    await until('the reason is told', async () => says.test(await trouble()))
  }
  assert.ok(!server.log.some((line) => line.includes('sk-not-to-be-shown')))
  // Reading these would block or never end.
  const pipe = spawnSync('mkfifo', [join(folder, 'pipe')])
  for (const odd of [...(pipe.status === 0 ? [join(folder, 'pipe')] : []), folder, '/dev/zero']) {
    await rm(list)
    await symlink(odd, list)
    await until('it is no file', async () => /it is not a file/.test(await trouble()))
  }
  await rm(list)
  await until('it is gone', async () => /it does not exist/.test(await trouble()))
  await writeFile(list, right)
  await until('it is right again', async () => (await trouble()) === '')
  isOver = true
  await Promise.all(asking)
  assert.deepEqual([...statuses], [200])
})
