import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '../../support/seeded-random.ts'
import { until } from '../../support/wait.ts'
import { generate, generationOf, startEngine } from './engine.ts'

const word = 'the quick brown fox jumps over the lazy dog '

test('concurrent requests get the same tokens as each of them alone', async (t) => {
  const engine = await startEngine(t)
  const requests = Array.from({ length: 6 }, (_, i) => ({
    prompt: `${i} says: ${word.repeat(1 + i)}`,
    setting: { sampling: { seed: BigInt(i), temperature: 1.5 }, ending: { maxTokens: 40 + i } },
  }))
  const together = await Promise.all(requests.map(({ prompt, setting }) => generate(engine, prompt, setting)))
  const alone = []
  for (const { prompt, setting } of requests) {
    alone.push(await generate(engine, prompt, { ...setting, salt: 'fresh' }))
  }
  assert.deepEqual(
    together.map(({ tokens }) => tokens),
    alone.map(({ tokens }) => tokens),
  )
  assert.deepEqual(
    together.map(({ tokens }) => tokens[0]?.length),
    [40, 41, 42, 43, 44, 45],
  )
})

for (const [name, setting] of Object.entries({
  'the built-in model': { plan: { file: 'models/builtin/heddle-tiny.gguf' } },
  'a random model': { shape: { layers: 8 } },
})) {
  test(`a short prompt has the same logits new, cached and among others: ${name}`, async (t) => {
    const engine = await startEngine(t, { ...setting, plan: { queue: 250, ...setting.plan } })
    const random = seededRandom(11)
    const upTo = (most: number) => Math.floor(random() * most)
    const prompts = Array.from({ length: 250 }, () => Array.from({ length: 2 + upTo(30) }, () => upTo(250)))
    async function logits(prompt: number[], salt: string) {
      const asked = { logprobs: 5, salt, sampling: { temperature: 0 }, ending: { maxTokens: 2 } }
      const run = await engine.generate(generationOf(prompt, asked), t.signal)
      const events = (await Array.fromAsync(run.events)).flat()
      const tokens = events.flatMap((event) => (event.kind === 'tokens' ? [event] : []))
      const told = tokens.flatMap((event) => event.logprobs ?? [])
      return told.flatMap(({ top }) => top.map(({ token, logprob }) => [token, logprob]))
    }

    const alone = []
    for (const [i, prompt] of prompts.entries()) {
      const fresh = await logits(prompt, `salt ${i}`)
      assert.equal(fresh.length, 10)
      assert.deepEqual(await logits(prompt, `salt ${i}`), fresh, `cached: ${prompt}`)
      alone.push(fresh)
    }
    const crowd = await Promise.all(prompts.map((prompt, i) => logits(prompt, `crowd ${i}`)))
    for (const [i, prompt] of prompts.entries())
      assert.deepEqual(crowd[i], alone[i], `among others: ${prompt}`)
  })
}

test('choices draw with consecutive seeds, and share one prefill', async (t) => {
  const engine = await startEngine(t)
  const prompt = word.repeat(4)
  const setting = { sampling: { temperature: 1.5 }, ending: { maxTokens: 12 } }
  const whole = await generate(engine, prompt, { ...setting, choices: 7 })
  assert.equal(whole.tokens.length, 7)
  assert.deepEqual(
    whole.finished,
    Array.from({ length: 7 }, (_, choice) => ({ kind: 'finished', choice, reason: 'length', stop: null })),
  )
  for (const [choice, tokens] of whole.tokens.entries()) {
    const seed = 1n + BigInt(choice)
    const single = await generate(engine, prompt, { ...setting, sampling: { ...setting.sampling, seed } })
    assert.deepEqual(single.tokens, [tokens])
  }
})

test('a beam search gives as many distinct answers as requested, and frees its sequences', async (t) => {
  const engine = await startEngine(t)
  const setting = { choices: 4, beam: { lengthPenalty: 1 }, ending: { maxTokens: 8 } }
  const [first, other, beside] = await Promise.all([
    generate(engine, word, setting),
    generate(engine, word, setting),
    generate(engine, word),
  ])
  assert.deepEqual(first?.tokens, other?.tokens)
  assert.equal(new Set(first?.tokens.map(String)).size, 4)
  assert.equal(beside?.tokens[0]?.length, 16)
  assert.equal((await generate(engine, word, { choices: 4 })).tokens.length, 4)
  await assert.rejects(generate(engine, word, { ...setting, choices: 5 }), {
    code: 'invalid_value',
    message: 'n: 5 with use_beam_search; accepted: 1 to 4, because all beams run at once.',
  })
})

test('during a long prefill other answers continue, and a short prompt is computed alongside', async (t) => {
  const length = 6_000
  const batch = 128
  const context = 2 * length
  const engine = await startEngine(t, { plan: { parallel: 3, batch, context }, shape: { context } })
  const leaving = new AbortController()
  const writing = await engine.generate(
    generationOf('go on', { ending: { maxTokens: length } }),
    leaving.signal,
  )
  let written = 0
  const writer = (async () => {
    for await (const group of writing.events) {
      for (const event of group) if (event.kind === 'tokens') written += event.tokens.length
    }
  })()
  await until('something is written', () => written > 0)
  const before = written
  const done: string[] = []
  const whole = async (name: string, text: string) => {
    const run = await engine.generate(generationOf(text), t.signal)
    for await (const group of run.events) {
      if (group.some(({ kind }) => kind === 'finished')) done.push(name)
    }
  }
  const long = whole('long', 'a'.repeat(length))
  const short = whole('short', 'hello')
  await Promise.all([long, short])
  assert.deepEqual(done, ['short', 'long'])
  const batches = Math.ceil(length / batch)
  assert.ok(written - before >= 0.9 * batches, `${written - before} tokens while ${batches} batches went by`)
  leaving.abort(new Error('gone'))
  await assert.rejects(writer, { message: 'gone' })
})

test('HEDDLE_FLASH_ATTENTION=off gives the same logits new, cached and among others where flash attention would be used', async (t) => {
  const plan = { context: 8192, batch: 512, parallel: 3, queue: 16, flashAttention: 'off' } as const
  const engine = await startEngine(t, { plan, shape: { layers: 2, heads: 4, context: 8192 } })
  const prompts = [80, 300, 513, 700, 641, 150].map((length, i) =>
    Array.from({ length }, (_, at) => (at * 31 + i * 77 + at * i) % 250),
  )
  async function told(prompt: number[], salt: string) {
    const asked = { logprobs: 3, salt, sampling: { temperature: 0 }, ending: { maxTokens: 6 } }
    const run = await engine.generate(generationOf(prompt, asked), t.signal)
    const events = (await Array.fromAsync(run.events)).flat()
    return events.flatMap((event) => (event.kind === 'tokens' ? (event.logprobs ?? []) : []))
  }
  const alone = []
  for (const [i, prompt] of prompts.entries()) {
    const fresh = await told(prompt, `alone ${i}`)
    assert.equal(fresh.length, 6)
    assert.deepEqual(await told(prompt, `alone ${i}`), fresh, `cached: ${prompt.length} tokens`)
    alone.push(fresh)
  }
  assert.deepEqual(await Promise.all(prompts.map((prompt, i) => told(prompt, `crowd ${i}`))), alone)
})

for (const [keys, values, flashAttention] of [
  ['q8_0', 'q8_0', 'on'],
  ['q8_0', 'f16', 'on'],
  ['f16', 'q8_0', 'on'],
  ['q8_0', 'bf16', 'off'],
  ['f16', 'f16', 'off'],
] as const)
  test(`with flash attention ${flashAttention}, ${keys} keys and ${values} values give the same logits new, cached, among others, with guesses and without`, async (t) => {
    const plan = {
      file: 'models/builtin/heddle-tiny.gguf',
      flashAttention,
      ...{ context: 1024, batch: 512, parallel: 3, queue: 16 },
      kv: { keys, values },
    } as const
    const engine = await startEngine(t, { plan })
    const unguessed = await startEngine(t, { plan: { ...plan, drafts: false } })
    const prompts = [80, 530, 300].map((length, i) =>
      Array.from({ length }, (_, at) => 300 + ((at * 31 + i * 77 + at * i) % 250)),
    )
    async function told(by: typeof engine, prompt: number[], salt: string) {
      const asked = {
        logprobs: 3,
        salt,
        sampling: { temperature: 0 },
        ending: { maxTokens: 6, ignoreEos: true },
      }
      const run = await by.generate(generationOf(prompt, asked), t.signal)
      const events = (await Array.fromAsync(run.events)).flat()
      const of = events.filter((event) => event.kind === 'tokens')
      return {
        tokens: of.flatMap(({ tokens }) => tokens),
        logprobs: of.flatMap(({ logprobs }) => logprobs ?? []),
      }
    }
    const alone = []
    for (const [i, prompt] of prompts.entries()) {
      const fresh = await told(engine, prompt, `alone ${i}`)
      assert.equal(fresh.logprobs.length, 6)
      assert.deepEqual(await told(engine, prompt, `alone ${i}`), fresh, `cached: ${prompt.length} tokens`)
      assert.deepEqual(
        await told(unguessed, prompt, `alone ${i}`),
        fresh,
        `without guesses: ${prompt.length} tokens`,
      )
      const further = [...prompt, ...fresh.tokens, 301, 302, 303]
      assert.deepEqual(
        await told(engine, further, `alone ${i}`),
        await told(engine, further, `anew ${i}`),
        `with its answer cached: ${further.length} tokens`,
      )
      alone.push(fresh)
    }
    const crowd = await Promise.all(prompts.map((prompt, i) => told(engine, prompt, `crowd ${i}`)))
    assert.deepEqual(crowd, alone)
  })
