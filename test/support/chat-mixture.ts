import assert from 'node:assert/strict'
import type { ChatServer } from './chat-server.ts'

/** Short requests of all kinds, each with a prompt that no request had before. */
function requestOf(i: number): Record<string, unknown> {
  return {
    messages: [{ role: 'user', content: `${i}: ${'and then '.repeat(i % 40)}` }],
    max_tokens: 4 + (i % 12),
    ignore_eos: true,
    n: i % 3 === 0 ? 2 : 1,
    stream: i % 2 === 0,
    seed: i,
    ...(i % 4 === 0 && { logprobs: true, top_logprobs: 5 }),
    ...(i % 7 === 0 && { cache_salt: `${i}`, logit_bias: { 65: 1 }, frequency_penalty: 0.5 }),
    ...(i % 9 === 0 && { stop: ['zzz'], bad_words: ['qq'] }),
    ...(i % 10 === 0 && { use_beam_search: true, n: 2 }),
    ...(i % 16 === 1 && { prompt_logprobs: 1 }),
  }
}

/** Sends the request with this number; every eleventh is cancelled midway. */
export async function askOne({ ask }: Pick<ChatServer, 'ask'>, i: number): Promise<void> {
  if (i % 11 === 5) {
    const signal = AbortSignal.timeout(i % 20)
    await ask({ ...requestOf(i), max_tokens: 400 }, { signal }).catch((error: unknown) => {
      if (!signal.aborted) throw error
    })
    return
  }
  const { status, text } = await ask(requestOf(i))
  assert.equal(status, 200, text)
}
