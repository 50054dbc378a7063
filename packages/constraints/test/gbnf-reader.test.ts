import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { writeGbnf } from '../../../test/support/gbnf.ts'
import { createGbnfMatcher } from '../../../test/support/gbnf-matcher.ts'
import { regexes } from '../../../test/support/regexes.ts'
import {
  BudgetExceededError,
  ConstraintError,
  createBudget,
  givenGrammar as readGrammar,
  regexGrammar,
} from '../index.ts'

const sql = `
# A few statements.
root ::= select_statement ";"?
select_statement ::=
  "SELECT " column (", " column)*
  " FROM " table_name
  ( " WHERE " column " = " number ) ?
column ::= "id"
  | "name"   # in quotes, or not
  | "\\"name\\""
table_name ::= [a-z_] [a-z0-9_]{0,9}
number ::= "-"? [0-9]+
`

const accepted: { text: string; yes: string[]; no: string[] }[] = [
  {
    text: sql,
    yes: ['SELECT id FROM users', 'SELECT "name", id FROM t_1 WHERE id = -12;'],
    no: ['SELECT id', 'SELECT x FROM users', 'SELECT id FROM 1', 'SELECT id FROM abcdefghijk'],
  },
  { text: 'root ::= a_b a-b\na_b ::= "x"\na-b ::= "y"', yes: ['xy'], no: ['xx', 'yy'] },
  { text: 'root ::= "" | "a"', yes: ['', 'a'], no: ['b'] },
  { text: 'root ::= ("a"? "b"?)*', yes: ['', 'ab', 'ba', 'bbaa'], no: ['c'] },
  { text: 'root ::= "a"{2,5000}', yes: ['aa', 'a'.repeat(5000)], no: ['a', 'a'.repeat(5001)] },
  {
    text: 'root ::= (("a" | "b"){2} ","){50,60}',
    yes: ['ab,'.repeat(50)],
    no: ['ab,'.repeat(49), 'ab,'.repeat(61)],
  },
  {
    text: 'root ::= [^"\\\\\\x00-\\x1F\\]] . "\\t\\x41\\u00e9\\U0001F600"',
    yes: ['x\n\tAé😀'],
    no: ['"\n\tAé😀', ']\n\tAé😀'],
  },
  { text: 'root ::= [+\\-*/^-] [a-]', yes: ['+a', '--', '^a', '/-'], no: ['.a', '+b'] },
  { text: 'root ::= "[" (root ("," root)*)? "]"', yes: ['[]', '[[],[[]]]'], no: ['[', '[[]', '[,]'] },
]

const refused: [text: string, kind: ConstraintError['fault'], why: RegExp][] = [
  ['', 'invalid', /^it is empty$/],
  ['  \n', 'invalid', /^it is empty$/],
  [
    '?start: "a"',
    'unsupported',
    /^it has no rule with ::=; grammars are read as GBNF, and Lark is not supported$/,
  ],
  ['root ::= x', 'invalid', /^there is no rule x$/],
  ['start ::= "a"', 'invalid', /^there is no rule named root$/],
  ['root ::= "a"\nroot ::= "b"', 'invalid', /^the rule root is defined twice$/],
  ['root ::= "a', 'invalid', /^line 1, column 12: a closing quote is missing$/],
  ['root ::= "a"\nx ::= ("b"', 'invalid', /^line 2, column 11: a closing parenthesis is missing$/],
  ['root ::= [a', 'invalid', /closing bracket/],
  ['root ::= [z-a]', 'invalid', /wrong way round/],
  ['root ::= "\\q"', 'invalid', /there is no escape \\q/],
  ['root ::= "\\x4"', 'invalid', /there is no escape \\x/],
  ['root ::= "\\x00"', 'invalid', /NUL is not a valid character/],
  ['root ::= "\\U00110000"', 'invalid', /U00110000 is not a valid character/],
  ['root ::= "a"{x}', 'invalid', /a count must be/],
  ['root ::= "a"{3,2}', 'invalid', /wrong way round/],
  ['root ::= "a"{1000000}', 'unsupported', /a count is at most 100000/],
  ['root ::= "a" }', 'invalid', /"}" is not expected here/],
  ['root ::= <think> "a"', 'unsupported', /tokens in a grammar/],
  ['root ::= !<[12]>', 'unsupported', /tokens in a grammar/],
  [`root ::= ${'('.repeat(20_000)}"a"${')'.repeat(20_000)}`, 'unsupported', /more than 100 deep/],
  [`root ::= "${'a'.repeat(300_000)}"`, 'unsupported', /at most 262144 are accepted/],
  [`root ::= ${'.'.repeat(100_000)}`, 'unsupported', /more than 20000 parts/],
  [`root ::= ${'"a"|'.repeat(40_000)}"b"`, 'unsupported', /more than 20000 alternatives/],
  [
    Array.from({ length: 6000 }, (_, at) => `r${at} ::= "a"`).join('\n'),
    'unsupported',
    /more than 5000 rules/,
  ],
]

const givenGrammar = (text: string) => readGrammar(text, createBudget(400_000))

describe('a grammar of a request', () => {
  for (const { text, yes, no } of accepted) {
    it(`accepts the texts of ${text.trim().slice(0, 60).replaceAll('\n', '↵')}`, () => {
      const matcher = createGbnfMatcher(writeGbnf(givenGrammar(text)))
      for (const input of yes) assert.equal(matcher.accepts(input), true, input)
      for (const input of no) assert.equal(matcher.accepts(input), false, input)
    })
  }

  for (const [text, kind, why] of refused) {
    it(`refuses ${JSON.stringify(text.slice(0, 40))}`, () => {
      assert.throws(
        () => givenGrammar(text),
        (error) => {
          assert.ok(error instanceof ConstraintError, String(error))
          assert.equal(error.fault, kind)
          assert.match(error.why, why)
          return true
        },
      )
    })
  }

  it('refuses left recursion, endless rules and exponential grammars', () => {
    assert.throws(() => writeGbnf(givenGrammar('root ::= root "a" | "b"')), {
      fault: 'unsupported',
      why: /begins with itself/,
    })
    assert.throws(() => writeGbnf(givenGrammar('root ::= x? y\nx ::= "a"\ny ::= root "c" | "d"')), {
      fault: 'unsupported',
      why: /begins with itself/,
    })
    assert.throws(() => writeGbnf(givenGrammar('root ::= "(" root ")"')), { fault: 'impossible' })
    const doubling = Array.from({ length: 40 }, (_, at) => `x${at} ::= x${at + 1} "a" | x${at + 1} "b"`).join(
      '\n',
    )
    assert.throws(() => writeGbnf(givenGrammar(`root ::= x0\n${doubling}\nx40 ::= "c"`)), {
      fault: 'too_large',
    })
  })

  it('refuses a grammar so ambiguous that every token would be slow', () => {
    const ambiguous = ['root ::= (("a"{0,40}){0,40}){0,40}']
    for (const text of ambiguous) {
      assert.throws(
        () => givenGrammar(text),
        (error) =>
          (error instanceof ConstraintError && error.fault === 'too_large') ||
          error instanceof BudgetExceededError,
        text,
      )
    }
  })

  it('accepts harmless ambiguity', () => {
    const json = String.raw`root ::= object
value ::= object | array | string | number | ("true" | "false" | "null") ws
object ::= "{" ws (string ":" ws value ("," ws string ":" ws value)*)? "}" ws
array ::= "[" ws (value ("," ws value)*)? "]" ws
string ::= "\"" ([^"\\\x7F\x00-\x1F] | "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}))* "\"" ws
number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9] [1-9]{0,15})? ws
ws ::= | " " | "\n" [ \t]{0,20}`
    const matcher = createGbnfMatcher(writeGbnf(givenGrammar(json)))
    assert.equal(matcher.accepts('{"a":[1.5e+12,{"b": null}], "c":"\\u00e9\\n"}\n'), true)
    assert.equal(matcher.accepts('{"a":01}'), false)
    const arithmetic = 'root ::= term ([-+*/] term)*\nterm ::= [0-9]+ | [a-z] [a-z0-9]* | "(" root ")"'
    assert.equal(createGbnfMatcher(writeGbnf(givenGrammar(arithmetic))).accepts('(a+12)*b3/(c)'), true)
    const nested =
      'root ::= x*\nx ::= (y y y y y y y y)*\ny ::= "a"? z z z z z\nz ::= (w | "b")*\nw ::= "c"? "d"? "e"?'
    assert.equal(createGbnfMatcher(writeGbnf(givenGrammar(nested))).accepts('abcdecdab'), true)
    const finite = 'root ::= a a a\na ::= b b b b | "y"\nb ::= c c c c | "x"\nc ::= ("x"? "y"?){0,60}'
    assert.equal(createGbnfMatcher(writeGbnf(givenGrammar(finite))).accepts('xyxxyy'), true)
    const mirrored = 'root ::= "a" root "a" | "b" root "b" | ""'
    assert.equal(createGbnfMatcher(writeGbnf(givenGrammar(mirrored))).accepts('abbbba'), true)
  })

  it('reads the grammars that it writes', () => {
    for (const { source, yes, no } of regexes) {
      const once = writeGbnf(regexGrammar(source))
      const matcher = createGbnfMatcher(writeGbnf(givenGrammar(once)))
      for (const text of yes) assert.equal(matcher.accepts(text), true, `${source}: ${text}`)
      for (const text of no) assert.equal(matcher.accepts(text), false, `${source}: ${text}`)
    }
  })
})
