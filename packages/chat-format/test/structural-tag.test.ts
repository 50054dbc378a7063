import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { writeGbnf } from '../../../test/support/gbnf.ts'
import { createGbnfMatcher } from '../../../test/support/gbnf-matcher.ts'
import { seededRandom } from '../../../test/support/seeded-random.ts'
import { schemaTexts, structuralTags } from '../../../test/support/structural-tags.ts'
import { loadXGrammar } from '../../../test/support/xgrammar.ts'
import {
  BudgetExceededError,
  ConstraintError,
  createBudget,
  type Expr,
  type Grammar,
  wholeMatch,
} from '../../constraints/index.ts'
import { structuralTagGrammar } from '../grammar/structural-tag.ts'

function plainSchema(schema: unknown, into: Grammar, prefix: string): Expr {
  const type = typeof schema === 'object' && schema !== null ? Reflect.get(schema, 'type') : undefined
  return wholeMatch(
    schemaTexts.get(type) ?? assert.fail(`no schema ${type}`),
    prefix,
    into.rules,
    createBudget(400_000),
  )
}

function gbnfOf(tag: unknown): string {
  return writeGbnf(structuralTagGrammar(tag, plainSchema, createBudget(400_000)))
}

describe('a structural tag as a grammar', () => {
  const oracle = loadXGrammar()

  for (const { name, tag, yes, no } of structuralTags) {
    it(`enforces ${name}`, async () => {
      const matcher = createGbnfMatcher(gbnfOf(tag))
      for (const text of yes) assert.equal(matcher.accepts(text), true, text)
      for (const text of no) assert.equal(matcher.accepts(text), false, text)
      assert.ok(matcher.widest <= 8, `${matcher.widest} positions`)
    })

    it(`enforces ${name} given as text`, () => {
      assert.equal(gbnfOf(JSON.stringify(tag)), gbnfOf(tag))
    })
  }

  it('means the same as in XGrammar', async () => {
    let compared = 0
    for (const { name, tag, yes, no } of structuralTags) {
      if ('structures' in Object(tag) || name.includes('inside of another')) continue
      const theirs = await oracle.structuralTag(withTypes(tag))
      const matcher = createGbnfMatcher(gbnfOf(tag))
      const random = seededRandom(3)
      const sampled = Array.from({ length: 20 }, () => matcher.sample(random, 30))
      const ascii = [...yes, ...no, ...sampled].filter((text) => !/[^\n -~]/.test(text))
      for (const text of ascii) {
        compared++
        assert.equal(await theirs.accepts(text), matcher.accepts(text), `${name}: ${JSON.stringify(text)}`)
      }
      theirs.close()
    }
    assert.ok(compared > 100, `${compared} texts compared`)
  })

  const tag = { begin: '<a>', content: { type: 'any_text' }, end: '</a>' }
  it('accepts what XGrammar writes for members that bind nothing', () => {
    const written = {
      type: 'triggered_tags',
      triggers: ['<a>'],
      tags: [tag],
      excludes: [],
      at_least_one: null,
    }
    const plain = { type: 'triggered_tags', triggers: ['<a>'], tags: [tag] }
    assert.equal(gbnfOf({ format: written }), gbnfOf({ format: plain }))
    const schema = { type: 'json_schema', json_schema: { type: 'integer' } }
    assert.equal(gbnfOf({ format: { ...schema, style: 'json' } }), gbnfOf({ format: schema }))
  })

  const refused: [tag: unknown, kind: ConstraintError['fault'], place: string, why: RegExp][] = [
    ['{', 'invalid', '', /^it is not JSON/],
    [[], 'invalid', '', /^an object is expected$/],
    [{}, 'invalid', '/format', /^an object is expected$/],
    [{ structures: [], triggers: ['<'] }, 'invalid', '/structures', /at least one entry/],
    [
      { structures: [{ begin: '<', schema: {}, end: '>' }], triggers: [] },
      'invalid',
      '/triggers',
      /at least one entry/,
    ],
    [
      { structures: [{ begin: 1, schema: {}, end: '>' }], triggers: ['<'] },
      'invalid',
      '/structures/0/begin',
      /a text is expected/,
    ],
    [
      { format: { type: 'qwen_xml_parameter' } },
      'unsupported',
      '/format/type',
      /"qwen_xml_parameter" is not supported; accepted: const_string/,
    ],
    [
      { format: { type: 'sequence', elements: [{ type: 'regex', pattern: '(a)\\1' }] } },
      'unsupported',
      '/format/elements/0/pattern',
      /back-reference/,
    ],
    [
      { format: { type: 'grammar', grammar: 'root ::= x' } },
      'invalid',
      '/format/grammar',
      /there is no rule x/,
    ],
    [
      { format: { type: 'triggered_tags', triggers: ['<b>'], tags: [tag] } },
      'invalid',
      '/format/tags/0/begin',
      /begins with none of the triggers/,
    ],
    [
      { format: { type: 'triggered_tags', triggers: [''], tags: [tag] } },
      'invalid',
      '/format/triggers/0',
      /at least one character/,
    ],
    [
      { format: { type: 'triggered_tags', triggers: ['<'], tags: [tag], at_least_one: 1 } },
      'invalid',
      '',
      /at_least_one must be true or false/,
    ],
    [{ format: { type: 'tag', ...tag, end: 'x\0' } }, 'invalid', '/format/end', /an answer cannot have/],
    [
      { format: { type: 'tag', ...tag, end: 'x'.repeat(1001) } },
      'unsupported',
      '/format/end',
      /1001 characters/,
    ],
    [
      { format: { type: 'sequence', elements: [{ type: 'any_text', excludes: ['<'] }] } },
      'unsupported',
      '/format/elements/0/excludes',
      /^a member that is not supported; accepted: type$/,
    ],
    [
      { structures: [{ begin: '<', schema: {}, end: '>', at_most: 1 }], triggers: ['<'] },
      'unsupported',
      '/structures/0/at_most',
      /accepted: begin, schema, end$/,
    ],
    [nested(40), 'unsupported', `/format${'/elements/0'.repeat(32)}`, /more than 32 deep/],
  ]
  for (const [given, kind, place, why] of refused) {
    it(`refuses ${JSON.stringify(given).slice(0, 70)}`, () => {
      assert.throws(
        () => gbnfOf(given),
        (error) => {
          assert.ok(error instanceof ConstraintError, String(error))
          assert.deepEqual([error.fault, error.path], [kind, place])
          assert.match(error.why, why)
          return true
        },
      )
    })
  }

  it('means the same in both forms', () => {
    const [structures, triggered] = structuralTags
    assert.equal(gbnfOf(structures?.tag), gbnfOf(triggered?.tag))
  })

  it('has one budget for all its parts', () => {
    const pattern = (at: number) => `(a|b)*a(a|b){10}${at}`
    const elements = Array.from({ length: 500 }, (_, at) => ({ type: 'regex', pattern: pattern(at) }))
    assert.doesNotThrow(() => gbnfOf({ format: { type: 'or', elements: elements.slice(0, 1) } }))
    assert.throws(() => gbnfOf({ format: { type: 'or', elements } }), BudgetExceededError)
  })

  it('refuses too many triggers', () => {
    const triggers = Array.from({ length: 100 }, (_, at) => `<${'x'.repeat(20)}${at}`)
    const tags = triggers.map((begin) => ({ ...tag, begin }))
    assert.throws(() => gbnfOf({ format: { type: 'triggered_tags', triggers, tags } }), {
      fault: 'too_large',
    })
  })
})

function nested(depth: number): unknown {
  let format: unknown = { type: 'any_text' }
  for (let level = 0; level < depth; level++) format = { type: 'sequence', elements: [format] }
  return { format }
}

/** XGrammar requires the type of every tag. */
function withTypes(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withTypes)
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withTypes(inner)]))
  if ('format' in fields) return { type: 'structural_tag', ...fields }
  return 'begin' in fields ? { type: 'tag', ...fields } : fields
}
