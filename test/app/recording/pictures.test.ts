import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { hashKey } from '../../../src/domain/keys.ts'
import { refuse } from '../../../src/domain/refusals.ts'
import type { Database } from '../../../src/storage/database.ts'
import { redactingRecord } from '../../../src/storage/redaction/redacting-record.ts'
import { sql } from '../../../src/storage/sql/sql.ts'
import { type Answer, keys, openApp, type TestApp } from '../../support/app.ts'
import { openAppRecord } from '../../support/app-record.ts'
import { asking, chatUrl } from '../../support/chat.ts'
import { modelsOfUpstream, startFakeUpstream, streamWords } from '../../support/fake-upstream.ts'
import { digestOf, pngOf } from '../../support/pictures.ts'
import { until } from '../../support/wait.ts'

// A picture is a file of the project, and the call names it as Weave's own server does.

const project_id = 'acme/default'

async function open(t: TestContext, database?: Database, parts: { sweep?: boolean } = {}) {
  const upstream = await startFakeUpstream(t, streamWords('A', ' cat'), { models: [{ id: 'far' }] })
  const models = await modelsOfUpstream([upstream.url])
  return { upstream, ...(await openApp(t, { models, ...parts, ...(database && { database }) })) }
}

/** A picture of this length that no other test has. */
function newPicture(bytes: number) {
  const png = Buffer.concat([pngOf(4, 3), randomBytes(bytes)])
  const data = png.toString('base64')
  return { png, data, url: `data:image/png;base64,${data}` }
}

const said = (url: string) => [
  {
    role: 'user',
    content: [
      { type: 'text', text: 'What is this? 🐈' },
      { type: 'image_url', image_url: { url } },
    ],
  },
]

async function inputsOf({ post }: Pick<TestApp, 'post'>, { status, text, headers }: Answer) {
  assert.equal(status, 200, text)
  const { json } = await post('/call/read', { project_id, id: headers['x-heddle-call-id'] })
  return json.call.inputs
}

async function metadataIn({ post }: Pick<TestApp, 'post'>, { files }: { files: Record<string, string> }) {
  const { status, text } = await post('/file/content', { project_id, digest: files['metadata.json'] })
  assert.equal(status, 200)
  return { text, metadata: JSON.parse(text) }
}

test('P12: a picture is a file, stored once for all turns, which the call names', async (t) => {
  const app = await open(t)
  const { png, url } = newPicture(3_000)
  const messages = said(url)
  const [first, second] = [
    await app.post(chatUrl, asking({ messages })),
    await app.post(chatUrl, asking({ messages })),
  ]
  assert.deepEqual(app.upstream.asked.at(-1)?.body.messages, messages)
  const inputs = await inputsOf(app, first)
  const object = inputs.messages[0].content[1].image_url.url
  assert.deepEqual(Object.keys(object), ['_type', 'weave_type', 'files'])
  assert.equal(object._type, 'CustomWeaveType')
  assert.deepEqual(object.weave_type, { type: 'weave.type_wrappers.Content.content.Content' })
  assert.equal(object.files.content, digestOf(png))
  assert.deepEqual(inputs.messages[0].content[0], messages[0]?.content[0])
  assert.deepEqual((await inputsOf(app, second)).messages, inputs.messages)

  const { text, metadata } = await metadataIn(app, object)
  const sha256 = createHash('sha256').update(png).digest('hex')
  assert.deepEqual(metadata, {
    ...{ size: png.length, mimetype: 'image/png', digest: sha256 },
    ...{ filename: `image-${sha256.slice(0, 10)}.png`, content_type: 'data_url:base64', input_type: 'str' },
    ...{ encoding: 'base64', metadata: null, extension: '.png' },
  })
  const { json } = await app.post('/files/query_stats', { project_id })
  assert.equal(json.total_size_bytes, png.length + text.length)
  const digest = digestOf(png)
  assert.equal((await app.post('/file/content', { project_id, digest }, keys.bob)).status, 403)
  assert.equal(
    (await app.post('/file/content', { project_id: 'globex/default', digest }, keys.bob)).status,
    404,
  )
})

test('P12: the base64 of Messages and Ollama becomes a file, too', async (t) => {
  const app = await open(t)
  const { png, data } = newPicture(3_000)
  const source = { type: 'base64', media_type: 'image/png', data }
  const messages = [{ role: 'user', content: [{ type: 'image', source }] }]
  const asAnthropic = await inputsOf(app, await app.post('/v1/messages', { max_tokens: 5, messages }))
  const { data: object, ...rest } = asAnthropic.messages[0].content[0].source
  assert.deepEqual(rest, { type: 'base64', media_type: 'image/png' })
  assert.equal(object.files.content, digestOf(png))
  assert.equal((await metadataIn(app, object)).metadata.content_type, 'base64')

  const images = [data, newPicture(2_000).data]
  const body = { model: 'far', messages: [{ role: 'user', content: 'These?', images }], stream: false }
  const asOllama = await inputsOf(app, await app.post('/api/chat', body))
  const [, ...shown] = asOllama.messages[0].content
  assert.deepEqual(
    shown.map((shownPart: typeof asOllama) => shownPart.image_url.url.files.content),
    images.map((one) => digestOf(Buffer.from(one, 'base64'))),
  )
})

test('P12: sounds and documents become files, and are put back when the answer is continued', async (t) => {
  const app = await open(t)
  const wave = Buffer.concat([Buffer.from('RIFFsizeWAVE'), randomBytes(3_000)])
  const pdf = Buffer.concat([Buffer.from('%PDF-1.7'), randomBytes(3_000)])
  const content = [
    { type: 'text', text: 'What is said?' },
    { type: 'input_audio', input_audio: { data: wave.toString('base64'), format: 'wav' } },
    {
      type: 'file',
      file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${pdf.toString('base64')}` },
    },
  ]
  const messages = [{ role: 'user', content }]
  const answer = await app.post(chatUrl, asking({ messages, store: true }))
  assert.deepEqual(app.upstream.asked.at(-1)?.body.messages, messages)
  const [, sound, document] = (await inputsOf(app, answer)).messages[0].content
  const object = sound.input_audio.data
  assert.deepEqual([object.files.content, sound.input_audio.format], [digestOf(wave), 'wav'])
  const { mimetype, filename, content_type, extension } = (await metadataIn(app, object)).metadata
  const sha256 = createHash('sha256').update(wave).digest('hex')
  assert.deepEqual(
    [mimetype, filename, content_type, extension],
    ['audio/wav', `audio-${sha256.slice(0, 10)}.wav`, 'base64', '.wav'],
  )
  assert.equal(document.file.file_data.files.content, digestOf(pdf))
  const { metadata } = await metadataIn(app, document.file.file_data)
  assert.deepEqual([metadata.mimetype, metadata.extension], ['application/pdf', '.pdf'])
  const stored = await app.get(`/v1/chat/completions/${answer.json.id}/messages`)
  assert.deepEqual(stored.json.data[0].content_parts, content)
})

test('P12: a large picture of a stream is one file, in the project of its call', async (t) => {
  const app = await open(t)
  const { png, url } = newPicture(1_500_000)
  const project = 'acme/other'
  const sent = {
    method: 'POST',
    url: chatUrl,
    payload: asking({ messages: said(url), stream: true }),
  } as const
  const headers = { authorization: `Bearer ${keys.alice}`, 'x-heddle-project': project }
  const answer = await app.app.inject({ ...sent, headers })
  assert.equal(answer.statusCode, 200)
  const id = answer.headers['x-heddle-call-id']
  const { json } = await app.post('/call/read', { project_id: project, id })
  const { files } = json.call.inputs.messages[0].content[1].image_url.url
  const read = await app.app.inject({
    ...{ method: 'POST', url: '/file/content', headers },
    payload: { project_id: project, digest: files.content },
  })
  assert.deepEqual(read.rawPayload, png)
  assert.equal((await app.post('/files/query_stats', { project_id })).json.total_size_bytes, 0)
})

test('P12: what cannot be given back as it was sent stays in the call', async (t) => {
  const app = await open(t)
  const { data, url } = newPicture(3_000)
  const kept = [
    said('https://example.com/cat.png'),
    said(newPicture(300).url),
    // Decoders skip a line break, and read base64url.
    said(`data:image/png;base64,${data.slice(0, 76)}\n${data.slice(76)}`),
    [{ role: 'user', content: [{ type: 'text', text: url }] }],
    [{ role: 'user', content: url }],
  ]
  for (const messages of kept) {
    const inputs = await inputsOf(app, await app.post(chatUrl, asking({ messages })))
    assert.deepEqual(inputs.messages, messages)
  }
  assert.equal((await app.post('/files/query_stats', { project_id })).json.total_size_bytes, 0)
})

test('P12: slashes may be escaped, as PHP does it', async (t) => {
  const app = await open(t)
  const { png, url } = newPicture(600_000)
  const body = JSON.stringify(asking({ messages: said(url) })).replaceAll('/', '\\/')
  const inputs = await inputsOf(app, await app.post(chatUrl, body))
  assert.equal(inputs.messages[0].content[1].image_url.url.files.content, digestOf(png))
})

test('P12: other characters may be escaped, as .NET and Gson do it, and line breaks', async (t) => {
  const app = await open(t)
  const { png, data } = newPicture(600_000)
  const lines = `${data.match(/.{1,76}/g)?.join('\n')}\n`
  for (const [text, escaped] of [
    [data, /[+=](?=[^"]*"\}\})/g],
    [lines, /\\n/g],
  ] as const) {
    const messages = said(`data:image/png;base64,${text}`)
    const codes = { '+': '\\u002B', '=': '\\u003d', '\\n': '\\u000A' }
    const body = JSON.stringify(asking({ messages, store: true })).replace(
      escaped,
      (found) => codes[found as keyof typeof codes],
    )
    assert.ok(body.includes('\\u00'))
    const answer = await app.post(chatUrl, body)
    const inputs = await inputsOf(app, answer)
    assert.equal(inputs.messages[0].content[1].image_url.url.files?.content, digestOf(png))
    const stored = await app.get(`/v1/chat/completions/${answer.json.id}/messages`)
    assert.deepEqual(stored.json.data[0].content_parts, messages[0]?.content)
  }
})

test('P12: base64 in lines is a file, passed on without breaks, and shown again as it was sent', async (t) => {
  const app = await open(t)
  const { png, data } = newPicture(600_000)
  const lines = `${data.match(/.{1,76}/g)?.join('\n')}\n`
  const messages = said(`data:image/png;base64,${lines}`)
  const answer = await app.post(chatUrl, asking({ messages, store: true }))
  const inputs = await inputsOf(app, answer)
  assert.equal(inputs.messages[0].content[1].image_url.url.files?.content, digestOf(png))
  const [passed] = app.upstream.asked.at(-1)?.body.messages ?? []
  assert.equal(passed.content[1].image_url.url, `data:image/png;base64,${data}`)
  const stored = await app.get(`/v1/chat/completions/${answer.json.id}/messages`)
  assert.deepEqual(stored.json.data[0].content_parts, messages[0]?.content)
})

test('P12: stored completions and continued responses have the picture again', async (t) => {
  const app = await open(t)
  const { url } = newPicture(700_001)
  const messages = said(url)
  const { json } = await app.post(chatUrl, asking({ messages, store: true }))
  const stored = await app.get(`/v1/chat/completions/${json.id}/messages`)
  assert.deepEqual(stored.json.data[0].content_parts, messages[0]?.content)

  const image = { type: 'input_image', image_url: url, detail: 'auto' }
  const input = [{ type: 'message', role: 'user', content: [image] }]
  const first = await app.post('/v1/responses', { input, store: true })
  assert.equal((await inputsOf(app, first)).input[0].content[0].image_url._type, 'CustomWeaveType')
  const asked = { role: 'user', content: [{ type: 'image_url', image_url: { url } }] }
  const items = await app.get(`/v1/responses/${first.json.id}/input_items`)
  assert.deepEqual(items.json.data[0].content, [image])
  let previous = first.json.id
  for (const more of [
    { input: 'And now?' },
    { input: [{ type: 'item_reference', id: items.json.data[0].id }] },
  ]) {
    const next = await app.post('/v1/responses', { ...more, previous_response_id: previous, store: true })
    assert.equal(next.status, 200, next.text)
    assert.deepEqual(app.upstream.asked.at(-1)?.body.messages[0], asked)
    previous = next.json.id
  }
  const referred = await app.get(`/v1/responses/${previous}/input_items`)
  assert.deepEqual(referred.json.data[0].content, [image])
})

test('P12: a picture that a project redacts is no file', async (t) => {
  const app = await open(t)
  const admin = 'the-secret-key-of-ada'
  await app.database.write('addUser', {
    user: { name: 'ada', role: 'admin', entities: ['acme'], created_at: 1 },
    key: { id: 'ada', hash: hashKey(admin) },
  })
  const redaction = { paths: [{ path: 'inputs.messages', action: 'drop' }] }
  assert.equal((await app.send('PUT', '/projects/acme/default/redaction', redaction, admin)).status, 200)
  const inputs = await inputsOf(
    app,
    await app.post(chatUrl, asking({ messages: said(newPicture(3_000).url) })),
  )
  assert.doesNotMatch(JSON.stringify(inputs), /base64|CustomWeaveType/)
  assert.equal((await app.post('/files/query_stats', { project_id })).json.total_size_bytes, 0)
})

test('P12: answers wait while the picture that they share cannot be written, and it is one file', async (t) => {
  const record = await openAppRecord()
  let finished = 0
  const answered = Promise.withResolvers<void>()
  const app = await open(
    t,
    redactingRecord({
      ...record,
      write: (async (name: string, ...rest: unknown[]) => {
        if (name === 'finishFile' && finished++ === 0) {
          await answered.promise
          throw refuse('storage_full')
        }
        return (record.write as (...given: unknown[]) => Promise<unknown>)(name, ...rest)
      }) as typeof record.write,
    }),
  )
  const { png, url } = newPicture(900_000)
  const messages = said(url)
  const answers = await Promise.all([1, 2, 3].map(() => app.post(chatUrl, asking({ messages }))))
  answered.resolve()
  const digests = answers.map(async ({ headers, text }) => {
    const asked = { project_id, id: headers['x-heddle-call-id'] }
    let read = await app.post('/call/read', asked)
    await until(`the call is written: ${text}`, async () => {
      read = await app.post('/call/read', asked)
      return read.status === 200
    })
    return read.json.call.inputs.messages[0].content[1].image_url.url.files.content
  })
  assert.deepEqual(
    await Promise.all(digests),
    [1, 2, 3].map(() => digestOf(png)),
  )
  assert.ok(finished > 1)
  const pieces = await record.get<{ bytes: number }>(sql`SELECT sum(length(bytes)) AS bytes FROM file_pieces`)
  const { json } = await app.post('/files/query_stats', { project_id })
  assert.equal(Number(pieces?.bytes), json.total_size_bytes)
})

test('a run over rows that were made of recorded calls sends the pictures themselves', async (t) => {
  const app = await open(t, undefined, { sweep: true })
  const messages = said(newPicture(3_000).url)
  const inputs = await inputsOf(app, await app.post(chatUrl, asking({ messages })))
  const root = `/v2/${project_id}`
  const rows = [{ messages: inputs.messages }]
  assert.equal((await app.post(`${root}/datasets`, { name: 'seen', rows })).status, 200)
  const { json } = await app.post(`${root}/evaluation_runs/serve`, {
    ...{ name: 'again', dataset: `weave:///${project_id}/object/seen:latest` },
    settings: [{ name: 'a', request: { model: 'far' } }],
  })
  const [run] = json.evaluation_run_ids
  await until('the run has ended', async () => {
    return (await app.get(`${root}/evaluation_runs/${run}`)).json.status !== 'running'
  })
  assert.deepEqual(app.upstream.asked.at(-1)?.body.messages, messages)
})
