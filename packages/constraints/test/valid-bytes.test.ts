import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from '../../../test/support/fast-check.ts'
import { charClass, createMatcher, packGrammar, repetition } from '../index.ts'
import { afterBytes, type BytePosition } from '../mask/byte-positions.ts'

/** Any text without NUL, which no output has. */
const anyText = createMatcher(packGrammar(new Map([['root', repetition(charClass([0, 0x10ffff]), 0)]])))
const betweenCharacters: BytePosition = { position: anyText.start, begun: undefined }
const followBytes = (from: BytePosition, bytes: Uint8Array) => afterBytes(anyText, from, bytes)

function isWhole(position: BytePosition | undefined): boolean {
  return position !== undefined && position.begun === undefined
}

/** Whether the platform's decoder accepts the bytes, and none is NUL. */
function isText(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    return !bytes.includes(0)
  } catch {
    return false
  }
}

describe('the bytes of a text', () => {
  it('are accepted exactly where a decoder accepts them, for all short sequences', () => {
    const every = Array.from({ length: 256 }, (_, byte) => byte)
    const edges = [0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc2, 0xff]
    const sequences = [
      ...every.flatMap((first) => every.map((second) => [first, second])),
      ...every
        .slice(0xc0)
        .flatMap((first) => edges.flatMap((second) => edges.map((third) => [first, second, third]))),
      ...every
        .slice(0xe0)
        .flatMap((first) =>
          edges.flatMap((second) =>
            edges.flatMap((third) => edges.map((fourth) => [first, second, third, fourth])),
          ),
        ),
    ]
    const differing = sequences
      .map((bytes) => Uint8Array.from(bytes))
      .filter((bytes) => isWhole(followBytes(betweenCharacters, bytes)) !== isText(bytes))
    assert.deepEqual(differing, [])
  })

  it('are accepted in pieces as they are at once', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 6 }).filter((text) => !text.includes('\0')),
        fc.nat(),
        fc.nat({ max: 255 }),
        (text, cut, other) => {
          const bytes = Uint8Array.from(Buffer.from(text.toWellFormed()))
          const at = bytes.length === 0 ? 0 : cut % bytes.length
          const position = followBytes(betweenCharacters, bytes.subarray(0, at))
          assert.ok(position)
          assert.ok(isWhole(followBytes(position, bytes.subarray(at))))
          if (bytes.length === 0) return
          const spoiled = bytes.with(at, other)
          assert.equal(isWhole(followBytes(betweenCharacters, spoiled)), isText(spoiled))
        },
      ),
    )
  })

  it('are refused at the first byte that makes them invalid', () => {
    for (const bytes of [[0xc1], [0xe0, 0x82], [0xed, 0xa0], [0xf0, 0x80], [0xf4, 0x90], [0xff], [0x80]]) {
      assert.equal(followBytes(betweenCharacters, Uint8Array.from(bytes)), undefined, `${bytes}`)
    }
  })
})
