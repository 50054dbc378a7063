import assert from 'node:assert/strict'
import { test } from 'node:test'
import OpenAI from 'openai'
import { newFolder, startServer } from '../../support/server.ts'
import { projectOn, startReady } from './place.ts'
import { type Answered, type Sdk, sdks } from './sdks.ts'

const name = 'acme/crash'
const question = 'What is the capital of Mali?'

test('a kill loses no answer whose call was found, nor its feedback and queue item', async (t) => {
  const folder = await newFolder(t)
  const server = await startReady(t, folder)
  const project = projectOn(server, name)
  await project.prices()
  const found: { sdk: Sdk; queue: string; answered: Answered; call: { id: string } }[] = []
  for (const sdk of [sdks['openai 7'], sdks['openai 7, responses'], sdks['@anthropic-ai/sdk']]) {
    assert.ok(sdk)
    const queue = await project.queue(sdk)
    const answered = await sdk.ask({ ...project.client(), question, maxTokens: 16, stream: true })
    await project.feedback(answered.id, { helpful: true })
    found.push({ sdk, queue, answered, call: await project.read(answered.id) })
  }
  const { address, apiKey, headers } = project.client()
  const client = new OpenAI({ baseURL: `${address}/v1`, apiKey, defaultHeaders: headers, maxRetries: 0 })
  const cut = await client.chat.completions.create({
    model: 'heddle-tiny',
    messages: [{ role: 'user', content: question }],
    stream: true,
    ...({ ignore_eos: true } as object),
  })
  const begun = Promise.withResolvers<string>()
  const read = async () => {
    for await (const { id } of cut) begun.resolve(id)
  }
  const cutOff = read().catch(begun.reject)
  const cutId = await begun.promise
  assert.equal(await server.end('SIGKILL'), 'SIGKILL')
  await cutOff

  const again = projectOn(await startServer(t, { HEDDLE_DATA: folder }), name)
  for (const { sdk, queue, answered, call } of found) {
    assert.deepEqual(await again.read(answered.id), call)
    const items = await again.items(queue, answered.id)
    assert.deepEqual(
      items.map(({ call_id }) => call_id),
      [call.id],
      `the item of ${sdk.op}`,
    )
  }
  const calls = await again.calls()
  const known = calls.filter(({ id }) => found.some(({ call }) => call.id === id))
  assert.equal(known.length, found.length)
  for (const { summary } of known) {
    assert.deepEqual(
      summary.weave.feedback.map(({ payload }: { payload: unknown }) => payload),
      [{ helpful: true }],
    )
  }
  // No partial call exists: the unfinished answer is not a call, unless it ended before the kill.
  for (const call of calls) assert.ok(call.ended_at !== null && call.output !== null)
  const others = calls.filter((call) => !known.includes(call))
  assert.ok(others.every(({ output }) => output.id === cutId && output.choices[0].finish_reason !== null))
})

test('a stored response survives a kill right after its last byte, even if it was never read', async (t) => {
  const folder = await newFolder(t)
  const server = await startReady(t, folder)
  const sdk = sdks['openai 7, responses']
  assert.ok(sdk)
  const asked = { ...projectOn(server, name).client(), question, maxTokens: 16 }
  const answers = await Promise.all([false, true].map((stream) => sdk.ask({ ...asked, stream })))
  assert.equal(await server.end('SIGKILL'), 'SIGKILL')

  const { address } = await startServer(t, { HEDDLE_DATA: folder })
  const { apiKey, headers } = asked
  const later = new OpenAI({ baseURL: `${address}/v1`, apiKey, defaultHeaders: headers })
  for (const { id, text } of answers) assert.equal((await later.responses.retrieve(id)).output_text, text)
})
