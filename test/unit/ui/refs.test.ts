import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callRef, objectRef, parseRef as parseOfServer } from '../../../src/domain/refs.ts'
import { callRefOf, objectRefOf, parseRef } from '../../../ui/value/ref.ts'

const call = '019a9c1e-7a00-7000-8000-000000000001'

for (const project of [
  'acme/qa',
  'acme/über',
  'acme/my  first project',
  'acme/a+b@c',
  'acme/a%2Fb',
  '50%/of',
]) {
  test(`the page writes and reads refs in ${project} like the server`, () => {
    assert.equal(callRefOf(project, call), callRef('weave', project, call))
    assert.equal(objectRefOf(project, 'my set', 'v2'), objectRef('weave', project, 'object', 'my set', 'v2'))
    for (const ref of [callRefOf(project, call), objectRefOf(project, 'my set', 'v2')]) {
      assert.equal(parseRef(ref)?.project, project)
      assert.equal(parseOfServer(ref)?.project, project)
    }
    assert.deepEqual(parseRef(objectRefOf(project, 'my set', 'v2')), {
      project,
      kind: 'object',
      name: 'my set',
      version: 'v2',
    })
  })
}

test('a text of megabytes that begins like a reference is not one', () => {
  for (const part of ['a ', 'a', ' ', '/']) {
    assert.equal(parseRef(`weave:///acme/a${part.repeat(4_000_000 / part.length)}/call/${call}`), undefined)
  }
})
