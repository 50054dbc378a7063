import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { keys } from '../support/app.ts'
import { project } from '../support/calls.ts'
import { addressOf, openAppWithRoutes } from '../support/routes.ts'
import { adminsOnly, methodOf, sampleBodies, sampleBodyOf } from '../support/sample-bodies.ts'
import { scriptedBackend, scriptedModel } from '../support/scripted-backend.ts'
import { changed, type Path } from './contract-fields.ts'

/** Places where the members are the client's own, by what they are. */
const free: Record<string, RegExp> = {
  'what a program recorded': /(?:^|\.)(?:attributes|inputs|otel_dump|summary|payload|val|eval_attributes)$/,
  'a row of a dataset': /(?:^|\.)rows?(?:\.\d+)?$/,
  'an expression, which refuses unknown operators': /(?:^|\.)query(?:\.|$)/,
  'a JSON Schema, whose unknown keywords are annotations': /(?:^|\.)(?:schema|input_schema|parameters)$/,
  'an argument of a call': /(?:^|\.)(?:arguments|input)$/,
  'variables of a template': /^chat_template_kwargs$/,
  'the state of a decision': /^state$/,
  'labels of the client': /^metadata$/,
  'tokens by their ids': /^logit_bias$/,
  'a message of JSON-RPC, whose method checks it': /^params$/,
  'options without any effect':
    /^(?:kv_transfer_params|mm_processor_kwargs|(?:vllm|engine)_xargs|context_management)$/,
  'marks of Anthropic without any effect': /(?:^|\.)(?:cache_control|caller)$/,
  'a format of another type': /^response_format\.format$/,
  'a request that is checked with the dataset that it asks about': /^settings\.0\.request$/,
  'a message that is checked when it is asked, and named in its result': /^requests\.0\.params/,
}

const isFree = (path: Path) => Object.values(free).some((pattern) => pattern.test(path.join('.')))

/** OpenTelemetry demands that its receivers ignore what they do not know. */
const isOfOpenTelemetry = (url: string) => /\/v1\/(?:traces|logs|metrics)$/.test(url)

function* objectsIn(value: unknown, path: Path = []): Generator<Path> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield path
  for (const [step, member] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
    yield* objectsIn(member, [...path, step])
  }
}

const backend = () =>
  Object.assign(scriptedBackend(), {
    served: { ...scriptedModel, infill: { prefix: 1, suffix: 2, middle: 3, ends: [] } },
  })
const lenient = await openAppWithRoutes({ after }, { backend: backend() })
const strict = await openAppWithRoutes(
  { after },
  { backend: backend(), settings: { HEDDLE_UNKNOWN_FIELDS: 'refuse' } },
)

/** A member that no contract has is named in the answer, and refused if the server is told to. */
async function tryMember(url: string, body: Record<string, unknown>, path: Path) {
  const added = [...path, 'zork']
  const spelled = changed(body, added, { a: 1 })
  const send = (app: typeof strict) =>
    app.send(methodOf(url), addressOf({ url }), spelled, adminsOnly.has(url) ? keys.root : keys.alice)
  const place = added.join('.')
  const [told, refused] = [await send(lenient), await send(strict)]
  const names = String(told.headers['x-heddle-ignored-fields'] ?? '').split(', ')
  const isRefused = told.status >= 400 && told.text.includes('zork')
  assert.ok(names.includes(place) || isRefused, `${place}: ${told.status} ${told.text.slice(0, 300)}`)
  assert.ok([400, 422].includes(refused.status), `${place}: ${refused.status} ${refused.text.slice(0, 300)}`)
  const { reason, error } = refused.json
  const message: string = reason ?? error.message ?? error
  // The parts of structural tags are named as paths of JSON pointers.
  assert.ok(message.replaceAll('/', '.').includes(place.replace(/^response_format/, '')), message)
}

for (const url of Object.keys(sampleBodies).filter((name) => !isOfOpenTelemetry(name))) {
  test(`${url}: an unknown member is named or refused, however deep it is`, async () => {
    const sample = sampleBodyOf(url, project)
    for (const path of objectsIn(sample)) {
      if (!isFree(path)) await tryMember(url, sample, path)
    }
  })
}

const messages = [{ role: 'user', content: 'Hi' }]
const picture = 'data:image/png;base64,AAAA'
const tools = [{ type: 'function', function: { name: 'find' } }]
const tag = () => ({ type: 'tag', begin: '<a>', content: { type: 'any_text' }, end: '</a>' })

/** Alternatives that the samples do not have. */
const others: [what: string, url: string, body: Record<string, unknown>, ...paths: Path[]][] = [
  [
    'parts of a chat',
    '/v1/chat/completions',
    { messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }] },
    ['messages', 0, 'content', 0],
  ],
  [
    'parts that are counted',
    '/tokenize',
    { messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }] },
    ['messages', 0, 'content', 0],
  ],
  [
    'a choice of a tool',
    '/v1/chat/completions',
    { messages, tools, tool_choice: { type: 'function', function: { name: 'find' } } },
    ['tool_choice'],
    ['tool_choice', 'function'],
  ],
  [
    'a structural tag',
    '/v1/chat/completions',
    {
      messages,
      response_format: {
        type: 'structural_tag',
        format: {
          type: 'sequence',
          elements: [tag(), { type: 'triggered_tags', triggers: ['<a>'], tags: [tag()] }],
        },
      },
    },
    ['response_format', 'format'],
    ['response_format', 'format', 'elements', 0],
    ['response_format', 'format', 'elements', 0, 'content'],
    ['response_format', 'format', 'elements', 1, 'tags', 0],
  ],
  [
    'an older structural tag',
    '/v1/chat/completions',
    {
      messages,
      response_format: {
        type: 'structural_tag',
        triggers: ['<a>'],
        structures: [{ begin: '<a>', schema: {}, end: '</a>' }],
      },
    },
    ['response_format', 'structures', 0],
  ],
  [
    'items of Responses',
    '/v1/responses',
    {
      input: [{ role: 'user', content: [{ type: 'input_image', image_url: { url: picture } }] }],
      text: { format: { type: 'text' } },
      tools: [{ type: 'web_search' }],
    },
    ['input', 0],
    ['input', 0, 'content', 0],
    ['input', 0, 'content', 0, 'image_url'],
    ['text', 'format'],
    ['tools', 0],
  ],
  [
    'a tool of Responses',
    '/v1/responses',
    {
      input: 'Hi',
      tools: [{ type: 'function', name: 'find' }],
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'find' }] },
    },
    ['tool_choice'],
    ['tool_choice', 'tools', 0],
  ],
  [
    'inputs of Cohere',
    '/v2/embed',
    { inputs: [{ content: [{ type: 'text', text: 'a' }] }] },
    ['inputs', 0],
    ['inputs', 0, 'content', 0],
  ],
  [
    'a conversation to decide about',
    '/v1/decisions',
    {
      input: [{ role: 'user', content: [{ type: 'input_text', text: 'a' }] }],
      questions: [{ type: 'predicate', instructions: 'Is it?' }],
    },
    ['input', 0],
    ['input', 0, 'content', 0],
  ],
  [
    'a question',
    '/v1/systemone',
    { state: 'a', questions: { kind: { type: 'noul' } } },
    ['questions', 'kind'],
  ],
]
for (const [what, url, body, ...paths] of others) {
  test(`an unknown member is named or refused: ${what}`, async () => {
    for (const path of paths) await tryMember(url, body, path)
  })
}

for (const [url, body, name] of [
  ['/api/chat', { model: 'scripted', messages, options: { num_ctx: 1e9 }, stream: false }, 'options.num_ctx'],
  ['/infill', { input_prefix: 'a', n_keep: 3 }, 'n_keep'],
  ['/v2/embed', { texts: ['a'], input_type: 'search_query' }, 'input_type'],
] as const) {
  test(`${url}: a known field without effect is named, or refused`, async () => {
    assert.equal((await lenient.post(url, body)).headers['x-heddle-ignored-fields'], name)
    const refused = await strict.post(url, body)
    assert.equal(refused.status, 400)
    assert.ok(refused.text.includes(`${name}: has no effect here`), refused.text)
    const { [name.split('.')[0] as string]: _, ...rest } = body as Record<string, unknown>
    assert.equal((await strict.post(url, rest)).status, 200)
  })
}

test('a refused answer leaves no call and no running answer', async () => {
  const asked = { messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi', cache_control: {} }] }] }
  const before = await strict.post('/calls/query_stats', { project_id: project })
  for (const stream of [false, true]) {
    const { status, json } = await strict.post('/v1/chat/completions', { ...asked, stream })
    assert.deepEqual([status, json.error.param], [400, 'messages.0.content.0.cache_control'])
  }
  const counted = await strict.post('/calls/query_stats', { project_id: project })
  assert.equal(counted.json.count, before.json.count)
})
