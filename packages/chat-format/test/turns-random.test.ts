import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { callFormats } from '../../../test/support/call-formats.ts'
import { isWhole, tried } from '../../../test/support/campaign-share.ts'
import fc from '../../../test/support/fast-check.ts'
import { createAjvValidator } from '../../../test/support/schemas/ajv-validator.ts'
import { schemas } from '../../../test/support/schemas/generated-schemas.ts'
import { seededRandom } from '../../../test/support/seeded-random.ts'
import { walksOf } from '../../../test/support/turn-walks.ts'
import { ToolSchemaError } from '../grammar/compile-turn.ts'
import type { OfferedTool, TurnConstraint } from '../index.ts'
import { createAnswerReader } from '../index.ts'
import { compiledTurn, followerOf, tool } from './turns.ts'

type Calls = NonNullable<TurnConstraint['calls']>

interface ReadCall {
  name: string
  arguments: string
  isEnded: boolean
}

function readBack(
  text: string,
  { format, tools, isParallel }: Calls,
): { calls: ReadCall[]; content: string } {
  const reader = createAnswerReader({
    thought: 'over',
    calls: { format, tools, newId: String, isParallel },
  })
  const calls: ReadCall[] = []
  let content = ''
  for (const part of [...reader.push(text), ...reader.end()]) {
    if (part.kind === 'content') content += part.text
    if (part.kind === 'call') calls.push({ name: part.name, arguments: '', isEnded: false })
    const call = calls.at(-1)
    if (part.kind === 'arguments' && call) call.arguments += part.text
    if (part.kind === 'callEnd' && call) call.isEnded = true
  }
  return { calls, content }
}

const required = fc.boolean()
const parameters = fc
  .record({
    a: schemas,
    'b-c': schemas,
    d_1: schemas,
    isFirst: required,
    isSecond: required,
    isOpen: required,
  })
  .map(({ isFirst, isSecond, isOpen, ...properties }) => ({
    type: 'object',
    properties,
    required: [...(isFirst ? ['d_1'] : []), ...(isSecond ? ['a'] : [])],
    ...(isOpen ? { additionalProperties: { type: 'string' } } : {}),
  }))

describe('a random call fits its schema and is read back', () => {
  for (const [name, format] of Object.entries(callFormats)) {
    it(name, () => {
      let calls = 0
      fc.assert(
        fc.property(parameters, fc.integer(), (given, seed) => {
          const tools: OfferedTool[] = [tool('look', given), tool('look_up', null)]
          const asked: Calls = { format, tools, choice: 'required', isParallel: true }
          const compiled = compiledOf(asked)
          if (compiled === undefined) return
          const judge = compiled.widened.length > 0 ? () => undefined : createAjvValidator(given)
          const walk = walksOf(compiled.grammar)
          const random = seededRandom(seed)
          const follow = followerOf({ thought: 'over', calls: { ...asked, choice: 'auto' } })
          for (let walks = 0; walks < 5; walks++) {
            const text = walk(random, 60)
            const { length, isComplete } = follow(text)
            assert.equal(text.slice(0, length), text)
            assert.equal(isComplete, true)
            const read = readBack(text, asked)
            assert.ok(read.calls.length > 0, JSON.stringify(text))
            assert.equal(read.content.trim(), '', JSON.stringify(text))
            for (const call of read.calls) {
              calls++
              assert.equal(call.isEnded, true, JSON.stringify(text))
              const value = JSON.parse(call.arguments)
              if (call.name === 'look_up') assert.deepEqual(value, {}, JSON.stringify(text))
              else assert.notEqual(judge(value), false, `${JSON.stringify(text)} as ${call.arguments}`)
            }
          }
        }),
        { ...tried({ share: 6, whole: 30 }, 20_261_122), endOnFailure: true },
      )
      assert.ok(calls > (isWhole ? 30 : 6), `${calls} calls`)
    })
  }
})

describe('a call with one character changed', () => {
  const others = Array.from('z0 "\\}]>{[<,:-\n\udc00é', (character) => character)
  for (const [name, format] of Object.entries(callFormats)) {
    it(`${name}: it is followed to the end only if it still fits its schema`, () => {
      let stopped = 0
      fc.assert(
        fc.property(parameters, fc.integer(), (given, seed) => {
          const tools: OfferedTool[] = [tool('look', given), tool('look_up', null)]
          const asked: Calls = { format, tools, choice: 'required', isParallel: true }
          const compiled = compiledOf(asked)
          if (compiled === undefined) return
          const judge = compiled.widened.length > 0 ? () => undefined : createAjvValidator(given)
          const random = seededRandom(seed)
          const text = walksOf(compiled.grammar)(random, 60)
          const follow = followerOf({ thought: 'over', calls: asked })
          for (let changes = 0; changes < 20; changes++) {
            const characters = Array.from(text)
            const place = Math.floor(random() * characters.length)
            const at = characters.slice(0, place).join('').length
            const other = others[Math.floor(random() * others.length)] as string
            if (characters[place] === other) continue
            const changed = characters.with(place, other).join('')
            const { length, isComplete } = follow(changed)
            // What comes before the change is the beginning of a valid call.
            assert.ok(length >= at, JSON.stringify(changed))
            if (length < changed.length || !isComplete) {
              stopped++
              continue
            }
            for (const call of readBack(changed, asked).calls) {
              const value = JSON.parse(call.arguments)
              if (call.name === 'look') assert.notEqual(judge(value), false, JSON.stringify(changed))
            }
          }
        }),
        { ...tried({ share: 5, whole: 20 }, 20_261_122), endOnFailure: true },
      )
      assert.ok(stopped > (isWhole ? 30 : 8), `${stopped} were stopped`)
    })

    it(`${name}: a wrong letter in the name is masked at that letter`, () => {
      const calls: Calls = { format, tools: [tool('look', null)], choice: 'required', isParallel: false }
      const text = walksOf(compiledTurn({ thought: 'over', calls }).grammar)(seededRandom(1), 0)
      const follow = followerOf({ thought: 'over', calls })
      const begins = text.indexOf('look')
      for (let at = begins; at < begins + 4; at++) {
        assert.equal(follow(`${text.slice(0, at)}z${text.slice(at + 1)}`).length, at)
      }
    })
  }
})

function compiledOf(calls: Calls) {
  try {
    return compiledTurn({ thought: 'over', calls })
  } catch (error) {
    if (error instanceof ToolSchemaError) return undefined
    throw error
  }
}
