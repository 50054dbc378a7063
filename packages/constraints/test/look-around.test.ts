import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tried } from '../../../test/support/campaign-share.ts'
import fc from '../../../test/support/fast-check.ts'
import {
  type Automaton,
  accepts,
  automatonOf,
  BudgetExceededError,
  compile,
  createBudget,
  createMatcher,
  type Position,
  RegexError,
} from '../index.ts'
import { regexLanguage } from '../regex/regex.ts'

function languageOf(source: string, search: boolean): Automaton {
  const budget = createBudget(400_000)
  const language = regexLanguage(source, { search, budget })
  return 'automaton' in language ? language.automaton : automatonOf(language.expr, budget)
}

const { source: sources } = fc.letrec<{ source: string }>((tie) => ({
  source: fc.oneof(
    { maxDepth: 3, depthIdentifier: 'look-around' },
    fc.constantFrom(
      'a',
      'b',
      'A',
      '[ab-]',
      '[^a]',
      '.',
      '\\w',
      '\\W',
      '\\s',
      '\\p{Lu}',
      '-',
      '',
      '^',
      '$',
      '\\b',
      '\\B',
    ),
    fc.array(tie('source'), { minLength: 2, maxLength: 4 }).map((pieces) => pieces.join('')),
    fc.array(tie('source'), { minLength: 2, maxLength: 3 }).map((pieces) => `(${pieces.join('|')})`),
    fc
      .tuple(tie('source'), fc.constantFrom('*', '+', '?', '{2}', '{0,2}', '*?'))
      .map(([inner, count]) => `(?:${inner})${count}`),
    fc
      .tuple(fc.constantFrom('?=', '?!', '?<=', '?<!', '?i:', '?s:', '?m:', '?-i:', '?i:'), tie('source'))
      .map(([kind, inner]) => `(${kind}${inner})`),
  ),
}))
// Without ſ: once a group ignores case, the standard library takes ſ for a letter outside of that group, too.
const characters = ['a', 'b', 'A', '-', ' ', '\n', 'Ä', '😀']
/** `(?i:.(|[^a]|a)a)` does not match 😀A in V8, where `.(|[^a]|a)a` with the flag i does: it loses the middle of a pair. */
const misreads = (source: string) => source.includes('?i:') && /\[\^a\]|\\W/.test(source)
const usual = characters.flatMap((first) => ['', first, ...characters.map((second) => first + second)])
const texts = fc.string({ unit: fc.constantFrom(...characters), minLength: 3, maxLength: 7 })

/** Asserts that both agree on each text, and returns how many texts match. */
function matchesIn(language: Automaton, expected: RegExp, texts: readonly string[], name: string): number {
  let matched = 0
  for (const text of texts) {
    const matches = expected.test(text)
    assert.equal(accepts(language, text), matches, `${name}: ${JSON.stringify(text)}`)
    if (matches) matched++
  }
  return matched
}

test('look-around, word boundaries, anchors and group flags mean the same as in the standard library', () => {
  const amount = tried({ share: 100, whole: 400 })
  let compared = 0
  let matched = 0
  let cases = 0
  fc.assert(
    fc.property(
      sources,
      fc.boolean(),
      fc.array(texts, { minLength: 12, maxLength: 12 }),
      (source, search, others) => {
        // Without a prefix, a search would also start in the middle of 😀, where no character begins.
        const expected = new RegExp(search ? `^[^]*?(?:${source})` : `^(?:${source})$`, 'u')
        const known = misreads(source) ? (text: string) => !text.includes('😀') : () => true
        let language: Automaton
        cases++
        try {
          language = languageOf(source, search)
        } catch (error) {
          assert.ok(error instanceof BudgetExceededError, `${source}: ${error}`)
          return
        }
        const read = [...usual, ...others].filter(known)
        compared += read.length
        matched += matchesIn(language, expected, read, `${source} (search: ${search})`)
      },
    ),
    amount,
  )
  const { numRuns } = amount
  assert.ok(compared > 70 * numRuns && cases === numRuns, `${compared} texts compared`)
  assert.ok(matched > compared / 20, `${matched} matched`)
})

/** Without groups that ignore case: in the standard library they affect what is outside of them. The test above has them. */
const bodies = sources.filter((source) => !source.includes('i:'))
/** Patterns that look ahead from the start, as password rules do, with one alternative or several. */
const rules = fc
  .array(
    fc.tuple(
      fc.array(
        fc
          .tuple(fc.constantFrom('?=', '?!'), fc.constantFrom('', '.*', '[^]*', '^', '.{2}'), bodies)
          .map(([kind, before, body]) => `(${kind}${before}${body})`),
        { minLength: 1, maxLength: 3 },
      ),
      fc.constantFrom('.{1,3}', '[^-]{2,}', '\\p{L}{1,4}', '[\\p{L}\\p{N} -]*', '.*', '(?:ab?|-)+', 'a', ''),
      fc.constantFrom('$', '$', ''),
    ),
    { minLength: 1, maxLength: 2 },
  )
  .map((ways) => ways.map(([looks, rest, end]) => `^${looks.join('')}${rest}${end}`).join('|'))

test('look-ahead from the start means the same as in the standard library', () => {
  // A fixed seed, so that the numbers of matches and of refused patterns are always the same.
  const amount = tried({ share: 75, whole: 300 }, 17)
  let compared = 0
  let matched = 0
  const arbitraries = [rules, fc.boolean(), fc.array(texts, { minLength: 12, maxLength: 12 })] as const
  fc.assert(
    fc.property(...arbitraries, (source, search, others) => {
      const expected = new RegExp(search ? source : `^(?:${source})$`, 'u')
      let language: Automaton
      try {
        language = languageOf(source, search)
      } catch (error) {
        assert.ok(error instanceof BudgetExceededError, `${source}: ${error}`)
        return
      }
      compared += usual.length + others.length
      matched += matchesIn(language, expected, [...usual, ...others], `${source} (search: ${search})`)
    }),
    amount,
  )
  assert.ok(compared > 66 * amount.numRuns && matched > compared / 20, `${matched} of ${compared} matched`)
})

const written: [source: string, yes: string[], no: string[]][] = [
  // From zod 4: e-mail addresses and host names.
  [
    "^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$",
    ['ada@example.com', "o'neil+x.y@a-b.co"],
    ['.ada@example.com', 'a..b@example.com', 'ada.@example.com', 'ada@example', ''],
  ],
  // From pydantic: Decimal.
  [
    '^(?!^[-+.]*$)[+-]?0*\\d*\\.?\\d*$',
    ['1', '-0.5', '+.5', '007.', '12345678901234567890'],
    ['', '-', '.', '+.', 'e1'],
  ],
  [
    '^(?!^[-+.]*$)[+-]?0*(?:\\d{0,8}|(?=[\\d.]{1,11}0*$)\\d{0,8}\\.\\d{0,2}0*$)',
    ['12.50', '-1', 'x'],
    ['-', ''],
  ],
  ['^(?=.*[a-z])(?=.*[A-Z])(?=.*\\d).{8,}$', ['abcDEF12'], ['abcdef12', 'abcDEFgh', 'aB1']],
  [
    '^(?=.*[A-Z])(?=.*\\d)(?=.*[^A-Za-z0-9]).{8,64}$',
    ['Abcdef1-', `A1 ${'é'.repeat(61)}`],
    ['abcdef1-', 'Abcdefg-', 'Abcdefg1', 'Ab1-', `A1-${'x'.repeat(62)}`, 'Abcdef\n1-'],
  ],
  [
    '^(?=.*[a-z])(?=.*[A-Z])(?=.*\\d)(?=.*[^\\w\\s])(?!.*\\s).{8,128}$',
    ['abCD12!?', `aB3€${'x'.repeat(124)}`],
    ['abCD12__', 'abCD 12!', 'ABCD12!?', `aB3€${'x'.repeat(125)}`],
  ],
  [
    '^\\p{L}[\\p{L}\\p{N}_ -]{0,100}$',
    ['Z', 'Łódź 2-b_c', '名前', `é${'٣'.repeat(100)}`],
    ['', '1a', '-', 'a!', `é${'٣'.repeat(101)}`],
  ],
  ["^[\\p{L}\\p{M}' -]{1,60}$", ["O'Neil", 'नमस्ते', 'é'.repeat(60)], ['', 'R2', 'é'.repeat(61)]],
  ['^(?=.*[A-Za-z])(?=.*\\d)[A-Za-z\\d]{8,20}$', ['abcd1234'], ['abcdefgh', '12345678', 'abc1', 'abcd 1234']],
  ['^(?!-)[A-Za-z0-9-]{1,63}(?<!-)$', ['a', 'a-b', `a${'-'.repeat(61)}b`], ['-a', 'a-', '', 'x'.repeat(64)]],
  [
    '^P(?!$)(\\d+Y)?(\\d+M)?(\\d+D)?(T(?=\\d)(\\d+H)?(\\d+M)?(\\d+S)?)?$',
    ['P1Y', 'PT5M', 'P1DT1H'],
    ['P', 'PT', 'P1DT'],
  ],
  ['^((?!secret).)*$', ['', 'open', 'secre'], ['a secret', 'secrets']],
  ['^(?:(?!--)[a-z-])+$', ['a-b'], ['a--b']],
  ['\\bword\\b', ['word', 'a word.', '-word-'], ['swords', 'words', '']],
  ['^(?i:yes|no)$', ['YES', 'No', 'yes', 'yeſ'], ['Yess']],
  ['^(?i:\\w[^s])$', ['ſa', 'KK'], ['aſ', '-a']],
  ['^(?!(?:con|aux)$)\\w+$', ['cons', 'c'], ['con', 'aux']],
]
for (const [source, yes, no] of written) {
  test(`${source} is enforced`, () => {
    const { grammar } = compile(
      { kind: 'json', schema: { type: 'string', pattern: source } },
      { whitespace: 'none' },
    )
    const language = languageOf(source, true)
    const following = createMatcher(grammar, { withoutMarks: true, spend() {} })
    for (const [texts, expected] of [
      [yes, true],
      [no, false],
    ] as const) {
      for (const text of texts) {
        assert.equal(accepts(language, text), expected, text)
        let at: Position | undefined = following.start
        for (const character of JSON.stringify(text)) {
          at = at && following.after(at, character.codePointAt(0) ?? 0)
        }
        assert.equal(at?.isComplete ?? false, expected, `${text} in JSON`)
      }
    }
  })
}

test('a pattern that is not regular or too large is refused with the reason', () => {
  assert.throws(
    () => languageOf('(?=(a))\\1', true),
    (error) => error instanceof RegexError && /back-reference/.test(error.why),
  )
  assert.throws(
    () => languageOf('(?=a)'.repeat(33), true),
    (error) => error instanceof RegexError && /more than 32 assertions/.test(error.why),
  )
  assert.throws(() => languageOf('(?=(.*a.{9}){9}$)(?=(.*b.{8}){9}$).*', true), BudgetExceededError)
})
