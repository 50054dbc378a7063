import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { loadGrammars } from '../../../packages/chat-format/index.ts'
import {
  charClass,
  choiceGrammar,
  createBudget,
  type Expr,
  type Grammar,
  literal,
  givenGrammar as readGrammar,
  regexGrammar,
  repetition,
  sequence,
  wholeMatch,
} from '../../../packages/constraints/index.ts'
import { type EngineGrammars, startEngineGrammars } from '../../support/engine-grammars.ts'
import { writeGbnf } from '../../support/gbnf.ts'
import { createGbnfMatcher } from '../../support/gbnf-matcher.ts'
import { regexes } from '../../support/regexes.ts'
import { seededRandom } from '../../support/seeded-random.ts'
import { schemaTexts, structuralTags } from '../../support/structural-tags.ts'

const givenGrammar = (text: string) => readGrammar(text, createBudget(400_000))

describe('grammars in the engine', () => {
  let engine: EngineGrammars
  before(async () => {
    engine = await startEngineGrammars()
  })
  after(() => engine.close())

  /** Checks that the engine accepts the same texts as our matcher, on which all other tests rely. */
  async function agree(gbnf: string, texts: readonly string[]): Promise<void> {
    const matcher = createGbnfMatcher(gbnf)
    const random = seededRandom(texts.length)
    const sampled = Array.from({ length: 10 }, () => matcher.sample(random))
    const cut = sampled.map((text) => Array.from(text).slice(1).join(''))
    const all = [...texts, ...sampled, ...cut]
    const answer = await engine.ask(gbnf, all)
    assert.deepEqual(
      answer,
      all.map((text) => matcher.accepts(text)),
      `${gbnf}\n${JSON.stringify(all)}`,
    )
  }

  it('regular expressions', async () => {
    for (const { source, yes, no } of regexes) await agree(writeGbnf(regexGrammar(source)), [...yes, ...no])
  })

  it('structural tags', async () => {
    const { structuralTagGrammar } = await loadGrammars()
    for (const { tag, yes, no } of structuralTags) {
      const budget = createBudget(400_000)
      const compileSchema = (schema: unknown, into: Grammar, prefix: string): Expr => {
        const type = Reflect.get(Object(schema), 'type')
        return wholeMatch(
          schemaTexts.get(type) ?? assert.fail(`no schema ${type}`),
          prefix,
          into.rules,
          budget,
        )
      }
      const gbnf = writeGbnf(structuralTagGrammar(tag, compileSchema, budget))
      await agree(gbnf, [...yes, ...no])
    }
  })

  it('choices', async () => {
    await agree(writeGbnf(choiceGrammar(['yes', 'yesterday', 'no', '"', '\\', ']', '^-', 'é😀', ''])), [
      'ye',
      'é',
    ])
    const many = Array.from({ length: 5000 }, (_, at) => `country-${at * 31}`)
    await agree(writeGbnf(choiceGrammar(many)), [many[0] ?? '', many.at(-1) ?? '', 'country-1'])
  })

  it('large counts', async () => {
    for (const [min, max] of [
      [0, 256],
      [3, 2001],
      [2001, 2001],
      [1, 5000],
    ] as const) {
      const gbnf = writeGbnf({
        rules: new Map([['root', sequence(repetition(charClass([0x61, 0x62]), min, max), literal('.'))]]),
      })
      const texts = [0, 1, min, min + 1, max - 1, max, max + 1].map((times) => `${'a'.repeat(times)}.`)
      await agree(gbnf, texts)
    }
  })

  it('characters at every boundary of UTF-8', async () => {
    const points = [1, 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xffff, 0x10000, 0x10ffff]
    const texts = points.map((point) => String.fromCodePoint(point))
    for (const point of points) {
      await agree(writeGbnf({ rules: new Map([['root', charClass([point, point])]]) }), texts)
      await agree(writeGbnf({ rules: new Map([['root', literal(String.fromCodePoint(point))]]) }), texts)
      await agree(writeGbnf({ rules: new Map([['root', charClass([1, point])]]) }), texts)
    }
  })

  it('grammars as clients send them, including those that the engine itself would refuse or misread', async () => {
    const given: [text: string, raw: 'refused' | 'misread' | 'died'][] = [
      ['root ::= ("" | "a" | "b")*', 'refused'],
      ['root ::= (("a" | "b"){2} ","){1000,1200}', 'refused'],
      ['root ::= a_b\na_b ::= "x"', 'refused'],
      ['root ::= "a"{0,3000} "b"', 'misread'],
    ]
    for (const [text, raw] of given) {
      const answer = await engine.ask(text, [`${'a'.repeat(3001)}b`])
      assert.deepEqual(answer, raw === 'misread' ? [true] : raw, text)
      await agree(writeGbnf(givenGrammar(text)), ['', 'a', 'ab', 'aab,'.repeat(1100), `${'a'.repeat(3001)}b`])
    }
  })

  it('nesting that would crash the engine never reaches it', async () => {
    const text = `root ::= ${'('.repeat(20_000)}"a"${')'.repeat(20_000)}`
    assert.equal(await engine.ask(text, []), 'died')
    assert.throws(() => givenGrammar(text), /more than 100 deep/)
    assert.deepEqual(await engine.ask('root ::= "a"', ['a', 'b']), [true, false])
  })
})
