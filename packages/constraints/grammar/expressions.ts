/** Pieces of grammar as values. `pack.ts` turns them into the form that is followed. */
export type Expr =
  /** These code points, as they appear in the output. */
  | { readonly kind: 'literal'; readonly text: string }
  /** One code point of these ranges: both ends included, disjoint, ascending. */
  | { readonly kind: 'class'; readonly ranges: readonly Range[] }
  /** All of these, in order; an empty list is the empty text. */
  | { readonly kind: 'sequence'; readonly of: readonly Expr[] }
  /** Any of these; an empty list matches no text at all, not even the empty one. */
  | { readonly kind: 'alternatives'; readonly of: readonly Expr[] }
  /** `max` is Infinity if there is no upper bound. */
  | { readonly kind: 'repetition'; readonly of: Expr; readonly min: number; readonly max: number }
  | { readonly kind: 'rule'; readonly name: string }

export type Range = readonly [first: number, last: number]

/** The start is the rule `root`. Names consist of letters, digits and hyphens. */
export interface Grammar {
  readonly rules: Map<string, Expr>
}

/** The empty text. */
export const emptyText: Expr = { kind: 'sequence', of: [] }
/** No text at all. */
export const never: Expr = { kind: 'alternatives', of: [] }

export function isNever(expr: Expr): boolean {
  return expr.kind === 'alternatives' && expr.of.length === 0
}

function isEmptyText(expr: Expr): boolean {
  return expr.kind === 'sequence' && expr.of.length === 0
}

export function literal(text: string): Expr {
  return text === '' ? emptyText : { kind: 'literal', text }
}

export function charClass(...ranges: readonly Range[]): Expr {
  return ranges.length === 0 ? never : { kind: 'class', ranges: united(ranges) }
}

export function sequence(...exprs: readonly Expr[]): Expr {
  const of: Expr[] = []
  for (const expr of exprs) {
    if (isNever(expr)) return never
    for (const inner of expr.kind === 'sequence' ? expr.of : [expr]) {
      const last = of.at(-1)
      if (inner.kind === 'literal' && last?.kind === 'literal')
        of[of.length - 1] = literal(last.text + inner.text)
      else of.push(inner)
    }
  }
  return single(of) ?? { kind: 'sequence', of }
}

/** Alternatives of one code point become one class, so that the engine does not follow each on its own. */
export function alternatives(...exprs: readonly Expr[]): Expr {
  const of: Expr[] = []
  const ranges: Range[] = []
  let classAt = -1
  let empty = false
  for (const expr of exprs.flatMap((inner) => (inner.kind === 'alternatives' ? inner.of : [inner]))) {
    const points = pointsOf(expr)
    if (points !== undefined) {
      if (classAt < 0) classAt = of.push(expr) - 1
      ranges.push(...points)
    } else if (!isEmptyText(expr)) {
      of.push(expr)
    } else if (!empty) {
      empty = true
      of.push(expr)
    }
  }
  if (ranges.length > 1) of[classAt] = charClass(...ranges)
  return single(of) ?? { kind: 'alternatives', of }
}

export function repetition(of: Expr, min: number, max = Number.POSITIVE_INFINITY): Expr {
  if (max < min) return never
  if (max === 0 || isEmptyText(of)) return emptyText
  if (isNever(of)) return min === 0 ? emptyText : never
  return min === 1 && max === 1 ? of : { kind: 'repetition', of, min, max }
}

export function optional(of: Expr): Expr {
  return repetition(of, 0, 1)
}

export function rule(name: string): Expr {
  return { kind: 'rule', name }
}

/**
 * Exactly one of these texts. The engine follows every open alternative on its own and compares them all with one
 * another, so texts share their common beginnings.
 */
export function trieOf(texts: readonly string[]): Expr {
  return branch(
    [...new Set(texts)].map((text) => Array.from(text)),
    0,
  )
}

function branch(words: readonly (readonly string[])[], shared: number): Expr {
  const [first] = words
  if (first === undefined) return never
  if (words.length === 1) return literal(first.slice(shared).join(''))
  let common = shared
  while (first.length > common && words.every((word) => word[common] === first[common])) common++
  const groups = Map.groupBy(words, (word) => word[common])
  return sequence(
    literal(first.slice(shared, common).join('')),
    alternatives(
      ...[...groups].map(([character, group]) =>
        character === undefined ? emptyText : sequence(literal(character), branch(group, common + 1)),
      ),
    ),
  )
}

/** Ascending, with touching ranges merged. */
export function united(ranges: readonly Range[]): Range[] {
  const out: [number, number][] = []
  for (const [first, last] of ranges.toSorted(([a], [b]) => a - b)) {
    const before = out.at(-1)
    if (before !== undefined && first <= before[1] + 1) before[1] = Math.max(before[1], last)
    else out.push([first, last])
  }
  return out
}

/** All code points but these, which are disjoint and ascending. */
export function complement(ranges: readonly Range[]): Range[] {
  const out: Range[] = []
  let from = 0
  for (const [first, last] of ranges) {
    if (first > from) out.push([from, first - 1])
    from = last + 1
  }
  if (from <= 0x10ffff) out.push([from, 0x10ffff])
  return out
}

function pointsOf(expr: Expr): readonly Range[] | undefined {
  if (expr.kind === 'class') return expr.ranges
  if (expr.kind !== 'literal') return undefined
  const point = expr.text.codePointAt(0) ?? 0
  return String.fromCodePoint(point) === expr.text ? [[point, point]] : undefined
}

function single(of: readonly Expr[]): Expr | undefined {
  return of.length === 1 ? of[0] : undefined
}
