import { LRUCache } from 'lru-cache'
import { type Range, united } from '../grammar/expressions.ts'

/** Above it, each plane is uniform except for its last two code points. */
const lastMixed = 0x3ffff
const tags: Range = [0xe0000, 0xe01ff]
const lastCodePoint = 0x10ffff
const step = 0x2000
const maxKept = 64

const cache = new LRUCache<string, readonly Range[]>({ max: maxKept })

/** The code points that `\p{…}` stands for. Throws a SyntaxError if there is no such property. */
export function propertyRanges(property: string): readonly Range[] {
  const known = cache.get(property)
  if (known !== undefined) return known
  const ranges = united([...scanned(property)])
  cache.set(property, ranges)
  return ranges
}

function* scanned(property: string): Generator<Range> {
  const runs = new RegExp(`${property}+`, 'gu')
  for (let from = 0; from <= lastMixed; from += step) yield* runsIn(from, from + step - 1, runs)
  yield* runsIn(...tags, runs)
  const pattern = new RegExp(`^${property}$`, 'u')
  for (let from = lastMixed + 1; from <= lastCodePoint; from = (from | 0xffff) + 1) {
    const spans: Range[] = [
      [from === tags[0] ? tags[1] + 1 : from, (from | 0xffff) - 2],
      [(from | 0xffff) - 1, from | 0xffff],
    ]
    for (const span of spans) if (pattern.test(String.fromCodePoint(span[0]))) yield span
  }
}

function* runsIn(first: number, last: number, runs: RegExp): Generator<Range> {
  // Half of a surrogate pair is not a character, and would join with its neighbour.
  const points = Array.from({ length: last - first + 1 }, (_, at) => first + at)
  const text = String.fromCodePoint(...points.filter((point) => point < 0xd800 || point > 0xdfff))
  for (const { 0: run } of text.matchAll(runs)) {
    const from = run.codePointAt(0) ?? 0
    const to = lastOf(run)
    if (from < 0xd800 && to > 0xdfff) yield* [[from, 0xd7ff] as const, [0xe000, to] as const]
    else yield [from, to]
  }
}

function lastOf(run: string): number {
  const last = run.codePointAt(run.length - 1) ?? 0
  return last >= 0xdc00 && last <= 0xdfff ? (run.codePointAt(run.length - 2) ?? last) : last
}
