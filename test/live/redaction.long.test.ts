import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { hashKey } from '../../src/domain/keys.ts'
import { openRecord } from '../../src/storage/open.ts'
import { logsOf, protobufLogsOf, recordOf } from '../app/otel/otlp-logs.ts'
import { basic, keys, openApp, type TestApp } from '../support/app.ts'
import { completeOf, endOf, project, startOf } from '../support/calls.ts'
import { runCommand } from '../support/commands.ts'
import { evaluationRunsOf } from '../support/evaluation-runs.ts'
import { exportOf, spanOf } from '../support/otlp.ts'
import { candidate, prefilled, type Script, scriptedBackend, tokens } from '../support/scripted-backend.ts'
import { newFolder } from '../support/server.ts'
import { until } from '../support/wait.ts'

/** One of each kind, and what of it must not be on the disk. */
const secrets = {
  email: ['ada.lovelace@example.com', 'lovelace'],
  phone: ['+49 30 7654321', '7654321'],
  card: ['4111 1111 1111 1111', '4111 1111'],
  iban: ['DE89370400440532013000', '370400440532'],
  key: ['sk-ant-api03-Qm9iIHRoZSBidWlsZGVy-x1', 'Qm9iIHRoZSBidWlsZGVy'],
  aws: ['AKIAIOSFODNN7EXAMPLE', 'IOSFODNN7'],
  token: ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0NzExMTIzNCJ9.c2lnbmF0dXJl', 'c2lnbmF0dXJl'],
  private_key: [
    '-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEA7bq\n-----END PRIVATE KEY-----',
    'MIIEowIBAAKCAQEA7bq',
  ],
  // As a terminal colours it.
  colour: ['\u001b[32m+49 40 5550199\u001b[0m', '5550199'],
  // By what stands before them only.
  variable: ['DB_PASSWORD=Wq7#kPz2mLx9', 'Wq7#kPz2mLx9'],
  cookie: ['Cookie: sid=31d4d96e407aad42f', '31d4d96e407aad42f'],
  named: ['aB3dE5gH/jK1mN2pQ4rS6tU7vW8xY9zA0bC1dE2f', 'jK1mN2pQ4rS6tU7vW8x'],
  own: ['EMP-998877', '998877'],
  path: ['hunter2hunter2', 'hunter2'],
} as const

const text = Object.entries(secrets)
  .filter(([name]) => name !== 'path' && name !== 'named')
  .map(([name, [secret]]) => `${name}: ${secret}`)
  .join('\n')
/** As it stands, as a key, and in JSON within a string: whatever a client makes of it. */
const value = {
  plain: text,
  [text]: 1,
  nested: JSON.stringify({ arguments: text, list: [JSON.stringify({ text })] }),
  number: 4111111111111111,
  password: secrets.path[0],
  SecretAccessKey: secrets.named[0],
}
const harmless = { order: 'A-2026-000123', at: '2026-11-27T07:21:21Z', price: 12.5, sha: 'a'.repeat(64) }

const redaction = {
  kinds: ['email', 'phone', 'card', 'iban', 'key', 'token', 'private_key'],
  patterns: [{ name: 'own', pattern: 'EMP-\\d+' }],
  paths: ['inputs', 'output', 'payload', 'attributes.**', 'summary.**'].map((root) => ({
    path: root.includes('.') ? `${root}.password` : `${root}.**.password`,
    action: 'drop',
  })),
}
const admin = 'the-secret-key-of-the-admin'

/** Says the secrets; a decision gets its first label. */
const script: Script = function* (request) {
  yield prefilled(request)
  if (request.logprobTokens !== undefined) {
    const top = request.logprobTokens.map((token) => candidate(String.fromCodePoint(token), -1))
    const [drawn = candidate('0', -1)] = top
    const logprobs = [{ ...drawn, top }]
    yield {
      kind: 'tokens',
      choice: 0,
      text: String.fromCodePoint(drawn.token),
      tokens: [drawn.token],
      logprobs,
    }
  } else yield tokens(`Dear ${text}, ok`, request)
  yield { kind: 'finished', choice: 0, reason: 'stop', stop: null }
}

const evaluation = 'gen_ai.evaluation.result'
const inTrace = { traceId: 'ab'.repeat(16), spanId: 'cd'.repeat(8) }

/** Every way in that takes a text. */
const doors: Record<string, (app: TestApp) => Promise<unknown>> = {
  async 'the start and the end of a call'({ post }) {
    const start = startOf({
      op_name: `ask ${secrets.email[0]} or ${secrets.key[0]}`,
      display_name: text,
      attributes: { value },
      inputs: { value, harmless },
      otel_dump: { name: text },
    })
    await ok(post('/call/start', { start }))
    const end = { exception: text, output: value, summary: { value }, display_name: text }
    await ok(post('/call/end', { end: endOf(start.id, end) }))
    await ok(post('/call/update', { project_id: project, call_id: start.id, display_name: `now ${text}` }))
  },
  async 'parts of calls'({ post }) {
    const start = startOf({ inputs: value })
    const batch = [
      { mode: 'start', req: { start } },
      { mode: 'end', req: { end: endOf(start.id, { output: [value], exception: text }) } },
    ]
    await ok(post('/call/upsert_batch', { batch }))
  },
  async 'whole calls'({ post }) {
    const large = { inputs: { value, long: 'x '.repeat(200_000) }, output: [text, 'y '.repeat(200_000)] }
    const batch = [completeOf({ inputs: value, output: text }), completeOf(large)]
    await ok(post('/v2/acme/qa/calls/complete', { batch }))
  },
  async 'escapes of JSON'({ post }) {
    const escaped = JSON.stringify({ batch: [completeOf({ output: value })] }).replace(
      /[@+]|sk-|AKIA|DE89/g,
      (found) => Array.from(found, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''),
    )
    await ok(post('/v2/acme/qa/calls/complete', escaped))
  },
  async spans({ post }) {
    const attributes = {
      'input.value': JSON.stringify(value),
      'gen_ai.prompt': text,
      'output.value': text,
      custom: text,
    }
    const events = [{ name: text, timeUnixNano: '1767323045123456789', attributes: [] }]
    const span = spanOf(attributes, { name: text, status: { code: 2, message: text }, events })
    await ok(post('/otel/v1/traces', exportOf([span])))
  },
  async 'log records'({ app, post }) {
    const said = (event: string, more: object) =>
      recordOf(
        {
          'session.id': 's-3',
          'prompt.id': 'p-1',
          'event.name': event,
          'user.email': secrets.email[0],
          ...more,
        },
        { body: { stringValue: `claude_code.${event} ${text}` } },
      )
    const tool = {
      tool_name: text,
      tool_use_id: 't',
      success: 'false',
      error: text,
      tool_input: JSON.stringify(value),
    }
    const judged = { 'gen_ai.evaluation.name': 'tone', 'gen_ai.evaluation.explanation': text }
    const records = [
      said('user_prompt', { prompt: text }),
      said('assistant_response', { response: text, request_id: 'r-1', model: 'm' }),
      said('api_error', { error: text, request_id: 'r-2' }),
      said('tool_result', tool),
      recordOf({ custom: text, [secrets.email[0]]: 1 }, { body: { stringValue: text } }),
      recordOf(
        { 'event.name': 'gen_ai.evaluation.result', ...judged },
        { ...inTrace, eventName: evaluation },
      ),
    ]
    const resource = { 'wandb.entity': 'acme', 'wandb.project': 'qa', 'service.name': text }
    await ok(post('/v1/logs', logsOf(records, resource)))
    const headers = { authorization: basic(keys.alice), 'content-type': 'application/x-protobuf' }
    const payload = protobufLogsOf(logsOf(records.slice(0, 5).reverse(), resource, `other ${text}`))
    const answer = await app.inject({ method: 'POST', url: '/v1/logs', headers, payload })
    assert.equal(answer.statusCode, 200, answer.body)
  },
  async conversations({ post }) {
    const items = [{ type: 'message', role: 'user', content: text }]
    const metadata = { who: secrets.email[0] }
    const { id } = await ok(post('/v1/conversations', { items, metadata }))
    await ok(post(`/v1/conversations/${id}/items`, { items }))
    await ok(post(`/v1/conversations/${id}`, { metadata }))
    await ok(post('/v1/responses', { input: text, conversation: id }))
  },
  async feedback({ post }) {
    const call = completeOf()
    await ok(post('/v2/acme/qa/calls/complete', { batch: [call] }))
    const note = (payload: object) => ({
      project_id: project,
      svc_ref: `weave:///${project}/call/${call.id}`,
      feedback_type: 'custom',
      creator: text,
      payload,
    })
    const { id } = await ok(post('/feedback/create', note(value)))
    await ok(post('/feedback/batch/create', { batch: [note({ value })] }))
    await ok(post('/feedback/replace', { ...note({ note: text }), feedback_id: id }))
  },
  async 'chat completions'({ post }) {
    const messages = [{ role: 'user', content: text }]
    const asked = { messages, store: true, metadata: { who: secrets.email[0] }, logprobs: true }
    const { id, choices } = await ok(post('/v1/chat/completions', asked))
    assert.ok(choices[0].message.content.includes(text), 'the answer itself says all')
    const streamed = await post('/v1/chat/completions', { ...asked, stream: true })
    assert.ok(streamed.text.includes('lovelace'))
    await ok(post(`/v1/chat/completions/${id}`, { metadata: { who: secrets.email[0] } }))
  },
  async completions({ post }) {
    await ok(post('/v1/completions', { prompt: text, echo: true, return_token_ids: true }))
  },
  async responses({ post }) {
    const { id } = await ok(post('/v1/responses', { input: text, instructions: text }))
    await ok(post('/v1/responses', { input: [{ role: 'user', content: text }], previous_response_id: id }))
  },
  async messages({ post }) {
    const messages = [{ role: 'user', content: [{ type: 'text', text }] }]
    await ok(post('/v1/messages', { model: 'scripted', max_tokens: 9_999, messages, system: text }))
  },
  async "Ollama's wire"({ post }) {
    const messages = [{ role: 'user', content: text }]
    await ok(post('/api/chat', { model: 'scripted', messages, stream: false }))
    await ok(post('/api/generate', { model: 'scripted', prompt: text, stream: false }))
  },
  async 'embeddings and scores'({ post }) {
    await ok(post('/v1/embeddings', { model: 'scripted', input: text }))
    await ok(post('/v1/rerank', { model: 'scripted', query: text, documents: [text] }))
  },
  async decisions({ post }) {
    const questions = [{ type: 'predicate', instructions: `Is it private? ${text}` }]
    await ok(post('/v1/decisions', { model: 'scripted', input: text, questions }))
  },
  async 'evaluation runs'({ post }) {
    const runs = evaluationRunsOf({ post })
    const run = await runs.run({ name: text })
    const prediction = await runs.predict(run, { inputs: value, output: value })
    await runs.score(run, prediction, 'tone', { reason: text })
    await ok(runs.finishPrediction(prediction))
    await ok(runs.finishRun(run, { summary: { note: text } }))
  },
}

async function ok(answer: ReturnType<TestApp['post']>) {
  const { status, json, text: reason } = await answer
  assert.equal(status, 200, reason)
  return json
}

/** The names of the secrets that a file of the folder says, with the file. */
async function leaksIn(folder: string): Promise<string[]> {
  const found: string[] = []
  for (const file of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!file.isFile()) continue
    const content = await readFile(join(file.parentPath, file.name), 'latin1')
    for (const [name, [, needle]] of Object.entries(secrets)) {
      for (const written of [
        needle,
        needle.replaceAll(' ', ''),
        Buffer.from(needle, 'utf16le').toString('latin1'),
      ])
        if (content.includes(written)) found.push(`${name} in ${file.name}`)
    }
    if (content.includes('4111111111111111')) found.push(`card in ${file.name}`)
  }
  return [...new Set(found)]
}

async function openFolder(t: TestContext, folder: string, log: string) {
  const database = await openRecord({ databaseUrl: '', folder, queryTimeoutMs: 30_000 })
  const backend = scriptedBackend(script)
  const logger = pino({ level: 'info' }, pino.destination({ dest: join(folder, log), sync: true }))
  return openApp(t, { database, backend, logger, sweep: true, settings: { HEDDLE_SEARCH: 'on' } })
}

async function addAdmin({ database }: TestApp) {
  await database.write('addUser', {
    user: { name: 'ada', role: 'admin', entities: ['acme'], created_at: 1 },
    key: { id: 'ada', hash: hashKey(admin) },
  })
}

const urlOf = (name: string) => `/projects/${name}/redaction`
const projects = [project, 'acme/default']

test('no secret reaches the disk by any way in', async (t) => {
  const folder = await newFolder(t)
  const app = await openFolder(t, folder, 'log.jsonl')
  await addAdmin(app)
  for (const name of projects) {
    const { status, text: reason } = await app.send('PUT', urlOf(name), redaction, admin)
    assert.equal(status, 200, reason)
  }
  // What is fired goes into the outbox and to the endpoint.
  const rule = { project_id: project, name: 'failed', on: 'call', filter: { op_names: ['answer'] } }
  await ok(app.post('/alert_rules', rule))
  for (const [door, send] of Object.entries(doors)) {
    await send(app)
    assert.deepEqual(await leaksIn(folder), [], door)
  }
  // The indexes and sums that are made behind the writes.
  await until('calls are indexed', async () => {
    const { json } = await app.post('/views/search', { project_id: project, text: 'email' })
    return json.found.length > 0
  })
  assert.deepEqual(await leaksIn(folder), [])
  for (const name of projects) {
    const { counts } = (await app.get(urlOf(name))).json
    for (const kind of [...redaction.kinds, 'own']) assert.ok(counts[kind] > 0, `${kind} in ${name}`)
  }
  const read = await app.post('/calls/stream_query', { project_id: project })
  assert.ok(read.text.includes(JSON.stringify(harmless)), 'what is harmless stays')
  assert.ok(!read.text.includes('redaction failed'))
  // The control: what is looked for is found once it is there.
  assert.equal((await app.send('DELETE', urlOf(project), undefined, admin)).status, 200)
  await doors['whole calls']?.(app)
  assert.ok((await leaksIn(folder)).length >= Object.keys(secrets).length - 1)
})

test('no secret of what was stored before is left on the disk after a pass', async (t) => {
  const folder = await newFolder(t)
  const app = await openFolder(t, folder, '../log.jsonl')
  await addAdmin(app)
  for (const send of Object.values(doors)) await send(app)
  await until('calls are indexed', async () => {
    const { json } = await app.post('/views/search', { project_id: project, text: 'email' })
    return json.found.length > 0
  })
  assert.ok((await leaksIn(folder)).length >= Object.keys(secrets).length, 'what is looked for is there')
  for (const name of projects) {
    assert.equal((await app.send('PUT', urlOf(name), redaction, admin)).status, 200)
    assert.equal((await app.send('POST', `${urlOf(name)}/apply`, undefined, admin)).status, 200)
  }
  for (const name of projects) {
    await until('the pass is through', async () => (await app.get(urlOf(name))).json.earlier.state === 'done')
    const { earlier, counts } = (await app.get(urlOf(name))).json
    assert.equal(earlier.overwritten, true)
    for (const kind of [...redaction.kinds, 'own']) assert.ok(counts[kind] > 0, `${kind} in ${name}`)
  }
  const leaks = (await leaksIn(folder)).filter((leak) => !leak.endsWith('heddle.db'))
  assert.deepEqual(leaks, [], 'only unused parts of pages of the database may have fragments')
  const copies = await newFolder(t)
  const copied = await runCommand(['db', 'backup', join(copies, 'copy.db')], { HEDDLE_DATA: folder })
  assert.equal(copied.code, 0, copied.err)
  assert.deepEqual(await leaksIn(copies), [])
  const read = await app.post('/calls/stream_query', { project_id: project })
  assert.ok(read.text.includes(JSON.stringify(harmless)), 'what is harmless stays')
  assert.ok(!read.text.includes('redaction failed'))
})

test('another server on the same record follows a change', async (t) => {
  const folder = await newFolder(t)
  const near = await openFolder(t, folder, 'one.jsonl')
  const other = await openFolder(t, folder, 'other.jsonl')
  await addAdmin(near)
  const outputBy = async ({ post }: TestApp) => {
    const call = completeOf({ output: secrets.email[0] })
    await ok(post('/v2/acme/qa/calls/complete', { batch: [call] }))
    return (await ok(post('/call/read', { project_id: project, id: call.id }))).call.output
  }
  assert.equal(await outputBy(other), secrets.email[0])
  assert.equal((await near.send('PUT', urlOf(project), { kinds: ['email'] }, admin)).status, 200)
  assert.equal(await outputBy(near), '[email]', 'at once where it is set')
  await until('the other server follows', async () => (await outputBy(other)) === '[email]')
})

test('an import is redacted as the project that it goes to', async (t) => {
  const [from, to] = [await newFolder(t), await newFolder(t)]
  const settings = (folder: string) => ({ HEDDLE_DATA: folder })
  const source = await openRecord({ databaseUrl: '', folder: from, queryTimeoutMs: 30_000 })
  const app = await openApp(t, { database: source })
  await doors['whole calls']?.(app)
  await doors.feedback?.(app)
  const target = await openRecord({ databaseUrl: '', folder: to, queryTimeoutMs: 30_000 })
  const change = { redaction } as never
  await target.write('changeProjectSettings', { project_id: project, change })
  await target.close()
  const file = join(from, 'export.jsonl')
  const exported = await runCommand(['export', project, '--to', file], settings(from))
  assert.equal(exported.code, 0, exported.err)
  const imported = await runCommand(['import', file], settings(to))
  assert.equal(imported.code, 0, imported.err)
  assert.ok(JSON.parse(imported.out).calls.added > 0)
  assert.deepEqual(await leaksIn(to), [])
})
