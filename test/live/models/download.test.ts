import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type FindWatch, findModel, ModelError, sourceOf } from '../../../packages/engine/index.ts'
import { newFolder } from '../../support/server.ts'
import { type FakeHubOptions, startFakeHub } from './fake-hub.ts'

const model = randomBytes(300_000)
const files = {
  'tiny-Q4_K_M.gguf': model,
  'tiny-Q8_0.gguf': randomBytes(1000),
  'README.md': Buffer.from('x'),
}

async function openHub(t: TestContext, options: Partial<FakeHubOptions> = {}) {
  const hub = await startFakeHub(t, { repositories: { 'acme/tiny': files }, ...options })
  const data = await newFolder(t)
  const seen: number[] = []
  const find = (given: string, { token = '', ...watch }: Partial<FindWatch> & { token?: string } = {}) => {
    const source = sourceOf(given)
    assert.ok(source.kind !== 'none' && source.kind !== 'upstream')
    return findModel(
      source,
      { data, hf_endpoint: hub.endpoint, hf_token: token },
      {
        signal: new AbortController().signal,
        onProgress: (done) => seen.push(done),
        onWait: () => {},
        onDownload: () => {},
        pauseMs: () => 0,
        ...watch,
      },
    )
  }
  const folder = join(data, 'models', 'acme', 'tiny')
  const left = async () => (await readdir(folder)).filter((name) => !name.endsWith('.lock')).toSorted()
  return { hub, find, folder, left, seen }
}

const trouble = (message: RegExp, mayPass: boolean) => (error: unknown) => {
  assert.ok(error instanceof ModelError, String(error))
  assert.match(error.message, message)
  assert.doesNotMatch(error.message, /\n/)
  assert.equal(error.isTemporary, mayPass)
  return true
}

test('a model is downloaded once, and then found without the hub', async (t) => {
  const { hub, find, folder, left, seen } = await openHub(t)
  const file = await find('hf:acme/tiny')
  assert.equal(file, join(folder, 'tiny-Q4_K_M.gguf'))
  assert.deepEqual(await readFile(file), model)
  assert.equal(seen.at(-1), model.length)
  assert.deepEqual(await left(), ['tiny-Q4_K_M.gguf'])
  assert.deepEqual(hub.asked, [
    'GET /api/models/acme/tiny/tree/main',
    'GET /acme/tiny/resolve/main/tiny-Q4_K_M.gguf',
    'GET bytes all',
  ])
  assert.equal(await find('hf:acme/tiny'), file)
  assert.equal(await find('hf:acme/tiny:q4_k_m'), file)
  assert.equal(hub.asked.length, 3)
  assert.equal(await find('hf:acme/tiny:Q8_0'), join(folder, 'tiny-Q8_0.gguf'))
  assert.equal(await find('hf:acme/tiny:tiny-Q8_0.gguf'), join(folder, 'tiny-Q8_0.gguf'))
  assert.equal(hub.asked.length, 6)
})

test('all pages of a listing are read', async (t) => {
  const { hub, find, folder } = await openHub(t, { page: 1 })
  assert.equal(await find('hf:acme/tiny:Q8_0'), join(folder, 'tiny-Q8_0.gguf'))
  assert.equal(hub.asked.filter((line) => line.startsWith('GET /api/')).length, 3)
})

test('the token is sent to the hub and not to the address that it redirects to', async (t) => {
  const { hub, find } = await openHub(t, { token: 'hf_secret' })
  await assert.rejects(
    find('hf:acme/tiny'),
    trouble(/401 for acme\/tiny: .* needs a token in HF_TOKEN\.$/, false),
  )
  await assert.rejects(
    find('hf:acme/tiny', { token: 'hf_other' }),
    trouble(/401 for acme\/tiny: .* the token in HF_TOKEN does not open it\.$/, false),
  )
  await find('hf:acme/tiny', { token: 'hf_secret' })
  assert.deepEqual(hub.tokens.hub.slice(2), ['Bearer hf_secret', 'Bearer hf_secret'])
  assert.deepEqual(hub.tokens.store, [undefined])
})

test('a broken connection resumes where it broke', async (t) => {
  const { hub, find } = await openHub(t, { breaksAfter: 100_000 })
  assert.deepEqual(await readFile(await find('hf:acme/tiny')), model)
  const ranges = hub.asked.filter((line) => line.startsWith('GET bytes ')).map((line) => line.slice(10))
  assert.equal(ranges[0], 'all')
  assert.ok(ranges.length >= 3)
  for (const range of ranges.slice(1)) assert.match(range, /^bytes=[1-9]\d*-$/)
})

test('an abandoned download continues the next time', async (t) => {
  const { hub, find, left } = await openHub(t, { breaksAfter: 120_000, silentFrom: 2 })
  await assert.rejects(
    find('hf:acme/tiny'),
    trouble(/The download of tiny-Q4_K_M\.gguf was interrupted|does not answer/, true),
  )
  const [partial = '', ...more] = await left()
  assert.match(partial, /^tiny-Q4_K_M\.gguf\.[0-9a-f]{16}\.part$/)
  assert.deepEqual(more, [])

  const other = await openHub(t)
  await assert.rejects(readdir(other.folder), { code: 'ENOENT' })
  const half = model.subarray(0, 150_000)
  await other.find('hf:acme/tiny:Q8_0')
  await writeFile(
    join(other.folder, `tiny-Q4_K_M.gguf.${hub.sha256Of('acme/tiny/tiny-Q4_K_M.gguf').slice(0, 16)}.part`),
    half,
  )
  assert.deepEqual(await readFile(await other.find('hf:acme/tiny:Q4_K_M')), model)
  assert.equal(other.hub.asked.at(-1), 'GET bytes bytes=150000-')
  assert.deepEqual(await other.left(), ['tiny-Q4_K_M.gguf', 'tiny-Q8_0.gguf'])
})

test('a complete part is only verified', async (t) => {
  const { hub, find, folder, left } = await openHub(t)
  await find('hf:acme/tiny:Q8_0')
  const sum = hub.sha256Of('acme/tiny/tiny-Q4_K_M.gguf').slice(0, 16)
  await writeFile(join(folder, `tiny-Q4_K_M.gguf.${sum}.part`), model)
  await find('hf:acme/tiny:Q4_K_M')
  assert.deepEqual(await left(), ['tiny-Q4_K_M.gguf', 'tiny-Q8_0.gguf'])
})

test('a hub without range requests sends the file from its beginning', async (t) => {
  const { hub, find, folder } = await openHub(t, { ignoresRange: true })
  await find('hf:acme/tiny:Q8_0')
  const sum = hub.sha256Of('acme/tiny/tiny-Q4_K_M.gguf').slice(0, 16)
  await writeFile(join(folder, `tiny-Q4_K_M.gguf.${sum}.part`), 'something of another file')
  assert.deepEqual(await readFile(await find('hf:acme/tiny:Q4_K_M')), model)
})

test('a download from a hub without range requests fails when it breaks off', async (t) => {
  const { find } = await openHub(t, { ignoresRange: true, breaksAfter: 100_000 })
  await assert.rejects(find('hf:acme/tiny'), trouble(/was interrupted/, true))
})

test('a download fails when the hub sends a different range', async (t) => {
  const { find, left } = await openHub(t, { breaksAfter: 100_000, misses: 1000 })
  await assert.rejects(find('hf:acme/tiny'), trouble(/the hub sends it from byte \d+ on\.$/, true))
  assert.equal((await left()).length, 1)
})

test('a damaged download is discarded', async (t) => {
  const { hub, find, left } = await openHub(t, { damages: true })
  const sum = hub.sha256Of('acme/tiny/tiny-Q4_K_M.gguf')
  await assert.rejects(
    find('hf:acme/tiny'),
    trouble(new RegExp(`arrived damaged: its SHA-256 is not ${sum}`), true),
  )
  assert.deepEqual(await left(), [])
})

test('a file that cannot be verified is not accepted', async (t) => {
  const { find, left } = await openHub(t, { sumless: true })
  await assert.rejects(find('hf:acme/tiny'), trouble(/The hub names no SHA-256:/, false))
  assert.ok((await left()).every((name) => name.endsWith('.part')))
})

for (const [status, message, mayPass] of [
  [403, /^The hub answers 403 for acme\/tiny: its terms must be accepted on its page first/, false],
  [404, /^The hub answers 404: there is no acme\/tiny, or not that file\.$/, false],
  [429, /^The hub answers 429 for acme\/tiny\.$/, true],
  [503, /^The hub answers 503 for acme\/tiny\.$/, true],
] as const) {
  test(`a hub that answers ${status}`, async (t) => {
    const { find } = await openHub(t, { status })
    await assert.rejects(find('hf:acme/tiny'), trouble(message, mayPass))
  })
}

test('an unreachable hub', async (t) => {
  const data = await newFolder(t)
  const watch = {
    signal: new AbortController().signal,
    onProgress: () => {},
    onWait: () => {},
    onDownload: () => {},
  }
  const locations = { data, hf_endpoint: 'http://127.0.0.1:1', hf_token: '' }
  await assert.rejects(
    findModel({ kind: 'hub', repository: 'acme/tiny', wanted: undefined }, locations, watch),
    trouble(/^http:\/\/127\.0\.0\.1:1 does not answer: /, true),
  )
})

test('a missing repository, and a missing quantization', async (t) => {
  const { find } = await openHub(t)
  await assert.rejects(
    find('hf:acme/none'),
    trouble(/^The hub answers 401 for acme\/none: there is no such/, false),
  )
  await assert.rejects(
    find('hf:acme/tiny:Q2_K'),
    trouble(
      /^acme\/tiny has no Q2_K; accepted after its name and a colon: tiny-Q4_K_M\.gguf, tiny-Q8_0\.gguf\.$/,
      false,
    ),
  )
})

test('paths that would leave the folder are ignored', async (t) => {
  const evil = { '../../evil.gguf': model, '/evil.gguf': model, 'a\\b.gguf': model }
  const { find } = await openHub(t, { repositories: { 'acme/tiny': evil } })
  await assert.rejects(find('hf:acme/tiny'), trouble(/^acme\/tiny has no \.gguf file/, false))
})

test('two concurrent downloads fetch the file once', async (t) => {
  const { hub, find } = await openHub(t)
  const found = await Promise.all([find('hf:acme/tiny'), find('hf:acme/tiny')])
  assert.equal(found[0], found[1])
  assert.equal(hub.asked.filter((line) => line.startsWith('GET bytes ')).length, 1)
})

test('an aborted download leaves a part and no file', async (t) => {
  const { find, folder } = await openHub(t)
  const giving = new AbortController()
  const reason = new Error('enough')
  const finding = find('hf:acme/tiny', { signal: giving.signal, onProgress: () => giving.abort(reason) })
  await assert.rejects(finding, reason)
  assert.ok(!existsSync(join(folder, 'tiny-Q4_K_M.gguf')))
  await find('hf:acme/tiny')
})
