import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { JsonText } from '../../src/domain/json/text.ts'
import { pack, unpack } from '../../src/threads/handover.ts'

const noPause = () => undefined

/** Like a message between threads: buffers are transferred, and what a structured clone cannot copy would be lost. */
const handedOver = (value: unknown) => unpack(structuredClone(pack(value)), noPause)

const text = fc.string({ unit: 'grapheme', maxLength: 40 })
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'medium' },
    text,
    text.map((one) => new JsonText(JSON.stringify(one))),
    fc.constantFrom(null, undefined, true, 0, -0, 1.5, 2n ** 63n),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(text, tie('value'), { maxKeys: 5 }),
  ),
}))

test('a value arrives unchanged in another thread', async () => {
  await fc.assert(
    fc.asyncProperty(value, async (given) => {
      const before = structuredClone(shown(given))
      assert.deepEqual(shown(await handedOver(given)), before)
    }),
    { numRuns: 1000 },
  )
})

test('long lists are sent in pieces, and long texts in shared memory', async () => {
  const long = JSON.stringify('é'.repeat(100_000))
  const given = () => ({
    batch: Array.from({ length: 20_000 }, (_, n) => ({ n, inner: [n], json: new JsonText(`{"n":${n}.0}`) })),
    lists: [Array.from({ length: 50_000 }, (_, n) => `row ${n}`), [], [[new JsonText('1.0')]]],
    long: [new JsonText(long), { again: new JsonText(long) }],
  })
  const packed = pack(given())
  assert.ok(packed.pieces.length > 5)
  assert.ok(packed.pieces.every((piece) => piece.byteLength < 1 << 20))
  assert.deepEqual([packed.texts.length, packed.lists], [2, 2])
  const arrived = await unpack(structuredClone(packed), noPause)
  assert.deepEqual(shown(arrived), shown(given()))
})

/** Replaces JSON text by a value that deepEqual tells from a string. */
function shown(value: unknown): unknown {
  if (value instanceof JsonText) return ['kept', value.text]
  if (Array.isArray(value)) return value.map(shown)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shown(member)]))
}
