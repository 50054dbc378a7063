import assert from 'node:assert/strict'
import { test } from 'node:test'
import { metricsOf } from '../../../src/operations/generation/request-metrics.ts'
import { openApp } from '../../support/app.ts'
import { asking, chatUrl, eventsOf } from '../../support/chat.ts'
import { type Script, scriptedBackend, scriptOf } from '../../support/scripted-backend.ts'

const settings = { HEDDLE_REQUEST_METRICS: 'on' }

/** As an engine does for which the request waited. */
const waited: Script = async function* (request, signal) {
  for await (const turn of scriptOf('Hel', 'lo')(request, signal)) {
    yield 'kind' in turn && turn.kind === 'prefilled' ? { ...turn, queuedMs: 0.25 } : turn
  }
}

test('the metrics of an answer are those of its times', () => {
  assert.deepEqual(metricsOf({ queued: 100, first: 350, last: 850, tokens: 12 }, 2), {
    queue_time_ms: 100,
    time_to_first_token_ms: 250,
    generation_time_ms: 500,
    mean_itl_ms: 100,
    tokens_per_second: 20,
  })
  const unknown = { queue_time_ms: null, mean_itl_ms: null, tokens_per_second: null }
  const single = { ...unknown, time_to_first_token_ms: 9, generation_time_ms: 0 }
  assert.deepEqual(metricsOf({ first: 9, last: 9, tokens: 1 }, 1), single)
  const none = { ...unknown, time_to_first_token_ms: null, generation_time_ms: null }
  assert.deepEqual(metricsOf({ tokens: 0 }, 1), none)
})

test('HEDDLE_REQUEST_METRICS adds metrics to whole answers and to the last chunk of streams', async (t) => {
  const { post } = await openApp(t, { backend: scriptedBackend(waited), settings })
  const completions = { prompt: 'Hello', n: 2 }
  for (const [url, body] of [
    [chatUrl, asking({ n: 2 })],
    ['/v1/completions', completions],
  ] as const) {
    const { metrics } = (await post(url, body)).json
    assert.equal(metrics.queue_time_ms, 0.25)
    assert.ok(metrics.time_to_first_token_ms >= 0 && metrics.generation_time_ms >= 0)
    for (const stream_options of [undefined, { include_usage: true }]) {
      const { text } = await post(url, { ...body, stream: true, stream_options })
      const { chunks } = eventsOf(text)
      const last = chunks.pop()
      assert.deepEqual(Object.keys(last?.metrics ?? {}), Object.keys(metrics), url)
      assert.ok(chunks.every((chunk) => !('metrics' in chunk)))
    }
  }
})

test('without the setting there are none', async (t) => {
  const { post } = await openApp(t, { backend: scriptedBackend(waited) })
  assert.equal('metrics' in (await post(chatUrl, asking({}))).json, false)
  const { text } = await post(chatUrl, asking({ stream: true, stream_options: { include_usage: true } }))
  assert.ok(eventsOf(text).chunks.every((chunk) => !('metrics' in chunk)))
})
