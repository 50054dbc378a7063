import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { plainBodyLimit } from '../../src/http/body-limits.ts'
import { keys, openApp } from '../support/app.ts'
import { project } from '../support/calls.ts'
import { sampled } from '../support/campaign-share.ts'
import { addressOf } from '../support/routes.ts'
import { adminsOnly, methodOf, sampleBodies } from '../support/sample-bodies.ts'

/** The routes that write values of any size. A new route that accepts large bodies must be added here. */
const largeBodies = [
  '/call/start',
  '/call/end',
  '/call/upsert_batch',
  '/v2/:entity/:project/calls/complete',
  '/v2/:entity/:project/call/start',
  '/v2/:entity/:project/call/end',
  '/feedback/create',
  '/feedback/batch/create',
  '/feedback/replace',
  '/obj/create',
  '/table/create',
  '/table/update',
  '/table/create_from_digests',
  '/otel/v1/traces',
  '/v1/traces',
  '/agents/otel/v1/traces',
  '/otel/v1/logs',
  '/v1/logs',
  '/agents/otel/v1/logs',
  '/otel/v1/metrics',
  '/v1/metrics',
  '/agents/otel/v1/metrics',
  '/v2/:entity/:project/ops',
  '/v2/:entity/:project/datasets',
  '/v2/:entity/:project/scorers',
  '/v2/:entity/:project/evaluations',
  '/v2/:entity/:project/models',
  '/v1/messages/batches',
]

/** The routes whose body is padded to exactly the limit; all others of `npm test` get it as short as it is. */
const padded = new Set(sampled(Object.keys(sampleBodies)))

const opened = await openApp({ after })

const forAdmins = new Set([...adminsOnly].map((url) => addressOf({ url })))
/** Sends as a user with access. */
const send: typeof opened.send = (method, url, body) =>
  opened.send(method, url, body, forAdmins.has(url) ? keys.root : keys.alice)

for (const [url, sampleOf] of Object.entries(sampleBodies)) {
  // These need no credentials and accept only a secret: see test/app/page/sessions.test.ts and people/grants.test.ts.
  if (url === '/ui/session' || url === '/invitations/accept') continue
  const isLarge = largeBodies.includes(url)
  test(`${url}: a body of more than 4 MiB is ${isLarge ? 'accepted' : 'refused by its length'}`, async () => {
    const body = JSON.stringify(sampleOf(project))
    const within = padded.has(url) ? body.padEnd(plainBodyLimit) : body
    const exactly = await send(methodOf(url), addressOf({ url }), within)
    assert.notEqual(exactly.status, 413)
    const { status, json } = await send(methodOf(url), addressOf({ url }), body.padEnd(plainBodyLimit + 1))
    if (isLarge) return assert.equal(status, exactly.status)
    const reason = 'The body is larger than 4194304 bytes; send less at once.'
    const code = 'body_too_large'
    const refusal = url.startsWith('/v1/messages')
      ? {
          type: 'error',
          error: { type: 'request_too_large', message: reason, details: { error_code: code } },
          request_id: json.request_id,
        }
      : url.startsWith('/v1/') || /(\/rerank|^\/score|\/v2\/embed|\/infill)$/.test(url)
        ? { error: { message: reason, type: 'invalid_request_error', param: null, code } }
        : url.startsWith('/api/')
          ? { error: reason, code }
          : { reason, code }
    assert.deepEqual([status, json], [413, refusal])
  })
}
