import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createConstraintCompiler } from '../../../src/inference/constraints/compile.ts'
import { type CompilingOptions, createCompiling } from '../../../src/inference/constraints/compiling.ts'
import type { CompileQuestion } from '../../../src/inference/constraints/constraint.ts'

const slow = new URL('./slow-compiling-process.ts', import.meta.url)

function question(constraint: CompileQuestion['constraint'], field = 'x'): CompileQuestion {
  return { constraint, options: { whitespace: 'bounded' }, field }
}

function open(t: TestContext, options?: Partial<CompilingOptions>) {
  const compiling = createCompiling(options)
  t.after(() => compiling.close())
  return compiling
}

test('a process compiles like the compiler itself, and its refusals name the field', async (t) => {
  const compiling = open(t)
  const schema = { type: 'object', properties: { b: { type: 'integer' }, a: {} } }
  const asked = [question({ kind: 'json', schema }), question({ kind: 'choice', choices: ['a', 'b'] })]
  const compiler = createConstraintCompiler()
  assert.deepEqual(
    await Promise.all(asked.map((one) => compiling.compile('a', one))),
    asked.map(({ constraint, options, field }) => compiler.compile(constraint, options, field)),
  )
  const flawed = question(
    { kind: 'json', schema: { uniqueItems: true, contains: {} } },
    'structured_outputs.json',
  )
  await assert.rejects(compiling.compile('a', flawed), {
    code: 'schema_unsupported',
    field: 'structured_outputs.json',
    message: /uniqueItems/,
  })
})

test('a compilation that never ends is stopped, and others continue', async (t) => {
  const compiling = open(t, { entry: slow, limitMs: 100 })
  const [endless, next] = await Promise.allSettled([
    compiling.compile('a', question({ kind: 'regex', regex: 'a' }, 'structured_outputs.regex')),
    compiling.compile('a', question({ kind: 'json_object' }, 'response_format')),
  ])
  assert.ok(endless.status === 'rejected')
  assert.deepEqual(
    [endless.reason.code, endless.reason.field],
    ['constraint_too_large', 'structured_outputs.regex'],
  )
  assert.ok(next.status === 'fulfilled')
  assert.equal(next.value.grammar.digest, 'response_format')
})

test('a compilation that takes too much memory ends its process, but neither the server nor the next compilation', async (t) => {
  const compiling = open(t, { entry: slow, heapMb: 48 })
  const grammar = question({ kind: 'grammar', grammar: 'x' }, 'structured_outputs.grammar')
  await assert.rejects(compiling.compile('a', grammar), {
    code: 'constraint_too_large',
    field: 'structured_outputs.grammar',
    message: /48 MB/,
  })
  const { grammar: found } = await compiling.compile('a', question({ kind: 'json_object' }))
  assert.equal(found.digest, 'x')
})

test('a fault of the process fails one request', async (t) => {
  const compiling = open(t, { entry: slow })
  await assert.rejects(
    compiling.compile('a', question({ kind: 'choice', choices: [] })),
    /the process for constraints has ended with 1/,
  )
  const { grammar: found } = await compiling.compile('a', question({ kind: 'json_object' }))
  assert.equal(found.digest, 'x')
})

test('the queue is bounded, and closing it refuses the waiting requests', async (t) => {
  const compiling = open(t, { entry: slow, queuePerTenant: 1, limitMs: 60_000 })
  const endless = assert.rejects(compiling.compile('a', question({ kind: 'regex', regex: 'a' })), {
    code: 'stopping',
  })
  const waiting = assert.rejects(compiling.compile('a', question({ kind: 'json_object' })), {
    code: 'stopping',
  })
  await assert.rejects(compiling.compile('a', question({ kind: 'json_object' })), { code: 'queue_full' })
  await compiling.close()
  await Promise.all([endless, waiting])
  await assert.rejects(compiling.compile('a', question({ kind: 'json_object' })), { code: 'stopping' })
})

test('tenants take turns, and each has a queue of its own', async (t) => {
  const compiling = open(t, { queuePerTenant: 4, workers: 1 })
  const order: string[] = []
  const ask = async (tenant: string) => {
    await compiling.compile(tenant, question({ kind: 'choice', choices: ['a'] }))
    order.push(tenant)
  }
  // The first one starts before the others arrive.
  const asked = ['a', 'a', 'a', 'a', 'a', 'b', 'b', 'c'].map(ask)
  await assert.rejects(ask('a'), { code: 'queue_full' })
  await Promise.all(asked)
  assert.equal(order.join(''), 'abcabaaa')
})

test('an aborted request leaves the queue, and an idle process ends', async (t) => {
  const compiling = open(t, { idleMs: 0 })
  const leaving = new AbortController()
  const [first, left, last] = [undefined, leaving.signal, undefined].map((signal) =>
    compiling.compile('a', question({ kind: 'json_object' }), signal),
  )
  leaving.abort(new Error('left'))
  await assert.rejects(left ?? assert.fail(), /left/)
  assert.deepEqual(await first, await last)
  for (let round = 0; round < 3; round++) {
    await new Promise((resolve) => setTimeout(resolve, 5))
    const choices = [`${round}`]
    assert.ok(await compiling.compile('a', question({ kind: 'choice', choices })), 'a process was started')
  }
})

test('unknown keywords are refused where the server is configured to refuse them', async (t) => {
  const asked = question({ kind: 'json', schema: { type: 'string', requried: true } })
  const { notes } = await open(t).compile('a', asked)
  assert.deepEqual(notes, ['# requried: required?'])
  await assert.rejects(open(t, { unknownKeywords: 'refuse' }).compile('a', asked), {
    code: 'schema_unsupported',
    values: { keyword: 'requried', path: '#', why: 'it is not a keyword that this server knows', field: 'x' },
  })
})
