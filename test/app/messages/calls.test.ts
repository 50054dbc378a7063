import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Part } from '../../../packages/chat-format/index.ts'
import { basic, keys, openApp, type TestApp } from '../../support/app.ts'
import { partsModel } from '../../support/parts-model.ts'

const url = '/v1/messages'
const project_id = 'acme/default'
const asking = (fields: object = {}) => ({
  max_tokens: 100,
  messages: [{ role: 'user', content: 'Hi' }],
  ...fields,
})

const model = partsModel()
const shared = await openApp({ after }, { model })

async function asked({ app }: TestApp, body: object, headers: Record<string, string> = {}) {
  const answer = await app.inject({
    method: 'POST',
    url,
    headers: { authorization: basic(keys.alice), 'content-type': 'application/json', ...headers },
    payload: JSON.stringify(body),
  })
  return { status: answer.statusCode, headers: answer.headers, text: answer.body }
}

async function callOf({ post }: TestApp, id: unknown) {
  return (await post('/call/read', { project_id, id })).json.call
}

const said: Part[] = [
  { kind: 'reasoning', text: 'Hm' },
  { kind: 'reasoning', text: '.' },
  { kind: 'content', text: 'I look.' },
  { kind: 'call', index: 0, id: 'toolu_1', name: 'now' },
  { kind: 'arguments', index: 0, text: '{"a":1' },
  { kind: 'arguments', index: 0, text: '.0}' },
  { kind: 'callEnd', index: 0 },
]

test('P12: a message is recorded as a call, the same whole and streamed', async () => {
  model.parts = said
  const body = asking({
    tools: [{ name: 'now', input_schema: { type: 'object' } }],
    metadata: { user_id: 'u' },
  })
  const whole = await asked(shared, body)
  const call = await callOf(shared, whole.headers['x-heddle-call-id'])
  assert.deepEqual(call.output, JSON.parse(whole.text))
  assert.deepEqual(call.inputs, body)
  assert.equal(call.op_name, 'heddle.messages')
  assert.deepEqual(call.attributes.heddle, { completion: call.output.id, wire: 'anthropic', stream: false })
  const { usage, model: name } = call.output
  assert.deepEqual(call.summary.usage[name], {
    requests: 1,
    prompt_tokens: usage.input_tokens + usage.cache_read_input_tokens,
    completion_tokens: usage.output_tokens,
    total_tokens: usage.input_tokens + usage.cache_read_input_tokens + usage.output_tokens,
  })
  // As the model wrote it, not as a double would be written.
  const raw = await shared.post('/call/read', { project_id, id: call.id })
  assert.ok(raw.text.includes('{"a":1.0}'))

  const streamed = await asked(shared, { ...body, stream: true })
  const other = await callOf(shared, streamed.headers['x-heddle-call-id'])
  assert.deepEqual({ ...other.output, id: '' }, { ...call.output, id: '' })
  assert.ok(streamed.text.includes(other.output.id))
})

test('a request can ask for its message to be recorded, or not to be', async (t) => {
  model.parts = [{ kind: 'content', text: 'Yes' }]
  const under = (HEDDLE_RECORD: string) => openApp(t, { model, settings: { HEDDLE_RECORD } })
  const [all, onRequest, off] = [await under('all'), await under('asked'), await under('off')]
  const isRecorded = async (app: TestApp, fields: object, headers = {}) => {
    const { status, headers: told } = await asked(app, asking(fields), headers)
    return status === 200 ? told['x-heddle-call-id'] !== undefined : status
  }
  assert.deepEqual(
    [
      await isRecorded(all, {}),
      await isRecorded(all, { store: false }),
      await isRecorded(all, {}, { 'x-heddle-record': 'off' }),
      await isRecorded(onRequest, {}),
      await isRecorded(onRequest, { store: true }),
      await isRecorded(off, {}),
      await isRecorded(off, { store: true }),
      await isRecorded(all, {}, { 'x-heddle-project': 'globex/qa' }),
    ],
    [true, false, false, false, true, false, 400, 403],
  )
  const refused = await asked(off, asking({ store: true }))
  const { type, error } = JSON.parse(refused.text)
  assert.deepEqual([type, error.type], ['error', 'invalid_request_error'])
  assert.match(error.message, /store.*HEDDLE_RECORD=off/)
})
