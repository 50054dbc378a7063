import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Constraint } from '../../../packages/chat-format/index.ts'
import { createConstraintCompiler } from '../../../src/inference/constraints/compile.ts'
import { createCompiledCache, createCompiling } from '../../../src/inference/constraints/compiling.ts'

const slow = new URL('./slow-compiling-process.ts', import.meta.url)

const question = (constraint: Constraint, whitespace: 'none' | 'bounded' = 'bounded') => ({
  constraint,
  options: { whitespace },
  field: 'x',
})

test('a tenant that uses a constraint again does not wait while others have new ones compiled', async (t) => {
  const compiling = createCompiling({ entry: slow, workers: 1, limitMs: 600_000, maxMs: 600_000 })
  t.after(() => compiling.close())
  const own = question({ kind: 'json_object' })
  const first = await compiling.compile('light', own)
  // From now on the only compiling process is busy and never ends.
  const endless = assert.rejects(compiling.compile('heavy', question({ kind: 'regex', regex: 'a' })), {
    code: 'stopping',
  })
  assert.deepEqual(await compiling.compile('light', own), first)
  const others = assert.rejects(compiling.compile('other', own), { code: 'stopping' })
  await compiling.close()
  await Promise.all([endless, others])
})

const compiler = createConstraintCompiler()
const compiledOf = (constraint: Constraint) => compiler.compile(constraint, { whitespace: 'bounded' }, 'x')

test('the cache of a tenant is bounded, and other tenants evict nothing of it', () => {
  const lately = createCompiledCache()
  const asked = Array.from({ length: 40 }, (_, n) =>
    question({ kind: 'choice', choices: [`choice ${n}`] } as const),
  )
  const keys = asked.map((one) => lately.keyOf(one) ?? assert.fail())
  const [first] = keys as [string]
  lately.set('light', first, compiledOf({ kind: 'choice', choices: ['mine'] }))
  for (const [n, key] of keys.entries())
    lately.set('heavy', key, compiledOf(asked[n]?.constraint ?? assert.fail()))
  assert.ok(lately.get('light', first))
  const kept = keys.filter((key) => lately.get('heavy', key) !== undefined)
  assert.deepEqual(kept, keys.slice(-kept.length), 'the latest ones are kept')
  assert.ok(kept.length > 0 && kept.length < keys.length)
  assert.equal(lately.get('nobody', first), undefined)
})

test('constraints that differ have different keys, and large ones have none', () => {
  const { keyOf } = createCompiledCache()
  const asked = question({ kind: 'json', schema: { type: 'string' } })
  assert.equal(keyOf(asked), keyOf({ ...asked, field: 'y' }), 'the field of the request makes no difference')
  assert.notEqual(keyOf(asked), keyOf({ ...asked, options: { whitespace: 'none' } }))
  assert.notEqual(keyOf(asked), keyOf(question({ kind: 'json', schema: { type: 'number' } })))
  const wide = { enum: Array.from({ length: 10_000 }, (_, n) => n) }
  const deep = Array.from({ length: 100 }).reduce<object>((items) => ({ items }), {})
  for (const schema of [wide, deep])
    assert.equal(typeof keyOf(question({ kind: 'json', schema })), 'undefined')
  assert.equal(typeof keyOf(question({ kind: 'regex', regex: 'a'.repeat(1_000_000) })), 'undefined')
})
