import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { DiskCacheLoad, EmbeddedBackend, ModelPlan } from '../../../packages/engine/index.ts'
import { writeRandomModel } from '../../support/random-model.ts'
import { until } from '../../support/wait.ts'
import { type GenerationSetting, generate, startEngine } from './engine.ts'

const story = (who: string) =>
  `${who} had a loom that wove by itself, day and night, whoever looked. `.repeat(4)
const bound = 64 * 1024 * 1024

/** A model whose conversations are saved in a folder, for any number of engines that the test starts in sequence. */
async function openFolder(t: TestContext, said: Partial<ModelPlan> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-kept-'))
  t.after(() => rm(folder, { recursive: true }))
  const file = join(folder, 'random.gguf')
  const kept = join(folder, 'kept')
  // Prefill takes so much longer than writing a file that saving always pays, even on slow disks.
  const shape = { layers: 6, hidden: 256, heads: 4, kvHeads: 2, ffn: 1024 }
  await writeRandomModel(file, { weights: 'q8_0', ...shape })
  const plan = { file, parallel: 1, promptDisk: { folder: kept, bound }, ...said }
  return {
    kept,
    start: (others: Partial<ModelPlan> = {}) => startEngine(t, { plan: { ...plan, ...others } }),
    files: async () =>
      (await readdir(kept)).filter((name) => name.endsWith('.state')).map((name) => join(kept, name)),
  }
}

async function ask(engine: EmbeddedBackend, prompt: string | number[], setting: GenerationSetting = {}) {
  const { promptTokens, tokens, prefilled } = await generate(engine, prompt, setting)
  return { promptTokens, tokens: tokens[0] ?? [], cached: prefilled.cachedTokens }
}

/** The engine reports it once a second and with each answer. */
async function diskLoad(
  engine: EmbeddedBackend,
  what: string,
  isThere: (disk: DiskCacheLoad) => boolean,
): Promise<DiskCacheLoad> {
  const disk = () => {
    const status = engine.status()
    return status.state === 'ready' ? status.promptCache?.disk : undefined
  }
  await until(what, () => isThere(disk() ?? never))
  return disk() ?? never
}

const never: DiskCacheLoad = {
  prompts: -1,
  bytes: -1,
  bound: -1,
  written: -1,
  restored: -1,
  removed: -1,
  failed: -1,
}

for (const promptCache of [0, bound]) {
  test(`a conversation continues after a restart from its saved state, with ${promptCache} bytes of memory`, async (t) => {
    const { kept, start, files } = await openFolder(t, { promptCache })
    const before = await start()
    const first = await ask(before, story('Ann'))
    const ben = await ask(before, story('Ben'))
    await before.close()
    assert.equal((await stat(kept)).mode & 0o777, 0o700)
    assert.equal((await files()).length, 2)
    for (const file of await files()) assert.equal((await stat(file)).mode & 0o777, 0o600)

    const turn = [...first.promptTokens, ...first.tokens, 33, 34, 35]
    const after = await start()
    await diskLoad(after, 'both are found', ({ prompts }) => prompts === 2)
    const second = await ask(after, turn)
    assert.equal(second.cached, turn.length - 4, 'all but the last token of the answer are cached')
    assert.equal((await ask(after, story('Ben'))).cached, ben.promptTokens.length - 2)
    await diskLoad(after, 'both were restored', ({ restored }) => restored === 2)

    const anew = await start({ promptDisk: { folder: `${kept}-new`, bound }, promptCache: 0 })
    await ask(anew, story('Ann'))
    assert.deepEqual(second.tokens, (await ask(anew, turn)).tokens)
  })
}

test('the next engine can use what a killed engine saved', async (t) => {
  const { start } = await openFolder(t)
  const engine = await start()
  const { promptTokens } = await ask(engine, story('Ann'))
  await ask(engine, story('Ben'))
  const pid = engine.pid()
  assert.ok(pid !== undefined)
  process.kill(pid, 'SIGKILL')
  await until('another engine serves', () => engine.pid() !== pid && engine.status().state === 'ready')
  assert.equal((await ask(engine, story('Ann'))).cached, promptTokens.length - 2)
})

test('P6: tenants are kept apart, and no file contains the name of one', async (t) => {
  const { start, files } = await openFolder(t)
  const before = await start()
  const { promptTokens } = await ask(before, story('Ann'), { tenant: 'alice-of-acme' })
  await before.close()
  const [file] = await files()
  assert.ok(file !== undefined && !(await readFile(file)).includes('alice-of-acme'))
  const after = await start()
  assert.equal((await ask(after, story('Ann'), { tenant: 'bob' })).cached, 0)
  assert.equal((await ask(after, story('Ann'))).cached, 0)
  assert.equal((await ask(after, story('Ann'), { tenant: 'alice-of-acme' })).cached, promptTokens.length - 2)
})

test('salts are kept apart, and no file contains a salt', async (t) => {
  const { start, files } = await openFolder(t)
  const before = await start()
  const { promptTokens } = await ask(before, story('Ann'), { salt: 'red as rust' })
  await before.close()
  const [file] = await files()
  assert.ok(file !== undefined && !(await readFile(file)).includes('red as rust'))
  const after = await start()
  assert.equal((await ask(after, story('Ann'))).cached, 0)
  assert.equal((await ask(after, story('Ann'), { salt: 'blue' })).cached, 0)
  assert.equal((await ask(after, story('Ann'), { salt: 'red as rust' })).cached, promptTokens.length - 2)
})

test('files that are damaged, cut off or of another kind are removed and never used', async (t) => {
  const { kept, start, files } = await openFolder(t)
  const before = await start()
  const { tokens } = await ask(before, story('Ann'))
  await before.close()
  const [file] = await files()
  assert.ok(file !== undefined)
  const good = await readFile(file)
  const other = (at: number) => {
    const bytes = Buffer.from(good)
    bytes[at] = (bytes[at] ?? 0) ^ 1
    return bytes
  }
  for (const bytes of [
    Buffer.alloc(0),
    Buffer.from('no state at all'),
    good.subarray(0, good.length >> 1),
    good.subarray(0, good.length - 1),
    Buffer.concat([good, good]),
    // In the header, a token, the state, the trailer and the mark.
    ...[0, 14, good.length >> 1, good.length - 40, good.length - 2].map(other),
  ]) {
    await writeFile(file, bytes)
    await writeFile(join(kept, 'left.part'), good)
    const engine = await start()
    const answer = await ask(engine, story('Ann'))
    // A changed token makes it another prefix.
    assert.ok(answer.cached < 16, `${answer.cached} tokens of ${bytes.length} bytes`)
    assert.deepEqual(answer.tokens, tokens)
    assert.deepEqual(
      (await readdir(kept)).filter((name) => name.endsWith('.part')),
      [],
    )
    assert.deepEqual(await ask(engine, story('Ann')).then((again) => again.tokens), tokens)
    await engine.close()
    assert.equal((await files()).length, 1, 'the conversation is saved again')
    assert.deepEqual(await readFile(file), good, 'with the same bytes')
  }
})

test('states saved with other settings are removed', async (t) => {
  const { start, files } = await openFolder(t)
  for (const other of [{}, { context: 512 }, { kv: { keys: 'q8_0', values: 'f16' } as const }]) {
    const engine = await start(other)
    await diskLoad(engine, 'nothing is found', ({ prompts }) => prompts === 0)
    assert.equal((await ask(engine, story('Ann'))).cached, 0)
    await engine.close()
    assert.equal((await files()).length, 1)
  }
})

test('files stay within the bound, and the least recently used go first', async (t) => {
  const { start, files } = await openFolder(t)
  const one = await start()
  await ask(one, story('Ann'))
  await one.close()
  const [file] = await files()
  const size = (await stat(file ?? '')).size
  const { kept, start: startSmall, files: small } = await openFolder(t)
  const promptDisk = { folder: kept, bound: Math.floor(2.5 * size) }
  const engine = await startSmall({ promptDisk })
  for (const who of ['Ann', 'Ben', 'Cid']) await ask(engine, story(who))
  assert.ok(
    (await ask(engine, story('Ben'))).cached > 0,
    'it is still saved, and is now the most recently used',
  )
  await ask(engine, story('Dan'))
  await ask(engine, story('Eve'))
  const { bytes } = await diskLoad(engine, 'some were removed', ({ removed }) => removed >= 2)
  assert.ok(bytes <= promptDisk.bound)
  await engine.close()
  assert.equal((await small()).length, 2)
  const after = await startSmall({ promptDisk })
  assert.equal((await ask(after, story('Cid'))).cached, 0)
})

test('answers are the same when nothing can be written', async (t) => {
  const { kept, start } = await openFolder(t)
  await writeFile(kept, 'a file in the place of the folder')
  const engine = await start()
  const { tokens } = await ask(engine, story('Ann'))
  await ask(engine, story('Ben'))
  assert.deepEqual((await ask(engine, story('Ann'))).tokens, tokens)
  await diskLoad(engine, 'the trouble is told', ({ failed }) => failed > 0)
})
