import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generate, generationOf, startEngine, wholeRun } from './engine.ts'

const last = (tokens: number) => ({ tokens, side: 'left' as const })
const first = (tokens: number) => ({ tokens, side: 'right' as const })

const story = 'once upon a time there was a loom that wove by itself. '.repeat(6)

test('prefill starts where a prompt differs from a cached one, and the count shows it', async (t) => {
  const engine = await startEngine(t)
  const first = await generate(engine, story)
  assert.equal(first.prefilled.cachedTokens, 0)
  const length = first.promptTokens.length
  const again = await generate(engine, story)
  assert.equal(
    again.prefilled.cachedTokens,
    length - 2,
    'all but the last two: the logits of the last one are needed, and no row is computed alone',
  )
  assert.deepEqual(again.tokens, first.tokens)
  const turn = [...first.promptTokens, ...(first.tokens[0] ?? [])]
  const next = await generate(engine, [...turn, 33, 34, 35])
  assert.equal(next.prefilled.cachedTokens, turn.length - 1, 'the last token of an answer is never computed')
  const other = await generate(engine, `${story.slice(0, 100)}#${story.slice(101)}`)
  assert.equal(other.prefilled.cachedTokens, 100, 'this vocabulary has one token per byte')
  const later = await generate(engine, [...turn, 36])
  assert.equal(
    later.prefilled.cachedTokens,
    turn.length - 1,
    'a prompt with the same beginning has not shortened it',
  )
})

test('what is cached for one salt is not used for another', async (t) => {
  const engine = await startEngine(t)
  const cached = async (salt?: string) =>
    (await generate(engine, story, salt === undefined ? {} : { salt })).prefilled.cachedTokens
  const whole = (await generate(engine, story)).promptTokens.length - 2
  assert.equal(await cached('red'), 0)
  assert.equal(await cached('blue'), 0)
  assert.equal(await cached('red'), whole)
  assert.equal(await cached('blue'), whole)
  assert.equal(await cached(), whole)
})

test('a busy sequence shares its prefix with requests that begin the same', async (t) => {
  const engine = await startEngine(t)
  const long = await engine.generate(generationOf(story, { ending: { maxTokens: 400 } }), t.signal)
  const events = long.events[Symbol.asyncIterator]()
  assert.equal((await events.next()).value?.[0]?.kind, 'prefilled')
  const beside = await generate(engine, `${story}And then?`)
  assert.equal(beside.prefilled.cachedTokens, long.promptTokens.length)
  await events.return?.()
  const alone = await generate(engine, `${story}And then?`, { salt: 'fresh' })
  assert.deepEqual(beside.tokens, alone.tokens)
})

test('log-probabilities of the prompt cover every token and bypass the cache', async (t) => {
  const engine = await startEngine(t)
  const plain = await generate(engine, story)
  const { prefilled, promptTokens, tokens } = await generate(engine, story, { promptLogprobs: 2 })
  assert.equal(prefilled.cachedTokens, 0)
  assert.deepEqual(tokens, plain.tokens)
  const { promptLogprobs = [] } = prefilled
  assert.equal(promptLogprobs.length, promptTokens.length)
  assert.equal(promptLogprobs[0], null)
  for (const [place, entries] of promptLogprobs.entries()) {
    if (entries === null) continue
    const own = entries.find(({ token }) => token === promptTokens[place])
    assert.ok(own !== undefined && own.logprob < 0 && own.rank >= 1)
    assert.deepEqual(Buffer.from(own.bytes), Buffer.from(story[place] ?? ''))
    assert.equal(entries.length, own.rank > 2 ? 3 : 2)
    assert.ok(
      entries.every(({ logprob, rank }) =>
        rank < own.rank ? logprob >= own.logprob : logprob <= own.logprob,
      ),
    )
  }
  const full = await generate(engine, story.slice(0, 40), { promptLogprobs: 260 })
  for (const entries of full.prefilled.promptLogprobs?.slice(1) ?? []) {
    const total = entries?.reduce((sum, { logprob }) => sum + Math.exp(logprob), 0) ?? 0
    assert.ok(Math.abs(total - 1) < 1e-3, `the probabilities of all tokens add up to ${total}`)
    assert.deepEqual(
      entries?.map(({ rank }) => rank),
      Array.from({ length: 260 }, (_, place) => place + 1),
    )
  }
})

test('a prompt that does not fit is refused with the counts, and truncation keeps its end', async (t) => {
  const engine = await startEngine(t, { plan: { context: 256 } })
  const text = 'abcdefghij'.repeat(20)
  const refusal = { code: 'context_length_exceeded', status: 400 }
  await assert.rejects(generate(engine, text, { ending: { maxTokens: 57 } }), {
    ...refusal,
    message:
      "This model's maximum context length is 256 tokens. However, the prompt has 200 tokens and the answer needs 57.",
  })
  await assert.rejects(generate(engine, 'a'.repeat(256), { ending: {} }), refusal)
  await assert.rejects(generate(engine, 'a'.repeat(1_000_000)), refusal)
  const fitting = await generate(engine, text, { ending: { maxTokens: 56 } })
  assert.equal(fitting.tokens[0]?.length, 56)
  const full = await generate(engine, [1, 2, 3], { ending: { maxTokens: 253 } })
  assert.deepEqual(full.finished, [{ kind: 'finished', choice: 0, reason: 'length', stop: null }])
  const end = await generate(engine, text, { truncate: last(13) })
  assert.deepEqual(
    end.promptTokens,
    await engine.tokenize(text.slice(-13), { special: false, add: false }, t.signal),
  )
  const most = await generate(engine, text, { truncate: last(-1), ending: { maxTokens: 100 } })
  assert.equal(most.promptTokens.length, 156)
  await assert.rejects(generate(engine, text, { truncate: last(241) }), {
    code: 'invalid_value',
    field: 'truncate_prompt_tokens',
  })
  await assert.rejects(generate(engine, text, { truncate: last(0) }), { code: 'prompt_empty', status: 400 })
  await assert.rejects(generate(engine, ''), { code: 'prompt_empty' })
})

test('a text of any length is truncated to the last or the first tokens of the whole text', async (t) => {
  const engine = await startEngine(t, { plan: { context: 256 }, shape: { vocabulary: 2_000 } })
  const prose = 'Grüße, she said; and there on the other side it rained. '
  for (const text of ['Hello '.repeat(6_000), prose.repeat(20_000), `${prose}<|im_end|>`.repeat(3_000)]) {
    const whole = await engine.tokenize(text, { special: true, add: false }, t.signal)
    for (const tokens of [1, 50, 240]) {
      const left = await generate(engine, text, { truncate: last(tokens) })
      assert.deepEqual(left.promptTokens, whole.slice(-tokens))
      const right = await generate(engine, text, { truncate: first(tokens) })
      assert.deepEqual(right.promptTokens, whole.slice(0, tokens))
    }
  }
  const letters = await generate(engine, 'a'.repeat(1_000_000), { truncate: last(50) })
  assert.equal(letters.promptTokens.length, 50)
  const beginning = await generate(engine, `b${'a'.repeat(1_000_000)}`, { truncate: first(50) })
  assert.equal(beginning.promptTokens.length, 50)
  assert.deepEqual(
    beginning.promptTokens.slice(0, 1),
    (await engine.tokenize('b', { special: false, add: false }, t.signal)).slice(0, 1),
  )
})

test('min_tokens that do not fit into the context are refused by name, also without a limit of the answer', async (t) => {
  const engine = await startEngine(t, { plan: { context: 256 } })
  for (const [minTokens, parts, room] of [
    [247, {}, 246],
    [256, { truncate: last(-1) }, 255],
    [1_000_000, {}, 246],
  ] as const) {
    const generation = generationOf('abcdefghij', { ...parts, ending: { minTokens } })
    delete generation.ending.maxTokens
    await assert.rejects(engine.generate(generation, t.signal), {
      code: 'invalid_value',
      field: 'min_tokens',
      message: `min_tokens: ${minTokens}; accepted: 0 to ${room}: the context has no room for more after the prompt.`,
    })
  }
  const generation = generationOf('a'.repeat(300), { truncate: last(-1), ending: { minTokens: 200 } })
  delete generation.ending.maxTokens
  const whole = await wholeRun(await engine.generate(generation, t.signal))
  assert.deepEqual([whole.promptTokens.length, whole.tokens[0]?.length], [56, 200])
})

test('an answer without a limit ends when the context is full', async (t) => {
  const engine = await startEngine(t, { plan: { context: 256 } })
  const generation = generationOf('hello')
  delete generation.ending.maxTokens
  const whole = await wholeRun(await engine.generate(generation, t.signal))
  assert.equal(whole.promptTokens.length + (whole.tokens[0]?.length ?? 0), 256)
  assert.equal(whole.finished[0]?.reason, 'length')
})

test('tokens outside the vocabulary are refused by the name of their field', async (t) => {
  const engine = await startEngine(t)
  const accepted = "accepted: ids of this model's vocabulary, 0 to 259."
  const refused = (field: string, given: number) => ({
    code: 'invalid_value',
    message: `${field}: the token id ${given}; ${accepted}`,
  })
  await assert.rejects(generate(engine, 'a', { sampling: { bias: [[260, 1]] } }), refused('logit_bias', 260))
  await assert.rejects(
    generate(engine, 'a', { sampling: { allowed: [1, -1] } }),
    refused('allowed_token_ids', -1),
  )
  await assert.rejects(
    generate(engine, 'a', { ending: { stopTokens: [1e9] } }),
    refused('stop_token_ids', 1e9),
  )
  await assert.rejects(generate(engine, [1, 2, 4_000_000_000]), refused('prompt', 4_000_000_000))
  await assert.rejects(engine.detokenize([260], { special: true }, t.signal), refused('tokens', 260))
  assert.equal((await generate(engine, 'a')).tokens[0]?.length, 16)
})

test('tokenizing and detokenizing a text returns the same text', async (t) => {
  const engine = await startEngine(t)
  const text = 'Grüße, 織機 🧵\u0000 <|im_end|>'
  const plain = await engine.tokenize(text, { special: false, add: false }, t.signal)
  assert.equal(plain.length, Buffer.byteLength(text))
  assert.equal(await engine.detokenize(plain, { special: false }, t.signal), text)
  const special = await engine.tokenize(text, { special: true, add: false }, t.signal)
  assert.equal(special.at(-1), 258)
  assert.equal(await engine.detokenize(special, { special: true }, t.signal), text)
})

for (const words of ['gpt-4o', 'tekken', 'deepseek-llm', 'falcon', 'default', 'qwen2']) {
  test(`long texts of one letter, one mark or lone surrogates do not crash the engine, with the words of ${words}`, async (t) => {
    const engine = await startEngine(t, { shape: { words } })
    const pid = engine.pid()
    const length = 100_000
    for (const sign of ['a', ' ', '1', '\u0301', '漢', '👩\u200d', 'aB', 'aяあ1ا한😀 \u0301']) {
      const text = sign.repeat(length / sign.length)
      const tokens = await engine.tokenize(text, { special: true, add: false }, t.signal)
      assert.equal(await engine.detokenize(tokens, { special: true }, t.signal), text)
      const long = engine.generate(generationOf(text), t.signal)
      await assert.rejects(long, { code: 'context_length_exceeded' })
    }
    const halves = await engine.tokenize('\ud800'.repeat(length), { special: true, add: false }, t.signal)
    const shown = await engine.detokenize(halves, { special: true }, t.signal)
    assert.equal(shown, '\ufffd'.repeat(length), 'a lone surrogate becomes the replacement character')
    const banned = generationOf('hello', { sampling: { badWords: ['b'.repeat(length)] } })
    assert.equal((await wholeRun(await engine.generate(banned, t.signal))).tokens[0]?.length, 16)
    assert.equal(engine.pid(), pid)
  })
}
