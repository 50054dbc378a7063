import assert from 'node:assert/strict'
import { test } from 'node:test'
import { passOnRefusal, Refusal, type RefusalCode, refusals, refuse } from '../../src/domain/refusals.ts'

test('a refusal fills its values into the message', () => {
  const refusal = refuse('invalid_value', { field: 'limit', received: 5, accepted: '{given}' })
  assert.ok(refusal instanceof Refusal)
  assert.equal(refusal.message, 'limit: 5; accepted: {given}.')
  assert.equal(refusal.status, 400)
  assert.equal(refusal.code, 'invalid_value')
  assert.equal(refusal.field, 'limit')
  assert.equal(refusal.detail, undefined)
})

test('a refusal that concerns no field names none', () => {
  assert.equal(refuse('too_busy').field, null)
  assert.equal(refuse('body_too_large', { limit: 5 }).field, null)
})

test('a refusal carries the paths that do not fit', () => {
  const detail = [{ loc: ['body', 'a', 0], msg: 'expected string', type: 'invalid_type' }]
  assert.deepEqual(refuse('invalid_request', { origin: 'body', what: 'a' }, detail).detail, detail)
})

test('what a message has in quotes is written as JSON', () => {
  const { message } = refuse('redaction_unset', { project: 'a"\n{why}' })
  assert.equal(message, 'Project "a\\"\\n{why}" has no redaction that could be applied to what is stored.')
})

for (const [code, { status, message, help }] of Object.entries(refusals)) {
  test(`${code}: has a status, and a message and help in whole sentences`, () => {
    assert.ok(status >= 400 && status <= 504)
    assert.match(code, /^[a-z_]+$/)
    assert.match(message, /^[A-Z{a-z].*\.$/)
    assert.match(help, /^[A-Z`].*\.$/)
    const names = [...message.matchAll(/\{"?(\w+)"?\}/g)].map(([, name = '']) => name)
    const filled = passOnRefusal({
      code: code as RefusalCode,
      values: Object.fromEntries(names.map((name) => [name, `<${name}>`])),
    })
    for (const name of names) assert.ok(filled.message.includes(`<${name}>`))
    assert.doesNotMatch(filled.message, /[{}]|undefined/)
  })
}
