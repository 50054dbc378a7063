import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import OpenAI6, { toFile } from 'openai'
import OpenAI7 from 'openai-7'
import { until } from '../../support/wait.ts'
import { startChat } from './server.ts'

/** OpenAI's unmodified SDK: the newest for Node 22 and the one before it. */
const versions = { 'openai 6': OpenAI6, 'openai 7': OpenAI7 as unknown as typeof OpenAI6 }

const lines = (count: number) =>
  Array.from({ length: count }, (_, at) =>
    JSON.stringify({
      custom_id: `${at}`,
      method: 'POST',
      url: '/v1/chat/completions',
      body: { model: 'scripted', messages: [{ role: 'user', content: `Question ${at}` }] },
    }),
  ).join('\n')

const asked = { endpoint: '/v1/chat/completions', completion_window: '24h' } as const

for (const [name, OpenAI] of Object.entries(versions)) {
  describe(`${name}: batches and files`, () => {
    test('files are created, listed, read and deleted', async (t) => {
      const { baseURL, apiKey } = await startChat(t)
      const { files } = new OpenAI({ baseURL, apiKey, maxRetries: 0 })
      const made: string[] = []
      for (let at = 0; at < 3; at++) {
        const file = await files.create({
          file: await toFile(Buffer.from(lines(1)), `in-${at}.jsonl`),
          purpose: 'batch',
          expires_after: { anchor: 'created_at', seconds: 3_600 },
        })
        assert.deepEqual([file.status, file.filename], ['processed', `in-${at}.jsonl`])
        assert.equal(file.expires_at, file.created_at + 3_600)
        made.push(file.id)
      }
      const listed: string[] = []
      for await (const { id } of files.list({ limit: 2, order: 'asc', purpose: 'batch' })) listed.push(id)
      assert.deepEqual(listed, made)
      const [first = ''] = made
      assert.deepEqual(await files.waitForProcessing(first), await files.retrieve(first))
      assert.equal(await (await files.content(first)).text(), lines(1))
      assert.deepEqual(await files.delete(first), { id: first, object: 'file', deleted: true })
      await assert.rejects(files.retrieve(first), OpenAI.NotFoundError)
      const trained = { file: await toFile(Buffer.from('x'), 'x'), purpose: 'fine-tune' } as const
      await assert.rejects(files.create(trained), OpenAI.BadRequestError)
    })

    test('a batch is created, polled and read', async (t) => {
      const { baseURL, apiKey } = await startChat(t, undefined, { sweep: true })
      const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 })
      const file = await toFile(Buffer.from(lines(12)), 'in.jsonl')
      const { id: input_file_id } = await client.files.create({ file, purpose: 'batch' })
      const { id } = await client.batches.create({ ...asked, input_file_id, metadata: { night: '1' } })
      await until('it is completed', async () => (await client.batches.retrieve(id)).status === 'completed')
      const batch = await client.batches.retrieve(id)
      assert.deepEqual(batch.request_counts, { total: 12, completed: 12, failed: 0 })
      const text = await (await client.files.content(batch.output_file_id ?? '')).text()
      const answers = text.trim().split('\n')
      assert.equal(answers.length, 12)
      for (const answer of answers)
        assert.equal(JSON.parse(answer).response.body.choices[0].message.content, 'Hello')
      const listed: string[] = []
      for await (const { id } of client.batches.list({ limit: 1 })) listed.push(id)
      assert.deepEqual(listed, [id])
      await assert.rejects(client.batches.cancel(id), OpenAI.ConflictError)
    })

    test('a batch is cancelled', async (t) => {
      // Nothing runs here, so it is still there to be cancelled.
      const { baseURL, apiKey } = await startChat(t)
      const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 })
      const file = await toFile(Buffer.from(lines(2)), 'in.jsonl')
      const { id: input_file_id } = await client.files.create({ file, purpose: 'batch' })
      const { id } = await client.batches.create({ ...asked, input_file_id })
      assert.equal((await client.batches.cancel(id)).status, 'cancelling')
    })
  })
}
