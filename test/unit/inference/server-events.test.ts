import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createEventReader } from '../../../src/inference/upstream/server-events.ts'

async function* cut(bytes: Buffer, sizes: Iterable<number>): AsyncGenerator<Buffer> {
  let at = 0
  for (const size of sizes) {
    if (at >= bytes.length) return
    yield bytes.subarray(at, at + size)
    at += size
  }
  if (at < bytes.length) yield bytes.subarray(at)
}

async function all(pieces: AsyncIterable<Buffer>): Promise<string[]> {
  const reader = createEventReader()
  const data: string[] = []
  for await (const piece of pieces) {
    data.push(...reader.read(piece))
    if (reader.isDone) break
  }
  return data
}

test('events are the same however their bytes are split', async () => {
  const line = fc.constantFrom('data: é1', 'data:', 'data: {"a":"ü😀"}', '', '', ': sign of life', 'event: x')
  const end = fc.constantFrom('\n', '\r\n', '\r')
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(line, end)),
      fc.array(fc.integer({ min: 1, max: 9 })),
      async (lines, sizes) => {
        const bytes = Buffer.from(lines.map((one) => one.join('')).join(''))
        assert.deepEqual(await all(cut(bytes, sizes)), await all(cut(bytes, [])))
      },
    ),
  )
})

test('lines end with CR, LF or both', async () => {
  for (const end of ['\n', '\r\n', '\r']) {
    const bytes = Buffer.from(['data: a', 'data: b', '', ': x', 'data: c', '', ''].join(end))
    assert.deepEqual(await all(cut(bytes, Array(bytes.length).fill(1))), ['a\nb', 'c'])
    assert.deepEqual(await all(cut(bytes, [])), ['a\nb', 'c'])
  }
})

test('a long event in many pieces is joined only once', async () => {
  const value = 'x'.repeat(16 * 1024 * 1024)
  const pieces = cut(Buffer.from(`data: ${value}\n\ndata: [DONE]\n\n`), Array(16 * 1024).fill(1024))
  const [only, ...others] = await all(pieces)
  assert.ok(only === value)
  assert.deepEqual(others, [])
})

test('an endless event is refused, in one line or in many', async () => {
  async function* endless(line: string) {
    for (;;) yield Buffer.from(line)
  }
  const refused = { name: 'Refusal', code: 'upstream_failed' }
  await assert.rejects(all(endless('x'.repeat(1024 * 1024))), refused)
  await assert.rejects(all(endless(`data: ${'x'.repeat(1024 * 1024)}\n`)), refused)
})
