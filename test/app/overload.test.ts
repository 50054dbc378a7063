// In a process of its own: it replaces the clock of the loop's delay.

import assert from 'node:assert/strict'
import perfHooks from 'node:perf_hooks'
import { mock, test } from 'node:test'

/** How late the event loop appears to be, in milliseconds. */
let delay = 0

// The plugin that watches the loop reads this function when it is loaded.
const { monitorEventLoopDelay } = perfHooks
mock.method(perfHooks, 'monitorEventLoopDelay', (...options: Parameters<typeof monitorEventLoopDelay>) =>
  Object.defineProperty(monitorEventLoopDelay(...options), 'mean', { get: () => (delay + 10) * 1e6 }),
)
const { openApp } = await import('../support/app.ts')
const { openMemoryRecord } = await import('../support/memory-record.ts')
const { whole } = await import('../support/answers.ts')

const overloaded = {
  status: 503,
  body: { reason: 'The server is overloaded; try again shortly.', code: 'too_busy' },
}

for (const [limit, late, sheds] of [
  ['1000', 5000, true],
  ['1000', 1001, true],
  ['1000', 999, false],
  ['100', 999, true],
  ['0', 60_000, false],
] as const) {
  test(`a loop that is ${late} ms late ${sheds ? 'sheds' : 'accepts'} requests when ${limit} ms are allowed`, async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    delay = late
    const { app, get, post } = await openApp(t, {
      // The PostgreSQL client has timers, which would use the mocked clock of this test.
      database: openMemoryRecord(),
      settings: { HEDDLE_MAX_LOOP_DELAY: limit, HEDDLE_DOCS: 'on' },
    })
    const body = { project_id: 'acme/qa', id: 'x' }
    const ask = () => Promise.all([get('/openapi.json'), post('/call/read', body), get('/nothing')])
    const taken = [200, 404, 404]
    assert.deepEqual(
      (await ask()).map(({ status }) => status),
      taken,
    )
    // The plugin measures once a second. Its first value includes the start of the server, which may be slow.
    t.mock.timers.tick(1000)
    assert.deepEqual(
      (await ask()).map(({ status }) => status),
      taken,
    )
    t.mock.timers.tick(1000)
    const answers = await ask()
    if (sheds) {
      for (const answer of answers) {
        assert.deepEqual(whole(answer), overloaded)
        assert.equal(answer.headers['retry-after'], '1')
      }
      assert.deepEqual((await get('/v1/models')).json, {
        error: {
          message: overloaded.body.reason,
          type: 'overloaded_error',
          param: null,
          code: 'too_busy',
        },
      })
    } else {
      assert.deepEqual(
        answers.map(({ status }) => status),
        taken,
      )
    }
    for (const url of ['/health', '/ready']) assert.equal((await app.inject(url)).statusCode, 200, url)
  })
}
