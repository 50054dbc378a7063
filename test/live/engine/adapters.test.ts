import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { writeRandomAdapter } from '../../support/random-adapter.ts'
import { generate, generationOf, startEngine, wholeRun } from './engine.ts'

const story = 'once upon a time there was a loom that wove by itself. '.repeat(4)
const shape = { hidden: 64 }

async function adaptersIn(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-adapters-'))
  t.after(() => rm(folder, { recursive: true }))
  const adapters = ['poet', 'judge'].map((name) => ({ name, file: join(folder, `${name}.gguf`) }))
  for (const [seed, { file }] of adapters.entries())
    await writeRandomAdapter(file, { ...shape, seed: seed + 1 })
  return adapters
}

test('each adapter changes answers in its own way, alone or together with others, and shares no prefix', async (t) => {
  const engine = await startEngine(t, { plan: { adapters: await adaptersIn(t), parallel: 8 }, shape })
  const names = [undefined, 'poet', 'judge']
  const settingOf = (adapter: string | undefined) => ({
    ...(adapter !== undefined && { adapter }),
    ending: { maxTokens: 32 },
  })
  const alone = []
  for (const adapter of names) {
    const said = await generate(engine, story, settingOf(adapter))
    assert.equal(said.prefilled.cachedTokens, 0, 'one adapter does not reuse the prefix of another')
    alone.push(said.tokens)
  }
  assert.equal(new Set(alone.map(String)).size, 3)
  const runs = await Promise.all(
    [...names, ...names].map((adapter) =>
      engine.generate(generationOf(story, settingOf(adapter)), new AbortController().signal),
    ),
  )
  const crowd = await Promise.all(runs.map(wholeRun))
  for (const [index, { tokens }] of crowd.entries()) assert.deepEqual(tokens, alone[index % 3])
  const again = await generate(engine, story, settingOf('poet'))
  assert.equal(again.prefilled.cachedTokens, again.promptTokens.length - 2)
  assert.deepEqual(again.tokens, alone[1])
  const salted = await generate(engine, story, { ...settingOf('poet'), salt: 'red' })
  assert.equal(salted.prefilled.cachedTokens, 0)
})

test('a model with an adapter of the wrong size cannot be served, and the reason is reported', async (t) => {
  const [poet] = await adaptersIn(t)
  const engine = await startEngine(t, {
    plan: { adapters: poet ? [poet] : [] },
    shape: { hidden: 96, heads: 3 },
  })
  const status = engine.status()
  assert.equal(status.state, 'failed')
})
