import assert from 'node:assert/strict'
import { test } from 'node:test'
import { JsonText } from '../../src/domain/json/text.ts'
import { annotationSpecOf } from '../../src/operations/objects/annotation-spec.ts'

test('an annotation spec is checked in the queue of the tenant that sent it', async () => {
  const asked: unknown[] = []
  const schemas = {
    async check(...given: unknown[]) {
      asked.push(given)
      return { kind: 'valid' as const }
    },
    close: async () => undefined,
  }
  const spec = new JsonText('{"field_schema":{"minimum":1.0}}')
  for (const tenant of ['alice', 'bob']) await annotationSpecOf(schemas, tenant, spec, ['obj', 'val'])
  assert.deepEqual(asked, [
    ['alice', '{"minimum":1.0}'],
    ['bob', '{"minimum":1.0}'],
  ])
})
