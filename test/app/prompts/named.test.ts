import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Answer, openApp, type TestApp, type TestParts } from '../../support/app.ts'
import { classValue } from '../../support/objects.ts'
import { scriptedBackend, scriptedModel } from '../../support/scripted-backend.ts'

const project_id = 'acme/default'
const chatUrl = '/v1/chat/completions'

interface Open extends TestApp {
  keep(object_id: string, val: unknown, label?: string): Promise<string>
  /** The request that the record has of an answer, and what it says of the prompt. */
  recorded(answer: Answer): Promise<{ inputs: Record<string, unknown>; prompt: Record<string, unknown> }>
}

async function open(t: Parameters<typeof openApp>[0], parts: TestParts = {}): Promise<Open> {
  const app = await openApp(t, { backend: scriptedBackend(), ...parts })
  return {
    ...app,
    async keep(object_id, val, label) {
      const created = await app.post('/obj/create', { obj: { project_id, object_id, val } })
      assert.equal(created.status, 200, created.text)
      const { digest } = created.json
      if (label !== undefined) {
        const moved = await app.send('PUT', `/objs/${object_id}/aliases`, {
          project_id,
          digest,
          aliases: [label],
        })
        assert.equal(moved.status, 200, moved.text)
      }
      return digest
    },
    async recorded({ status, text, headers }) {
      assert.equal(status, 200, text)
      const { json } = await app.post('/call/read', { project_id, id: headers['x-heddle-call-id'] })
      return { inputs: json.call.inputs, prompt: json.call.attributes.heddle.prompt }
    },
  }
}

const tool = { type: 'function', function: { name: 'look_up', parameters: { type: 'object' } } }
const schema = { type: 'object', properties: { n: { type: 'integer', maximum: 1e3 } } }
const format = { type: 'json_schema', json_schema: { name: 'answer', schema } }

const support = classValue(
  'MessagesPrompt',
  {
    name: 'support',
    messages: [
      { role: 'system', content: 'You help {customer}, who paid {paid} €.' },
      { role: 'user', content: [{ type: 'text', text: 'In {language}.' }] },
      { type: 'placeholder', name: 'history' },
    ],
    settings: { model: 'scripted', temperature: 0, max_tokens: 5 },
    variables: { paid: { type: 'integer' }, language: { enum: ['German', 'Dutch'], default: 'Dutch' } },
  },
  ['Prompt'],
)
const history = [
  { role: 'user', content: 'Hello {customer}' },
  { role: 'assistant', content: 'Hi' },
]
const variables = { customer: 'Ada {{paid}} {language}', paid: 12, history }
const filled = [
  { role: 'system', content: 'You help Ada {{paid}} {language}, who paid 12 €.' },
  { role: 'user', content: [{ type: 'text', text: 'In Dutch.' }] },
  ...history,
]
const asked = { role: 'user', content: 'And now?' }

describe('prompts by name', () => {
  test('chat: messages, settings and variables come from the version behind the label', async (t) => {
    const app = await open(t)
    const digest = await app.keep('support', support, 'production')
    const answer = await app.post(chatUrl, {
      prompt: { id: 'support', variables },
      messages: [asked],
      temperature: 0.5,
      cache_salt: 'secret',
    })
    const { inputs, prompt } = await app.recorded(answer)
    assert.deepEqual(inputs, {
      model: 'scripted',
      temperature: 0.5,
      max_tokens: 5,
      messages: [...filled, asked],
    })
    assert.deepEqual(prompt, { id: 'support', version: digest, label: 'production', variables })
    assert.equal(answer.headers['x-heddle-prompt'], `support:${digest}`)
    const byVersion = {
      $expr: { $eq: [{ $getField: 'attributes.heddle.prompt.version' }, { $literal: digest }] },
    }
    const found = await app.post('/calls/query_stats', { project_id, query: byVersion })
    assert.equal(found.json.count, 1)
  })

  test('the label is read for every request, and a version can be named by all of its names', async (t) => {
    const app = await open(t)
    const digests = [
      await app.keep('greet', { content: 'One' }, 'production'),
      await app.keep('greet', { content: 'Two' }),
    ]
    const textOf = async (version?: string) => {
      const answer = await app.post(chatUrl, { prompt: { id: 'greet', version } })
      const { inputs, prompt } = await app.recorded(answer)
      assert.ok(digests.includes(String(prompt.version)))
      return (inputs.messages as { content: string }[]).map(({ content }) => content).join()
    }
    assert.equal(await textOf(), 'One')
    for (const version of ['latest', 'v1', digests[1]]) assert.equal(await textOf(version), 'Two')
    await app.send('PUT', '/objs/greet/aliases', { project_id, digest: 'v1', aliases: ['production'] })
    assert.equal(await textOf('production'), 'Two')
    await app.send('PUT', '/objs/greet/aliases', { project_id, digest: 'v0', aliases: ['production'] })
    assert.equal(await textOf(), 'One')
  })

  test('a text is the message of the system, and alone that of the user', async (t) => {
    const app = await open(t)
    await app.keep(
      'ask',
      classValue('StringPrompt', { content: 'Braces {{ }} and {x}' }, ['Prompt']),
      'production',
    )
    await app.keep('json', { content: 'As {"a": {"b": 1}} for {x}' }, 'production')
    const messagesOf = async (id: string, messages?: unknown[]) => {
      const answer = await app.post(chatUrl, { prompt: { id, variables: { x: '<|end|>' } }, messages })
      return (await app.recorded(answer)).inputs.messages
    }
    assert.deepEqual(await messagesOf('ask'), [{ role: 'user', content: 'Braces { } and <|end|>' }])
    assert.deepEqual(await messagesOf('json', [asked]), [
      { role: 'system', content: 'As {"a": {"b": 1}} for <|end|>' },
      asked,
    ])
  })

  test('the messages of the request go where the prompt wants them', async (t) => {
    const app = await open(t)
    const messages = [
      { role: 'system', content: 'Before' },
      { type: 'placeholder', name: 'messages' },
      { role: 'user', content: 'After' },
    ]
    await app.keep('around', { messages }, 'production')
    const answer = await app.post(chatUrl, { model: 'around@production', messages: [asked] })
    const { inputs } = await app.recorded(answer)
    assert.deepEqual(inputs, { messages: [messages[0], asked, messages[2]] })
  })

  test('Responses: the prompt of OpenAI', async (t) => {
    const app = await open(t)
    const settings = { tools: [tool], tool_choice: 'auto', response_format: format, max_completion_tokens: 7 }
    await app.keep('support', { ...support, settings: { ...settings, stop: ['x'] } }, 'production')
    const prompt = {
      id: 'support',
      version: 'production',
      variables: { ...variables, customer: { type: 'input_text', text: 'Ada' } },
    }
    const answer = await app.post('/v1/responses', { prompt, input: 'And now?', instructions: 'Be brief.' })
    const { inputs, prompt: named } = await app.recorded(answer)
    assert.deepEqual(named.variables, prompt.variables)
    assert.equal(inputs.instructions, 'You help Ada, who paid 12 €.\n\nBe brief.')
    assert.deepEqual(inputs.input, [{ role: 'user', content: 'In Dutch.' }, ...history, asked])
    assert.deepEqual(inputs.tools, [{ type: 'function', ...tool.function }])
    assert.deepEqual(inputs.text, { format: { type: 'json_schema', name: 'answer', schema } })
    assert.equal(inputs.max_output_tokens, 7)
    const more = await app.post('/v1/responses', {
      ...{ prompt, previous_response_id: answer.json.id, input: 'More' },
      text: { format: { type: 'text' } },
    })
    const continued = (await app.recorded(more)).inputs
    assert.deepEqual(continued.input, [{ role: 'user', content: 'More' }])
    assert.equal(continued.instructions, 'You help Ada, who paid 12 €.')
    assert.deepEqual(continued.text, { format: { type: 'text' } })
  })

  test('Messages: system, tools and limits in the form of Anthropic', async (t) => {
    const app = await open(t)
    const settings = { max_completion_tokens: 6, stop: 'x', tools: [tool], tool_choice: 'required', seed: 5 }
    await app.keep('support', { ...support, settings }, 'production')
    const body = {
      prompt: { id: 'support', variables },
      messages: [asked],
      system: 'Be brief.',
      temperature: 0,
    }
    const answer = await app.post('/v1/messages', body)
    const { inputs } = await app.recorded(answer)
    assert.equal(answer.headers['x-heddle-ignored-fields'], 'prompt.settings.seed')
    assert.deepEqual(inputs, {
      ...{ max_tokens: 6, stop_sequences: ['x'], temperature: 0, tool_choice: { type: 'any' } },
      tools: [{ name: 'look_up', input_schema: { type: 'object' } }],
      messages: [{ role: 'user', content: 'In Dutch.' }, ...history, asked],
      system: 'You help Ada {{paid}} {language}, who paid 12 €.\n\nBe brief.',
    })
  })

  test('completions: the text of a prompt, and what follows it', async (t) => {
    const app = await open(t)
    await app.keep(
      'story',
      {
        content: 'Once {who} ',
        settings: { max_completion_tokens: 3 },
        variables: { who: { default: 'I' } },
      },
      'production',
    )
    const one = await app.post('/v1/completions', { prompt: { id: 'story', variables: { who: 'she' } } })
    assert.deepEqual((await app.recorded(one)).inputs, { max_tokens: 3, prompt: 'Once she ' })
    const two = await app.post('/v1/completions', { model: 'story@v0', prompt: 'went' })
    assert.deepEqual((await app.recorded(two)).inputs, { max_tokens: 3, prompt: 'Once I went' })
    await app.keep('support', support, 'production')
    const three = await app.post('/v1/completions', { prompt: { id: 'support', variables } })
    assert.match(three.text, /prompt: a prompt of messages; accepted: a StringPrompt/)
  })

  test('Ollama: by the name of the model', async (t) => {
    const app = await open(t)
    const settings = { max_tokens: 4, temperature: 0.25, top_k: 3, response_format: format }
    await app.keep('brief', { content: 'Be brief.', settings }, 'production')
    const chat = await app.post('/api/chat', {
      ...{ model: 'brief@production:latest', messages: [asked], stream: false, options: { top_k: 9 } },
    })
    const { inputs, prompt } = await app.recorded(chat)
    const { max_tokens, temperature, top_k } = inputs
    assert.deepEqual({ max_tokens, temperature, top_k }, { max_tokens: 4, temperature: 0.25, top_k: 9 })
    assert.deepEqual(inputs.messages, [{ role: 'system', content: 'Be brief.' }, asked])
    assert.deepEqual((inputs.response_format as { json_schema: unknown }).json_schema, {
      name: 'format',
      schema,
    })
    assert.equal(prompt.id, 'brief')
    const generated = await app.post('/api/generate', { model: 'brief@v0', prompt: 'Hi', stream: false })
    assert.deepEqual((await app.recorded(generated)).inputs.messages, [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hi' },
    ])
    const loaded = await app.post('/api/chat', { model: 'brief@v0', stream: false })
    assert.equal(loaded.json.done_reason, 'load')
    const models = await app.get('/v1/models')
    assert.deepEqual(
      models.json.data.map(({ id }: { id: string }) => id),
      ['scripted', 'alias/of-it'],
    )
  })

  test('what is wrong is named', async (t) => {
    const app = await open(t)
    await app.keep('support', support, 'production')
    await app.keep('number', 5, 'production')
    await app.keep('precise', { content: '{x:.2f}' }, 'production')
    await app.keep('greedy', { content: 'x', settings: { stream: true } }, 'production')
    const refusalOf = async (prompt: unknown, fields: object = {}) => {
      const { status, json } = await app.post(chatUrl, { prompt, messages: [asked], ...fields })
      return [status, json.error.code, json.error.param, json.error.message] as const
    }
    const wrong = async (changed: Record<string, unknown>, expected: RegExp) => {
      const { customer, paid } = variables
      const [status, code, param, message] = await refusalOf({
        id: 'support',
        variables: { customer, paid, history, ...changed },
      })
      assert.deepEqual([status, code], [400, 'invalid_value'])
      assert.equal(param, `prompt.variables.${Object.keys(changed)[0]}`)
      assert.match(message, expected)
    }
    await wrong({ customer: undefined }, /customer: nothing; accepted: a text/)
    await wrong({ customer: 5 }, /customer: 5; accepted: a text/)
    await wrong({ paid: '12' }, /paid: "12"; accepted: a whole number/)
    await wrong({ paid: 1.5 }, /accepted: a whole number/)
    await wrong({ language: 'Latin' }, /accepted: a text among "German","Dutch"/)
    await wrong({ history: 'x' }, /history: "x"; accepted: a list of messages/)
    await wrong({ history: [{ content: 'x' }] }, /accepted: a list of messages/)
    await wrong({ costumer: 'x' }, /an unknown variable; accepted: customer, or/)
    assert.deepEqual((await refusalOf({ id: 'nothing' })).slice(0, 2), [404, 'object_not_found'])
    assert.deepEqual((await refusalOf({ id: 'support', version: 'v7' })).slice(0, 2), [
      404,
      'object_not_found',
    ])
    assert.deepEqual((await refusalOf(null, { model: 'support@v7' })).slice(0, 2), [404, 'model_not_found'])
    assert.match((await refusalOf({ id: 'number' }))[3], /neither `content`, a text, nor `messages`/)
    assert.match((await refusalOf({ id: 'precise' }))[3], /the format "\{x:.2f\}"/)
    assert.match((await refusalOf({ id: 'greedy' }))[3], /its settings contain stream/)
    for (const prompt of [
      5,
      'support',
      [],
      {},
      { id: '' },
      { id: 'a b' },
      { id: 'a', more: 1 },
      { id: 'a', variables: [] },
    ])
      assert.equal((await refusalOf(prompt))[0], 400, JSON.stringify(prompt))
    assert.equal((await refusalOf({ id: 5 }))[2], 'prompt.id')
    await app.post('/obj/delete', { project_id, object_id: 'support', digests: ['v0'] })
    assert.deepEqual((await refusalOf({ id: 'support', version: 'v0' })).slice(0, 2), [404, 'object_deleted'])
    assert.deepEqual((await refusalOf({ id: 'support' })).slice(0, 2), [404, 'object_not_found'])
  })

  test('the prompt of another tenant looks like one that does not exist', async (t) => {
    const app = await open(t)
    await app.keep('secret', { content: 'Secret' }, 'production')
    const { bob } = (await import('../../support/app.ts')).keys
    const [there, nowhere] = await Promise.all(
      ['secret', 'nothing'].map((id) => app.post(chatUrl, { prompt: { id }, messages: [asked] }, bob)),
    )
    assert.equal(there?.status, 404)
    assert.equal(there?.text.replaceAll('secret', 'nothing'), nowhere?.text)
    const byName = await app.post(chatUrl, { model: 'secret@production', messages: [asked] }, bob)
    assert.deepEqual([byName.status, byName.json.error.code], [404, 'model_not_found'])
  })

  test('a value adds no control token where texts may have them', async (t) => {
    const model = { ...scriptedModel, controlTokens: ['<|end|>'] }
    const backend = scriptedBackend()
    backend.served = model
    const app = await open(t, { backend })
    const messages = [{ role: 'assistant', content: '{a}{b}' }, asked]
    await app.keep('said', { messages }, 'production')
    await app.keep('text', { content: '<|end|>{a}' }, 'production')
    const chat = (a: string, b: string) => app.post(chatUrl, { prompt: { id: 'said', variables: { a, b } } })
    assert.equal((await chat('<|en', 'd>')).status, 200)
    for (const [a, b] of [
      ['<|end|>', ''],
      ['<|en', 'd|>'],
    ] as const) {
      const { status, text } = await chat(a, b)
      assert.deepEqual([status, /variables.a: a text with \\"<|end|>\\"/.test(text)], [400, true])
    }
    const complete = (a: string) => app.post('/v1/completions', { prompt: { id: 'text', variables: { a } } })
    assert.equal((await complete('x')).status, 200)
    assert.equal((await complete('<|end|>')).status, 400)
  })

  test('large requests, too', async (t) => {
    const app = await open(t)
    await app.keep('long', { content: 'About {text}' }, 'production')
    const long = 'word '.repeat(20_000)
    for (const body of [
      { prompt: { id: 'long', variables: { text: long } } },
      { prompt: { id: 'long', variables: { text: 'x' } }, messages: [{ role: 'user', content: long }] },
      {
        model: 'long@latest',
        messages: [{ role: 'user', content: long }],
        prompt: { id: 'long', variables: { text: long } },
      },
    ]) {
      const { inputs, prompt } = await app.recorded(
        await app.post(chatUrl, { ...body, model: undefined, cache_salt: 's' }),
      )
      assert.equal(prompt.id, 'long')
      assert.equal('cache_salt' in inputs, false)
      assert.ok(JSON.stringify(inputs.messages).includes(long))
    }
    const missing = await app.post(chatUrl, { prompt: { id: 'long' }, user: long })
    assert.match(missing.text, /prompt.variables.text: nothing/)
    await app.keep('often', { content: '{text}'.repeat(50) }, 'production')
    const often = await app.post(chatUrl, { prompt: { id: 'often', variables: { text: long } } })
    assert.match(
      often.text,
      /prompt.variables: 5000000 characters where they are used; accepted: at most 4194304/,
    )
  })
})
