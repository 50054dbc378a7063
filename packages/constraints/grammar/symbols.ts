import { firstMarker, lastMarker } from '../control-tokens.ts'
import { charClass, type Expr, literal, sequence } from './expressions.ts'

/**
 * Control tokens are no text. In the literals of a format, each named control token is a lone low surrogate, from U+DC00
 * on; in a grammar it is a symbol beyond the last code point. No range of characters includes symbols, and no literal
 * that a caller gives can contain one.
 */
const firstSymbol = 0x110000

/** The symbol of the marker with this index. */
export function symbolOfMarker(index: number): number {
  return firstSymbol + index
}

/** Any control token that the literals of the format do not name. */
export const otherControlToken = symbolOfMarker(lastMarker + 1 - firstMarker)

export function isSymbol(point: number): boolean {
  return point >= firstSymbol
}

/** The code points of a literal of a format, and its symbols. */
export function pointsOf(text: string): number[] {
  return Array.from(text, (character) => {
    const point = character.codePointAt(0) ?? 0
    const marker = point - firstMarker
    return marker >= 0 && point <= lastMarker + 1 ? symbolOfMarker(marker) : point
  })
}

/** A literal of a format. */
export function marked(text: string): Expr {
  return ofPoints(pointsOf(text))
}

export function ofPoints(points: readonly number[]): Expr {
  return sequence(
    ...points.map((point) =>
      isSymbol(point) ? charClass([point, point]) : literal(String.fromCodePoint(point)),
    ),
  )
}
