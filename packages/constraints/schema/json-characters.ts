import { LRUCache } from 'lru-cache'
import { alternatives, charClass, type Expr, literal, type Range, sequence } from '../grammar/expressions.ts'

/** The characters that need no escape in a JSON string: no quote, no backslash, no control character. */
const plain: readonly Range[] = [
  [0x20, 0x21],
  [0x23, 0x5b],
  [0x5d, 0xd7ff],
  [0xe000, 0x10ffff],
]

/** The characters with a short escape, and its letter. */
const shortEscapes = new Map([
  [0x08, 'b'],
  [0x09, 't'],
  [0x0a, 'n'],
  [0x0c, 'f'],
  [0x0d, 'r'],
  [0x22, '"'],
  [0x5c, '\\'],
])

const hex = charClass([0x30, 0x39], [0x41, 0x46], [0x61, 0x66])

/**
 * Any character of a JSON string, in every way that JSON allows it to be written; half of a surrogate pair is not a
 * character.
 */
export const anyCharacter: Expr = alternatives(
  charClass(...plain),
  sequence(
    literal('\\'),
    alternatives(
      charClass(...[...'"/\\bfnrt'].map((letter) => only(letter)).sort(([a], [b]) => a - b)),
      sequence(
        literal('u'),
        alternatives(
          sequence(
            charClass([0x30, 0x39], [0x41, 0x43], [0x45, 0x46], [0x61, 0x63], [0x65, 0x66]),
            hex,
            hex,
            hex,
          ),
          sequence(charClass([0x44, 0x44], [0x64, 0x64]), charClass([0x30, 0x37]), hex, hex),
          sequence(
            charClass([0x44, 0x44], [0x64, 0x64]),
            charClass([0x38, 0x39], [0x41, 0x42], [0x61, 0x62]),
            hex,
            hex,
            literal('\\u'),
            charClass([0x44, 0x44], [0x64, 0x64]),
            charClass([0x43, 0x46], [0x63, 0x66]),
            hex,
            hex,
          ),
        ),
      ),
    ),
  ),
)

/** All characters that a string may have. */
export const allCharacters: readonly Range[] = [
  [0x01, 0xd7ff],
  [0xe000, 0x10ffff],
]

/** Most states of an automaton have one of the same few sets of characters. */
const encoded = new LRUCache<string, Expr>({ max: 1000, maxSize: 100_000 })

/** One of these characters, each as JSON.stringify writes it; the same object for the same characters. */
export function inJsonString(ranges: readonly Range[]): Expr {
  const key = ranges.join()
  const known = encoded.get(key)
  if (known !== undefined) return known
  const expr = encodedRanges(ranges)
  encoded.set(key, expr, { size: ranges.length + 1 })
  return expr
}

function encodedRanges(ranges: readonly Range[]): Expr {
  const ways: Expr[] = []
  const unescaped = common(ranges, plain)
  const [[first, last] = [0, 0]] = unescaped
  if (unescaped.length === 1 && first === last) ways.push(literal(String.fromCodePoint(first)))
  else if (unescaped.length > 0) ways.push(charClass(...unescaped))
  const short = [...shortEscapes].filter(([point]) => has(ranges, point)).map(([, letter]) => only(letter))
  if (short.length > 0) ways.push(sequence(literal('\\'), charClass(...short.sort(([a], [b]) => a - b))))
  for (const row of [0, 1]) {
    const points = Array.from({ length: 16 }, (_, column) => row * 16 + column)
    const column = points
      .filter((point) => has(ranges, point) && !shortEscapes.has(point))
      .map((point) => only((point % 16).toString(16)))
    if (column.length > 0) ways.push(sequence(literal(`\\u00${row}`), charClass(...column)))
  }
  return alternatives(...ways)
}

function only(letter: string): [number, number] {
  const point = letter.codePointAt(0) ?? 0
  return [point, point]
}

function has(ranges: readonly Range[], point: number): boolean {
  return ranges.some(([from, to]) => from <= point && point <= to)
}

function common(left: readonly Range[], right: readonly Range[]): [number, number][] {
  return left.flatMap(([from, to]) =>
    right.flatMap(([begin, end]): [number, number][] => {
      const [a, b] = [Math.max(from, begin), Math.min(to, end)]
      return a <= b ? [[a, b]] : []
    }),
  )
}
