import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { basic, keys, openApp } from '../../support/app.ts'
import { protobufAnswerOf } from '../../support/otlp.ts'

const { app, post } = await openApp({ after })

test('metrics, which exporters send beside spans and logs, are accepted and not kept', async () => {
  const point = { asInt: '1', timeUnixNano: '1767323045000000000' }
  const metric = { name: 'claude_code.session.count', sum: { dataPoints: [point] } }
  const body = { resourceMetrics: [{ resource: {}, scopeMetrics: [{ scope: {}, metrics: [metric] }] }] }
  for (const url of ['/otel/v1/metrics', '/v1/metrics', '/agents/otel/v1/metrics']) {
    const { status, json } = await post(url, body)
    assert.equal(status, 200)
    assert.deepEqual(json, {
      partialSuccess: { rejectedDataPoints: '0', errorMessage: 'metrics are not kept' },
    })
  }
  const headers = { authorization: basic(keys.alice), 'content-type': 'application/x-protobuf' }
  const answer = await app.inject({ method: 'POST', url: '/v1/metrics', headers, payload: Buffer.from([]) })
  assert.equal(answer.statusCode, 200)
  const expected = { partialSuccess: { errorMessage: 'metrics are not kept' } }
  assert.deepEqual(protobufAnswerOf(answer.rawPayload), expected)
  const wrong = await post('/v1/metrics', { resourceMetrics: 7 })
  assert.deepEqual([wrong.status, wrong.json.code], [422, 'invalid_request'])
  assert.equal((await post('/v1/metrics', body, 'wrong')).status, 401)
})
