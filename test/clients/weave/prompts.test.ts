import assert from 'node:assert/strict'
import { test } from 'node:test'
import OpenAI from 'openai-7'
import { keys, openApp } from '../../support/app.ts'
import { scriptedBackend } from '../../support/scripted-backend.ts'
import type { Done } from './programs/prompts.ts'
import { runProgram } from './run-program.ts'

const project = 'acme/weave-sdk'
const asked = { role: 'user', content: 'Hi' } as const

test('what the weave SDK publishes is served to the openai SDK by its label', async (t) => {
  const app = await openApp(t, { backend: scriptedBackend() })
  const address = await app.app.listen({ host: '127.0.0.1', port: 0 })
  const { done } = await runProgram<Done>(t, 'prompts', { address, project })
  const system = { role: 'system', content: 'You help Ada.' }
  assert.deepEqual(done.formatted, [system])
  const [first, second] = done.digests
  const label = async (digest: string | undefined) => {
    const body = { project_id: project, digest, aliases: ['production'] }
    assert.equal((await app.send('PUT', '/objs/support/aliases', body)).status, 200)
  }
  const client = new OpenAI({
    ...{ baseURL: `${address}/v1`, apiKey: keys.alice, maxRetries: 0 },
    defaultHeaders: { 'x-heddle-project': project },
  })
  const recorded = async ({ headers }: Response) => {
    const { json } = await app.post('/call/read', {
      project_id: project,
      id: headers.get('x-heddle-call-id'),
    })
    return { inputs: json.call.inputs, prompt: json.call.attributes.heddle.prompt }
  }
  const prompt = { id: 'support', version: 'production', variables: { customer: 'Ada' } }

  await label(first)
  // The SDK sends fields that it does not know.
  const body = { model: '', messages: [asked], prompt }
  const chat = await client.chat.completions.create(body).withResponse()
  assert.equal(chat.data.choices[0]?.message.content, 'Hello')
  const one = await recorded(chat.response)
  assert.deepEqual(one.prompt, {
    id: 'support',
    version: first,
    label: 'production',
    variables: prompt.variables,
  })
  assert.deepEqual(one.inputs.messages, [system, asked])
  assert.equal(one.inputs.temperature, 0)

  await label(second)
  const stream = await client.chat.completions.create({ ...body, stream: true }).withResponse()
  let text = ''
  for await (const { choices } of stream.data) text += choices[0]?.delta.content ?? ''
  assert.equal(text, 'Hello')
  assert.equal((await recorded(stream.response)).prompt.version, second)

  // OpenAI's own field: model, input and settings come from the prompt.
  const response = await client.responses.create({ prompt, input: 'Hi' }).withResponse()
  assert.equal(response.data.output_text, 'Hello')
  assert.equal(response.data.instructions, 'You help Ada kindly.')
  assert.equal(response.data.max_output_tokens, 20)
  const alone = await client.responses
    .create({
      prompt: { id: 'ask', version: 'v0', variables: { country: { type: 'input_text', text: 'Chad' } } },
    })
    .withResponse()
  assert.deepEqual((await recorded(alone.response)).inputs.input, [
    { role: 'user', content: 'Capital of Chad?' },
  ])

  const byName = client.chat.completions.create({ model: 'support@production', messages: [asked] })
  await assert.rejects(byName, /prompt.variables.customer: nothing; accepted: a text/)
})
