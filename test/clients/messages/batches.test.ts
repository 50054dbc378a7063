import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import Anthropic1 from '@anthropic-ai/sdk'
import Anthropic0 from 'anthropic-0'
import { keys, openApp } from '../../support/app.ts'
import { type Script, scriptedBackend, scriptOf } from '../../support/scripted-backend.ts'
import { until } from '../../support/wait.ts'

const versions = {
  '@anthropic-ai/sdk 1': Anthropic1,
  '@anthropic-ai/sdk 0': Anthropic0 as unknown as typeof Anthropic1,
}

const request = (custom_id: string, fields: object = {}) => ({
  custom_id,
  params: {
    ...{ model: 'scripted', max_tokens: 16, ...fields },
    messages: [{ role: 'user' as const, content: custom_id }],
  },
})

/** Answers nothing that is to be answered never. */
const script: Script = async function* (asked, signal) {
  if (JSON.stringify(asked.prompt).includes('never'))
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
  yield* scriptOf('Hel', 'lo')(asked, signal)
}

for (const [version, Anthropic] of Object.entries(versions)) {
  describe(version, () => {
    test('batches: created, polled, read, cancelled, listed and deleted', async (t) => {
      const { app } = await openApp(t, { backend: scriptedBackend(script), sweep: true })
      const baseURL = await app.listen({ host: '127.0.0.1', port: 0 })
      const { batches } = new Anthropic({ baseURL, apiKey: keys.alice, maxRetries: 0 }).messages
      const endOf = async (id: string) => {
        await until('it has ended', async () => (await batches.retrieve(id)).processing_status === 'ended')
        return batches.retrieve(id)
      }

      const made = await batches.create({
        requests: [request('first'), request('second'), request('third', { model: 'absent' })],
      })
      assert.equal(made.request_counts.processing, 3)
      const { request_counts, results_url } = await endOf(made.id)
      assert.deepEqual([request_counts.succeeded, request_counts.errored], [2, 1])
      assert.equal(results_url, `${baseURL}/v1/messages/batches/${made.id}/results`)
      const results: string[] = []
      for await (const { custom_id, result } of await batches.results(made.id)) {
        if (result.type === 'succeeded') {
          const [block] = result.message.content
          results.push(`${custom_id}: ${block?.type === 'text' && block.text}`)
        } else if (result.type === 'errored') results.push(`${custom_id}: ${result.error.error.type}`)
      }
      assert.deepEqual(results, ['first: Hello', 'second: Hello', 'third: not_found_error'])

      const { id: running } = await batches.create({ requests: [request('never')] })
      await assert.rejects(batches.delete(running), Anthropic.BadRequestError)
      await assert.rejects(batches.results(running), /results_url/)
      assert.equal((await batches.cancel(running)).processing_status, 'canceling')
      assert.equal((await endOf(running)).request_counts.canceled, 1)
      for await (const { result } of await batches.results(running)) assert.equal(result.type, 'canceled')

      const { id: last } = await batches.create({ requests: [request('last')] })
      const listed: string[] = []
      for await (const { id } of batches.list({ limit: 1 })) listed.push(id)
      assert.deepEqual(listed, [last, running, made.id])
      const later: string[] = []
      for await (const { id } of batches.list({ limit: 1, before_id: made.id })) later.push(id)
      assert.deepEqual(later, [running, last])
      await endOf(last)
      for (const id of listed)
        assert.deepEqual(await batches.delete(id), { id, type: 'message_batch_deleted' })
      assert.deepEqual((await batches.list()).data, [])
      await assert.rejects(batches.retrieve(last), Anthropic.NotFoundError)
      await assert.rejects(
        batches.create({ requests: [request('a'), request('a')] }),
        /requests\.1\.custom_id/,
      )
    })

    test('batches of the beta', async (t) => {
      const { app } = await openApp(t, { backend: scriptedBackend(script), sweep: true })
      const baseURL = await app.listen({ host: '127.0.0.1', port: 0 })
      const { batches } = new Anthropic({ baseURL, apiKey: keys.alice, maxRetries: 0 }).beta.messages
      const { id } = await batches.create({ requests: [request('first')] })
      await until('it has ended', async () => (await batches.retrieve(id)).processing_status === 'ended')
      for await (const { result } of await batches.results(id)) assert.equal(result.type, 'succeeded')
      assert.equal((await batches.list({ limit: 1 })).data[0]?.id, id)
      assert.deepEqual(await batches.delete(id), { id, type: 'message_batch_deleted' })
    })
  })
}
