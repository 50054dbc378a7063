import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import fc from '../../../test/support/fast-check.ts'
import type { Sequence } from '../loop/sequences.ts'
import { createPromptCache, type SavedState } from '../prompt-cache/prompt-cache.ts'

const bytesOfToken = 10

function sequenceOf(text: string, key = ''): Sequence {
  const tokens = Array.from(text, (letter) => letter.charCodeAt(0))
  return { id: 0, tokens, key, busy: false, guessed: 0, isBackground: false, used: 0 }
}

/** Kept prompts of a context that logs its calls; copying takes no time, reading a millisecond per token. */
function keptWithin(tokens: number, { readMs = 1, isWhole = true, refuses = false } = {}) {
  const disposed: string[] = []
  let asked = 0
  const cache = createPromptCache({
    context: {
      bytesOfToken: isWhole ? bytesOfToken : undefined,
      async keep(): Promise<SavedState> {
        const name = String(asked++)
        return {
          bytes: bytesOfToken * lengths.shift(),
          restore: async () => !refuses,
          dispose: () => void disposed.push(name),
        }
      },
    },
    bound: tokens * bytesOfToken,
    least: 4,
    readMs: (count) => count * readMs,
  })
  const lengths = {
    all: [] as number[],
    shift() {
      return this.all.shift() ?? 0
    },
  }
  async function keep(text: string, { key, stays = 0 }: { key?: string; stays?: number } = {}) {
    lengths.all.push(text.length)
    await cache.keep(sequenceOf(text, key), stays, false)
    lengths.all.length = 0
  }
  const found = (text: string, key = '') => cache.find(sequenceOf(text).tokens, key, text.length - 2)?.shared
  return { cache, keep, found, disposed }
}

test('a kept prompt is found by its longest common beginning, and only with the same key', async () => {
  const { keep, found } = keptWithin(100)
  await keep('once upon a time')
  await keep('once upon a hill', { key: 'red' })
  await keep('once more')
  assert.equal(found('once upon a time there was'), 16)
  assert.equal(found('once upon a time'), 14, 'the last two are always read')
  assert.equal(found('once upon a hill stood', 'red'), 16)
  assert.equal(found('once upon a hill stood', 'blue'), undefined)
  assert.equal(found('twice'), undefined)
  assert.equal(found('onc'), undefined, 'so few tokens are read faster')
})

test('a prompt that continues a kept one replaces it, and nothing is kept twice', async () => {
  const { cache, keep, found, disposed } = keptWithin(100)
  await keep('once upon')
  await keep('once upon a time')
  assert.deepEqual(disposed, ['0'])
  await keep('once upon')
  assert.deepEqual({ ...cache.load, bytes: cache.load.bytes }, cache.load)
  assert.equal(cache.load.prompts, 1)
  assert.equal(cache.load.bytes, 16 * bytesOfToken)
  assert.equal(found('once upon a star'), 12)
})

test('the space is bounded: the least recently used prompt is evicted', async () => {
  const { cache, keep, found } = keptWithin(20)
  await keep('aaaaaaaaaa')
  await keep('bbbbbbbbbb')
  await keep('aaaaaaaaaa')
  await keep('cccccccccc')
  assert.equal(found('bbbbbbbbbbbb'), undefined)
  assert.equal(found('aaaaaaaaaaaa'), 10)
  assert.equal(found('cccccccccccc'), 10)
  await keep('d'.repeat(21))
  const { prompts, bytes, dropped, skipped } = cache.load
  assert.deepEqual([prompts, bytes, dropped, skipped], [2, 200, 1, 1])
  cache.close()
  assert.equal(cache.load.bytes, 0)
})

test('nothing is kept of a sequence that loses little, or of background work', async () => {
  const { cache, keep } = keptWithin(100)
  await keep('once upon a time', { stays: 13 })
  assert.equal(cache.load.prompts, 0)
  await cache.keep({ ...sequenceOf('once upon a time'), isBackground: true }, 0, false)
  assert.equal(cache.load.prompts, 0)
})

test('nothing is kept of a model that reads as fast as memory is copied, or that cannot be copied', async () => {
  const fast = keptWithin(100, { readMs: 1e-9 })
  await fast.keep('once upon a time')
  assert.deepEqual([fast.cache.load.prompts, fast.cache.load.skipped], [0, 1])
  const partial = keptWithin(100, { isWhole: false })
  await partial.keep('once upon a time')
  assert.deepEqual([partial.cache.load.prompts, partial.cache.load.bound], [0, 0])
})

test('copying is tried again after it was slow once', async () => {
  let now = 0
  const copying = mock.method(performance, 'now', () => now)
  try {
    let copyMs = 1_000
    const cache = createPromptCache({
      context: {
        bytesOfToken,
        async keep(): Promise<SavedState> {
          now += copyMs
          return { bytes: 160, restore: async () => true, dispose() {} }
        },
      },
      bound: 10_000,
      least: 4,
      readMs: (count) => count / 20,
    })
    const keepOthers = async (count: number) => {
      for (let n = 0; n < count; n++) await cache.keep(sequenceOf(`${n} `.padEnd(16, String(n))), 0, false)
    }
    await keepOthers(30)
    assert.ok(cache.load.skipped > 0, 'copying takes longer than reading')
    copyMs = 0
    await keepOthers(60)
    const { skipped } = cache.load
    await keepOthers(60)
    assert.equal(cache.load.skipped, skipped)
  } finally {
    copying.mock.restore()
  }
})

test('a state that is rejected is dropped, and the sequence is empty', async () => {
  for (const refuses of [false, true]) {
    const { cache, keep } = keptWithin(100, { refuses })
    await keep('once upon a time')
    const to = sequenceOf('something else')
    const prompt = sequenceOf('once upon a star')
    const found = cache.find(prompt.tokens, '', 14)
    assert.ok(found !== undefined)
    await cache.restore(found, to)
    assert.deepEqual(to.tokens, refuses ? [] : prompt.tokens.slice(0, 12))
    assert.equal(cache.load.prompts, refuses ? 0 : 1)
  }
})

test('a prompt that was found stays until it is restored, whatever is kept before that', async () => {
  const { cache, keep, disposed } = keptWithin(20)
  await keep('once upon a time')
  const found = cache.find(sequenceOf('once upon a time there').tokens, '', 20)
  await keep('quite another one')
  assert.deepEqual(disposed, [])
  assert.ok(found)
  const to = sequenceOf('')
  await cache.restore(found, to)
  assert.equal(to.tokens.length, 16)
  await keep('quite another one')
  assert.deepEqual(disposed, ['0'], 'then it is evicted like others')
})

test('of many prompts, the one with the longest common beginning is found, and of equal ones the shorter', async () => {
  const word = fc.array(fc.constantFrom('a', 'b'), { minLength: 5, maxLength: 9 }).map((all) => all.join(''))
  await fc.assert(
    fc.asyncProperty(fc.array(word, { maxLength: 12 }), word, async (all, prompt) => {
      const { cache, keep } = keptWithin(10_000)
      for (const one of all) await keep(one)
      const shared = (one: string) => {
        const differs = Array.from(prompt).findIndex((letter, at) => letter !== one[at])
        return Math.min(differs < 0 ? prompt.length : differs, prompt.length - 2)
      }
      // A beginning of a longer prompt is kept as part of that.
      const whole = all.filter((one) => !all.some((other) => other !== one && other.startsWith(one)))
      const most = Math.max(0, ...whole.map(shared))
      const found = cache.find(sequenceOf(prompt).tokens, '', prompt.length - 2)
      assert.equal(found?.shared, most < 4 ? undefined : most)
      if (found === undefined) return
      const lengths = whole.filter((one) => shared(one) === most).map(({ length }) => length)
      assert.equal(found.cached.tokens.length, Math.min(...lengths))
    }),
  )
})
