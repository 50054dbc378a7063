import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { getEncoding } from 'js-tiktoken'
import { deciding } from '../../app/decisions/deciding.ts'
import { keys, openApp, type TestApp } from '../../support/app.ts'
import { completeOf, project } from '../../support/calls.ts'
import { evaluationRunsOf, root } from '../../support/evaluation-runs.ts'
import { createSpec } from '../../support/feedback.ts'
import { createQueue } from '../../support/queues.ts'
import { scriptedBackend } from '../../support/scripted-backend.ts'

/** Both published clients, unmodified, on a record whose calls are of 1 MB. */

interface ToolResult {
  isError?: boolean
  structuredContent?: Record<string, unknown>
  content: { type: string; text?: string }[]
}
interface ListedTool {
  name: string
  inputSchema: object
  outputSchema?: object
  annotations?: { readOnlyHint?: boolean }
}
interface AnyClient {
  listTools(): Promise<{ tools: ListedTool[] }>
  callTool(request: { name: string; arguments: object }): Promise<ToolResult>
  readResource(request: { uri: string }): Promise<{ contents: { text?: string }[] }>
  close(): Promise<void>
}

const backend = scriptedBackend(deciding(() => ({ Y: 0.6, N: 0.2 })))
const { app, post, database }: TestApp = await openApp(
  { after },
  { backend, settings: { HEDDLE_SEARCH: 'on' } },
)
const address = await app.listen({ host: '127.0.0.1', port: 0 })

async function connected(isOld: boolean, key: string, query = ''): Promise<AnyClient> {
  const url = new URL(`${address}/mcp${query}`)
  const requestInit = { headers: { authorization: `Bearer ${key}` } }
  const info = { name: 'test', version: '1' }
  if (isOld) {
    const client = new OldClient(info)
    await client.connect(new OldTransport(url, { requestInit }) as Parameters<OldClient['connect']>[0])
    return client as unknown as AnyClient
  }
  const client = new Client(info, { versionNegotiation: { mode: 'auto' } })
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit }))
  assert.equal(client.getNegotiatedProtocolVersion(), '2026-07-28')
  return client as unknown as AnyClient
}

/** Letters, escapes and characters of three bytes. */
const long = 'refund "order"\n世界 '.repeat(60_000)
const minute = (n: number) => new Date(Date.now() - n * 60_000).toISOString()
const trace = 'a'.repeat(32)
const calls = Array.from({ length: 24 }, (_, n) =>
  completeOf({
    trace_id: trace,
    ...(n > 0 && { parent_id: '00000000-0000-7000-8000-000000000000' }),
    id: `00000000-0000-7000-8000-${String(n).padStart(12, '0')}`,
    op_name: 'answer',
    thread_id: 'talk',
    turn_id: `00000000-0000-7000-8000-${String(n).padStart(12, '0')}`,
    started_at: minute(100 - n),
    ended_at: minute(99 - n),
    inputs: { messages: [{ role: 'user', content: `${n} ${long}` }] },
    output: long,
    exception: n % 3 === 0 ? `ValueError: no row ${n}\n${long.slice(0, 500_000)}` : null,
  }),
)
const first = calls[0]?.id ?? ''
let queue = ''
let spec = ''
const runs: string[] = []

before(async () => {
  for (const call of calls) {
    const { status, text } = await post(`${root}/calls/complete`, { batch: [call] })
    assert.equal(status, 200, text)
  }
  spec = await createSpec(post, 'correct', { type: 'boolean' })
  queue = await createQueue(post, { scorer_refs: [spec], description: long.slice(0, 50_000) })
  await post(`/annotation_queues/${queue}/items`, {
    project_id: project,
    call_ids: calls.map(({ id }) => id),
  })
  await post(`${root}/datasets`, {
    name: 'capitals',
    rows: [{ messages: [{ role: 'user', content: long }] }],
  })
  const { run, predict, score, finishPrediction, finishRun } = evaluationRunsOf({ post })
  for (const value of [0.25, 0.75]) {
    const id = await run()
    const prediction = await predict(id, { output: long })
    await score(id, prediction, 'judge', value)
    await finishPrediction(prediction)
    await finishRun(id)
    runs.push(id)
  }
  while (await database.writeInBackground('indexCalls', { limit: 100, characters: 1 << 20 }));
})

/** What every tool is asked, those that change something last. */
const asked = (): [name: string, args: Record<string, unknown>][] => [
  ['describe_record', {}],
  ['describe_record', { project }],
  ['count_calls', { project, group_by: 'inputs.messages.0.content' }],
  ['search_calls', { project, limit: 50, fields: ['inputs.messages.0.content', 'inputs.messages.0.role'] }],
  ['search_calls', { project, text: 'refund', limit: 20 }],
  ['get_call', { project, id: first }],
  ...['inputs', 'output', 'conversation', 'error', 'feedback', 'summary', 'attributes'].map(
    (section): [string, Record<string, unknown>] => [
      'get_call',
      { project, id: first, section, max_chars: 7_000 },
    ],
  ),
  ['get_trace', { project, trace_id: trace }],
  ['get_thread', { project }],
  ['get_thread', { project, thread_id: 'talk', limit: 30 }],
  ['chart', { project, metric: 'latency_p95', group_by: 'status', since: '2h' }],
  ['failures', { project, since: '7d' }],
  ['get_evaluation', { project }],
  ['get_evaluation', { project, ids: runs, rows: 10 }],
  ['add_feedback', { project, id: first, note: 'Wrong.' }],
  ['next_queue_item', { project }],
  ['next_queue_item', { project, queue_id: queue }],
  ['add_dataset_row', { project, dataset: 'capitals', row: { question: 'Chad?' } }],
  ['run_evaluation', { project, name: 'again', dataset: 'capitals' }],
  ['ask_decision', { project, input: 'Hi', questions: [{ type: 'predicate', instructions: 'Is it kind?' }] }],
]

const encoding = getEncoding('o200k_base')
const tokensOf = (value: unknown) => encoding.encode(JSON.stringify(value)).length

for (const isOld of [false, true]) {
  describe(isOld ? '@modelcontextprotocol/sdk' : '@modelcontextprotocol/client', () => {
    let client: AnyClient
    before(async () => {
      client = await connected(isOld, keys.alice)
    })
    after(() => client.close())

    test('the list of tools is short', async () => {
      const { tools } = await client.listTools()
      assert.deepEqual(
        tools.map(({ name }) => name).toSorted(),
        [...new Set(asked().map(([name]) => name)), 'finish_queue_item'].toSorted(),
      )
      assert.ok(tokensOf(tools) < 3_000, `${tokensOf(tools)} tokens`)
      assert.ok(tools.every(({ annotations }) => annotations?.readOnlyHint !== undefined))
      // zod makes -2^53 + 1 of a missing minimum.
      assert.doesNotMatch(JSON.stringify(tools), /\d{11}/)
    })

    test('every answer fits its schema and its bound', async () => {
      const { tools } = await client.listTools()
      const ajv = new Ajv2020({ strict: false })
      const seen = new Set<string>()
      for (const [name, args] of asked()) {
        const listed = tools.find((tool) => tool.name === name)
        assert.ok(ajv.validate(listed?.inputSchema ?? {}, args), `${name}: ${ajv.errorsText()}`)
        const answer = await client.callTool({ name, arguments: args })
        const text = answer.content[0]?.text ?? ''
        const label = `${name} ${JSON.stringify(args)}: ${text.slice(0, 300)}`
        assert.notEqual(answer.isError, true, label)
        assert.deepEqual(JSON.parse(text), answer.structuredContent, label)
        assert.ok(
          ajv.validate(listed?.outputSchema ?? {}, answer.structuredContent),
          `${label} ${ajv.errorsText()}`,
        )
        assert.ok(Buffer.byteLength(text) <= 8_000, `${Buffer.byteLength(text)} bytes: ${label}`)
        if (args.text !== undefined) assert.ok(text.includes('"in":"inputs"'), label)
        seen.add(name)
      }
      assert.equal(seen.size, tools.length - 1)
    })

    test('pages and pieces lead to everything', async () => {
      const ids: unknown[] = []
      let cursor: unknown
      do {
        const args = { project, filter: 'op:="answer"', limit: 50, ...(cursor !== undefined && { cursor }) }
        const { structuredContent } = await client.callTool({ name: 'search_calls', arguments: args })
        const { calls: page, next } = structuredContent as { calls: { id: string }[]; next?: string }
        ids.push(...page.map(({ id }) => id))
        cursor = next
      } while (cursor !== undefined)
      assert.deepEqual(ids, calls.map(({ id }) => id).toReversed())
      const pieces: string[] = []
      let offset: number | undefined = long.length - 9_000
      while (offset !== undefined) {
        const args = { project, id: first, section: 'output', offset }
        const { structuredContent } = await client.callTool({ name: 'get_call', arguments: args })
        const piece = structuredContent as { text: string; next_offset?: number }
        pieces.push(piece.text)
        offset = piece.next_offset
      }
      assert.equal(pieces.join(''), long.slice(-9_000))
      assert.ok(pieces.length > 1)
    })

    test('an item of a queue is taken, answered and finished, and again with the same result', async () => {
      const taken = await client.callTool({
        name: 'next_queue_item',
        arguments: { project, queue_id: queue },
      })
      const { item, questions } = taken.structuredContent as {
        item: { item_id: string; call_id: string }
        questions: { ref: string }[]
      }
      assert.deepEqual(
        questions.map(({ ref }) => ref),
        [spec],
      )
      const args = {
        project,
        queue_id: queue,
        item_id: item.item_id,
        state: 'completed',
        answers: [{ ref: spec, value: true }],
      }
      for (const _ of [1, 2]) {
        const { structuredContent } = await client.callTool({ name: 'finish_queue_item', arguments: args })
        assert.deepEqual(structuredContent, { item_id: item.item_id, state: 'completed', answers: 1 })
      }
      const { json } = await post('/feedback/query', {
        project_id: project,
        query: {
          $expr: {
            $eq: [{ $getField: 'svc_ref' }, { $literal: `weave:///${project}/call/${item.call_id}` }],
          },
        },
      })
      const answers = json.result.filter(({ queue_id }: { queue_id: string }) => queue_id === queue)
      assert.deepEqual(
        answers.map(({ payload }: { payload: object }) => payload),
        [{ value: true }],
      )
    })

    test('a reference is read as a resource', async () => {
      const { contents } = await client.readResource({ uri: `heddle://${project}/calls/${first}` })
      const text = contents[0]?.text ?? ''
      assert.equal(JSON.parse(text).call.id, first)
      assert.ok(Buffer.byteLength(text) <= 8_000)
      await assert.rejects(
        client.readResource({ uri: `heddle://globex/qa/calls/${first}` }),
        /no access to the entity/,
      )
    })

    test('what is refused can be mended by who reads it', async () => {
      for (const [name, args, expected] of [
        ['search_calls', { project, filter: 'statuss:error' }, /Unknown field statuss.*status/],
        ['search_calls', { project, since: 'yesterday' }, /since: given "yesterday"; accepted: 30m, 24h/],
        [
          'get_call',
          { project, id: first, section: 'inputs', path: 'message' },
          /there is no "message" there; accepted: messages/,
        ],
        ['get_call', { project, id: 'unknown' }, /there is no call "unknown"/],
        ['get_call', { project, id: first, offset: 'x' }, /offset/],
        ['get_call', { project: 'acme', id: first }, /entity\/project/],
        ['add_feedback', { project, id: 'made-up', note: 'x' }, /there is no call "made-up"/],
        ['get_evaluation', { project, ids: ['x'] }, /there is no evaluation "x"/],
        ['add_dataset_row', { project, dataset: 'nothing', row: {} }, /no object "nothing"/],
      ] as const) {
        const { isError, content } = await client.callTool({ name, arguments: args })
        assert.equal(isError, true, name)
        assert.match(content[0]?.text ?? '', expected)
      }
    })

    test('a tenant sees nothing of another, and no difference to what does not exist', async () => {
      const bob = await connected(isOld, keys.bob)
      const hidden = new Set<string>()
      for (const [name, args] of asked()) {
        if (args.project === undefined) continue
        const { isError, content } = await bob.callTool({ name, arguments: args })
        assert.equal(isError, true, name)
        const unknown = JSON.parse(
          JSON.stringify(args).replaceAll(project, 'acme/none').replaceAll(first, 'none'),
        )
        const other = await bob.callTool({ name, arguments: unknown })
        assert.equal(content[0]?.text, other.content[0]?.text?.replaceAll('acme/none', project), name)
        hidden.add(name)
      }
      assert.equal(hidden.size, 14)
      const own = await bob.callTool({ name: 'search_calls', arguments: { project: 'globex/qa' } })
      assert.deepEqual(own.structuredContent, { calls: [] })
      await bob.close()
    })

    test('read_only offers no tool that changes something', async () => {
      const reader = await connected(isOld, keys.alice, '?read_only=1')
      const { tools } = await reader.listTools()
      assert.equal(tools.length, 9)
      assert.ok(tools.every(({ annotations }) => annotations?.readOnlyHint))
      const refused = reader.callTool({ name: 'add_feedback', arguments: { project, id: first, note: 'x' } })
      await assert.rejects(refused, /add_feedback not found/)
      await reader.close()
    })
  })
}
