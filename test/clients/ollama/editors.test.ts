import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type Answer, keys, openApp } from '../../support/app.ts'
import { scriptedBackend, scriptedModel } from '../../support/scripted-backend.ts'

/** Requests as three programs send them, which cannot run here: written after their sources. */

const backend = scriptedBackend()
backend.served = { ...scriptedModel, architecture: 'qwen3' }
const { app } = await openApp({ after }, { backend, settings: { HEDDLE_OLLAMA_USER: 'alice' } })
const address = await app.listen({ host: '127.0.0.1', port: 0 })

const json = { 'content-type': 'application/json' }
const withKey = { ...json, authorization: `Bearer ${keys.alice}` }

const jsonOf = (answer: Response): Promise<Answer['json']> => answer.json()

async function ask(path: string, body?: object, headers: Record<string, string> = json): Promise<Response> {
  const answer = await fetch(address + path, {
    headers,
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  })
  assert.equal(answer.status, 200, await answer.clone().text())
  return answer
}

test('VS Code: version, list and show without a key, then a chat of OpenAI at the same address', async () => {
  const { version } = await jsonOf(await ask('/api/version', undefined, {}))
  const [major, minor] = version.split('.').map((digits: string) => Number.parseInt(digits, 10))
  assert.ok(major > 0 || minor >= 6)
  const { models } = await jsonOf(await ask('/api/tags', undefined, {}))
  const [{ model }] = models
  const { capabilities, model_info } = await jsonOf(await ask('/api/show', { model }))
  assert.ok(capabilities.includes('tools'))
  assert.equal(model_info['general.basename'], model)
  assert.ok(model_info[`${model_info['general.architecture']}.context_length`] > 4096)
  const body = { model, stream: true, n: 1, top_p: 1, messages: [{ role: 'user', content: 'Hi' }] }
  assert.match(await (await ask('/v1/chat/completions', body)).text(), /data: \[DONE\]\n\n$/)
})

test('Open WebUI: its checks with a key, and a chat under its id', async () => {
  const headers = {
    ...withKey,
    'X-OpenWebUI-User-Name': 'Ann',
    'X-OpenWebUI-User-Id': 'u-1',
    'X-OpenWebUI-Chat-Id': 'chat-1',
  }
  for (const path of ['/api/version', '/api/tags', '/api/ps']) await ask(path, undefined, headers)
  const answer = await ask(
    '/api/chat',
    {
      model: 'scripted:latest',
      messages: [
        { role: 'system', content: 'Be short.' },
        { role: 'user', content: 'Hi' },
      ],
      options: { temperature: 0.8, num_ctx: 4096, num_keep: 24, repeat_last_n: 64, use_mmap: true },
      keep_alive: '5m',
      stream: true,
    },
    headers,
  )
  assert.equal(answer.headers.get('content-type'), 'application/x-ndjson')
  const lines = (await answer.text()).trim().split('\n')
  assert.equal(JSON.parse(lines.at(-1) ?? '').done, true)
  const { embeddings } = await jsonOf(
    await ask('/api/embed', { model: 'scripted', input: ['a'], truncate: true }, headers),
  )
  assert.equal(embeddings.length, 1)
})

test('Continue: shows by the older name, chats with its options, completes raw, embeds', async () => {
  const { parameters } = await jsonOf(await ask('/api/show', { name: 'scripted' }, withKey))
  for (const line of parameters.split('\n')) assert.match(line, /^(\S+)\s+("[\s\S]*"|\S+)$/)
  const options = { num_predict: 2048, num_ctx: 8192, num_thread: 4, stop: ['<|end|>'], temperature: 0.01 }
  const messages = [{ role: 'user', content: 'Hi' }]
  const chat = await ask(
    '/api/chat',
    { model: 'scripted', messages, options, keep_alive: 1800, stream: false },
    withKey,
  )
  assert.equal((await jsonOf(chat)).message.content, 'Hello')
  const prompt = '<|fim_prefix|>a<|fim_suffix|>b<|fim_middle|>'
  const raw = { model: 'scripted', prompt, raw: true, options, keep_alive: 1800, stream: true }
  assert.match(await (await ask('/api/generate', raw, withKey)).text(), /"done":true/)
  const { embeddings } = await jsonOf(
    await ask('/api/embed', { model: 'scripted', input: ['a', 'b'] }, withKey),
  )
  assert.equal(embeddings.length, 2)
})

test('curl: the examples of Ollama name no type, and work with a key', async () => {
  const answer = await fetch(`${address}/api/generate`, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys.alice}`, 'content-type': 'application/x-www-form-urlencoded' },
    body: '{"model": "scripted", "prompt": "Why is the sky blue?", "stream": false}',
  })
  assert.equal((await jsonOf(answer)).response, 'Hello')
})
