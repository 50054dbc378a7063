import { type Expr, type Range, united } from '../grammar/expressions.ts'

/**
 * Whether the next character alone always determines the position in the expression. The engine follows every possible
 * position, so such an expression is kept as it is, however large its counts are. The expression must have no rules.
 */
export function isDeterministic(expr: Expr): boolean {
  return leadsOn(expr, [])
}

/** `follow`: what may come after the expression. */
function leadsOn(expr: Expr, follow: readonly Range[]): boolean {
  switch (expr.kind) {
    case 'literal':
    case 'class':
      return true
    case 'rule':
      return false
    case 'alternatives':
      return (
        areDisjoint(expr.of.map((inner) => opening(inner).ranges)) &&
        expr.of.filter((inner) => opening(inner).empty).length <= 1 &&
        expr.of.every((inner) => leadsOn(inner, follow))
      )
    case 'sequence': {
      let after = follow
      for (const inner of expr.of.toReversed()) {
        const { ranges, empty } = opening(inner)
        if (empty && !areDisjoint([ranges, after])) return false
        if (!leadsOn(inner, after)) return false
        after = empty ? united([...ranges, ...after]) : ranges
      }
      return true
    }
    case 'repetition': {
      const { ranges, empty } = opening(expr.of)
      const again = expr.max === 1 ? follow : united([...ranges, ...follow])
      return !empty && (expr.min === expr.max || areDisjoint([ranges, follow])) && leadsOn(expr.of, again)
    }
  }
}

function opening(expr: Expr): { ranges: readonly Range[]; empty: boolean } {
  switch (expr.kind) {
    case 'literal': {
      const point = expr.text.codePointAt(0) ?? 0
      return { ranges: [[point, point]], empty: false }
    }
    case 'class':
      return { ranges: expr.ranges, empty: false }
    case 'rule':
      return { ranges: [], empty: false }
    case 'alternatives': {
      const openings = expr.of.map(opening)
      return {
        ranges: united(openings.flatMap(({ ranges }) => ranges)),
        empty: openings.some(({ empty }) => empty),
      }
    }
    case 'sequence': {
      const ranges: Range[] = []
      for (const inner of expr.of) {
        const next = opening(inner)
        ranges.push(...next.ranges)
        if (!next.empty) return { ranges: united(ranges), empty: false }
      }
      return { ranges: united(ranges), empty: true }
    }
    case 'repetition': {
      const { ranges, empty } = opening(expr.of)
      return { ranges, empty: empty || expr.min === 0 }
    }
  }
}

function areDisjoint(sets: readonly (readonly Range[])[]): boolean {
  const all = sets.flat().toSorted(([a], [b]) => a - b)
  return all.every(([first], at) => first > (all[at - 1]?.[1] ?? -1))
}
