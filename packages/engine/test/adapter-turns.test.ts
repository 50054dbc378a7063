import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Answering } from '../loop/request.ts'
import { createAdapterTurns } from '../loop/turns/adapter-turns.ts'

const answering = (adapter?: string) => ({ request: { generation: { adapter } } }) as Answering

test('a batch has one adapter, and the adapters take turns', (t) => {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  const turnOf = createAdapterTurns()
  const busy = [answering(), answering('b'), answering('a'), answering('b')]
  const seen: (string | undefined)[] = []
  for (let turn = 0; turn < 9; turn++) {
    const own = turnOf(busy)
    const names = new Set(own.map(({ request }) => request.generation.adapter))
    assert.equal(names.size, 1)
    const [name] = names
    assert.equal(own.length, name === 'b' ? 2 : 1)
    seen.push(name)
    now += 30
  }
  assert.deepEqual(new Set(seen), new Set([undefined, 'a', 'b']))
  const alone = [answering('c'), answering('c')]
  assert.equal(turnOf(alone), alone, 'no other adapter is in use')
})
