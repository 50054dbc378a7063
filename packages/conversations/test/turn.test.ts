import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Before, type Message, nothingBefore, type TurnCall, turnOf } from '../index.ts'

const call = (inputs: unknown, output: unknown, fields: Partial<TurnCall> = {}): TurnCall => ({
  inputs: JSON.stringify(inputs),
  output: JSON.stringify(output),
  children: [],
  ...fields,
})
const user = (content: string) => ({ role: 'user', content })
const assistant = (content: string | null, more: object = {}) => ({ role: 'assistant', content, ...more })
const chat = (messages: object[], message: object, fields: Partial<TurnCall> = {}) =>
  call({ messages }, { choices: [{ message }] }, fields)
const tool = (id: string, input: object, output: unknown, fields: Partial<TurnCall> = {}) =>
  call(input, output, {
    attributes: JSON.stringify({
      gen_ai: { operation: { name: 'execute_tool' }, tool: { name: 'count', call: { id } } },
    }),
    ...fields,
  })
const asks = (id: string) =>
  assistant(null, {
    tool_calls: [{ id, type: 'function', function: { name: 'count', arguments: '{"a":1}' } }],
  })

const lineOf = ({ role, blocks }: Message): string =>
  `${role}: ${blocks.map((block) => lineOfBlock(block)).join(' | ')}`

function lineOfBlock(block: Message['blocks'][number]): string {
  if (block.kind === 'text') return block.text
  if (block.kind === 'data') return block.json
  if (block.kind !== 'call') return block.kind
  const result = block.result?.content.map(lineOfBlock).join()
  return `${block.name}${block.result === undefined ? '' : ` = ${block.result.isError ? 'failed ' : ''}${result}`}`
}

/** The lines of each turn; what was answered last is after the arrow. */
function linesOf(...turns: TurnCall[]) {
  let before: Before = nothingBefore
  return turns.map((root) => {
    const { asked, answered, isNewStart, after } = turnOf(root, before)
    before = after
    return [
      ...asked.map(lineOf),
      ...answered.map((message) => `> ${lineOf(message)}`),
      ...(isNewStart ? ['new'] : []),
    ]
  })
}

const system = { role: 'system', content: 'Be brief.' }

test('each turn has only what is new in it', () => {
  const first = [system, user('a')]
  const second = [...first, assistant('A'), user('b')]
  const third = [{ role: 'system', content: 'Be long.' }, ...second.slice(1), assistant('B'), user('b')]
  assert.deepEqual(
    linesOf(chat(first, assistant('A')), chat(second, assistant('B')), chat(third, assistant('B'))),
    [
      ['system: Be brief.', 'user: a', '> assistant: A'],
      ['user: b', '> assistant: B'],
      ['system: Be long.', 'user: b', '> assistant: B'],
    ],
  )
})

test('a window over the history, a repeated answer in another form, and no history at all are continued', () => {
  const long = [user('a'), assistant('A'), user('go on'), assistant('B'), user('go on')]
  assert.deepEqual(
    linesOf(
      chat(long.slice(0, 3), assistant('B')),
      chat(long.slice(2), assistant('C')),
      chat([user('go on'), assistant('c, but shorter'), user('d')], assistant('D')),
      chat([user('e')], assistant('E')),
      chat([user('e')], assistant('E')),
    ),
    [
      ['user: a', 'assistant: A', 'user: go on', '> assistant: B'],
      ['user: go on', '> assistant: C'],
      ['user: d', '> assistant: D'],
      ['user: e', '> assistant: E'],
      ['user: e', '> assistant: E'],
    ],
  )
})

test('another history begins anew', () => {
  const [, turn] = linesOf(
    chat([user('a')], assistant('A')),
    chat([user('x'), assistant('X'), user('b')], assistant('B')),
  )
  assert.deepEqual(turn, ['user: x', 'assistant: X', 'user: b', '> assistant: B', 'new'])
})

test('results are beside their calls, whether a message or a call of its own has them', () => {
  const question = [user('how many?')]
  const asked = [...question, asks('k1'), { role: 'tool', tool_call_id: 'k1', content: '12' }]
  const agent = call({ question: 'how many?' }, 'Twelve.', {
    children: [
      chat(question, asks('k1')),
      tool('k1', { a: 1 }, { n: 12 }),
      chat([...asked, asks('k2')], assistant('Twelve.')),
    ],
  })
  assert.deepEqual(linesOf(agent), [
    ['user: how many?', 'assistant: count = {"n":12}', 'assistant: count', '> assistant: Twelve.'],
  ])
})

test('a tool whose span is below that of its model is shown once, and what failed says so', () => {
  const children = [tool('k1', { a: 1 }, null, { exception: 'no table' }), tool('k9', {}, 3)]
  const agent = chat([user('how many?')], asks('k1'), { children, exception: 'too slow', name: 'agent' })
  assert.deepEqual(linesOf(agent), [
    ['user: how many?', 'assistant: count = failed no table', 'assistant: count = 3', 'error: too slow'],
  ])
})

test('a tool that failed after it returned something shows both, also where a model was told the result before', () => {
  const failing = (output: unknown, exception: string) => tool('k1', { a: 1 }, output, { exception })
  const model = chat([user('how many?')], asks('k1'))
  const told = chat(
    [user('how many?'), asks('k1'), { role: 'tool', tool_call_id: 'k1', content: '12' }],
    assistant('Twelve.'),
  )
  const lineOfTool = (...children: TurnCall[]) =>
    linesOf(call({ question: 'how many?' }, 'Twelve.', { children }))[0]?.[1]
  assert.equal(lineOfTool(model, failing('half', 'no table')), 'assistant: count = failed half,no table')
  assert.equal(
    lineOfTool(model, failing('no table: warp', 'no table')),
    'assistant: count = failed no table: warp',
  )
  assert.equal(lineOfTool(told, failing('half', 'no table')), 'assistant: count = failed half,no table')
})

test('an agent repeats neither the question nor the answer of its model', () => {
  const agent = chat([user('a')], assistant('A'), {
    children: [chat([system, user('a')], assistant('A'))],
  })
  const next = chat([user('b')], assistant('B'), {
    children: [chat([system, user('a'), assistant('A'), user('b')], assistant('B'))],
  })
  assert.deepEqual(linesOf(agent, next), [
    ['system: Be brief.', 'user: a', '> assistant: A'],
    ['user: b', '> assistant: B'],
  ])
})

test('what an agent thought before a call is shown once, whether its model or its tool has the call', () => {
  const thinks = { ...asks('k'), reasoning_content: 'hm' }
  const history = [user('a'), thinks, { role: 'tool', tool_call_id: 'k', content: '1' }]
  const agent = (children: TurnCall[]) => chat(history, assistant('A'), { children })
  const model = chat([user('a')], thinks, { children: [tool('k', { a: 1 }, 1)] })
  const last = chat(history, assistant('A'))
  for (const root of [agent([chat([user('a')], thinks), last]), agent([model, last])])
    assert.deepEqual(linesOf(root), [['user: a', 'assistant: thought | count = 1', '> assistant: A']])
})

test('a call that is no conversation is shown as it was recorded', () => {
  assert.deepEqual(linesOf(call({ question: 'why?' }, 'So.'), call({ a: 1, b: 2 }, { c: 3 })), [
    ['user: why?', '> assistant: So.'],
    ['input: {"a":1,"b":2}', '> output: {"c":3}'],
  ])
})
