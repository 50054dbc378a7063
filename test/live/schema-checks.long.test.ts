import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type ChecksOptions, createSchemaChecks, type SchemaChecks } from '../../src/schemas/checks.ts'
import { refusedWith } from '../support/refusals.ts'
import { withTimeout } from '../support/wait.ts'

function open(t: Pick<TestContext, 'after'>, options: Partial<ChecksOptions> = {}): SchemaChecks {
  const checks = createSchemaChecks({ limitMs: 5_000, ...options })
  t.after(() => checks.close())
  return checks
}

const valid = { kind: 'valid' }
const number = '{"type":"number"}'

/** None of these would end within the life of the machine. */
const endless: Record<string, [schema: string, value: string]> = {
  'a pattern that backtracks': ['{"pattern":"^(a+)+$"}', `"${'a'.repeat(100)}!"`],
  'branches that double': [
    JSON.stringify({
      $ref: '#/$defs/l0',
      $defs: Object.fromEntries(
        Array.from({ length: 101 }, (_, n) => {
          const next = { $ref: `#/$defs/l${n + 1}` }
          return [`l${n}`, n === 100 ? {} : { allOf: [next, next] }]
        }),
      ),
    }),
    '1',
  ],
}

for (const [what, [schema, value]] of Object.entries(endless)) {
  test(`${what}: the check is stopped, and the next one runs`, async (t) => {
    const checks = open(t, { limitMs: 300 })
    const [stopped, ...others] = await Promise.all([
      checks.check('a', schema, value),
      checks.check('a', '{}', '1'),
      checks.check('b', '{}', '1'),
    ])
    assert.deepEqual(stopped, { kind: 'over_budget', limit: '300 ms' })
    assert.deepEqual(others, [valid, valid])
  })
}

test('the event loop is free during an endless check', async (t) => {
  const checks = open(t, { limitMs: 60_000 })
  const [schema, value] = endless['a pattern that backtracks'] as [string, string]
  const never = assert.rejects(checks.check('a', schema, value), refusedWith('stopping'))
  for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve))
  await checks.close()
  await never
})

test('a check that needs too much memory is stopped, and the next one runs', async (t) => {
  const checks = open(t, { heapMb: 48, limitMs: 60_000, maxMs: 60_000 })
  const value = `[${'{},'.repeat(3_000_000)}{}]`
  assert.deepEqual(await checks.check('a', '{"type":"array"}', value), {
    kind: 'over_budget',
    limit: '48 MB',
  })
  assert.deepEqual(await checks.check('a', number, '1'), valid)
})

test('a check whose thread dies is repeated in a new thread, unless it was the first check of its thread', async (t) => {
  const checks = open(t, { thread: new URL('./dying-checks-thread.ts', import.meta.url).href })
  const answers = await Promise.allSettled(
    ['a', 'b', 'die', 'c'].map((value) => checks.check('one', '{}', JSON.stringify(value))),
  )
  assert.deepEqual(
    answers.map((answer) => (answer.status === 'fulfilled' ? answer.value.kind : answer.reason.message)),
    ['valid', 'valid', 'it died of "die"', 'valid'],
  )
})

test('tenants take turns', async (t) => {
  const checks = open(t, { workers: 1 })
  const order: string[] = []
  const ask = async (tenant: string) => {
    await checks.check(tenant, number, '1')
    order.push(tenant)
  }
  // The first one runs before the others arrive.
  await Promise.all(['a', 'a', 'a', 'a', 'b', 'b', 'c'].map(ask))
  assert.equal(order.join(''), 'abcabaa')
})

test('a tenant does not wait for the checks of another', async (t) => {
  const checks = open(t, { limitMs: 60_000 })
  const [schema, value] = endless['a pattern that backtracks'] as [string, string]
  const never = Array.from({ length: 5 }, () =>
    assert.rejects(checks.check('a', schema, value), refusedWith('stopping')),
  )
  for (let n = 0; n < 5; n++) {
    assert.deepEqual(
      await withTimeout('the check of another tenant', checks.check('b', number, String(n))),
      valid,
    )
  }
  await checks.close()
  await Promise.all(never)
})

test('a check is stopped by its own processor time, not by that of others', async (t) => {
  const checks = open(t, {
    limitMs: 300,
    thread: new URL('./sleeping-checks-thread.ts', import.meta.url).href,
  })
  assert.deepEqual(await checks.check('a', '{}', '1500'), valid)
  const short = open(t, {
    limitMs: 300,
    maxMs: 500,
    thread: new URL('./sleeping-checks-thread.ts', import.meta.url).href,
  })
  assert.deepEqual(await short.check('a', '{}', '60000'), { kind: 'over_budget', limit: '500 ms' })
})

test('the queue is bounded, for one tenant and for all', async (t) => {
  const checks = open(t, { queuePerTenant: 2, queueTotal: 3 })
  const ask = (tenant: string) => checks.check(tenant, number, '1')
  const taken = [ask('a'), ask('a'), ask('a')]
  await assert.rejects(ask('a'), refusedWith('queue_full'))
  taken.push(ask('b'))
  await assert.rejects(ask('c'), refusedWith('queue_full'))
  assert.deepEqual(
    await Promise.all(taken),
    taken.map(() => valid),
  )
  assert.deepEqual(await ask('a'), valid)
})

test('the idle thread ends, and starts again', async (t) => {
  const checks = open(t, { idleMs: 0 })
  for (let n = 0; n < 3; n++) {
    assert.deepEqual(await checks.check('a', number, '1'), valid)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
})

test('closing refuses waiting and new checks', async (t) => {
  const checks = open(t)
  const waiting = ['a', 'b', 'a'].map((tenant) =>
    assert.rejects(checks.check(tenant, number, '1'), refusedWith('stopping')),
  )
  await withTimeout('closing', checks.close())
  await Promise.all(waiting)
  await assert.rejects(checks.check('a', number, '1'), refusedWith('stopping'))
  await checks.close()
})

test('closing works without any check', async () => {
  await createSchemaChecks().close()
})
