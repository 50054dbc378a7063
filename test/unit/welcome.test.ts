import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { sourceOf } from '../../packages/engine/index.ts'
import { welcome } from '../../src/command-line/welcome.ts'
import { createLocalModel } from '../../src/inference/local-model.ts'
import { createModels } from '../../src/inference/registry.ts'
import { type ScriptedBackend, scriptedBackend, scriptedModel } from '../support/scripted-backend.ts'

interface Start {
  patienceMs?: number
  isTTY?: boolean
  firstKey?: string
  page?: boolean
  users?: { name: string; key: string; entities: string[] }[]
  backend?: ScriptedBackend
  model?: string
  models?: string
}

const unused = new Proxy({}, { get: () => assert.fail('no template is rendered') }) as never

function start({ isTTY = true, firstKey, backend, patienceMs, ...config }: Start) {
  const { page = true, users = [], model = 'builtin', models: file = '' } = config
  const stderr = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY })
  const models = createModels(
    backend === undefined ? [] : [createLocalModel(backend, { prompts: unused, compiling: unused })],
  )
  const server = { address: 'http://127.0.0.1:8080', models }
  const never = new AbortController().signal
  const settings = { page, users, model, models: file }
  return { stderr, ended: welcome(server, settings, firstKey, stderr, never, patienceMs) }
}

async function lastWords(settings: Start): Promise<string> {
  const { stderr, ended } = start(settings)
  await ended
  return stderr.read() as string
}

function backendOf(changes: Partial<Pick<ScriptedBackend, 'state' | 'served'>> = {}) {
  return Object.assign(scriptedBackend(), changes)
}

test('the first start ends with a link that signs in and a question that can be pasted', async () => {
  const text = await lastWords({ firstKey: 'hdl_secret', backend: backendOf() })
  assert.match(text, /^Heddle is ready: http:\/\/127\.0\.0\.1:8080\/ui\/#key=hdl_secret$/m)
  const [, header, body] =
    /curl http:\/\/127\.0\.0\.1:8080\/v1\/chat\/completions -H "(.*?)" \\\n.* -d '(.*)'/.exec(text) ?? []
  assert.equal(header, 'authorization: Bearer hdl_secret')
  assert.equal(JSON.parse(body ?? '').messages[0].role, 'user')
})

test('a later start says how to get a link', async () => {
  const text = await lastWords({ backend: backendOf() })
  assert.match(text, /^Heddle is ready: http:\/\/127\.0\.0\.1:8080\/ui\/$/m)
  assert.match(text, /`npx heddle key add admin`.*#key=/)
  assert.match(text, /Bearer \$KEY"/)
  const users = [{ name: 'ann', key: 'a-key-that-nobody-guesses', entities: ['*'] }]
  assert.match(await lastWords({ users, backend: backendOf() }), /Sign in with a key of HEDDLE_USERS\./)
})

test('only where the built-in model answers, a real one is offered, by a command that the hub can serve', async () => {
  const offer = /about 490 MB.*\n\n {2}npx heddle model pull (\S+)$/m
  const [, name = ''] = offer.exec(await lastWords({ backend: backendOf() })) ?? []
  assert.equal(sourceOf(name).kind, 'hub')
  const others: Start[] = [
    { model: 'none' },
    { model: '/a/file.gguf' },
    { models: '/a/list.json' },
    { isTTY: false },
  ]
  for (const start of others)
    assert.doesNotMatch(await lastWords({ ...start, backend: backendOf() }), /model pull/)
})

test('without a terminal it is one line that has no key', async () => {
  const piped = { isTTY: false, firstKey: 'hdl_secret', backend: backendOf() }
  assert.equal(await lastWords(piped), 'Heddle is ready: http://127.0.0.1:8080/ui/\n')
  assert.equal(await lastWords({ ...piped, page: false }), 'Heddle is ready: http://127.0.0.1:8080\n')
})

test('the question fits what the model can do', async () => {
  const withoutTemplate = backendOf({ served: { ...scriptedModel, template: undefined } })
  assert.match(await lastWords({ backend: withoutTemplate }), /\/v1\/completions -H .*\n.*"prompt":/)
  const pooling = backendOf({ served: { ...scriptedModel, tasks: ['embeddings'] } })
  for (const text of [await lastWords({ backend: pooling }), await lastWords({})]) {
    assert.match(text, /^Heddle is ready: /m)
    assert.doesNotMatch(text, /curl/)
  }
})

test('a model that takes long or cannot be served does not keep the link back', async (t) => {
  // As the server does: its wait for the model holds no process open.
  const open = setInterval(() => {}, 1_000)
  t.after(() => clearInterval(open))
  const backend = backendOf({ state: { state: 'starting', doing: 'downloading it' }, served: undefined })
  const { stderr, ended } = start({ isTTY: false, backend, patienceMs: 0 })
  const [early] = (await once(stderr, 'data')) as [string]
  assert.equal(early, 'Heddle is up: http://127.0.0.1:8080/ui/ (its model is not ready yet)\n')
  backend.state = { state: 'failed', reason: 'it is gone' }
  const [late] = (await once(stderr, 'data')) as [string]
  assert.equal(
    late,
    'Heddle is up: http://127.0.0.1:8080/ui/ (its model cannot be served; the log says why)\n',
  )
  await ended
})

test('a signal while the first user is made takes effect once its key is shown', () => {
  const script = `
    import { setImmediate } from 'node:timers/promises'
    import { makeFirstUser } from ${JSON.stringify(new URL('../../src/command-line/welcome.ts', import.meta.url))}
    const database = {
      all: async () => [],
      async write() {
        process.kill(process.pid, 'SIGTERM')
        for (let turn = 0; turn < 10; turn++) await setImmediate()
        return true
      },
    }
    await makeFirstUser({ users: [] }, database)
    process.stdin.resume()`
  const { signal, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  assert.equal(signal, 'SIGTERM')
  assert.match(stderr, /^\nMade the first user, "admin"\. Its key, shown this once:\n\n {2}hdl_\S+\n\n$/)
})

test('a server elsewhere is ready with the models that it lists, whatever stood for them before', async (t) => {
  const open = setInterval(() => {}, 1_000)
  t.after(() => clearInterval(open))
  const before = backendOf({ state: { state: 'starting', doing: 'asking it' }, served: undefined })
  let all = [createLocalModel(before, { prompts: unused, compiling: unused })]
  const models = createModels(() => all)
  const stderr = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY: false })
  const settings = { page: true, users: [], model: 'https://models.example/v1', models: '' }
  const server = { address: 'http://127.0.0.1:8080', models }
  const ended = welcome(server, settings, undefined, stderr, new AbortController().signal)
  all = [createLocalModel(scriptedBackend(), { prompts: unused, compiling: unused })]
  before.state = { state: 'failed', reason: 'it lists no models' }
  await ended
  assert.equal(stderr.read(), 'Heddle is ready: http://127.0.0.1:8080/ui/\n')
})
