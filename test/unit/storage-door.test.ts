import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const operations = join(import.meta.dirname, '../../src/operations')

const files = readdirSync(operations, { recursive: true, encoding: 'utf8' }).filter((file) =>
  file.endsWith('.ts'),
)

test('operations pass values to storage: none of them contains SQL or depends on a storage engine', () => {
  assert.ok(files.length > 50)
  for (const file of files) {
    const text = readFileSync(join(operations, file), 'utf8')
    assert.doesNotMatch(text, /from '[^']*storage\/(sql|engines)\//, file)
    assert.doesNotMatch(text, /\b(SELECT|INSERT INTO|UPDATE \w+ SET|DELETE FROM|ORDER BY)\b/, file)
  }
})
