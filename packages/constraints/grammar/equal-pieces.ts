import type { Expr } from './expressions.ts'

/** A number for each piece of grammar, and how many of its parts were new. */
type EqualPieces = (expr: Expr) => { number: number; walked: number }

/**
 * Gives equal pieces the same number. A part that was numbered before is not walked again. The exception are kinds that
 * are seldom the same object: recording each costs more than reading it again.
 */
export function createEqualPieces(): EqualPieces {
  const met = new Map<Expr, number>()
  const byText = new Map<string, number>()
  let walked = 0

  const numberOf = (expr: Expr): number => {
    const isNoted = expr.kind !== 'rule' && expr.kind !== 'literal' && expr.kind !== 'sequence'
    const before = isNoted ? met.get(expr) : undefined
    if (before !== undefined) return before
    walked++
    const text = textOf(expr)
    const number = byText.get(text) ?? byText.size
    byText.set(text, number)
    if (isNoted) met.set(expr, number)
    return number
  }
  const textOf = (expr: Expr): string => {
    switch (expr.kind) {
      case 'literal':
        return `l${expr.text}`
      case 'class':
        return `c${expr.ranges.join()}`
      case 'rule':
        return `n${expr.name}`
      case 'repetition':
        return `r${numberOf(expr.of)},${expr.min},${expr.max}`
      case 'sequence':
        return `s${expr.of.map(numberOf).join()}`
      case 'alternatives':
        return `a${expr.of.map(numberOf).join()}`
    }
  }

  return (expr) => {
    walked = 0
    const number = numberOf(expr)
    return { number, walked }
  }
}
