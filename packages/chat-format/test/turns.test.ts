import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { callFormats } from '../../../test/support/call-formats.ts'
import { seededRandom } from '../../../test/support/seeded-random.ts'
import { walksOf } from '../../../test/support/turn-walks.ts'
import { SchemaError } from '../../constraints/index.ts'
import { ToolSchemaError } from '../grammar/compile-turn.ts'
import type { OfferedTool, TurnConstraint } from '../index.ts'
import { type CallFormat, hermes } from '../index.ts'
import { compiledTurn, followerOf, tool } from './turns.ts'

const think = { open: '<think>', close: '</think>', switches: { on: {}, off: {} }, isDefault: true }
const weather = tool('get_weather', {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'integer' } },
  required: ['city'],
})
const clock = tool('get', null)
const tools = [weather, clock]
const call = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Rome"}}\n</tool_call>'

type Calls = NonNullable<TurnConstraint['calls']>

function turn(
  calls: Partial<Calls> = {},
  given: Partial<Omit<TurnConstraint, 'kind' | 'calls'>> = {},
): Omit<TurnConstraint, 'kind'> {
  return {
    thought: 'over',
    calls: { format: hermes, tools, choice: 'auto', isParallel: true, ...calls },
    ...given,
  }
}

/** Asserts that each text is followed to its end and may end there. */
function accepts(of: Omit<TurnConstraint, 'kind'>, ...texts: string[]): void {
  const follow = followerOf(of)
  for (const text of texts) {
    const { length, isComplete } = follow(text)
    assert.equal(text.slice(0, length), text)
    assert.equal(isComplete, true, `${text} may not end`)
  }
}

/** Asserts that each text is accepted up to the bar, and that the character after the bar is refused. */
function stopsAt(of: Omit<TurnConstraint, 'kind'>, ...texts: string[]): void {
  const follow = followerOf(of)
  for (const text of texts) {
    assert.equal(text.split('|').length, 2, text)
    const whole = text.replace('|', '')
    const { length } = follow(whole)
    assert.equal(`${whole.slice(0, length)}|${whole.slice(length)}`, text)
  }
}

describe('content that could begin like a thought', () => {
  const optional = (content: TurnConstraint['content']) => ({
    thought: 'optional' as const,
    reasoning: think,
    ...(content && { content }),
  })
  const behind = '<think>Well.</think>'

  it('must not begin like one at the start of the answer', () => {
    const tag = optional({ kind: 'regex', regex: '\\s*<[^<>\\s]+>' })
    accepts(tag, '<b>', ' \n<thin>', '<thinks>', '<Think>', `${behind}<b>`, `${behind}<think>`)
    const follow = followerOf(tag)
    for (const text of ['<think>', '\n <think>', '\u00a0<think>']) {
      assert.equal(follow(text).isComplete, false, JSON.stringify(text))
    }
    assert.equal(follow('\u00a0<think>').length, '\u00a0<think'.length)
  })

  it('may be anything else that its constraint allows', () => {
    const rest = 'x'.repeat(100)
    for (const [content, said, unsaid] of [
      [
        { kind: 'regex', regex: '[\\s\\S]*' },
        ['', ' ', '<', 'a<think>', `\n\n${rest}`],
        ['<think>', ' <think>'],
      ],
      [{ kind: 'choice', choices: ['<think>', '<think', 'no'] }, ['<think', 'no'], ['<think>']],
      [
        { kind: 'grammar', grammar: 'root ::= a* b?\na ::= [ <]\nb ::= "think>" | "x"' },
        ['', '  <<x', '<<think>'],
        ['<think>', ' <think>'],
      ],
      [{ kind: 'json', schema: { type: 'string' } }, ['"<think>"'], []],
    ] as [TurnConstraint['content'], string[], string[]][]) {
      accepts(optional(content), ...said, ...said.map((text) => `${behind}${text}`))
      for (const text of unsaid) assert.equal(followerOf(optional(content))(text).isComplete, false, text)
    }
  })

  it('must not close a thought that has ended, either', () => {
    const content = { kind: 'regex', regex: '</?[a-z]+>' } as const
    accepts(optional(content), '</b>', `${behind}</b>`, `${behind}<think>`)
    for (const text of ['</think>', `${behind}</think>`]) {
      assert.equal(followerOf(optional(content))(text).isComplete, false, text)
    }
  })
})

describe('a turn that may call tools', () => {
  it('may be any text without the mark that opens calls', () => {
    accepts(
      turn(),
      '',
      'Rome is sunny.',
      'Write <tool_call, tool_call> and {"name": "f"} </tool_call>.',
      '{"name": "unknown", "arguments": 1}',
      '<tool<tool_',
    )
  })

  it('checks a call against the schema of its tool, and continues after it', () => {
    accepts(turn(), call, `Let me look.\n${call}`, `${call}\nDone. ${call}`, call.replaceAll(/\s/g, ''))
    accepts(turn(), '<tool_call>\n{"name": "get", "arguments": {}}\n</tool_call>')
    stopsAt(
      turn(),
      '<tool_call>\n{"name": "get_weather", "arguments": {"city": |1',
      '<tool_call>\n{"name": "get_weather", "|parameters',
      '<tool_call>\n{"name": "get_weather", "arguments": {|}',
      '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Rome"}|\n',
      '<tool_call>\n{"name": "get", "arguments": {|"',
      'So: <tool_call>\n|<tool_call>',
      'So: <tool_call>\n{"name": "get"|}',
      `${call}\n${call.slice(0, -40)}|1`,
    )
  })

  it('has only calls of offered tools: what follows the mark is one of their names', () => {
    stopsAt(
      turn(),
      '<tool_call>| and so on',
      'So <tool_<tool_call>|</tool_call>',
      '<tool_call>\n{"name": "|weather", "arguments": {}}',
      '<tool_call>\n{"name": "get_weather|s"',
      `${call} ${call}\n<tool_call>{"name":"|now"`,
      '<function=|f>{}',
    )
    assert.equal(followerOf(turn())('<tool_call>').isComplete, false)
  })

  it('ends after its first call where calls are not parallel', () => {
    const follow = followerOf(turn({ isParallel: false }))
    assert.deepEqual(follow(`I look. ${call}`), { length: call.length + 8, isComplete: true, isOver: true })
    assert.equal(followerOf(turn())(call).isOver, false)
  })
})

describe('a turn that must call a tool', () => {
  it('contains only calls and white space', () => {
    const required = turn({ choice: 'required' })
    accepts(required, call, `\n\n${call}`, `${call}\n${call}`, `${call}${call}`)
    stopsAt(required, '|I', '<tool_call>\n{"name": "get|s', `${call}\n|I`)
    assert.equal(followerOf(required)('\n').isComplete, false)
  })

  it('contains one call when the tool is named', () => {
    const named = turn({ choice: { name: 'get' } })
    assert.equal(followerOf(named)('<tool_call>{"name":"get","arguments":{}}</tool_call>').isOver, true)
    stopsAt(named, '<tool_call>\n{"name": "get|_weather')
  })

  it('may begin with a thought', () => {
    const optional = turn({ choice: 'required' }, { reasoning: think, thought: 'optional' })
    accepts(optional, call, `<think>\nI have to say "<tool_call>".\n</think>\n\n${call}`)
    stopsAt(optional, '<think>a</think>|b')
    const open = turn({ choice: 'required' }, { reasoning: think, thought: 'open' })
    accepts(open, `I think.</think>${call}`)
    assert.equal(followerOf(open)('I think').isComplete, false)
    accepts(open, call)
    stopsAt(turn({ choice: 'required' }, { reasoning: think, thought: 'over' }), '<t|hink>')
  })
})

describe('thoughts', () => {
  const auto = turn({}, { reasoning: think, thought: 'open' })

  it('end with a marker or with a call', () => {
    accepts(auto, 'I write <tool_call>\n{"name": 1', `a</think>b`, `a</think>\n${call}`, `a${call}b`)
    stopsAt(auto, '</think><tool_call>\n{"name": "get"|:', '<tool_call>\n{"name": "get"|:')
    accepts(auto, 'The mark is <tool_call>, closed by </tool_call>.</think>ok')
    stopsAt(auto, 'a <tool_call>\n{"name": "|weather"', '</think><tool_call>|,')
  })

  it('are recognised only at the start', () => {
    const optional = turn({}, { reasoning: think, thought: 'optional' })
    accepts(optional, `\n<think>hm</think>ok`, `a <think> b`)
  })

  it('may come before constrained content', () => {
    const content = { kind: 'choice', choices: ['yes', 'no'] } as const
    const given = { reasoning: think, thought: 'optional', content } as const
    accepts(given, 'yes', '<think>well</think>\n\nno')
    stopsAt(given, '<think>well</think>\n\n|maybe', '|maybe')
  })
})

it('a turn may be a call or constrained content', () => {
  const content = {
    kind: 'json',
    schema: { type: 'object', properties: { a: { type: 'integer' } } },
  } as const
  const either = turn({}, { content })
  accepts(either, '{"a": 1}', call, `${call}\n${call}`)
  stopsAt(either, '{"|b', '|I', `${call}|{`, '<tool_call>\n{"name": "get|s')
  accepts(turn({ choice: 'required' }, { content }), call)
  stopsAt(turn({ choice: 'required' }, { content }), '|{')
})

describe('calls whose markers are control tokens', () => {
  const marked: CallFormat = {
    open: ['\udc00[{"name": "'],
    mid: ['", "arguments": '],
    arguments: { kind: 'json', isQuoted: false },
    gap: [', "id": "', { hole: 'id' }, '"}, {"name": "'],
    close: [', "id": "', { hole: 'id' }, '"}]'],
    ids: 'nine',
    isAnchored: false,
  }
  const of = (calls: Partial<Calls> = {}, given = {}) => turn({ format: marked, ...calls }, given)

  it('begin with the control token only', () => {
    accepts(of(), 'a [{"name": "get_', 'a \udfff b')
    stopsAt(
      of(),
      'a \udc00|x',
      '\udc00[{"name": "|x',
      '|\udc01',
      '\udc00[{"name": "get", "arguments": {|\udfff',
    )
    const one = '\udc00[{"name": "get", "arguments": {}, "id": "abcDEF123"}'
    accepts(of(), `ok ${one}]`, `${one}, {"name": "get", "arguments": {}, "id": "000000000"}]`)
    stopsAt(of(), '\udc00[{"name": "get", "arguments": {}, "id": "abc|"')
    assert.equal(followerOf(of({ isParallel: false }))(`${one}]`).isOver, true)
    stopsAt(of({ isParallel: false }), `${one}|,`)
  })

  it('end a thought', () => {
    const open = of({}, { reasoning: think, thought: 'open' })
    accepts(open, 'so \udc00[{"name":"get","arguments":{},"id":"123456789"}]')
    stopsAt(open, 'so \udc00|</think>')
  })
})

/** A call is a bare object, as Llama 3 writes it. */
const bare: CallFormat = {
  open: ['{"name": "'],
  mid: ['", "parameters": '],
  arguments: { kind: 'json', isQuoted: false },
  close: ['}'],
  ids: 'any',
  isAnchored: true,
}

describe('calls that begin like other texts', () => {
  it('are calls only at the start', () => {
    const auto = turn({ format: bare })
    accepts(auto, '{"name": "Rome"}', 'a {"name": "get", 1', '{"name":"get","parameters":{}}')
    stopsAt(auto, '\n{"name": "get", "|x', '{"name": "get", "parameters": {}}|.')
    const thinking = turn({ format: bare }, { reasoning: think, thought: 'open' })
    stopsAt(thinking, 'hm</think>\n\n{"name": "get", "|x')
  })
})

describe('flags and none', () => {
  const flagged = tool('f', {
    type: 'object',
    properties: { on: { type: 'boolean' }, no: { enum: [false] }, any: { type: ['string', 'boolean'] } },
  })
  const value = (written: 'raw' | 'json') => ({ before: '<', mid: '>', after: '</>', written })
  const others = { number: 1, boolean: 1, null: 1, object: 1, array: 1 }
  const values = {
    ...(Object.fromEntries(Object.keys(others).map((type) => [type, value('json')])) as Record<
      keyof typeof others,
      ReturnType<typeof value>
    >),
    string: value('raw'),
  }
  const marks: CallFormat = { ...hermes, open: ['['], mid: ['!'], gap: [';'], close: [']'] }

  it('are also the words of Python where the template writes these', () => {
    const tagged = { kind: 'tagged' as const, head: '', between: '', tail: '', values }
    const python = turn({ tools: [flagged], format: { ...marks, arguments: { ...tagged, words: 'python' } } })
    accepts(python, '[f!<on>True</>]', '[f!<on>false</>]', '[f!<no>False</><any>True</>]')
    stopsAt(python, '[f!<no>|True</>]', '[f!<on>|None</>]')
    const json = turn({ tools: [flagged], format: { ...marks, arguments: tagged } })
    accepts(json, '[f!<on>true</><any>True</>]')
    const follow = followerOf(json)
    assert.equal(follow('[f!<on>True').length, '[f!<on>'.length)
  })

  it('are so in keyword arguments', () => {
    const format: CallFormat = {
      ...marks,
      mid: ['('],
      close: [')]'],
      arguments: { kind: 'python', words: 'python' },
    }
    const keywords = turn({ tools: [flagged], format })
    accepts(keywords, '[f(on=True)]', '[f(on=false, no=False)]')
    stopsAt(keywords, '[f(no=|True)]')
  })
})

describe('JSON that a format of bare JSON could mistake for a call', () => {
  it('is an answer until it has the name of a tool and parameters', () => {
    const auto = turn({ format: bare })
    accepts(
      auto,
      '{"name": "Rome", "size": 1}',
      '{"name": "New York", "parameters": 1}',
      '{"names": ["get"]}',
    )
    accepts(auto, '{"name": "ge", "x": 1}', 'So: {"name": "weather", "parameters": {}}')
    stopsAt(auto, '{"name": "weather", "parameters"|: {}}', ' {"name":"getter","parameters"|:{}}')
  })

  it('may be the content that was asked for, but not a call that does not fit', () => {
    const content = { kind: 'json_object' } as const
    const either = turn({ format: bare }, { content })
    accepts(either, '{"name": "get", "size": 1}', '{"name": "get"}', '{"name": "Rome", "parameters": 1}')
    accepts(either, '{"name": "get", "parameters": {}}')
    const follow = followerOf(either)
    for (const text of ['{"name": "get_weather", "parameters": {}}', '{"name":"get","parameters":{"a":1}}']) {
      assert.equal(follow(text).isComplete, false, text)
    }
  })
})

it('content that fits its constraint is not taken for a call', () => {
  for (const format of Object.values(callFormats)) {
    const content = { kind: 'regex', regex: '[\\s\\S]*' } as const
    const offered = turn({ format, choice: { name: 'get_weather' } })
    const text = walksOf(compiledTurn(offered).grammar)(seededRandom(3), 20)
    const letters = text.replaceAll(/[\udc00-\udfff]/g, '')
    if (letters !== text) continue
    const follow = followerOf(turn({ format }, { content }))
    assert.equal(follow(text).isComplete, true, text)
    const wrong = text.replaceAll('city', 'town')
    assert.equal(follow(wrong).isComplete, false, wrong)
    assert.equal(follow(`So: ${wrong}`).isComplete, true)
  }
})

it('marks that close the content of an answer open nothing', () => {
  const format: CallFormat = {
    open: ['\udc00response\udc01\udc02tools\udc01'],
    mid: ['\udc01'],
    arguments: { kind: 'json', isQuoted: false },
    close: ['\udc00tools\udc01'],
    ids: 'any',
    isAnchored: false,
  }
  const of = turn({ format }, { closings: ['\udc00response\udc01', '\udc00message\udc01'] })
  accepts(of, 'Hello\udc00response\udc01', 'Hello\udc00response\udc01\udc00message\udc01')
  accepts(of, 'Hello\udc00response\udc01\udc02tools\udc01get\udc01{}\udc00tools\udc01')
  stopsAt(of, 'Hello\udc00response\udc01\udc02|x', 'Hello\udc00response\udc01\udc02tools\udc01|weather')
})

/** Whether the error says that the schema of this tool has this fault, and where. */
const refusal = (tool: OfferedTool, fault: string) => (error: unknown) =>
  error instanceof ToolSchemaError &&
  error.tool === tool &&
  error.cause instanceof SchemaError &&
  error.cause.fault === fault &&
  error.cause.path.startsWith('#/properties/')

it('an invalid schema is refused with the name of its tool', () => {
  const flawed = {
    ...tool('f', { type: 'object', properties: { a: { type: 'x' } } }),
    field: 'tools.3.function.parameters',
  }
  assert.throws(() => compiledTurn(turn({ tools: [clock, flawed] })), refusal(flawed, 'invalid'))
})

describe('a part of a schema that cannot be enforced', () => {
  const odd = {
    type: 'object',
    properties: {
      when: { type: 'string', format: 'no-such-format', minLength: 2 },
      tags: { type: 'array', items: { type: 'string' }, uniqueItems: true },
      one: { oneOf: [{ type: 'string', unknown: 1 }, { type: 'integer' }] },
      no: { type: 'string', not: { pattern: '(x)\\1' } },
      by: {
        type: 'object',
        properties: { a: {} },
        patternProperties: { '(x)\\1': {} },
        additionalProperties: false,
      },
    },
    required: ['when'],
  }

  it('is widened and reported, but annotations are neither', () => {
    const { widened } = compiledTurn(turn({ tools: [tool('f', odd), clock] }))
    assert.deepEqual(widened.toSorted(), [
      'f#/properties/by patternProperties',
      'f#/properties/no not',
      'f#/properties/tags uniqueItems',
    ])
    const of = turn({ tools: [tool('f', odd)] })
    const begun = '<tool_call>\n{"name": "f", "arguments": {"when": '
    accepts(of, `${begun}"now", "tags": ["a", "a"], "by": {"x": 1}}}\n</tool_call>`)
    stopsAt(of, `${begun}"n|"`, `${begun}"no", "tags": [|1`)
  })

  it('is refused in a strict tool', () => {
    const strict = { ...tool('f', odd, true), field: 'tools.0.function.parameters' }
    assert.throws(() => compiledTurn(turn({ tools: [strict] })), refusal(strict, 'unsupported'))
  })

  it('is a whole object where that is too large', () => {
    const names = Array.from({ length: 12 }, (_, at) => `k${at}`)
    const large = {
      type: 'object',
      properties: {
        a: { type: 'integer' },
        b: {
          allOf: names.map((name) => ({
            anyOf: [{ required: [name] }, { maxProperties: 3 }, { minProperties: 9 }],
          })),
        },
      },
    }
    const { widened } = compiledTurn(turn({ tools: [tool('f', large)] }))
    assert.deepEqual(widened, ['f#/properties size'])
    stopsAt(turn({ tools: [tool('f', large)] }), '<tool_call>\n{"name": "f", "arguments": {"a": |"')
  })
})
