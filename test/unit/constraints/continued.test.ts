import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Constraint } from '../../../packages/chat-format/index.ts'
import type { ConstraintOptions } from '../../../packages/constraints/index.ts'
import { type Allowance, createConstraints } from '../../../packages/constraints/index.ts'
import { EngineError, loadInProcess } from '../../../packages/engine/index.ts'
import { createConstraintCompiler } from '../../../src/inference/constraints/compile.ts'
import { listedVocabulary } from '../../support/listed-vocabulary.ts'
import { worldSchemas } from '../../support/schemas/world-schemas.ts'

const { constraintOf } = await loadInProcess()

const compiler = createConstraintCompiler()
/** A token for each byte, and an end token. */
const eos = 256
const vocabulary = listedVocabulary({
  tokens: [...Array.from({ length: 256 }, (_, byte) => [byte]), '<end>'],
  eos,
})
const constraints = createConstraints(vocabulary)
const bounded: ConstraintOptions = { whitespace: 'bounded' }

function behind(constraint: Constraint, text: string, options = bounded): Allowance {
  const { grammar } = compiler.compile(constraint, options, 'schema')
  const isJson = constraint.kind === 'json' || constraint.kind === 'json_object'
  const continued = { text, field: 'messages.1.content', isJson }
  return constraintOf(constraints, { grammar, field: 'schema', continued }).begin()
}

/** Whether this text is a complete answer. */
function goesOn(allowance: Allowance, text: string): boolean {
  for (const byte of Buffer.from(text)) {
    if (!allowance.allows(byte)) return false
    allowance.accept(byte)
  }
  return allowance.isComplete && allowance.allows(eos)
}

function refusalOf(constraint: Constraint, text: string, options = bounded): EngineError {
  try {
    behind(constraint, text, options)
  } catch (error) {
    if (error instanceof EngineError) return error
    throw error
  }
  throw new Error(`${JSON.stringify(text)} is accepted`)
}

const json = (schema: unknown): Constraint => ({ kind: 'json', schema })
const person = json({
  type: 'object',
  properties: { name: { type: 'string' }, age: { type: 'integer' } },
  required: ['name', 'age'],
})
const set = json({ type: 'array', uniqueItems: true, items: { type: 'integer' } })

const read: [constraint: Constraint, given: string, answers: string[], others: string[]][] = [
  [person, '{"name": "A', ['da", "age": 3}', '", "age": 3}'], ['{"name": "Ada", "age": 3}', 'da"}']],
  [person, '\n\t{\r\n "name"\n:\t"A  b" , "age" :  ', ['3}', ' 3}'], ['"3"}', '}']],
  [person, '{"name": "A", "age": 1', ['}', '2}'], ['.5}']],
  // White space ends a number: digits in the answer would begin another one.
  [person, '{"name": "A", "age": 1 ', ['}'], ['2}', '.5}']],
  [person, '{"name": "A", "age": 1}', [''], ['}', ' ']],
  [person, '{"name": "A", "age": 1} \n ', [''], ['}', ' ']],
  [json({ type: 'integer' }), ' 12 ', [''], ['3']],
  [json({ enum: [true, null, 'x'] }), 't', ['rue'], ['x', '']],
  [json({ type: 'string' }), '"a\\', ['n"', '\\"'], ['"', 'x"']],
  [{ kind: 'json_object' }, '{"a":[1 ,\n2]', ['}', ',"b":1}'], [']']],
  [set, '[1, 12', [']', '3]', ',2]'], [',12]', ',1]']],
  [set, '[1\n,\n 1', ['2]'], [']', ',2]']],
  [set, '[ 1,12 ', [',2]', ']'], ['3]', ',1]']],
  [{ kind: 'regex', regex: ' *[a-c]+é?' }, '  ab', ['', 'c', 'é'], [' ', 'd']],
  [{ kind: 'regex', regex: 'a😀b' }, 'a😀', ['b'], ['', '😀b']],
  [{ kind: 'choice', choices: ['yes', 'yet', 'no'] }, 'ye', ['s', 't'], ['', 'no']],
  [{ kind: 'choice', choices: ['yes'] }, 'yes', [''], ['yes']],
  [
    { kind: 'grammar', grammar: 'root ::= "[" item* "]"\nitem ::= [0-9] " "' },
    '[1 ',
    ['2 ]', ']'],
    [' ]', '2]'],
  ],
]

for (const [constraint, given, answers, others] of read) {
  test(`${JSON.stringify(constraint).slice(0, 60)} continues ${JSON.stringify(given)}`, () => {
    for (const answer of answers) assert.ok(goesOn(behind(constraint, given), answer), answer)
    for (const answer of others) assert.ok(!goesOn(behind(constraint, given), answer), answer)
  })
}

const refused: [constraint: Constraint, given: string, character: string, at: number, accepted: RegExp][] = [
  [person, '{"nome', '"o"', 4, /^"a"$/],
  [person, 'Here it is: {', '"H"', 1, /^"\{"$/],
  [person, '{"name": "A", "age": 1 2', '"2"', 24, /"\}"/],
  [person, '{"name": "A", "age": 1}x', '"x"', 24, /^nothing more$/],
  [json({ enum: [true] }), 'tr ue', '" "', 3, /^"u"$/],
  [set, '[1, 1]', '"]"', 6, /./],
  [set, '[1, 1 ', '" "', 6, /./],
  [{ kind: 'regex', regex: '[a-f]\\d' }, '😀', '"😀"', 1, /^"a" to "f"$/],
  // White space stands for itself where the text is not JSON.
  [{ kind: 'choice', choices: ['yes', 'no'] }, ' yes', '" "', 1, /^"n", "y"$/],
]

for (const [constraint, given, character, at, accepted] of refused) {
  test(`${JSON.stringify(constraint).slice(0, 60)} refuses ${JSON.stringify(given)} at ${at}`, () => {
    const { code, values } = refusalOf(constraint, given)
    assert.equal(code, 'continued_text_unfit')
    assert.deepEqual(
      [values.field, values.constraint, values.received],
      ['messages.1.content', 'schema', character],
    )
    assert.equal(values.at, at)
    assert.match(String(values.accepted), accepted)
  })
}

test('any white space in the given text is read, and the answer writes only what the request allows', () => {
  const given = '{ \n "name" : "A" ,'
  const none = behind(person, given, { whitespace: 'none' })
  assert.ok(goesOn(none, '"age":3}'))
  assert.ok(!goesOn(behind(person, given, { whitespace: 'none' }), ' "age":3}'))
  const pattern: ConstraintOptions = { whitespace: { pattern: '\\n' } }
  assert.ok(goesOn(behind(person, '{\n"name":\n"A"\n,', pattern), '\n"age":\n3\n}'))
})

test('a given text that takes too long to read is refused, and simple grammars read more of it', () => {
  const any: Constraint = { kind: 'regex', regex: 'a*' }
  assert.ok(goesOn(behind(any, 'a'.repeat(150_000)), 'a'))
  assert.equal(refusalOf(any, 'a'.repeat(250_000)).code, 'constraint_too_large')
  const items = Array.from({ length: 3000 }, (_, item) => 100_000 + item).join()
  assert.equal(refusalOf(set, `[${items}`).code, 'constraint_too_large')
})

const schemas = worldSchemas(60, 17)

test('a value may be cut anywhere, and its rest is accepted after the cut, whatever white space the first part has', () => {
  const spaces = fc.array(fc.constantFrom('', ' ', '\n', '\t \r\n  '), { minLength: 1, maxLength: 20 })
  fc.assert(
    fc.property(fc.nat({ max: schemas.length - 1 }), fc.nat(), spaces, (index, cut, between) => {
      const { schema, value } = schemas[index] as (typeof schemas)[number]
      const text = JSON.stringify(value)
      const at = cut % (text.length + 1)
      // Half of a surrogate pair is not the beginning of a text.
      fc.pre(!/[\ud800-\udbff]/.test(text[at - 1] ?? ''))
      const allowance = behind(json(schema), spaced(text.slice(0, at), between))
      assert.ok(goesOn(allowance, text.slice(at)), `${text.slice(0, at)} | ${text.slice(at)}`)
    }),
    { numRuns: 300 },
  )
})

/** The text with white space before and after the punctuation of JSON. */
function spaced(text: string, between: readonly string[]): string {
  let count = 0
  let isInString = false
  let isEscaped = false
  return Array.from(text, (character) => {
    const isMark = !isInString && '{}[]:,'.includes(character)
    if (isInString && !isEscaped && character === '\\') isEscaped = true
    else {
      if (character === '"' && !isEscaped) isInString = !isInString
      isEscaped = false
    }
    const space = () => between[count++ % between.length] ?? ''
    return isMark ? `${space()}${character}${space()}` : character
  }).join('')
}
