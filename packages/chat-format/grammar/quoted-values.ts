import {
  type Automaton,
  alternatives,
  type Emission,
  type Expr,
  literal,
  marked,
  type SchemaNode,
  sequence,
} from '../../constraints/index.ts'
import { type NamedEntry, objectEntries } from './entries.ts'
import { orJson } from './or-json.ts'
import { inAnyOrder } from './orders.ts'
import { plainList } from './plain-list.ts'
import { classOf, rawText } from './raw-text.ts'

/** How deep the search for types that a value cannot have goes. */
const lookahead = 2

/** Values as JSON, except that texts are written between these quotes without escapes, and keys without quotes. */
export function quotedValue(nodes: readonly SchemaNode[], quote: string, emission: Emission): Expr {
  return emission.valueIn(`quoted ${quote}`, nodes, (held) => {
    const ofTypes = (...type: string[]) => [...held, emission.document.derive({ type }, held[0]?.path ?? '#')]
    const ways: [string[], (of: readonly SchemaNode[]) => Expr][] = [
      [['number', 'boolean', 'null'], emission.value],
      [['string'], (of) => quotedText(rawText(of, { marks: [quote] }, emission))],
      [['object'], (of) => orJson(of, emission, () => objectExpr(of))],
      [['array'], (of) => orJson(of, emission, () => listExpr(of))],
    ]
    return alternatives(
      ...ways.flatMap(([types, write]) => {
        const of = ofTypes(...types)
        return emission.possible(of, lookahead) ? [write(of)] : []
      }),
    )
  })

  function quotedText(text: Expr): Expr {
    return sequence(marked(quote), text, marked(quote))
  }

  function listExpr(of: readonly SchemaNode[]): Expr {
    const marks = { open: literal('['), between: literal(','), close: literal(']'), empty: literal('[]') }
    return plainList(of, emission, marks, (items) => quotedValue(items, quote, emission))
  }

  function objectExpr(of: readonly SchemaNode[]): Expr {
    const marks = { head: literal('{'), between: literal(','), tail: literal('}'), empty: literal('{}') }
    return objectEntries(of, emission, (entries) =>
      inAnyOrder(
        entries.map((entry) => ({
          expr: emission.named('member', memberExpr(entry)),
          isRequired: entry.isRequired,
          mayRepeat: entry.name === undefined,
        })),
        marks,
        emission,
      ),
    )
  }

  function memberExpr({ name, names, nodes: held }: NamedEntry): Expr {
    const key =
      name === undefined
        ? emission.write(bareNames(names, emission), classOf)
        : literal(bare.test(name) ? name : JSON.stringify(name))
    return sequence(key, literal(':'), quotedValue(held, quote, emission))
  }
}

/** Keys that need no quotes. */
const bareName = '^[A-Za-z_][A-Za-z0-9_.$-]*$'
const bare = new RegExp(bareName)
const maxKeyLength = 128

function bareNames(names: Automaton | undefined, { texts }: Emission): Automaton {
  const keys = texts.both(texts.pattern(bareName, '#'), texts.lengths(1, maxKeyLength))
  return names === undefined ? keys : texts.both(names, keys)
}
