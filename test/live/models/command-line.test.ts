import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { runCommand } from '../../support/commands.ts'
import { startFakeUpstream, streamWords } from '../../support/fake-upstream.ts'
import { writeRandomModel } from '../../support/random-model.ts'
import { newFolder, runHeddle } from '../../support/server.ts'
import { type FakeHubOptions, startFakeHub } from './fake-hub.ts'

async function openHub(t: TestContext, options: Partial<FakeHubOptions> = {}) {
  const folder = await newFolder(t)
  await writeRandomModel(join(folder, 'm.gguf'), { context: 1024 })
  const bytes = await readFile(join(folder, 'm.gguf'))
  const repositories = { 'acme/tiny': { 'm-Q4_0.gguf': bytes, 'm-Q8_0.gguf': bytes } }
  const hub = await startFakeHub(t, { repositories, ...options })
  const data = await newFolder(t)
  const given = { HEDDLE_DATA: data, HF_ENDPOINT: `${hub.endpoint}/` }
  const run = (line: string, settings: Record<string, string> = {}) =>
    runCommand(line.split(' '), { ...given, ...settings })
  return { hub, data, bytes, run, given }
}

test('model pull downloads a model, reports progress in plain lines without a terminal, and prints the path', async (t) => {
  const { hub, data, bytes, run } = await openHub(t)
  const { code, out, err } = await run('model pull hf:acme/tiny:Q8_0')
  const file = join(data, 'models', 'acme', 'tiny', 'm-Q8_0.gguf')
  assert.deepEqual([code, out], [0, `${file}\n`])
  const [first, ...lines] = err.trimEnd().split('\n')
  assert.equal(first, 'Downloading acme/tiny:m-Q8_0.gguf')
  assert.ok(lines.length >= 1 && lines.length <= 11)
  for (const line of lines) assert.match(line, /^acme\/tiny:m-Q8_0\.gguf: \d+ % of \d+ KiB$/)
  assert.match(lines.at(-1) ?? '', /100 %/)
  assert.deepEqual(await readFile(file), bytes)
  const asked = hub.asked.length
  assert.deepEqual(await run('model pull hf:acme/tiny'), { code: 0, out: `${file}\n`, err: '' })
  assert.equal(hub.asked.length, asked)
})

test('two concurrent pulls download a model once', async (t) => {
  const { hub, given } = await openHub(t)
  const pull = () => runHeddle(['model', 'pull', 'hf:acme/tiny'], given)
  const found = await Promise.all([pull(), pull()])
  assert.deepEqual(
    found.map(({ code }) => code),
    [0, 0],
  )
  assert.equal(found[0].out, found[1].out)
  assert.equal(hub.asked.filter((line) => line.startsWith('GET bytes ')).length, 1)
})

test('model pull exits with 1 and one line when the hub refuses, and with 2 for a wrong command', async (t) => {
  const { run } = await openHub(t, { token: 'hf_secret' })
  const refused = await run('model pull hf:acme/tiny', { HF_TOKEN: 'hf_wrong' })
  assert.deepEqual([refused.code, refused.out], [1, ''])
  assert.match(refused.err, /^The hub answers 401 for acme\/tiny: [^\n]+\n$/)
  assert.doesNotMatch(refused.err, /hf_wrong/)
  const accepted = await run('model pull hf:acme/tiny:Q4_0', { HF_TOKEN: 'hf_secret' })
  assert.equal(accepted.code, 0)
  for (const line of [
    'model pull',
    'model pull builtin',
    'model pull hf:acme',
    'model pull hf:../tiny',
    'model pull hf:acme/tiny hf:acme/tiny',
    'model list all',
  ]) {
    const { code, out, err } = await run(line)
    assert.deepEqual([code, out], [2, ''], line)
    assert.match(err, /^[^\n]+\n$/, line)
  }
})

test('model list shows the downloaded models and how they would be run', async (t) => {
  const { data, bytes, run } = await openHub(t)
  const list = async (settings: Record<string, string> = {}) => {
    const { code, out, err } = await run('model list', settings)
    assert.deepEqual([code, err], [0, ''])
    const lines = out.split('\n').filter(Boolean)
    return lines.map((line) => JSON.parse(line)).filter(({ model }) => model !== 'builtin')
  }
  assert.deepEqual(await list(), [])
  await run('model pull hf:acme/tiny:Q4_0')
  await writeFile(join(data, 'models', 'acme', 'tiny', 'm-Q8_0.gguf.0123.part'), 'begun')
  const file = join(data, 'models', 'acme', 'tiny', 'm-Q4_0.gguf')
  const entry = {
    model: 'hf:acme/tiny:m-Q4_0.gguf',
    file,
    bytes: bytes.length,
    architecture: 'llama',
    parameters: 17_632,
    quantization: null,
    trained_context: 1024,
    context: 1024,
    parallel: 8,
    threads: 1,
    device: 'cpu',
    tools: 'generic',
    tools_note: 'the template shows no tool calls',
    reasoning: false,
  }
  assert.deepEqual(await list(), [entry])
  assert.deepEqual(await list({ HEDDLE_CONTEXT: '256', HEDDLE_PARALLEL: '2', HEDDLE_THREADS: '4' }), [
    { ...entry, context: 256, parallel: 2, threads: 4 },
  ])
  const broken = join(data, 'broken.gguf')
  await writeFile(broken, 'not a model, whatever its name says')
  await mkdir(join(data, 'models', 'own'), { recursive: true })
  await writeFile(join(data, 'models', 'own', 'own.gguf'), bytes)
  const own = join(data, 'models', 'own', 'own.gguf')
  assert.deepEqual(await list({ HEDDLE_MODEL: broken }), [
    { model: broken, file: broken, fault: `${broken} is not a GGUF file: it begins with "not ".` },
    entry,
    { ...entry, model: own, file: own },
  ])
})

test('model list shows the models of HEDDLE_MODELS with their state, and loads and downloads nothing', async (t) => {
  const { hub, data, bytes, run } = await openHub(t)
  const upstream = await startFakeUpstream(t, streamWords('no'), {
    models: [
      { id: 'large', owned_by: 'vllm', max_model_len: 4096 },
      { id: 'small', owned_by: 'vllm', max_model_len: 2048 },
    ],
  })
  const folder = await newFolder(t)
  await writeFile(join(folder, 'one.gguf'), bytes)
  await writeFile(join(folder, 'broken.gguf'), 'not a model, whatever its name says')
  const file = join(folder, 'models.json')
  const away = 'http://127.0.0.1:9/v1'
  const models = [
    { name: 'one', file: 'one.gguf', context: 256, parallel: 2, aliases: ['first'], fallbacks: ['cloud'] },
    { name: 'broken', file: 'broken.gguf' },
    { name: 'later', file: 'hf:acme/tiny' },
    { name: 'cloud', upstream: 'near', model: 'large' },
    { name: 'typo', upstream: 'near', model: 'lrage' },
    { name: 'gone', upstream: 'away' },
  ]
  const upstreams = [
    { name: 'near', serves: 'all', addresses: [{ url: upstream.url, weight: 2 }, away] },
    { name: 'away', kind: 'openai', addresses: [away] },
  ]
  await writeFile(file, JSON.stringify({ default: 'cloud', models, upstreams }))
  const settings = { HEDDLE_MODEL: '', HEDDLE_MODELS: file }
  const { code, out, err } = await run('model list', settings)
  assert.deepEqual([code, err], [0, ''])
  const lines = out
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
  assert.deepEqual(
    lines.map(({ name, model, state }) => [name ?? null, state ?? model]),
    [
      ['one', 'here'],
      ['broken', 'failed'],
      ['later', 'to be downloaded'],
      ['cloud', 'answers'],
      ['typo', 'answers'],
      ['gone', 'failed'],
      ['large', 'answers'],
      ['small', 'answers'],
      [null, 'builtin'],
    ],
  )
  const [one, broken, , cloud, typo, gone] = lines
  assert.deepEqual([one.aliases, one.fallbacks, one.context, one.parallel], [['first'], ['cloud'], 256, 2])
  assert.ok(one.memory > 0 && one.memory <= one.memory_bound)
  assert.match(broken.fault, /is not a GGUF file/)
  assert.deepEqual([cloud.default, cloud.kind, cloud.context, cloud.listed], [true, 'vllm', 4096, true])
  assert.deepEqual([typo.model, typo.listed, typo.default], ['lrage', false, undefined])
  const [near, far] = cloud.addresses
  assert.deepEqual(near, { address: upstream.url, weight: 2, state: 'answers' })
  assert.deepEqual([far.address, far.state], [away, 'failed'])
  assert.match(gone.addresses[0].fault, /ECONNREFUSED/)
  assert.deepEqual([hub.asked, upstream.asked], [[], []])

  await writeFile(file, '{"models": [{"name": "a", "file": 7}]}')
  const wrong = await run('model list', settings)
  assert.deepEqual([wrong.code, wrong.out, wrong.err.includes('models[0].file: given 7')], [2, '', true])
  assert.equal((await run('model list', { HEDDLE_DATA: data })).code, 0)
})

test('--help lists the commands', async (t) => {
  const { run } = await openHub(t)
  for (const [line, says] of [
    ['--help', /\n {2}model pull hf:ORG\/REPOSITORY\[:QUANT or FILE\] .*\n {2}model list /],
    ['model --help', /^heddle \[command\]\n\n {2}model pull .*\n {2}model list /],
    ['model pull --help', /^heddle model pull hf:ORG\/REPOSITORY\[:QUANT or FILE\]\n\nDownload a model/],
    ['model list --help', /^heddle model list\n\nList the models/],
  ] as const) {
    const { code, out, err } = await run(line)
    assert.deepEqual([code, err], [0, ''])
    assert.match(out, says)
  }
})
