import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { JsonText } from '../../src/domain/json/text.ts'
import { callValues } from '../../src/operations/scorers/call-values.ts'
import { runCheck } from '../../src/operations/scorers/check.ts'
import type { Check } from '../../src/operations/scorers/contract.ts'
import { createSchemaChecks } from '../../src/schemas/checks.ts'

const schemas = createSchemaChecks()
after(() => schemas.close())

const usage = { a: { prompt_tokens: 3, completion_tokens: 4 }, b: { total_tokens: 5 } }

function outcome(check: Check, output: string, costs?: string) {
  const call = {
    output: new JsonText(output),
    exception: null,
    summary: new JsonText(JSON.stringify({ usage })),
  }
  const values = callValues(call, { text: 'output.text' })
  return runCheck(check, { schemas, tenant: 'alice', values, costs: async () => costs, latencyMs: 1_500 })
}

const passes = async (check: Check, output: string) => {
  const result = await outcome(check, output)
  assert.ok('score' in result, JSON.stringify(result))
  return result.score.passed
}

test('a schema looks at a value, or at the JSON that a text holds', async () => {
  const schema = { type: 'object', required: ['a'] }
  assert.deepEqual(await outcome({ kind: 'json_schema', schema }, '{"a":1}'), { score: { passed: true } })
  assert.deepEqual(await outcome({ kind: 'json_schema', schema }, '{}'), {
    score: { passed: false, why: "must have required property 'a'" },
  })
  const parse = true
  assert.equal(await passes({ kind: 'json_schema', schema, parse }, '"{\\"a\\":1}"'), true)
  assert.deepEqual(await outcome({ kind: 'json_schema', schema, parse }, '"{"'), {
    score: { passed: false, why: 'the text is not JSON' },
  })
})

test('a pattern is found anywhere, or nowhere where it is negated', async () => {
  const regex = { kind: 'regex', pattern: '\\d{3}' } as const
  assert.equal(await passes(regex, '"call 911 now"'), true)
  assert.equal(await passes(regex, '"call me"'), false)
  assert.equal(await passes({ ...regex, negate: true }, '"call me"'), true)
  assert.equal(await passes({ ...regex, field: 'text' }, '{"text":"123"}'), true)
})

test('a pattern without end is stopped and fails', async () => {
  const result = await outcome(
    { kind: 'regex', pattern: '^(\\w+\\s?)*$' },
    JSON.stringify(`${'word '.repeat(40)}!`),
  )
  assert.deepEqual(
    [('state' in result && result.state) || '', ('reason' in result && result.reason) || ''],
    ['failed', 'check_too_costly'],
  )
})

test('texts: any, all and none of them together', async () => {
  const contains = { kind: 'contains', any_of: ['yes', 'sure'], none_of: ['no'] } as const
  const check = (fields: object): Check => ({
    ...contains,
    any_of: [...contains.any_of],
    none_of: ['no'],
    ...fields,
  })
  assert.equal(await passes(check({}), '"yes"'), true)
  assert.equal(await passes(check({}), '"YES"'), false)
  assert.equal(await passes(check({ ignore_case: true }), '"YES"'), true)
  assert.equal(await passes(check({}), '"yes and no"'), false)
  assert.equal(await passes({ kind: 'contains', all_of: ['a', 'b'] }, '"ab"'), true)
  assert.equal(await passes({ kind: 'contains', all_of: ['a', 'b'] }, '"a"'), false)
})

test('lengths: characters of a text, entries of a list', async () => {
  const length = async (output: string) => {
    const result = await outcome({ kind: 'length', min: 2, max: 3 }, output)
    return 'score' in result ? result.score : result
  }
  assert.deepEqual(await length('"😀😀"'), { passed: true, length: 2 })
  assert.deepEqual(await length('"a"'), { passed: false, length: 1 })
  assert.deepEqual(await length('[1,2,3,4]'), { passed: false, length: 4 })
  assert.deepEqual(await length('[]'), { passed: false, length: 0 })
})

test('time, tokens and cost of a call', async () => {
  const score = async (check: Check, costs?: string) => {
    const result = await outcome(check, '1', costs)
    return 'score' in result ? result.score : result.reason
  }
  assert.deepEqual(await score({ kind: 'latency', max_ms: 1_500 }), { passed: true, latency_ms: 1_500 })
  assert.deepEqual(await score({ kind: 'latency', max_ms: 1_499 }), { passed: false, latency_ms: 1_500 })
  assert.deepEqual(await score({ kind: 'tokens', max: 12 }), { passed: true, tokens: 12 })
  assert.deepEqual(await score({ kind: 'tokens', max: 11 }), { passed: false, tokens: 12 })
  const costs = '{"a":{"prompt_tokens_total_cost":0.25,"completion_tokens_total_cost":0.5,"total_tokens":7}}'
  assert.deepEqual(await score({ kind: 'cost', max: 0.5 }, costs), { passed: false, cost: 0.75 })
  assert.equal(await score({ kind: 'cost', max: 0.5 }), 'no_price')
})

test('where the call has nothing there is no score', async () => {
  for (const check of [
    { kind: 'regex', pattern: 'a', field: 'text' },
    { kind: 'length', max: 3, field: 'exception' },
    { kind: 'contains', any_of: ['a'], field: 'output.other' },
    { kind: 'json_schema', schema: {}, field: 'inputs.q' },
  ] satisfies Check[]) {
    const result = await outcome(check, '{}')
    assert.equal('reason' in result && result.reason, 'field_missing', JSON.stringify(check))
  }
})
