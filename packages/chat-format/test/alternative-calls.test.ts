import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { callFormats } from '../../../test/support/call-formats.ts'
import { isWhole, tried } from '../../../test/support/campaign-share.ts'
import fc from '../../../test/support/fast-check.ts'
import { createAjvValidator } from '../../../test/support/schemas/ajv-validator.ts'
import { schemas } from '../../../test/support/schemas/generated-schemas.ts'
import { seededRandom } from '../../../test/support/seeded-random.ts'
import { walksOf } from '../../../test/support/turn-walks.ts'
import { ConstraintError } from '../../constraints/index.ts'
import { ToolSchemaError } from '../grammar/compile-turn.ts'
import type { OfferedTool } from '../index.ts'
import { alternativeSpellings, hermes } from '../index.ts'
import { everyCut, partsOf, type Told, told } from './answer-reading.ts'
import { compiledTurn, followerOf, tool } from './turns.ts'

const weather = tool('get_weather', {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'integer', maximum: 7 } },
  required: ['city'],
})
const now = tool('get_weather_now', null)
const tools = [weather, now]

const asked = (format = hermes, offered: readonly OfferedTool[] = tools) =>
  ({ format, tools: offered, choice: 'auto', isParallel: true }) as const

function readingOf(calls: ReturnType<typeof asked>) {
  const { format, tools: offered } = calls
  return (pieces: readonly string[]): Told =>
    told(partsOf(pieces, { format, tools: offered, second: alternativeSpellings({ calls }) }))
}

const spelled: Record<string, (name: string, given: string) => string> = {
  'bare JSON': (name, given) => `{"name": "${name}", "arguments": ${given}}`,
  'bare JSON without white space': (name, given) => `{"name":"${name}","arguments":${given}}`,
  'parameters instead of arguments': (name, given) => `\n{ "name": "${name}", "parameters": ${given}}`,
  'a fence of JSON': (name, given) => `\`\`\`json\n{"name": "${name}", "arguments": ${given}}`,
  'a tag with the name': (name, given) => `<function=${name}>${given}</function>`,
}

describe('a call in a second spelling at the start of an answer', () => {
  for (const [spelling, write] of Object.entries(spelled)) {
    it(`${spelling}: is a call, however it is cut, and ends the answer`, () => {
      const text = write('get_weather', '{"city": "Oslo", "days": 2}')
      const calls = asked()
      const follow = followerOf({ thought: 'over', calls })
      assert.deepEqual(follow(text), { length: text.length, isComplete: true, isOver: true })
      const read = readingOf(calls)
      const whole = read([text])
      assert.deepEqual(whole.calls, [
        { name: 'get_weather', arguments: '{"city": "Oslo", "days": 2}', isComplete: true },
      ])
      assert.equal(whole.content, '')
      for (const pieces of everyCut(text)) assert.deepEqual(read(pieces), whole)
    })

    it(`${spelling}: is checked against the schema as soon as it is recognised as a call`, () => {
      const follow = followerOf({ thought: 'over', calls: asked() })
      for (const wrong of ['{"city": 1}', '{"town": "Oslo"}', '{"city": "Oslo", "days": 8}', '"{}"', '{}']) {
        const text = write('get_weather', wrong)
        assert.ok(follow(text).length < text.length, text)
      }
    })

    it(`${spelling}: of a tool that was not offered it is content, or masked at its mark`, () => {
      const marked = write('set_weather', '{}')
      if (marked.startsWith('<')) {
        const follow = followerOf({ thought: 'over', calls: asked() })
        assert.equal(follow(marked).length, marked.indexOf('set_weather'))
        return
      }
      const text = `${write('set_weather', '{"city": 1}')} and so on`
      assert.equal(followerOf({ thought: 'over', calls: asked() })(text).isComplete, true)
      const read = readingOf(asked())
      for (const pieces of everyCut(text)) {
        assert.deepEqual(read(pieces), { reasoning: '', content: text, calls: [] })
      }
    })

    it(`${spelling}: is content after other text`, () => {
      const text = `So: ${write('get_weather', '{"city": 1}').trim()}`
      assert.equal(followerOf({ thought: 'over', calls: asked() })(text).isComplete, true)
      assert.equal(readingOf(asked())([text]).content, text)
    })

    it(`${spelling}: is an incomplete call when it is cut off`, () => {
      const text = write('get_weather', '{"city": "Os')
      const begun = text.slice(0, text.indexOf('Os') + 2)
      assert.deepEqual(readingOf(asked())([begun]).calls, [
        { name: 'get_weather', arguments: '{"city": "Os', isComplete: false },
      ])
    })

    it(`${spelling}: is a call after a thought, too`, () => {
      const reasoning = {
        open: '<think>',
        close: '</think>',
        switches: { on: {}, off: {} },
        isDefault: true,
      }
      const text = `<think>I call.</think>\n\n${write('get_weather', '{"city": "Oslo"}')}`
      const calls = asked()
      const follow = followerOf({ thought: 'optional', reasoning, calls })
      assert.equal(follow(text).isOver, true)
      const parts = partsOf([text], {
        reasoning,
        thought: 'optional',
        format: hermes,
        tools,
        second: alternativeSpellings({ calls }),
      })
      assert.equal(told(parts).calls[0]?.name, 'get_weather')
    })

    it(`${spelling}: is masked where a call is required, and is text where JSON was requested`, () => {
      const text = write('get_weather', '{"city": "Oslo"}')
      const follow = followerOf({ thought: 'over', calls: { ...asked(), choice: 'required' } })
      assert.ok(follow(text).length < text.length)
      const content = { kind: 'json_object' } as const
      assert.deepEqual(alternativeSpellings({ calls: asked(), content }), [])
      const json = '{"name": "get_weather", "arguments": {"city": 1}}'
      assert.equal(followerOf({ thought: 'over', calls: asked(), content })(json).isComplete, true)
    })
  }

  it('JSON that only resembles a call is content', () => {
    const follow = followerOf({ thought: 'over', calls: asked() })
    const read = readingOf(asked())
    for (const text of [
      '{"name": "Rome", "arguments": {"city": 1}}',
      '{"name": "get_weather", "description": "The weather"}',
      '{"name": "get_weather"}',
      '{"name": "get_weather", ',
      '{"arguments": {"city": 1}, "name": "get_weather"}',
      '[{"name": "get_weather", "arguments": {"city": 1}}]',
      '```json\n{"city": "Oslo"}\n```',
      '```js\n{"name": "get_weather", "arguments": 1}\n```',
      '<functions>get_weather</functions>',
    ]) {
      assert.deepEqual(follow(text), { length: text.length, isComplete: true, isOver: false }, text)
      for (const pieces of everyCut(text)) assert.equal(read(pieces).content, text)
    }
  })

  it('the marker that opens the calls of a turn may be omitted', () => {
    const format = callFormats['tags of XML']
    assert.ok(format)
    const calls = asked(format)
    const text =
      '<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>\n' +
      '<tool_call>\n<function=get_weather_now>\n</function>\n</tool_call>'
    const follow = followerOf({ thought: 'over', calls })
    assert.equal(follow(text).length, text.length)
    assert.ok(follow(text.replace('city', 'town')).length < text.length)
    const read = readingOf(calls)
    for (const pieces of everyCut(text)) {
      assert.deepEqual(
        read(pieces).calls.map(({ name, arguments: given }) => [name, given]),
        [
          ['get_weather', '{"city": "Oslo"}'],
          ['get_weather_now', '{}'],
        ],
      )
    }
  })

  it('a catalogue with very many names has no second spellings', () => {
    const many = Array.from({ length: 200 }, (_, at) => tool(`service_operation_${at}`, null))
    assert.deepEqual(alternativeSpellings({ calls: asked(hermes, many) }), [])
    const text = '{"name": "service_operation_1", "arguments": {"city": 1}}'
    assert.equal(followerOf({ thought: 'over', calls: asked(hermes, many) })(text).isComplete, true)
  })
})

describe('random arguments in a second spelling', () => {
  const parameters = fc
    .record({ a: schemas, 'b-c': schemas, isFirst: fc.boolean() })
    .map(({ isFirst, ...properties }) => ({
      type: 'object',
      properties,
      required: isFirst ? ['a'] : [],
    }))
  const others = Array.from('z0 "\\}]>{[<,:-\né')

  for (const [spelling, write] of Object.entries(spelled)) {
    it(`${spelling}: they fit, and a changed character is masked or still fits`, () => {
      let made = 0
      let stopped = 0
      fc.assert(
        fc.property(
          parameters,
          fc.integer(),
          fc.constantFrom(...Object.values(callFormats)),
          (given, seed, format) => {
            const offered = [tool('look', given), tool('look_up', null)]
            const calls = asked(format, offered)
            if (
              !alternativeSpellings({ calls }).some(({ opens }) => opens.some((open) => isOpen(open, write)))
            )
              return
            let follow: ReturnType<typeof followerOf>
            let walk: ReturnType<typeof walksOf>
            let widened: readonly string[]
            try {
              const whole = compiledTurn({ thought: 'over', calls })
              widened = whole.widened
              follow = followerOf({ thought: 'over', calls })
              const required = { ...asked(plainJson, offered), choice: { name: 'look' }, isParallel: false }
              walk = walksOf(compiledTurn({ thought: 'over', calls: required }).grammar)
            } catch (error) {
              if (error instanceof ToolSchemaError) return
              // No arguments fit a schema that contradicts itself: there is nothing to write.
              if (error instanceof ConstraintError && error.fault === 'impossible') return
              throw error
            }
            const judge = widened.length > 0 ? () => undefined : createAjvValidator(given)
            const random = seededRandom(seed)
            const text = write('look', walk(random, 40).trimStart().slice('look('.length, -1))
            const read = readingOf(calls)
            assert.deepEqual(follow(text), { length: text.length, isComplete: true, isOver: true }, text)
            const [call] = read([text]).calls
            assert.notEqual(judge(JSON.parse(call?.arguments ?? '')), false, text)
            made++
            for (let changes = 0; changes < 10; changes++) {
              const characters = Array.from(text)
              const other = others[Math.floor(random() * others.length)] as string
              const changed = characters.with(Math.floor(random() * characters.length), other).join('')
              const { length, isComplete } = follow(changed)
              if (length < changed.length || !isComplete) {
                stopped++
                continue
              }
              for (const { name, arguments: say } of read([changed]).calls) {
                if (name === 'look') assert.notEqual(judge(JSON.parse(say)), false, changed)
              }
            }
          },
        ),
        { ...tried({ share: 20, whole: 60 }, 20_261_122), endOnFailure: true },
      )
      assert.ok(made > (isWhole ? 10 : 3), `${made} made`)
      assert.ok(stopped > (isWhole ? 10 : 3), `${stopped} stopped`)
    })
  }
})

/** A format with nothing but the name and the arguments. */
const plainJson = {
  open: [],
  mid: ['('],
  arguments: { kind: 'json', isQuoted: false },
  close: [')'],
  ids: 'any',
  isAnchored: false,
} as const

function isOpen(open: string, write: (name: string, given: string) => string): boolean {
  return write('', '').replaceAll(/\s/g, '').startsWith(open.replaceAll(/\s/g, ''))
}
