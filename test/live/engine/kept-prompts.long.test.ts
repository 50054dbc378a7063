import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type GenerationSetting, generate, startEngine } from './engine.ts'

const story = (who: string) =>
  `${who} had a loom that wove by itself, day and night, whoever looked. `.repeat(4)
const bound = 64 * 1024 * 1024
const sampling = { temperature: 1 }
/** Much to compute and little to copy per token, so that saving pays on any machine. */
const shape = { layers: 4, hidden: 256, heads: 4, kvHeads: 1, ffn: 2048 }

test('an evicted conversation resumes from memory, and the cached tokens show it', async (t) => {
  const engine = await startEngine(t, { plan: { parallel: 1, promptCache: bound }, shape })
  const first = await generate(engine, story('Ann'))
  await generate(engine, story('Ben'))
  const turn = [...first.promptTokens, ...(first.tokens[0] ?? []), 33, 34, 35]
  const second = await generate(engine, turn)
  assert.equal(
    second.prefilled.cachedTokens,
    turn.length - 4,
    'all but the last token of the answer are cached',
  )
  const ben = await generate(engine, story('Ben'))
  assert.equal(ben.prefilled.cachedTokens, ben.promptTokens.length - 2)
  const status = engine.status()
  assert.ok(status.state === 'ready' && status.promptCache !== undefined)
  const { restored, prompts, bytes, bound: most } = status.promptCache
  assert.deepEqual([restored, most], [2, bound])
  assert.ok(prompts >= 2 && bytes > 0 && bytes < most)
})

test('what is saved for one salt is not used for another', async (t) => {
  const engine = await startEngine(t, { plan: { parallel: 1, promptCache: bound }, shape })
  const cached = async (salt?: string) =>
    (await generate(engine, story('Ann'), salt === undefined ? {} : { salt })).prefilled.cachedTokens
  const forget = () => generate(engine, story('Ben'), { salt: 'ben' })
  const whole = (await generate(engine, story('Ann'))).promptTokens.length - 2
  await forget()
  assert.equal(await cached('red'), 0)
  await forget()
  assert.equal(await cached('blue'), 0)
  await forget()
  assert.equal(await cached('red'), whole)
  await forget()
  assert.equal(await cached(), whole)
})

test('P6: what is saved for one tenant is not used for another, unless they share a group', async (t) => {
  const engine = await startEngine(t, { plan: { parallel: 1, promptCache: bound }, shape })
  const cached = async (whose: GenerationSetting) =>
    (await generate(engine, story('Ann'), whose)).prefilled.cachedTokens
  const forget = () => generate(engine, story('Ben'), { tenant: 'ben' })
  const { promptTokens } = await generate(engine, story('Ann'), { tenant: 'alice' })
  const whole = promptTokens.length - 2
  assert.equal(await cached({ tenant: 'bob' }), 0, 'in the sequence')
  await forget()
  assert.equal(await cached({ tenant: 'carol' }), 0, 'in memory')
  await forget()
  assert.equal(await cached({ tenant: 'carol', salt: 'red' }), 0)
  await forget()
  assert.equal(await cached({ tenant: 'alice' }), whole)
  assert.equal(await cached({ tenant: 'alice', promptGroup: 'both' }), 0)
  await forget()
  assert.equal(await cached({ tenant: 'bob', promptGroup: 'both' }), whole)
})

test('nothing is saved when the bound is 0', async (t) => {
  const engine = await startEngine(t, { plan: { parallel: 1 } })
  await generate(engine, story('Ann'))
  await generate(engine, story('Ben'))
  assert.equal((await generate(engine, story('Ann'))).prefilled.cachedTokens, 0)
})

/** Turns of users: each continues its conversation, goes back to its middle, or starts a new one. */
const turns = fc.array(
  fc.record({
    user: fc.integer({ min: 0, max: 4 }),
    adds: fc.integer({ min: 1, max: 60 }),
    from: fc.constantFrom('end', 'end', 'end', 'middle', 'nothing'),
  }),
  { minLength: 4, maxLength: 16 },
)

test('for any order of turns, a restored conversation has the same answers as one that was never evicted', async (t) => {
  const settings = { t, random: fc.sample(turns, { numRuns: 6, seed: 18 }) }
  for (const kv of [
    { keys: 'f16', values: 'f16' },
    { keys: 'q8_0', values: 'q8_0' },
  ] as const) {
    const plan = { context: 2048, kv }
    // Here each user has its own sequence.
    const roomy = await startEngine(t, { plan: { ...plan, parallel: 6 }, shape })
    const narrow = await startEngine(t, { plan: { ...plan, parallel: 1, promptCache: bound }, shape })
    let restored = 0
    for (const [index, list] of settings.random.entries()) {
      const said = new Map<number, number[]>()
      for (const [at, { user, adds, from }] of list.entries()) {
        const own = said.get(user) ?? []
        const kept = own.slice(0, from === 'end' ? own.length : from === 'middle' ? own.length >> 1 : 0)
        const added = Array.from({ length: 40 + adds }, (_, n) => (7 * n + 13 * user + 31 * at) % 250)
        const prompt = [...kept, ...added]
        if (prompt.length > 1500) continue
        const setting = { salt: `${index} ${user}`, sampling, ending: { maxTokens: 12 } }
        const one = await generate(roomy, prompt, setting)
        const other = await generate(narrow, prompt, setting)
        assert.deepEqual(other.tokens, one.tokens)
        if (other.prefilled.cachedTokens > 0) restored++
        said.set(user, [...prompt, ...(one.tokens[0] ?? [])])
      }
    }
    assert.ok(restored > 20, `${restored} prompts reused a prefix`)
  }
})
