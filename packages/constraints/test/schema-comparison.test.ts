import assert from 'node:assert/strict'
import { it } from 'node:test'
import { gbnfOf } from '../../../test/support/gbnf.ts'
import { createGbnfMatcher } from '../../../test/support/gbnf-matcher.ts'
import { keywordCases } from '../../../test/support/schemas/keyword-cases.ts'
import { pairCases } from '../../../test/support/schemas/pair-cases.ts'
import { realCases } from '../../../test/support/schemas/real-cases.ts'
import { loadXGrammar } from '../../../test/support/xgrammar.ts'
import { compile } from '../index.ts'

/** Keywords that XGrammar enforces as the standard defines them; with others it accepts more values or its process ends. */
const shared = new Set([
  'type',
  'const',
  'enum',
  'items',
  'minItems',
  'maxItems',
  'properties',
  'required',
  'additionalProperties',
  'anyOf',
  '$ref',
  '$defs',
  'title',
  'description',
])

function isShared(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return false
  const { properties, required, items, anyOf, additionalProperties, $defs, $ref } = schema as Record<
    string,
    unknown
  >
  const keys = Object.keys(schema)
  if (!keys.every((key) => shared.has(key))) return false
  if (('enum' in schema || 'const' in schema) && keys.length > 1) return false
  if ((properties !== undefined || required !== undefined) && additionalProperties !== false) return false
  if (typeof $ref === 'string' && !/^#(?:\/\$defs\/\w+)?$/.test($ref)) return false
  const children = [
    ...Object.values(properties ?? {}),
    ...Object.values($defs ?? {}),
    ...(Array.isArray(anyOf) ? anyOf : []),
    ...(items === undefined ? [] : [items]),
    ...(typeof additionalProperties === 'object' ? [additionalProperties] : []),
  ]
  return children.every(isShared)
}

it('agrees with another grammar engine on the schemas that both enforce', async () => {
  const other = loadXGrammar()
  let compared = 0
  for (const { name, schema, valid, invalid } of [...keywordCases, ...pairCases, ...realCases]) {
    if (!isShared(schema) || /[^ -~]/.test(JSON.stringify(schema))) continue
    const theirs = await other.schema(schema)
    const ours = createGbnfMatcher(
      gbnfOf(compile({ kind: 'json', schema }, { whitespace: 'bounded' }).grammar),
    )
    for (const value of [...valid, ...invalid]) {
      const text = JSON.stringify(value)
      if (/[^ -~]/.test(text)) continue
      compared++
      assert.equal(ours.accepts(text), await theirs.accepts(text), `${name}: ${text}`)
    }
    theirs.close()
  }
  assert.ok(compared > 150, `${compared} texts compared`)
})
