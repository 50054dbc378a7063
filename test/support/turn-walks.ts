import { type CompiledGrammar, isMark, nodeKinds, numbersOfNode } from '../../packages/constraints/index.ts'

/**
 * Random texts of a grammar, which may repeat what it remembers; longer ones with more `freedom`. Control tokens are lone
 * low surrogates.
 */
export function walksOf({ start, nodes, lists, text }: CompiledGrammar) {
  const count = nodes.length / numbersOfNode
  const parts = (node: number) => {
    const [kind = 0, one = 0, two = 0] = nodes.subarray(numbersOfNode * node, numbersOfNode * (node + 1))
    return { kind, one, two }
  }
  const shortest = new Float64Array(count).fill(Number.POSITIVE_INFINITY)

  function lengthOf(node: number): number {
    const { kind, one, two } = parts(node)
    const of = (other: number) => shortest[other] ?? 0
    switch (kind) {
      case nodeKinds.point:
        return 1
      case nodeKinds.literal:
        return two
      case nodeKinds.pair:
        return of(one) + of(two)
      case nodeKinds.any:
        return Math.min(...Array.from(lists.subarray(one, one + two), of))
      case nodeKinds.repetition: {
        const [min = 0] = lists.subarray(two, two + 2)
        return min === 0 ? 0 : min * of(one)
      }
      case nodeKinds.rule:
        return of(one) + 1
      default:
        return 0
    }
  }
  for (let isDone = false; !isDone; ) {
    isDone = true
    for (let node = count - 1; node >= 0; node--) {
      const length = lengthOf(node)
      if (length >= (shortest[node] ?? 0)) continue
      shortest[node] = length
      isDone = false
    }
  }

  return (random: () => number, freedom: number): string => {
    let left = freedom
    const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T

    const write = (node: number): string => {
      const { kind, one, two } = parts(node)
      left--
      switch (kind) {
        case nodeKinds.point: {
          const ranges = lists.subarray(one, one + 2 * two)
          const at = 2 * Math.floor(random() * two)
          const [first = 0, last = 0] = ranges.subarray(at, at + 2)
          const liked = likely.filter((point) => first <= point && point <= last)
          return characterOf(liked.length > 0 ? pick(liked) : first)
        }
        case nodeKinds.literal:
          return text.slice(one, one + two)
        case nodeKinds.pair:
          return write(one) + write(two)
        case nodeKinds.any: {
          const ways = Array.from(lists.subarray(one, one + two))
          const least = Math.min(...ways.map((way) => shortest[way] ?? 0))
          return write(pick(left > 0 ? ways : ways.filter((way) => shortest[way] === least)))
        }
        case nodeKinds.repetition: {
          const [min = 0, max = 0] = lists.subarray(two, two + 2)
          let written = ''
          for (let round = 0; round !== max; round++) {
            if (round >= min && (left <= 0 || random() < 0.3)) break
            written += write(one)
          }
          return written
        }
        case nodeKinds.rule:
          return write(one)
        default:
          return ''
      }
    }
    return write(start)
  }
}

const likely = Array.from('a1 "\\</>{}[]:,.-nt\n\'é😀', (character) => character.codePointAt(0) ?? 0)

function characterOf(point: number): string {
  if (isMark(point)) return ''
  return point >= 0x110000 ? String.fromCharCode(point - 0x110000 + 0xdc00) : String.fromCodePoint(point)
}
