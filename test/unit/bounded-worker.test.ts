import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from '../../src/domain/refusals.ts'
import { createBoundedWorker } from '../../src/threads/bounded-worker.ts'

test('a worker that does not start in time is ended, and the request is refused because the machine is busy', async () => {
  let ended = 0
  const neverReady = () => ({
    ask: () => assert.fail('the worker was asked before it was ready'),
    cpuMs: async () => 0,
    hold: () => {},
    end: async () => ended++,
  })
  const bounds = { limitMs: 60_000, maxMs: 60_000, startMs: 1, idleMs: 1 }
  const worker = createBoundedWorker<string, string>(neverReady, bounds)
  for (const started of [1, 2]) {
    await assert.rejects(worker.ask('a'), (error) => {
      assert.ok(error instanceof Refusal)
      assert.deepEqual([error.code, error.status], ['too_busy', 503])
      assert.match(String(error.cause), /a worker did not start within 1 ms/)
      return true
    })
    assert.equal(ended, started)
  }
  await worker.close(new Error('over'))
})
