import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generate, startEngine } from './engine.ts'

test('long prompts of one tenant do not delay every token of another', async (t) => {
  const engine = await startEngine(t, { shape: { layers: 8 } })
  const short = (tenant: string, maxTokens: number) =>
    generate(engine, 'hello', { tenant, salt: tenant, ending: { maxTokens } })
  // The time per token is measured first.
  await short('bob', 40)
  let count = 0
  let isOver = false
  const heavy = async (own: number) => {
    for (let n = 0; !isOver; n++) {
      const prompt = Array.from({ length: 900 }, (_, i) => 1 + ((own * 7 + n * 31 + i) % 240))
      await generate(engine, prompt, { tenant: 'alice', salt: `${own} ${n}`, ending: { maxTokens: 1 } })
      count++
    }
  }
  const running = [heavy(1), heavy(2), heavy(3)]
  while (count < 3) await short('bob', 1)
  const before = count
  const tokens = 400
  await short('bob', tokens)
  const read = count - before
  isOver = true
  await Promise.all(running)
  // With a part of a prompt in each batch there would be a hundred; at half of the time there are three.
  assert.ok(read <= 30, `${read} long prompts alongside ${tokens} tokens`)
})
