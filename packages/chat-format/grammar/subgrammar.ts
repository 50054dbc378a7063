import { type Expr, type Grammar, rule } from '../../constraints/index.ts'

/** Adds a whole grammar to another one, with its rules under names that begin with the prefix. */
export function addSubgrammar(piece: Grammar, prefix: string, into: Grammar): Expr {
  for (const [name, expr] of piece.rules) into.rules.set(`${prefix}${name}`, renamed(expr, prefix))
  return rule(`${prefix}root`)
}

function renamed(expr: Expr, prefix: string): Expr {
  switch (expr.kind) {
    case 'literal':
    case 'class':
      return expr
    case 'rule':
      return rule(`${prefix}${expr.name}`)
    case 'repetition':
      return { ...expr, of: renamed(expr.of, prefix) }
    case 'sequence':
    case 'alternatives':
      return { ...expr, of: expr.of.map((inner) => renamed(inner, prefix)) }
  }
}
