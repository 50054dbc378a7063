import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Part } from '../../../packages/chat-format/index.ts'
import { refuse } from '../../../src/domain/refusals.ts'
import { now } from '../../../src/domain/time.ts'
import { keys, openApp } from '../../support/app.ts'
import { assertRefused } from '../../support/chat.ts'
import { openMemoryRecord } from '../../support/memory-record.ts'
import { partsModel } from '../../support/parts-model.ts'
import { asking, eventsOf, responseOf, responsesUrl } from '../../support/responses.ts'

const text = (said: string): Part => ({ kind: 'content', text: said })
const thought = (said: string): Part => ({ kind: 'reasoning', text: said })

const model = partsModel(text('Yes'))
const database = openMemoryRecord()
const app = await openApp({ after }, { model, database })
const { post, get, send } = app

const remove = (id: string, as?: string) => send('DELETE', `${responsesUrl}/${id}`, undefined, as)

function messagesAsked() {
  const input = model.asked.at(-1)?.inputs[0]
  assert.ok(input && 'conversation' in input)
  return input.conversation.messages
}

const tools = [{ type: 'function', name: 'now' }]
const calling: Part[] = [
  thought('Hm'),
  text('I look.'),
  { kind: 'call', index: 0, id: 'call_9', name: 'now' },
  { kind: 'arguments', index: 0, text: '{}' },
  { kind: 'callEnd', index: 0 },
]

test('a stored answer is read back, and not found after it is deleted', async () => {
  model.parts = [text('Yes')]
  const { json } = await post(responsesUrl, asking())
  const read = await get(`${responsesUrl}/${json.id}`)
  assert.deepEqual([read.status, read.json], [200, json])
  assert.deepEqual((await remove(json.id)).json, { id: json.id, object: 'response', deleted: true })
  for (const answer of [await get(`${responsesUrl}/${json.id}`), await remove(json.id)]) {
    assertRefused(answer, { status: 404, code: 'response_not_found', param: null, message: /not found/ })
  }
})

test('an answer with store false is not found later', async () => {
  for (const stream of [false, true]) {
    const answer = await post(responsesUrl, asking({ store: false, stream }))
    const { id } = stream ? responseOf(eventsOf(answer.text)) : answer.json
    assert.equal((await get(`${responsesUrl}/${id}`)).status, 404)
    const next = await post(responsesUrl, asking({ previous_response_id: id }))
    assertRefused(next, {
      status: 400,
      code: 'previous_response_not_found',
      param: 'previous_response_id',
      message: new RegExp(`^Previous response with id '${id}' not found\\.$`),
    })
  }
})

test('a conversation continues without the instructions of earlier answers', async () => {
  model.parts = calling
  const first = await post(responsesUrl, asking({ instructions: 'Be kind.', tools }))
  assert.equal(first.status, 200)
  model.parts = [text('Noon.')]
  const second = await post(responsesUrl, {
    previous_response_id: first.json.id,
    input: [{ type: 'function_call_output', call_id: 'call_9', output: '12' }],
    tools,
  })
  assert.equal(second.status, 200, second.text)
  const before = [
    { role: 'user', content: 'Hi' },
    {
      role: 'assistant',
      content: 'I look.',
      reasoning: 'Hm',
      tool_calls: [{ id: 'call_9', type: 'function', function: { name: 'now', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'call_9', content: '12' },
  ]
  assert.deepEqual(messagesAsked(), before)
  const third = await post(responsesUrl, asking({ previous_response_id: second.json.id, input: 'And now?' }))
  assert.deepEqual(messagesAsked(), [
    ...before,
    { role: 'assistant', content: 'Noon.' },
    { role: 'user', content: 'And now?' },
  ])
  // An answer can be continued more than once.
  await post(responsesUrl, asking({ previous_response_id: first.json.id, input: 'No' }))
  assert.equal(messagesAsked().length, 3)

  assert.equal((await remove(first.json.id)).status, 200)
  const broken = await post(responsesUrl, asking({ previous_response_id: third.json.id }))
  assertRefused(broken, {
    status: 400,
    code: 'previous_response_not_found',
    param: 'previous_response_id',
    message: new RegExp(first.json.id),
  })
})

test('an input may refer to items of stored answers by id', async () => {
  model.parts = calling
  const { json } = await post(responsesUrl, asking({ tools }))
  const [reasoning, message, call] = json.output
  model.parts = [text('Noon.')]
  const input = [
    { role: 'user', content: 'Hi' },
    { type: 'item_reference', id: reasoning.id },
    { id: message.id },
    call,
    { type: 'function_call_output', call_id: call.call_id, output: '12' },
  ]
  const { status, json: next } = await post(responsesUrl, { input, tools })
  assert.equal(status, 200, JSON.stringify(next))
  assert.deepEqual(messagesAsked()[1], {
    role: 'assistant',
    content: 'I look.',
    reasoning: 'Hm',
    tool_calls: [{ id: 'call_9', type: 'function', function: { name: 'now', arguments: '{}' } }],
  })
  for (const id of ['rs_nothing', 'msg_0_0', `${message.id}9`, 'x']) {
    const answer = await post(responsesUrl, { input: [{ type: 'item_reference', id }] })
    assertRefused(answer, { status: 404, code: 'response_item_not_found', param: 'input.0.id' })
  }
})

test('the items of an input are listed in pages', async () => {
  const input = ['a', 'b', 'c'].map((content) => ({ role: 'user', content }))
  const { json } = await post(responsesUrl, { input })
  const url = `${responsesUrl}/${json.id}/input_items`
  const page = async (query: string) => {
    const { status, json: list } = await get(url + query)
    assert.equal(status, 200, JSON.stringify(list))
    assert.deepEqual([list.first_id, list.last_id], [list.data[0]?.id ?? null, list.data.at(-1)?.id ?? null])
    const said = list.data.map(({ content }: { content: { text: string }[] }) => content[0]?.text).join('')
    return [said, list.has_more, list.last_id]
  }
  assert.deepEqual((await page('')).slice(0, 2), ['cba', false])
  const [said, more, last] = await page('?order=asc&limit=2')
  assert.deepEqual([said, more], ['ab', true])
  assert.deepEqual((await page(`?order=asc&after=${last}&include[]=x`)).slice(0, 2), ['c', false])
  for (const query of ['?limit=0', '?limit=x', '?order=up', '?after=nothing']) {
    assert.equal((await get(url + query)).status, 400, query)
  }
  assert.equal((await get(`${responsesUrl}/resp_0/input_items`)).status, 404)
})

test('P6: the answers of another user are not found, like unknown ones', async () => {
  model.parts = calling
  const asked = asking({ tools, include: ['reasoning.encrypted_content'] })
  const { json } = await post(responsesUrl, asked, keys.bob)
  const unknown = 'resp_00000000000000000000000000000000'
  const item = (id: string) => ({ input: [{ type: 'item_reference', id }] })
  const ask = async (response: string, reasoning: string) => {
    const answers = [
      await get(`${responsesUrl}/${response}`),
      await get(`${responsesUrl}/${response}?stream=true`),
      await get(`${responsesUrl}/${response}/input_items`),
      await remove(response),
      await send('POST', `${responsesUrl}/${response}/cancel`),
      await post(responsesUrl, asking({ previous_response_id: response })),
      await post(`${responsesUrl}/input_tokens`, asking({ previous_response_id: response })),
      await post(responsesUrl, item(reasoning)),
    ]
    return answers.map(({ status, text }) => [
      status,
      text.replaceAll(response, '').replaceAll(reasoning, ''),
    ])
  }
  const own = await ask(json.id, json.output[0].id)
  assert.deepEqual(own, await ask(unknown, 'rs_00000000000000000000000000000000_0'))
  assert.deepEqual(
    own.map(([status]) => status),
    [404, 404, 404, 404, 404, 400, 400, 404],
  )
  const sealed = json.output[0].encrypted_content
  const brought = await post(responsesUrl, {
    input: [
      { type: 'reasoning', summary: [], encrypted_content: sealed },
      { role: 'user', content: 'Hi' },
    ],
  })
  assertRefused(brought, {
    status: 400,
    code: 'invalid_encrypted_content',
    param: 'input.0.encrypted_content',
  })
  assert.equal((await get(`${responsesUrl}/${json.id}`, keys.bob)).status, 200)
})

test('an encrypted thought can be sent back unchanged', async () => {
  model.parts = [thought('The secret is 42.'), text('Yes')]
  const asked = { include: ['reasoning.encrypted_content'], store: false }
  for (const stream of [false, true]) {
    const answer = await post(responsesUrl, asking({ ...asked, stream }))
    const { output } = stream ? responseOf(eventsOf(answer.text)) : answer.json
    const { id, type, encrypted_content } = output[0]
    assert.ok(!encrypted_content.includes('secret'))
    const input = [{ role: 'user', content: 'Hi' }, { id, type, summary: [], encrypted_content }, output[1]]
    const { status } = await post(responsesUrl, { input, ...asked })
    assert.equal(status, 200)
    assert.deepEqual(messagesAsked()[1], {
      role: 'assistant',
      content: 'Yes',
      reasoning: 'The secret is 42.',
    })
    const changed = encrypted_content.replace(/.$/, (last: string) => (last === 'A' ? 'Q' : 'A'))
    const refused = await post(responsesUrl, { input: [{ type, summary: [], encrypted_content: changed }] })
    assertRefused(refused, {
      status: 400,
      code: 'invalid_encrypted_content',
      param: 'input.0.encrypted_content',
    })
  }
})

test('an id given by the client can be used once', async () => {
  model.parts = [text('Yes')]
  const own = asking({ request_id: 'mine' })
  assert.equal((await post(responsesUrl, own)).json.id, 'resp_mine')
  assertRefused(await post(responsesUrl, own), { status: 409, code: 'response_exists', param: 'request_id' })
  assert.equal((await post(responsesUrl, own, keys.bob)).status, 200)
  await remove('resp_mine')
  assert.equal((await post(responsesUrl, own)).status, 200)
})

test('cancelling is refused, because no answer runs in the background', async () => {
  const { json } = await post(responsesUrl, asking())
  const answer = await send('POST', `${responsesUrl}/${json.id}/cancel`)
  assertRefused(answer, { status: 400, code: 'response_not_in_background', param: null })
})

const day = 86_400_000_000

test('an expired answer is not found at once, and its space is freed later', async (t) => {
  const record = openMemoryRecord()
  const settings = { HEDDLE_RESPONSE_DAYS: '30' }
  const { post, get } = await openApp(t, { model: partsModel(text('Yes')), database: record, settings })
  const { json, headers } = await post(responsesUrl, asking())
  const later = now() + 31 * day
  const step = { now: later, forgetBefore: 0, limit: 1_000, bytes: 1 << 30 }
  assert.ok((await record.write('sweepCalls', step)) > 0)
  assert.equal((await get(`${responsesUrl}/${json.id}`)).status, 404)
  const call = await post('/call/read', { project_id: 'acme/default', id: headers['x-heddle-call-id'] })
  assert.equal(call.status, 404)
})

test('an answer that cannot be stored is refused', async (t) => {
  const record = openMemoryRecord()
  const failing = {
    ...record,
    write: (async (name: string, ...rest: unknown[]) => {
      if (name === 'keepResponse') throw refuse('storage_full')
      return (record.write as (...given: unknown[]) => Promise<unknown>)(name, ...rest)
    }) as typeof record.write,
  }
  const { post } = await openApp(t, { model: partsModel(text('Yes')), database: failing })
  assertRefused(await post(responsesUrl, asking()), { status: 503, code: 'storage_full', param: null })
  const events = eventsOf((await post(responsesUrl, asking({ stream: true }))).text)
  const response = responseOf(events)
  assert.equal(response.status, 'failed')
  assert.match(response.error.message, /disk of the record is full/)
  assert.equal((await post(responsesUrl, asking({ store: false }))).status, 200)
})

test('without a model responses are refused', async (t) => {
  const { post } = await openApp(t)
  assertRefused(await post(responsesUrl, asking()), { status: 503, code: 'model_not_ready', param: null })
})
