import { compareText } from '../text.ts'
import type { YieldToLoop } from '../yielding.ts'
import { canonicalJson, canonicalText, isOrderedOtherwise, quoted } from './canonical.ts'
import { parseLossless } from './lossless.ts'
import { Scan } from './scan.ts'
import { onePiece, type PieceReader, readInPieces } from './steps.ts'

/** The canonical text of a large value, in pieces that follow each other. It yields to the event loop between them. */
export async function canonicalPieces(
  text: string,
  yieldToLoop: YieldToLoop,
  size = onePiece,
): Promise<string[]> {
  const whole = new Pieces(size)
  const holders: Holder[] = []
  let name = ''
  const begin = (): Pieces => {
    const holder = holders.at(-1)
    if (holder === undefined) return whole
    if (holder.kind === 'object') return holder.large(name)
    holder.separate()
    return holder.pieces
  }
  const reader: PieceReader = {
    async value(piece) {
      const pieces = begin()
      if (piece.length <= size || !piece.startsWith('"')) pieces.add(canonicalJson(piece))
      else await addString(pieces, JSON.parse(piece) as string, yieldToLoop, size)
    },
    open(isObject) {
      const pieces = begin()
      holders.push(isObject ? new LargeObject(pieces, size) : new LargeList(pieces))
    },
    run(piece) {
      const holder = holders.at(-1) as Holder
      if (holder.kind === 'list') {
        holder.separate()
        holder.pieces.add(canonicalJson(`[${piece}]`).slice(1, -1))
        return
      }
      const members = parseLossless(`{${piece}}`) as Record<string, unknown>
      for (const key of Object.keys(members)) holder.set(key, canonicalText(members[key]))
    },
    large(key) {
      name = key
    },
    async close() {
      await (holders.pop() as Holder).close(yieldToLoop)
    },
  }
  const scan = new Scan(text)
  await readInPieces(scan, scan.space(0), 1, reader, yieldToLoop, size)
  return whole.texts
}

type Holder = LargeList | LargeObject

/** Text that grows in pieces of about the size. */
class Pieces {
  readonly texts: string[] = []
  readonly #size: number

  constructor(size: number) {
    this.#size = size
  }

  add(text: string): void {
    const last = this.texts.length - 1
    if (last >= 0 && (this.texts[last] as string).length < this.#size) this.texts[last] += text
    else this.texts.push(text)
  }
}

class LargeList {
  readonly kind = 'list'
  readonly pieces: Pieces
  #isEmpty = true

  constructor(pieces: Pieces) {
    this.pieces = pieces
    pieces.add('[')
  }

  separate(): void {
    if (!this.#isEmpty) this.pieces.add(', ')
    this.#isEmpty = false
  }

  async close(): Promise<void> {
    this.pieces.add(']')
  }
}

class LargeObject {
  readonly kind = 'object'
  readonly #pieces: Pieces
  readonly #size: number
  readonly #members = new Map<string, string | Pieces>()
  #isOrderedOtherwise = false

  constructor(pieces: Pieces, size: number) {
    this.#pieces = pieces
    this.#size = size
  }

  /** The last value of a repeated key counts. */
  set(key: string, text: string | Pieces): void {
    this.#members.set(key, text)
    this.#isOrderedOtherwise ||= isOrderedOtherwise(key)
  }

  large(key: string): Pieces {
    const pieces = new Pieces(this.#size)
    this.set(key, pieces)
    return pieces
  }

  async close(yieldToLoop: YieldToLoop): Promise<void> {
    const pieces = this.#pieces
    let separator = ''
    pieces.add('{')
    const compare = this.#isOrderedOtherwise ? compareText : compareUnits
    for (const key of await sortInSteps([...this.#members.keys()], compare, yieldToLoop)) {
      const member = this.#members.get(key)
      pieces.add(`${separator}${quoted(key)}: `)
      separator = ', '
      if (typeof member === 'string') pieces.add(member)
      else for (const text of member?.texts ?? []) pieces.add(text)
      const pause = yieldToLoop()
      if (pause) await pause
    }
    pieces.add('}')
  }
}

async function addString(
  pieces: Pieces,
  text: string,
  yieldToLoop: YieldToLoop,
  size: number,
): Promise<void> {
  pieces.add('"')
  for (let from = 0; from < text.length; from += size) {
    // A pair that is cut in two is written as its halves, as everywhere.
    pieces.add(quoted(text.slice(from, from + size)).slice(1, -1))
    const pause = yieldToLoop()
    if (pause) await pause
  }
  pieces.add('"')
}

type Compare = (left: string, right: string) => number

const compareUnits: Compare = (left, right) => (left < right ? -1 : 1)

const sortedAtOnce = 1024

/** Parts that are sorted, then merged two by two. */
async function sortInSteps(
  keys: readonly string[],
  compare: Compare,
  yieldToLoop: YieldToLoop,
): Promise<string[]> {
  let parts: string[][] = []
  for (let from = 0; from < keys.length; from += sortedAtOnce) {
    parts.push(keys.slice(from, from + sortedAtOnce).sort(compare))
    const pause = yieldToLoop()
    if (pause) await pause
  }
  while (parts.length > 1) {
    const merged: string[][] = []
    for (let at = 0; at < parts.length; at += 2) {
      merged.push(await mergeInSteps(parts[at] as string[], parts[at + 1] ?? [], compare, yieldToLoop))
    }
    parts = merged
  }
  return parts[0] ?? []
}

async function mergeInSteps(
  left: readonly string[],
  right: readonly string[],
  compare: Compare,
  yieldToLoop: YieldToLoop,
): Promise<string[]> {
  const merged: string[] = []
  let l = 0
  let r = 0
  while (l < left.length && r < right.length) {
    const isLeft = compare(left[l] as string, right[r] as string) < 0
    merged.push((isLeft ? left[l++] : right[r++]) as string)
    const pause = merged.length % sortedAtOnce === 0 ? yieldToLoop() : undefined
    if (pause) await pause
  }
  for (; l < left.length; l++) merged.push(left[l] as string)
  for (; r < right.length; r++) merged.push(right[r] as string)
  return merged
}
