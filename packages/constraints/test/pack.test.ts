import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from '../../../test/support/fast-check.ts'
import { writeGbnf } from '../../../test/support/gbnf.ts'
import { createGbnfMatcher } from '../../../test/support/gbnf-matcher.ts'
import {
  alternatives,
  ConstraintError,
  charClass,
  type Expr,
  literal,
  never,
  optional,
  repetition,
  rule,
  sequence,
  trieOf,
} from '../index.ts'

function written(root: Expr, others: Record<string, Expr> = {}): string {
  return writeGbnf({ rules: new Map(Object.entries({ root, ...others })) })
}

describe('packing a grammar', () => {
  it('writes literals, classes and rules', () => {
    assert.equal(
      written(sequence(literal('"a\\\n'), charClass([0x61, 0x7a], [0x5d, 0x5e], [0x2d, 0x2d]), rule('x')), {
        x: alternatives(optional(literal('é')), literal('😀b')),
      }),
      'root ::= "\\x22a\\x5C\\x0A" [\\x2D\\x5D-\\x5Ea-z] r2\nr2 ::= "\\u00E9"? | "\\U0001F600b"\n',
    )
  })

  it('leaves out rules that are not reached', () => {
    assert.equal(written(literal('a'), { unused: literal('b') }), 'root ::= "a"\n')
  })

  it('leaves out alternatives that never end', () => {
    const gbnf = written(alternatives(rule('endless'), sequence(literal('x'), rule('some'))), {
      endless: sequence(literal('['), rule('endless'), literal(']')),
      some: alternatives(rule('endless'), literal('y'), sequence(literal('z'), rule('endless'))),
    })
    const matcher = createGbnfMatcher(gbnf)
    assert.equal(matcher.begins('['), false)
    assert.equal(matcher.begins('xz'), false)
    assert.equal(matcher.accepts('xy'), true)
  })

  it('refuses a grammar that never ends', () => {
    for (const root of [
      never,
      sequence(literal('['), rule('root')),
      charClass([0xd800, 0xdfff]),
      literal('\0'),
    ]) {
      assert.throws(() => written(root), { fault: 'impossible' })
    }
  })

  it('refuses a rule that begins with itself', () => {
    const cases: [Expr, Record<string, Expr>][] = [
      [alternatives(sequence(rule('root'), literal('a')), literal('b')), {}],
      [
        alternatives(sequence(optional(literal('a')), rule('x')), literal('b')),
        { x: alternatives(sequence(rule('y'), rule('root')), literal('c')), y: repetition(literal('d'), 0) },
      ],
    ]
    for (const [root, others] of cases)
      assert.throws(() => written(root, others), { fault: 'unsupported', why: /begins with itself/ })
  })

  it('leaves out characters that an output cannot have', () => {
    const matcher = createGbnfMatcher(written(charClass([0, 0x10ffff])))
    for (const text of ['\u0001', '\ud7ff', '\ue000', '\u{10ffff}']) assert.equal(matcher.accepts(text), true)
    for (const text of ['\0', '\ud800', '\udfff']) assert.equal(matcher.accepts(text), false)
  })

  const counts: [min: number, max: number | undefined][] = [
    [0, 255],
    [0, 256],
    [0, 257],
    [1, 512],
    [255, 257],
    [300, 300],
    [0, 2001],
    [2001, undefined],
    [1000, 5000],
    [0, 70_000],
  ]
  for (const [min, max] of counts) {
    it(`counts from ${min} to ${max ?? 'any number'} exactly`, () => {
      const gbnf = written(sequence(repetition(charClass([0x61, 0x62]), min, max), literal('.')))
      const matcher = createGbnfMatcher(gbnf)
      const accepts = (times: number) => matcher.accepts(`${'ab'.repeat(times).slice(0, times)}.`)
      for (const times of new Set([
        0,
        1,
        min - 1,
        min,
        min + 1,
        256,
        511,
        512,
        max ?? 3000,
        (max ?? 3000) + 1,
      ])) {
        if (times >= 0) assert.equal(accepts(times), times >= min && times <= (max ?? Infinity), `${times}`)
      }
      // However large the count, only few positions have to be followed.
      assert.ok(matcher.widest <= 12, `${matcher.widest} positions`)
    })
  }

  it('counts repetitions of repetitions', () => {
    const row = sequence(repetition(charClass([0x30, 0x39]), 1, 100), literal(';'))
    const matcher = createGbnfMatcher(written(repetition(row, 2, 300)))
    assert.equal(matcher.accepts('12;'.repeat(300)), true)
    assert.equal(matcher.accepts('12;'.repeat(301)), false)
    assert.equal(matcher.accepts('12;'), false)
    assert.equal(matcher.accepts(`${'1'.repeat(101)};2;`), false)
  })

  it('shares the common prefixes of texts', () => {
    const texts = Array.from({ length: 3000 }, (_, at) => `country-${at}`)
    const matcher = createGbnfMatcher(written(trieOf(texts)))
    assert.equal(matcher.accepts('country-2999'), true)
    assert.equal(matcher.accepts('country-3000'), false)
    assert.equal(matcher.accepts('country-'), false)
    assert.ok(matcher.widest <= 11, `${matcher.widest} positions`)
  })

  it('refuses a grammar that would make every token slow', () => {
    const ways = Array.from({ length: 3000 }, (_, at) => sequence(charClass([0x61, 0x7a]), literal(`${at}`)))
    assert.throws(() => written(alternatives(...ways)), { fault: 'too_large' })
    const doubling = Object.fromEntries(
      Array.from({ length: 40 }, (_, at) => [
        `x${at}`,
        alternatives(sequence(rule(`x${at + 1}`), literal('a')), sequence(rule(`x${at + 1}`), literal('b'))),
      ]),
    )
    assert.throws(() => written(rule('x0'), { ...doubling, x40: literal('c') }), { fault: 'too_large' })
  })

  it('refuses a grammar that is too large without stalling', () => {
    const of = Array.from({ length: 250_000 }, (_, at) => charClass([at % 90, (at % 90) + 5]))
    assert.throws(() => written({ kind: 'sequence', of }), { fault: 'too_large' })
  })

  it('handles deep nesting', () => {
    const nested = Array.from({ length: 20_000 }).reduce<Expr>(
      (inner) => sequence(literal('('), optional(inner), literal(')')),
      literal('x'),
    )
    const matcher = createGbnfMatcher(written(nested))
    assert.equal(matcher.accepts('((()))'), true)
    assert.equal(matcher.accepts('((())'), false)
  })

  it('accepts the same texts as the expressions that it was made of', () => {
    fc.assert(
      fc.property(
        grammars,
        fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 7 })),
        (rules, texts) => {
          let gbnf: string
          try {
            gbnf = writeGbnf({ rules: new Map(Object.entries(rules)) })
          } catch (error) {
            fc.pre(!(error instanceof ConstraintError && /begins with itself/.test(error.why)))
            assert.ok(error instanceof ConstraintError && error.fault === 'impossible', String(error))
            for (const text of texts) assert.equal(derives(rules, text), false, text)
            return
          }
          const matcher = createGbnfMatcher(gbnf)
          for (const text of ['', 'a', 'b', 'ab', 'ba', 'aab', 'abab', ...texts]) {
            assert.equal(matcher.accepts(text), derives(rules, text), `${JSON.stringify(text)} of\n${gbnf}`)
          }
        },
      ),
      { numRuns: 1500 },
    )
  })
})

const names = ['root', 'x', 'y'] as const
const { expr } = fc.letrec<{ expr: Expr }>((tie) => ({
  expr: fc.oneof(
    { maxDepth: 4, depthIdentifier: 'expr' },
    fc.constantFrom('a', 'b', 'c', 'ab', '').map(literal),
    fc.constantFrom([0x61, 0x62] as const, [0x62, 0x63] as const).map((range) => charClass(range)),
    fc.constantFrom(...names).map(rule),
    fc.array(tie('expr'), { maxLength: 3 }).map((of) => sequence(...of)),
    fc.array(tie('expr'), { maxLength: 3 }).map((of) => alternatives(...of)),
    fc
      .tuple(tie('expr'), fc.nat({ max: 2 }), fc.option(fc.nat({ max: 3 }), { nil: undefined }))
      .map(([of, min, more]) => repetition(of, min, more === undefined ? undefined : min + more)),
  ),
}))
const grammars = fc.record({ root: expr, x: expr, y: expr })

/** The simplest definition: the ends that each part can have from each position, until no new ones are found. */
function derives(rules: Readonly<Record<string, Expr>>, text: string): boolean {
  const known = new Map<string, Set<number>>()
  const endsOf = (name: string, from: number) => known.get(`${name} ${from}`) ?? new Set<number>()
  const after = (of: Expr, positions: ReadonlySet<number>): Set<number> =>
    new Set([...positions].flatMap((position) => [...ends(of, position)]))
  const ends = (of: Expr, from: number): Set<number> => {
    switch (of.kind) {
      case 'literal':
        return new Set(text.startsWith(of.text, from) ? [from + of.text.length] : [])
      case 'class': {
        const code = text.charCodeAt(from)
        return new Set(of.ranges.some(([first, last]) => first <= code && code <= last) ? [from + 1] : [])
      }
      case 'rule':
        return endsOf(of.name, from)
      case 'alternatives':
        return new Set(of.of.flatMap((inner) => [...ends(inner, from)]))
      case 'sequence':
        return of.of.reduce((positions, inner) => after(inner, positions), new Set([from]))
      case 'repetition': {
        let positions = new Set([from])
        const found = new Set(of.min === 0 ? [from] : [])
        for (let time = 1; time <= Math.min(of.max, of.min + text.length + 1); time++) {
          positions = after(of.of, positions)
          if (time >= of.min) for (const position of positions) found.add(position)
        }
        return found
      }
    }
  }
  for (let before = -1, size = 0; before !== size; ) {
    before = size
    size = 0
    for (const [name, of] of Object.entries(rules)) {
      for (let from = 0; from <= text.length; from++) {
        const found = ends(of, from)
        known.set(`${name} ${from}`, found)
        size += found.size
      }
    }
  }
  return endsOf('root', 0).has(text.length)
}
