import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type AnswerTurn, askWholeAndStreamed, turnOfChunks } from '../../support/answer-turns.ts'
import { openApp } from '../../support/app.ts'
import { asking, assertRefused, chatUrl, eventsOf } from '../../support/chat.ts'
import { scriptedBackend, scriptOf } from '../../support/scripted-backend.ts'
import { type ModelTexts, simulatedBackend } from '../../support/simulated-backend.ts'
import { callText, clock, weather } from '../../support/tools.ts'

const backend = simulatedBackend({ after }, '')
const app = await openApp({ after }, { backend })
const { post } = app

const tools = [weather, clock]
const oslo = '{"city": "Oslo", "days": 2}'

const severalCalls = [
  callText('get_weather', oslo),
  callText('now', '{}'),
  callText('get_weather', { city: 'Rīga' }),
].join('\n')

/** Asks a model that says this, whole and streamed. */
async function said(say: ModelTexts, fields: Record<string, unknown> = {}) {
  backend.say = say
  return askWholeAndStreamed(app, { tools, ...fields })
}

/** Asserts that the constraint stops a model from saying this. */
async function cannotSay(say: ModelTexts, fields: Record<string, unknown>, at: RegExp) {
  backend.say = say
  const { status } = await post(chatUrl, asking({ tools, ...fields }))
  assert.equal(status, 500)
  assert.match(backend.failures.splice(0).join(), at)
}

const callsOf = (turn: AnswerTurn | undefined) =>
  (turn?.calls ?? []).map(({ function: { name, arguments: given } }) => [name, given] as const)

function lastPrompt(): string {
  const prompt = backend.asked.at(-1)?.prompt
  return prompt !== undefined && 'text' in prompt ? prompt.text : ''
}

test('a call is separated from the text, with its arguments as written', async () => {
  const { turns, usage } = await said(callText('get_weather', oslo))
  const [turn] = turns
  assert.deepEqual(
    turn?.calls.map(({ id: _, ...call }) => call),
    [{ type: 'function', function: { name: 'get_weather', arguments: oslo } }],
  )
  assert.match(turn?.calls[0]?.id ?? '', /^chatcmpl-tool-[0-9a-f]{32}$/)
  assert.deepEqual([turn?.content, turn?.reasoning, turn?.finish, turn?.stop], ['', '', 'tool_calls', null])
  assert.ok(usage.completion_tokens > 20)
  assert.equal(usage.completion_tokens_details, undefined)
})

test('a call in another spelling than that of the template is recognised, and other JSON is content', async () => {
  const call = `{"name": "get_weather", "arguments": ${oslo}}`
  for (const text of [call, `\`\`\`json\n${call}`, `<function=get_weather>${oslo}</function>`]) {
    const { turns } = await said(text)
    assert.deepEqual(callsOf(turns[0]), [['get_weather', oslo]])
    assert.deepEqual([turns[0]?.content, turns[0]?.finish], ['', 'tool_calls'])
  }
  const other = '{"name": "Oslo", "arguments": {"days": 2}}'
  const { turns } = await said(other)
  assert.deepEqual([turns[0]?.content, turns[0]?.calls.length], [other, 0])
  const asJson = await said(call, { response_format: { type: 'json_object' } })
  assert.deepEqual([asJson.turns[0]?.content, asJson.turns[0]?.calls.length], [call, 0])
  await cannotSay(`{"name": "get_weather", "arguments": {"town"`, {}, /cannot go on with "t"/)
})

test('calls have the ids that the model writes, counted over the conversation', async (t) => {
  const template =
    '{% for tool in tools %}{{ tool | tojson }}{% endfor %}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}' +
    '{% for c in m.tool_calls or [] %}<|call|>functions.{{ c.function.name }}:{{ loop.index0 }}<|args|>{{ c.function.arguments | tojson }}<|end|>{% endfor %}' +
    '<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}'
  const call = (index: number) => `<|call|>functions.now:${index}<|args|>{}<|end|>`
  const kimi = simulatedBackend(t, call(0) + call(1), { template })
  const { post: ask } = await openApp(t, { backend: kimi })
  const first = await ask(chatUrl, asking({ model: 'played', tools }))
  const { message } = first.json.choices[0]
  const idsOf = (calls: { id: string }[]) => calls.map(({ id }) => id)
  assert.deepEqual(idsOf(message.tool_calls), ['functions.now:0', 'functions.now:1'])
  const results = idsOf(message.tool_calls).map((id) => ({ role: 'tool', tool_call_id: id, content: '8' }))
  const messages = [{ role: 'user', content: 'When?' }, message, ...results]
  const second = await ask(chatUrl, asking({ model: 'played', tools, messages }))
  assert.deepEqual(idsOf(second.json.choices[0].message.tool_calls), ['functions.now:2', 'functions.now:3'])
})

test('text before a call stays content', async () => {
  const { turns } = await said(`Let me look.\n${callText('get_weather', oslo)}`)
  assert.equal(turns[0]?.content.trim(), 'Let me look.')
  assert.deepEqual(callsOf(turns[0]), [['get_weather', oslo]])
  assert.equal(turns[0]?.finish, 'tool_calls')
})

test('without a call there is content, and the answer ends with stop', async () => {
  for (const text of ['It rains.', '<tool_call is a tag', '{"name": "get_weather"']) {
    const { turns } = await said(text)
    assert.deepEqual([turns[0]?.content, turns[0]?.calls, turns[0]?.finish], [text, [], 'stop'])
  }
})

test('several calls, one of them without arguments', async () => {
  const { turns } = await said(severalCalls)
  assert.deepEqual(callsOf(turns[0]), [
    ['get_weather', oslo],
    ['now', '{}'],
    ['get_weather', '{"city":"Rīga"}'],
  ])
})

test('each choice has its own calls', async () => {
  const texts = [callText('now', '{}'), 'No.', severalCalls]
  const { turns } = await said((_, choice) => texts[choice] as string, { n: 3 })
  assert.deepEqual(
    turns.map(({ content, calls, finish }) => [content, calls.length, finish]),
    [
      ['', 1, 'tool_calls'],
      ['No.', 0, 'stop'],
      ['', 3, 'tool_calls'],
    ],
  )
})

test('the answer ends after its first call when parallel_tool_calls is false', async () => {
  const { turns } = await said([callText('get_weather', oslo), '\n', callText('now', '{}')], {
    parallel_tool_calls: false,
  })
  assert.deepEqual(callsOf(turns[0]), [['get_weather', oslo]])
  assert.equal(turns[0]?.finish, 'tool_calls')
})

test('tool_choice none: tools are in the prompt, and nothing is read as a call', async () => {
  for (const parallel_tool_calls of [true, false]) {
    const text = callText('get_weather', oslo)
    const { turns } = await said(text, { tool_choice: 'none', parallel_tool_calls })
    assert.deepEqual([turns[0]?.content, turns[0]?.calls, turns[0]?.finish], [text, [], 'stop'])
    assert.match(lastPrompt(), /"get_weather".*"now"/s)
  }
})

test('tool_choice required: the answer must be a call', async () => {
  const { turns } = await said(severalCalls, { tool_choice: 'required' })
  assert.deepEqual([turns[0]?.calls.length, turns[0]?.finish], [3, 'tool_calls'])
  await cannotSay('It rains.', { tool_choice: 'required' }, /"I" after ""/)
  // Mistral's word for it.
  await cannotSay('It rains.', { tool_choice: 'any' }, /"I" after ""/)
})

test('a named tool: only that one can be called, and the answer ends with stop, as in OpenAI', async () => {
  const tool_choice = { type: 'function', function: { name: 'now' } }
  const { turns } = await said(callText('now', '{}'), { tool_choice })
  assert.deepEqual([callsOf(turns[0]), turns[0]?.finish], [[['now', '{}']], 'stop'])
  assert.match(lastPrompt(), /"get_weather".*"now"/s)
  await cannotSay(callText('get_weather', oslo), { tool_choice }, /"g" after ".*name/s)
})

test('allowed_tools: only some tools can be called, and all are in the prompt', async () => {
  const allowed = (mode: string) => ({
    tool_choice: {
      type: 'allowed_tools',
      allowed_tools: { mode, tools: [{ type: 'function', function: { name: 'now' } }] },
    },
  })
  for (const mode of ['auto', 'required']) {
    const { turns } = await said(callText('now', '{}'), allowed(mode))
    assert.deepEqual([callsOf(turns[0]), turns[0]?.finish], [[['now', '{}']], 'tool_calls'])
    assert.match(lastPrompt(), /"get_weather".*"now"/s)
  }
  const { turns } = await said('No.', allowed('auto'))
  assert.equal(turns[0]?.content, 'No.')
  await cannotSay('No.', allowed('required'), /"N" after ""/)
  await cannotSay(callText('get_weather', oslo), allowed('required'), /"g" after ".*name/s)
})

test('arguments cannot violate their schema', async () => {
  for (const [given, at] of [
    ['{"city": 7}', /"7" after/],
    ['{"city": "Oslo", "days": 8}', /"8" after/],
    ['{"town": "Oslo"}', /"t" after/],
    ['{}', /"}.*" after/],
  ] as const) {
    await cannotSay(callText('get_weather', given), { tool_choice: 'required' }, at)
    await cannotSay(callText('get_weather', given), {}, at)
  }
})

test('a call that is cut off is shown in part, and its finish reason stays length', async () => {
  const text = callText('get_weather', oslo)
  const { usage } = await said(text)
  const seen = new Set<string>()
  for (let max_tokens = 1; max_tokens < usage.completion_tokens; max_tokens++) {
    const { turns } = await said(text, { max_tokens })
    const [turn] = turns
    assert.equal(turn?.finish, max_tokens === usage.completion_tokens ? 'stop' : 'length')
    const [name, given = ''] = callsOf(turn)[0] ?? []
    assert.ok(oslo.startsWith(given), given)
    seen.add(name === undefined ? 'nothing' : given === oslo ? 'all' : 'some')
  }
  assert.deepEqual([...seen].sort(), ['all', 'nothing', 'some'])
})

test('a stop text inside arguments cuts off the call', async () => {
  const { turns } = await said(callText('get_weather', oslo), { stop: ['slo'] })
  assert.deepEqual(callsOf(turns[0]), [['get_weather', '{"city": "O']])
  assert.deepEqual([turns[0]?.finish, turns[0]?.stop], ['stop', 'slo'])
  const behind = await said(callText('get_weather', oslo), { stop: ['</tool'] })
  assert.deepEqual(callsOf(behind.turns[0]), [['get_weather', oslo]])
  assert.deepEqual([behind.turns[0]?.finish, behind.turns[0]?.stop], ['tool_calls', '</tool'])
})

test('log-probabilities and token ids are returned for all tokens, including markers', async () => {
  const asked = { logprobs: true, top_logprobs: 1, return_token_ids: true }
  for (const text of [severalCalls, `Let me look.\n${severalCalls}`]) {
    const { turns, usage } = await said(text, asked)
    assert.equal(turns[0]?.logprobs?.length, usage.completion_tokens)
    assert.equal(turns[0]?.tokens?.length, usage.completion_tokens)
  }
})

test('with a response format and tools the answer is a call or fits the format', async () => {
  const response_format = {
    type: 'json_schema',
    json_schema: {
      name: 'answer',
      schema: {
        type: 'object',
        properties: { rain: { type: 'boolean' } },
        required: ['rain'],
        additionalProperties: false,
      },
    },
  }
  const called = await said(callText('get_weather', oslo), { response_format })
  assert.deepEqual(callsOf(called.turns[0]), [['get_weather', oslo]])
  const answered = await said('{"rain":true}', { response_format })
  assert.deepEqual([answered.turns[0]?.content, answered.turns[0]?.finish], ['{"rain":true}', 'stop'])
  await cannotSay('It rains.', { response_format }, /"I" after ""/)
  const required = await said(callText('get_weather', oslo), { response_format, tool_choice: 'required' })
  assert.equal(required.turns[0]?.calls.length, 1)
  await cannotSay('{"rain":true}', { response_format, tool_choice: 'required' }, /after ""/)
})

test('the older form works: functions and function_call, whole and streamed', async () => {
  const functions = tools.map((tool) => tool.function)
  const older = { tools: undefined, functions }
  const { turns, whole } = await said([callText('get_weather', oslo), '\n', callText('now', '{}')], older)
  assert.deepEqual(turns[0]?.call, { name: 'get_weather', arguments: oslo })
  assert.deepEqual([turns[0]?.calls, turns[0]?.finish], [[], 'function_call'])
  assert.equal('tool_calls' in whole.json.choices[0].message, false)
  const named = await said(callText('now', '{}'), { ...older, function_call: { name: 'now' } })
  assert.deepEqual([named.turns[0]?.call, named.turns[0]?.finish], [{ name: 'now', arguments: '{}' }, 'stop'])
  const none = await said('No.', { ...older, function_call: 'none' })
  assert.equal(none.turns[0]?.content, 'No.')
  await said('It rains.', {
    ...older,
    messages: [
      { role: 'user', content: 'Weather?' },
      { role: 'assistant', content: null, function_call: { name: 'get_weather', arguments: oslo } },
      { role: 'function', name: 'get_weather', content: 'rain' },
    ],
  })
  assert.match(lastPrompt(), /<tool_call>.*"Oslo".*<tool_response>rain<\/tool_response>/s)
})

test('calls and their results are in the prompt of the next turn', async () => {
  const { turns } = await said(severalCalls)
  const calls = turns[0]?.calls ?? []
  const results = calls.map(({ id }, index) => ({
    role: 'tool',
    tool_call_id: id,
    content: `result ${index}`,
  }))
  await said('It rains.', {
    messages: [
      { role: 'user', content: 'Weather?' },
      { role: 'assistant', content: null, tool_calls: calls },
      ...results,
    ],
  })
  const prompt = lastPrompt()
  assert.equal(prompt.match(/<tool_call>/g)?.length, 3)
  assert.match(prompt, /Oslo.*Rīga.*result 0.*result 1.*result 2/s)
})

test('HEDDLE_TOOL_CHOICE=none: nothing is called, and text that looks like a call is content', async (t) => {
  const closed = await openApp(t, { backend, settings: { HEDDLE_TOOL_CHOICE: 'none' } })
  backend.say = callText('get_weather', oslo)
  for (const tool_choice of [undefined, null, 'none']) {
    const { turns } = await askWholeAndStreamed(closed, { tools, tool_choice })
    assert.deepEqual([turns[0]?.content, turns[0]?.calls], [callText('get_weather', oslo), []])
  }
  for (const tool_choice of ['auto', 'required', { type: 'function', function: { name: 'now' } }]) {
    const answer = await closed.post(chatUrl, asking({ tools, tool_choice }))
    assertRefused(answer, { status: 400, code: 'tool_choice_off', param: 'tool_choice' })
  }
})

test('each chunk has at most one call, even when several are complete at once', async (t) => {
  const { post } = await openApp(t, { backend: scriptedBackend(scriptOf(severalCalls)) })
  for (const fields of [{}, { logprobs: true, return_token_ids: true }]) {
    const { text } = await post(chatUrl, asking({ tools, stream: true, ...fields }))
    const { chunks } = eventsOf(text)
    for (const { choices } of chunks) assert.ok((choices[0]?.delta.tool_calls?.length ?? 0) <= 1)
    const turn = turnOfChunks(chunks, 0)
    assert.deepEqual(
      callsOf(turn).map(([name]) => name),
      ['get_weather', 'now', 'get_weather'],
    )
    assert.equal(turn.finish, 'tool_calls')
    if ('logprobs' in fields) assert.equal(turn.tokens?.length, turn.logprobs?.length)
  }
})

test('a schema that grammars cannot express is widened and named, or refused for a strict tool', async () => {
  const parameters = {
    type: 'object',
    properties: { when: { type: 'string', pattern: '(.)\\1' }, city: { type: 'string', maxlength: 3 } },
    required: ['when'],
    additionalProperties: false,
  }
  const plan = (strict: boolean) => ({ type: 'function', function: { name: 'plan', parameters, strict } })
  const { turns, whole } = await said(callText('plan', { when: 'full' }), { tools: [plan(false), clock] })
  assert.deepEqual(callsOf(turns[0]), [['plan', '{"when":"full"}']])
  const header = decodeURIComponent(String(whole.headers['x-heddle-widened']))
  assert.match(header, /^plan#\/properties\/when.*pattern/)
  const notes = decodeURIComponent(String(whole.headers['x-heddle-schema-notes']))
  assert.equal(notes, 'plan#/properties/city maxlength: maxLength?')
  const { whole: usual } = await said(callText('now', '{}'))
  assert.equal(usual.headers['x-heddle-widened'], undefined)
  assert.equal(usual.headers['x-heddle-schema-notes'], undefined)
  for (const stream of [false, true]) {
    const answer = await post(chatUrl, asking({ tools: [plan(true)], stream }))
    assert.equal(answer.status, 400)
    assert.match(answer.json.error.message, /^tools\.0\.\S+: the keyword pattern at #\/properties\/when /)
    assert.equal(answer.json.error.param, 'tools.0.function.parameters')
  }
})
