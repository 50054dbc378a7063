import assert from 'node:assert/strict'
import { test } from 'node:test'
import { JsonText } from '../../src/domain/json/text.ts'
import { annotationSpecOf } from '../../src/operations/objects/annotation-spec.ts'

test('an annotation spec waits for its check with the specs of its entity, whatever their project', async () => {
  const asked: unknown[] = []
  const schemas = {
    async check(...given: unknown[]) {
      asked.push(given)
      return { kind: 'valid' as const }
    },
    close: async () => undefined,
  }
  const spec = new JsonText('{"field_schema":{"minimum":1.0}}')
  for (const project of ['acme/qa', 'acme/prod', 'globex/qa']) {
    await annotationSpecOf(schemas, project, spec, ['obj', 'val'])
  }
  assert.deepEqual(asked, [
    ['acme', '{"minimum":1.0}'],
    ['acme', '{"minimum":1.0}'],
    ['globex', '{"minimum":1.0}'],
  ])
})
