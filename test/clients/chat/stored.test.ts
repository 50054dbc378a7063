import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import OpenAI6 from 'openai'
import OpenAI7 from 'openai-7'
import { startChat } from './server.ts'

/** OpenAI's unmodified SDK: the newest for Node 22 and the one before it. */
const versions = { 'openai 6': OpenAI6, 'openai 7': OpenAI7 as unknown as typeof OpenAI6 }

for (const [name, OpenAI] of Object.entries(versions)) {
  describe(`${name}: stored completions`, () => {
    test('are listed, read, changed and deleted', async (t) => {
      const { baseURL, apiKey } = await startChat(t)
      const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 })
      const { completions } = client.chat
      const ids: string[] = []
      for (let run = 0; run < 5; run++) {
        const { id } = await completions.create({
          model: 'scripted',
          store: true,
          metadata: { run: String(run % 2) },
          messages: [
            { role: 'system', content: 'Be brief.' },
            { role: 'user', content: `Question ${run}` },
          ],
        })
        assert.equal((await completions.retrieve(id)).choices[0]?.message.content, 'Hello')
        ids.push(id)
      }
      const listed: string[] = []
      for await (const { id, object } of completions.list({ limit: 2 })) {
        assert.equal(object, 'chat.completion')
        listed.push(id)
      }
      assert.deepEqual(listed, ids)
      const odd = await completions.list({ metadata: { run: '1' }, model: 'scripted', order: 'desc' })
      assert.deepEqual(
        odd.data.map(({ id }) => id),
        [ids[3], ids[1]],
      )
      const [first = ''] = ids
      const contents: (string | null)[] = []
      for await (const message of completions.messages.list(first, { limit: 1 }))
        contents.push(message.content)
      assert.deepEqual(contents, ['Be brief.', 'Question 0'])

      await completions.update(first, { metadata: { run: 'first' } })
      const changed = await completions.list({ metadata: { run: 'first' } })
      assert.deepEqual(
        changed.data.map(({ id }) => id),
        [first],
      )
      // Each one is deleted before the next page is requested.
      for await (const { id } of completions.list({ limit: 2 })) {
        assert.deepEqual(await completions.delete(id), {
          object: 'chat.completion.deleted',
          id,
          deleted: true,
        })
      }
      assert.deepEqual((await completions.list()).data, [])
      await assert.rejects(completions.retrieve(first), OpenAI.NotFoundError)
    })
  })
}
