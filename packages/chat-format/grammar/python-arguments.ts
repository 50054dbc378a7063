import {
  alternatives,
  charClass,
  type Emission,
  type Expr,
  emptyText,
  inJsonString,
  literal,
  never,
  type Range,
  repetition,
  type SchemaNode,
  sequence,
  stringAutomaton,
  valuesOf,
} from '../../constraints/index.ts'
import { objectEntries } from './entries.ts'
import { inAnyOrder } from './orders.ts'

/** Keyword arguments: JSON, which is accepted there too, and texts and words as Python writes them. */
export function pythonExpr(root: SchemaNode, emission: Emission): Expr {
  return objectEntries([root], emission, (entries) =>
    inAnyOrder(
      entries.map(({ name, nodes, isRequired }) => ({
        expr: emission.named(
          'argument',
          name !== undefined && isKeyword(name)
            ? sequence(literal(`${name}=`), valueExpr(nodes, emission))
            : never,
        ),
        isRequired,
        mayRepeat: name === undefined,
      })),
      { head: emptyText, between: literal(', '), tail: emptyText, empty: emptyText },
      emission,
    ),
  )
}

function isKeyword(name: string): boolean {
  return /^[\p{L}_][\p{L}\p{N}_]*$/u.test(name)
}

function valueExpr(nodes: readonly SchemaNode[], emission: Emission): Expr {
  const { cases, document, texts } = emission
  const ofType = (...type: string[]) => cases.of([...nodes, document.derive({ type }, nodes[0]?.path ?? '#')])
  const quoted = ofType('string').map(({ bases, values }) => {
    const language =
      values === undefined
        ? stringAutomaton(bases, texts)
        : texts.exactly(values.filter((value) => typeof value === 'string'))
    if (language === undefined) return repetition(anyCharacter, 0)
    return emission.write(language, inSingleQuotes)
  })
  return alternatives(
    emission.value(nodes),
    ...pythonWords(
      [...nodes, document.derive({ type: ['boolean', 'null'] }, nodes[0]?.path ?? '#')],
      emission,
    ),
    ...quoted.map((text) => sequence(literal("'"), text, literal("'"))),
  )
}

/** The flags and none that the nodes allow. */
export function pythonWords(nodes: readonly SchemaNode[], { cases }: Emission): Expr[] {
  const words = cases.of(nodes).flatMap((found) => valuesOf(found) ?? [])
  return [...new Set(words)]
    .filter((word) => word === null || typeof word === 'boolean')
    .map((word) => literal(word === null ? 'None' : word ? 'True' : 'False'))
}

const quote = 0x27
const backslash = 0x5c

/** JSON escapes the double quote and not the single one; here it is the other way round. */
function inSingleQuotes(ranges: readonly Range[]): Expr {
  const has = (point: number) => ranges.some(([first, last]) => first <= point && point <= last)
  return alternatives(
    inJsonString(without(without(ranges, quote), 0x22)),
    ...(has(0x22) ? [literal('"')] : []),
    ...(has(quote) ? [literal("\\'")] : []),
  )
}

export function without(ranges: readonly Range[], point: number): Range[] {
  return ranges.flatMap(([first, last]): Range[] => {
    if (point < first || point > last) return [[first, last]]
    return [
      ...(first < point ? [[first, point - 1] as const] : []),
      ...(point < last ? [[point + 1, last] as const] : []),
    ]
  })
}

const anyCharacter = alternatives(
  charClass([0x20, quote - 1], [quote + 1, backslash - 1], [backslash + 1, 0x10ffff]),
  sequence(
    literal('\\'),
    charClass([0x22, 0x22], [quote, quote], [backslash, backslash], [0x6e, 0x6e], [0x72, 0x72], [0x74, 0x74]),
  ),
)
