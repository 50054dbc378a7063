import { deserialize, serialize } from 'node:v8'
import type { YieldToLoop } from '../../packages/waiting/index.ts'
import { isSharedText, JsonText, type SharedText, sharedText } from '../domain/json/text.ts'

/**
 * A value on its way from one thread to another. Its bytes are transferred without a copy, and read in small pieces: a
 * structured clone of a large value would block the receiver for as long as it takes.
 */
export interface Handover {
  pieces: ArrayBuffer[]
  texts: SharedText[]
  /** How many lists are assembled from pieces. */
  lists: number
}

interface Piece {
  /** The list that the items belong to; absent in the last piece, whose only item is the value. */
  list?: number
  items: unknown[]
}

/** The size of a piece in approximate bytes: reading it takes a millisecond. */
const pieceWeight = 128 * 1024

/** A text of at least this length stays in shared memory. */
const longText = 64 * 1024

/**
 * Packs plain data that includes JSON kept as text. JSON has no wrapped primitives, so these stand for what is not
 * plain: a String for kept JSON; a Number for a long text by its index or, if negative, for a list that is sent in
 * pieces. The value must not be used afterwards, because its members are replaced.
 */
export function pack(value: unknown): Handover {
  const handover: Handover = { pieces: [], texts: [], lists: 0 }
  let weight = 0

  const add = (piece: Piece) => {
    const { buffer, byteOffset, byteLength } = serialize(piece)
    handover.pieces.push(buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer)
  }

  function packed(value: unknown): unknown {
    if (typeof value === 'string') weight += value.length
    else if (value instanceof JsonText) return packedJson(value.stored)
    else if (Array.isArray(value)) return packedList(value)
    else if (typeof value === 'object' && value !== null) {
      const members = value as Record<string, unknown>
      for (const name of Object.keys(members)) members[name] = packed(members[name])
    }
    weight += 8
    return value
  }

  function packedJson(stored: string | SharedText): unknown {
    if (isSharedText(stored) || stored.length > longText) {
      handover.texts.push(isSharedText(stored) ? stored : sharedText(stored))
      return new Number(handover.texts.length - 1)
    }
    weight += stored.length
    return new String(stored)
  }

  function packedList(list: readonly unknown[]): unknown {
    const before = weight
    let number: number | undefined
    let items: unknown[] = []
    let from = weight
    for (const item of list) {
      items.push(packed(item))
      if (weight - from < pieceWeight) continue
      number ??= handover.lists++
      add({ list: number, items })
      items = []
      from = weight
    }
    if (number === undefined) return items
    add({ list: number, items })
    weight = before
    return new Number(-1 - number)
  }

  const items = [packed(value)]
  add({ items })
  return handover
}

/** The buffers that can be transferred with the message. */
export function transferable({ pieces }: Handover): ArrayBuffer[] {
  return pieces
}

/** Rebuilds the value. Yields to the event loop between the pieces. */
export async function unpack({ pieces, texts, lists }: Handover, yieldToLoop: YieldToLoop): Promise<unknown> {
  const built = Array.from({ length: lists }, (): unknown[] => [])

  function unpacked(value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value
    if (value instanceof String) return new JsonText(value.toString())
    if (value instanceof Number) {
      const index = value.valueOf()
      return index < 0 ? built[-1 - index] : new JsonText(texts[index] as SharedText)
    }
    const members = value as Record<string, unknown>
    for (const name of Object.keys(members)) {
      const member = members[name]
      if (typeof member === 'object' && member !== null) members[name] = unpacked(member)
    }
    return value
  }

  for (const bytes of pieces) {
    const { list, items } = deserialize(new Uint8Array(bytes)) as Piece
    if (list === undefined) return unpacked(items[0])
    const target = built[list] as unknown[]
    for (const item of items) target.push(unpacked(item))
    const pause = yieldToLoop()
    if (pause) await pause
  }
  throw new Error('a value arrived without its last piece')
}
