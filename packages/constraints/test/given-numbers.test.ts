import assert from 'node:assert/strict'
import { it } from 'node:test'
import { parseLossless } from '../../json/index.ts'
import { compile, SchemaError } from '../index.ts'
import { createGrammarMatcher } from './grammar-matcher.ts'

function matcherOf(source: string) {
  const schema = parseLossless(source)
  return createGrammarMatcher(compile({ kind: 'json', schema }, { whitespace: 'none' }).grammar)
}

const table: [source: string, accepted: string[], refused: string[]][] = [
  ['{"type":"string","maxLength":2.0}', ['"ab"'], ['"abc"']],
  ['{"type":"array","minItems":1.0,"maxItems":1e0}', ['[1]'], ['[]', '[1,1]']],
  ['{"not":{"minLength":2.0},"type":"string"}', ['"a"'], ['"ab"']],
  ['{"const":-2.0}', ['-2.0', '-2'], ['2.0', '-2.00', '-20']],
  ['{"enum":[1e2,1.50]}', ['1e2', '100', '1.50', '1.5'], ['1', '15']],
  ['{"enum":[[1.0],{"a":2.0}]}', ['[1.0]', '[1]', '{"a":2}'], ['[2]']],
  ['{"const":1e300}', ['1e300'], ['1', '10']],
  [
    '{"$ref":"http://json-schema.org/draft-03/schema#"}',
    [
      '{"type":"string","minimum":1,"exclusiveMinimum":true}',
      '{"type":["string","null"],"enum":[1,2]}',
      '{"properties":{"a":{"required":true}}}',
    ],
    ['{"exclusiveMinimum":true}', '{"type":["a","a"]}', '{"enum":[1,1]}', '{"required":["a"]}'],
  ],
]

for (const [source, accepted, refused] of table) {
  it(source, () => {
    const matcher = matcherOf(source)
    for (const text of accepted) assert.ok(matcher.accepts(text), text)
    for (const text of refused) assert.ok(!matcher.accepts(text), text)
  })
}

it('a count that is not a whole number is refused', () => {
  assert.throws(
    () => matcherOf('{"maxLength":2.5}'),
    (error) => error instanceof SchemaError && error.keyword === 'maxLength',
  )
})
