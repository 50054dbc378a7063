import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { basic, keys, type Method } from '../support/app.ts'
import { openAppWithoutShedding } from '../support/app-without-shedding.ts'
import { formOf, formType } from '../support/forms.ts'
import { secret } from '../support/one-of-each.ts'
import { scriptedBackend } from '../support/scripted-backend.ts'
import { withoutNamesAndTimes } from './tenant-answers.ts'

const opened = await openAppWithoutShedding(
  { after: (close) => after(close) },
  { backend: scriptedBackend() },
)
const { app, post, send } = opened
const project = 'acme/default'
const message = { role: 'user', content: secret }
const asking = { messages: [message], max_tokens: 5 }

type Ids = Record<string, string>

/** Stores one thing of each kind that the wires of models name by an id. */
async function storeOfWires(): Promise<Ids> {
  const made = async (url: string, body: object): Promise<Record<string, unknown>> => {
    const { status, json, text } = await post(url, body)
    assert.equal(status, 200, `${url} ${text}`)
    return json
  }
  const idOf = async (url: string, body: object) => String((await made(url, body)).id)
  const conversation = await idOf('/v1/conversations', { items: [message] })
  const [item] = (await opened.get(`/v1/conversations/${conversation}/items`)).json.data
  const line = { custom_id: 'a', method: 'POST', url: '/v1/chat/completions', body: asking }
  const form = formOf([
    { name: 'purpose', value: 'batch' },
    { name: 'file', value: JSON.stringify(line), filename: 'in.jsonl' },
  ])
  const headers = { 'content-type': formType, authorization: basic(keys.alice) }
  const file = (await app.inject({ method: 'POST', url: '/v1/files', headers, payload: form })).json().id
  const requests = [{ custom_id: 'a', params: { model: 'scripted', ...asking } }]
  return {
    conversation,
    item: item.id,
    file,
    response: await idOf('/v1/responses', { input: secret, max_output_tokens: 16 }),
    completion: await idOf('/v1/chat/completions', { ...asking, store: true }),
    batch: await idOf('/v1/batches', {
      ...{ input_file_id: file, endpoint: '/v1/chat/completions', completion_window: '24h' },
    }),
    messageBatch: await idOf('/v1/messages/batches', { requests }),
    prompt: String(
      (
        await made('/obj/create', {
          obj: { project_id: project, object_id: 'told', val: { content: secret } },
        })
      ).digest,
    ),
  }
}

/** Ids of the same shape that nothing has. */
const idsOfNothing = (ids: Ids): Ids =>
  Object.fromEntries(
    Object.entries(ids).map(([kind, id]) => [
      kind,
      id.replace(/[\w-]{8}(?=(_\d+)?$)/, (end) => end.replace(/./g, (sign) => (sign === '0' ? '1' : '0'))),
    ]),
  )

type Request = [method: Method, url: string, body?: Record<string, unknown>]

/** Every request to a wire of models that names a thing by its id. */
function naming(ids: Ids): Request[] {
  const { conversation, item, file, response, completion, batch, messageBatch, prompt } = ids
  const inConversation = `/v1/conversations/${conversation}`
  const ofResponse = { input: 'x', max_output_tokens: 16 }
  const limits = { endpoint: '/v1/chat/completions', completion_window: '24h' }
  return [
    ['GET', inConversation],
    ['POST', inConversation, { metadata: { a: 'b' } }],
    ['GET', `${inConversation}/items`],
    ['POST', `${inConversation}/items`, { items: [message] }],
    ['GET', `${inConversation}/items/${item}`],
    ['DELETE', `${inConversation}/items/${item}`],
    ['DELETE', inConversation],
    ['GET', `/v1/responses/${response}`],
    ['GET', `/v1/responses/${response}/input_items`],
    ['POST', `/v1/responses/${response}/cancel`, {}],
    ['DELETE', `/v1/responses/${response}`],
    ['POST', '/v1/responses', { ...ofResponse, previous_response_id: response }],
    ['POST', '/v1/responses', { ...ofResponse, conversation }],
    ['POST', '/v1/responses', { ...ofResponse, conversation: { id: conversation } }],
    ['POST', '/v1/responses', { ...ofResponse, input: [{ type: 'item_reference', id: item }] }],
    ['POST', '/v1/responses/input_tokens', { input: 'x', previous_response_id: response }],
    ['POST', '/v1/responses/input_tokens', { input: 'x', conversation }],
    ['GET', `/v1/files/${file}`],
    ['GET', `/v1/files/${file}/content`],
    ['DELETE', `/v1/files/${file}`],
    ['POST', '/v1/batches', { ...limits, input_file_id: file }],
    ['GET', `/v1/batches/${batch}`],
    ['GET', `/v1/batches?after=${batch}`],
    ['GET', `/v1/files?after=${file}`],
    ['POST', `/v1/batches/${batch}/cancel`, {}],
    ['GET', `/v1/messages/batches/${messageBatch}`],
    ['GET', `/v1/messages/batches?after_id=${messageBatch}`],
    ['GET', `/v1/messages/batches/${messageBatch}/results`],
    ['POST', `/v1/messages/batches/${messageBatch}/cancel`, {}],
    ['DELETE', `/v1/messages/batches/${messageBatch}`],
    ['GET', `/v1/chat/completions/${completion}`],
    ['GET', `/v1/chat/completions/${completion}/messages`],
    ['GET', `/v1/chat/completions?after=${completion}`],
    ['POST', `/v1/chat/completions/${completion}`, { metadata: { a: 'b' } }],
    ['DELETE', `/v1/chat/completions/${completion}`],
    [
      'POST',
      '/v1/chat/completions',
      { ...asking, messages: [{ role: 'user', content: 'x' }], prompt: { id: 'told', version: prompt } },
    ],
  ]
}

const theirs = await storeOfWires()
const nothing = idsOfNothing(theirs)
for (const [kind, id] of Object.entries(theirs)) assert.notEqual(nothing[kind], id, kind)

async function answersOf(key: string, headers: Record<string, string>) {
  const answers: unknown[][] = []
  for (const ids of [theirs, nothing]) {
    const told: unknown[] = []
    for (const [method, url, body] of naming(ids)) {
      const sent = {
        ...headers,
        authorization: basic(key),
        ...(body && { 'content-type': 'application/json' }),
      }
      const { statusCode: status, body: text } = await app.inject({
        method,
        url,
        headers: sent,
        ...(body && { payload: body }),
      })
      assert.ok(status < 500, `${method} ${url} ${text}`)
      assert.ok(!text.includes(secret), `${method} ${url} ${text}`)
      const plain = withoutNamesAndTimes({ status, text: text.replace(/"request_id":"\w+"/, '') }, ids)
      told.push([method, url.replaceAll(/[\da-f]{8,}/g, ''), plain.status, plain.text])
    }
    answers.push(told)
  }
  return answers
}

test('P6: ids of the wires of models that another tenant has look as if nothing had them', async () => {
  const made = await post('/users', { name: 'carol', entities: ['acme'] }, keys.root)
  const carol = made.json.key.key
  for (const [key, headers] of [
    [keys.bob, {}],
    [keys.bob, { 'x-heddle-project': project }],
    [keys.bob, { 'x-heddle-project': 'globex/qa' }],
    [carol, { 'x-heddle-project': 'acme/other' }],
  ] as const) {
    const [ofTheirs, ofNothing] = await answersOf(key, { ...headers })
    assert.deepEqual(ofTheirs, ofNothing)
  }
  // The owner's are still there.
  for (const url of [
    `/v1/conversations/${theirs.conversation}`,
    `/v1/responses/${theirs.response}`,
    `/v1/files/${theirs.file}`,
    `/v1/batches/${theirs.batch}`,
  ])
    assert.equal((await send('GET', url)).status, 200, url)
})
