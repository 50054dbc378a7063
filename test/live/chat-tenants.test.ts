import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keys } from '../support/app.ts'
import { asking, chatUrl } from '../support/chat.ts'
import { startChatServer } from '../support/chat-server.ts'
import { until } from '../support/wait.ts'

/** So slow that a long answer takes longer than this test. */
const slow = { layers: 6, hidden: 576, heads: 9, kvHeads: 3, ffn: 1536, vocabulary: 400, context: 8192 }

test('a tenant that fills the queue does not shut out others, who take turns with it', async (t) => {
  const server = await startChatServer(t, {
    model: slow,
    settings: { HEDDLE_PARALLEL: '1', HEDDLE_CONTEXT: '8192', HEDDLE_QUEUE: '16' },
  })
  const waiting = () => server.figure('heddle_num_requests_waiting')
  const ended: string[] = []
  const ask = async (name: string, key: string) => {
    const answer = await server.post(chatUrl, asking({ max_tokens: 2, ignore_eos: true }), { key })
    await answer.text()
    if (answer.status === 200) ended.push(name)
    return answer
  }

  const leaving = new AbortController()
  const first = server.ask({ max_tokens: 8_000, ignore_eos: true }, { signal: leaving.signal })
  const left = assert.rejects(first, { name: 'AbortError' })
  await until('it runs', async () => (await server.figure('heddle_num_requests_running')) === 1)
  const many = Array.from({ length: 14 }, (_, i) => ask(`alice ${i}`, keys.alice))
  await until('they wait', async () => (await waiting()) === 14)
  const refused = await server.post(chatUrl, asking({}))
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '1'])
  const { error } = (await refused.json()) as { error: object }
  assert.deepEqual(error, {
    message:
      'The model is busy and 15 of your requests are already running or waiting; the remaining places in the queue are for others. Try again shortly.',
    type: 'rate_limit_error',
    param: null,
    code: 'engine_share_full',
  })

  const other = ask('root', keys.root)
  await until('another waits, too', async () => (await waiting()) === 15)
  leaving.abort()
  await left
  await Promise.all([other, ...many])
  assert.equal(ended.length, 15)
  // After one of the earlier requests, or two, as answers may overtake each other on their way here.
  assert.ok(ended.indexOf('root') <= 2, ended.join(', '))
})

test('long answers of one tenant leave a sequence for another', async (t) => {
  const server = await startChatServer(t, {
    model: slow,
    settings: { HEDDLE_PARALLEL: '2', HEDDLE_CONTEXT: '8192' },
  })
  const load = async () => [
    await server.figure('heddle_num_requests_running'),
    await server.figure('heddle_num_requests_waiting'),
  ]
  const short = (key: string) => server.post(chatUrl, asking({ max_tokens: 2, ignore_eos: true }), { key })
  assert.equal((await short(keys.root)).status, 200)
  const leaving = new AbortController()
  const long = () => server.ask({ max_tokens: 8_000, ignore_eos: true }, { signal: leaving.signal })
  const left = [long(), long()].map((one) => assert.rejects(one, { name: 'AbortError' }))
  await until('one runs and one waits', async () => String(await load()) === '1,1')
  assert.equal((await short(keys.root)).status, 200)
  assert.deepEqual(await load(), [1, 1], 'the long answers still run')
  leaving.abort()
  await Promise.all(left)
})
