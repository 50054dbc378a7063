import { alternatives, charClass, type Expr, literal, type Range, sequence } from '../../constraints/index.ts'

/** The characters of a JSON text that are escaped if it is itself written as a JSON string. */
const escapes = new Map([
  [0x09, '\\t'],
  [0x0a, '\\n'],
  [0x0d, '\\r'],
  [0x22, '\\"'],
  [0x5c, '\\\\'],
])

/** JSON texts as the contents of a JSON string, without its quotes. */
export function inString(expr: Expr): Expr {
  switch (expr.kind) {
    case 'literal':
      return literal(
        Array.from(expr.text, (character) => escapes.get(character.codePointAt(0) ?? 0) ?? character).join(
          '',
        ),
      )
    case 'class': {
      const special = [...escapes].filter(([point]) =>
        expr.ranges.some(([first, last]) => first <= point && point <= last),
      )
      if (special.length === 0) return expr
      let plain: Range[] = [...expr.ranges]
      for (const [point] of special) plain = plain.flatMap((range) => split(range, point))
      return alternatives(charClass(...plain), ...special.map(([, text]) => literal(text)))
    }
    case 'rule':
      return expr
    case 'repetition':
      return { ...expr, of: inString(expr.of) }
    case 'sequence':
      return sequence(...expr.of.map(inString))
    case 'alternatives':
      return alternatives(...expr.of.map(inString))
  }
}

function split([first, last]: Range, point: number): Range[] {
  if (point < first || point > last) return [[first, last]]
  return [
    ...(first < point ? [[first, point - 1] as const] : []),
    ...(point < last ? [[point + 1, last] as const] : []),
  ]
}
