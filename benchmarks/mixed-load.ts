import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { keys } from '../test/support/app.ts'
import { completeOf, endOf, project, startOf } from '../test/support/calls.ts'
import { askOne } from '../test/support/chat-mixture.ts'
import type { ChatServer } from '../test/support/chat-server.ts'
import { rawPost } from '../test/support/raw-client.ts'

/** A text of about this many characters that compresses as badly as a real one. */
const textOf = (characters: number) => randomUUID().repeat(Math.ceil(characters / 36))

/**
 * What a team does to one server in an hour: it writes, queries, asks the model, disconnects midway, and makes mistakes.
 * Each step is one kind of request; an answer that a user would not expect ends the run.
 */
export function createMixedLoad(server: ChatServer): (step: number) => Promise<void> {
  const known: string[] = [randomUUID()]
  const someCall = () => known[Math.floor(Math.random() * known.length)] as string

  async function expect(status: number, url: string, body: unknown, key = keys.alice): Promise<string> {
    const answer = await server.post(url, body, { key })
    const text = await answer.text()
    assert.equal(answer.status, status, `${url}: ${text.slice(0, 500)}`)
    return text
  }

  function remember(id: string): void {
    if (known.length < 10_000) known.push(id)
    else known[Math.floor(Math.random() * known.length)] = id
  }

  async function writeOneCall(): Promise<void> {
    const start = startOf({ inputs: { question: textOf(500) } })
    await expect(200, '/call/start', { start })
    await expect(200, '/call/end', { end: endOf(start.id, { output: textOf(500) }) })
    remember(start.id)
  }

  async function writeManyCalls(step: number): Promise<void> {
    const large = step % 5 === 0
    const batch = Array.from({ length: large ? 200 : 20 }, () =>
      completeOf({ inputs: { question: textOf(large ? 4_000 : 1_000) }, output: { answer: textOf(200) } }),
    )
    await expect(200, `/v2/${project}/calls/complete`, { batch })
    for (const { id } of batch.slice(0, 5)) remember(id)
  }

  async function writeAround(step: number): Promise<void> {
    const svc_ref = `weave:///${project}/call/${someCall()}`
    const payload = { value: step, note: textOf(200) }
    await expect(200, '/feedback/create', { project_id: project, svc_ref, feedback_type: 'thumbs', payload })
    const obj = { project_id: project, object_id: `prompt${step % 50}`, val: { text: textOf(300) } }
    await expect(200, '/obj/create', { obj })
    const rows = Array.from({ length: 10 }, (_, n) => ({ n, text: textOf(100) }))
    await expect(200, '/table/create', { table: { project_id: project, rows } })
  }

  async function query(step: number): Promise<void> {
    const sort_by = [{ field: 'started_at', direction: step % 2 === 0 ? 'desc' : 'asc' }]
    const lookup = { $expr: { $eq: [{ $getField: 'inputs.question' }, { $literal: textOf(20) }] } }
    await expect(200, '/calls/stream_query', { project_id: project, limit: 50, sort_by })
    await expect(200, '/calls/stream_query', { project_id: project, limit: 5, query: lookup })
    await expect(200, '/calls/query_stats', { project_id: project })
    await expect(200, '/feedback/query', { project_id: project, limit: 20 })
    await server.post('/call/read', { project_id: project, id: someCall() }).then((answer) => answer.text())
  }

  async function askConstrained(step: number): Promise<void> {
    // Most schemas repeat; some are new each time.
    const name = step % 30 === 0 ? `field${step}` : `field${step % 4}`
    const schema = {
      type: 'object',
      properties: { [name]: { enum: ['yes', 'no', step % 3] } },
      required: [name],
    }
    const response_format = { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } }
    const { status, text } = await server.ask({
      max_tokens: 60,
      response_format,
      logprobs: true,
      top_logprobs: 3,
    })
    assert.equal(status, 200, text)
  }

  /** Disconnects within a body, within an answer, and before an answer. */
  async function leave(step: number): Promise<void> {
    const body = {
      batch: Array.from({ length: 20 }, () => completeOf({ inputs: { question: textOf(4_000) } })),
    }
    const sender = await rawPost(server.address, `/v2/${project}/calls/complete`, body, { heldBack: 1_000 })
    sender.socket.destroy()
    const reader = await rawPost(server.address, '/calls/stream_query', { project_id: project, limit: 500 })
    if (step % 2 === 0) await reader.begun()
    reader.socket.destroy()
    await Promise.all([sender, reader].map(({ socket }) => socket.closed || once(socket, 'close')))
  }

  async function beRefused(): Promise<void> {
    await expect(400, '/call/start', '{"start": ')
    await expect(422, '/call/start', { start: { project_id: project } })
    await expect(403, '/call/read', { project_id: 'globex/qa', id: someCall() })
    await expect(404, '/call/read', { project_id: project, id: randomUUID() })
    await expect(400, '/v1/chat/completions', { messages: [] })
    await expect(400, '/v1/chat/completions', {
      messages: [{ role: 'user', content: 'Hi' }],
      chat_template: `{{ unknown.${textOf(20).replaceAll('-', '')}.field }}{% if %}`,
    })
  }

  const steps = [
    writeOneCall,
    (step: number) => askOne(server, step),
    writeManyCalls,
    query,
    askConstrained,
    writeAround,
    leave,
    (step: number) => askOne(server, step),
    beRefused,
  ]
  return (step) => (steps[step % steps.length] as (typeof steps)[number])(Math.floor(step / steps.length))
}
