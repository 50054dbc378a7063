import {
  type Automaton,
  alternatives,
  type Emission,
  type Expr,
  emptyText,
  literal,
  marked,
  never,
  SchemaError,
  type SchemaNode,
  sequence,
} from '../../constraints/index.ts'
import type { ElementArguments, ValueType } from '../call-format.ts'
import { itemOf, propertyOf, typesOf } from '../reading/value-types.ts'
import { type NamedEntry, objectEntries } from './entries.ts'
import { orJson } from './or-json.ts'
import { inAnyOrder } from './orders.ts'
import { nothing, plainList } from './plain-list.ts'
import { classOf, rawText } from './raw-text.ts'

/**
 * Arguments as elements, in which objects and lists are elements again. `parameters` is the schema as it was given, which
 * determines how values are read.
 */
export function elementsExpr(
  { prefix, item }: ElementArguments,
  parameters: unknown,
  root: SchemaNode,
  emission: Emission,
): Expr {
  const [open, close] = [`${prefix}<`, `${prefix}</`]
  const known = new Map<unknown, number>()
  return membersExpr([root], parameters, emptyText, ({ name }) => isTag(name ?? ''))

  /** `isWritten` tells whether the name of a required member can be a tag. */
  function membersExpr(
    nodes: readonly SchemaNode[],
    schema: unknown,
    empty: Expr,
    isWritten: (entry: NamedEntry) => boolean,
  ): Expr {
    return objectEntries(nodes, emission, (entries) =>
      inAnyOrder(
        entries.map((entry) => ({
          expr: emission.named('element', memberExpr(entry, schema, isWritten)),
          isRequired: entry.isRequired,
          mayRepeat: entry.name === undefined,
        })),
        { head: emptyText, between: emptyText, tail: emptyText, empty },
        emission,
      ),
    )
  }

  function memberExpr(entry: NamedEntry, schema: unknown, isWritten: (entry: NamedEntry) => boolean): Expr {
    const { name, names, nodes } = entry
    if (name !== undefined && !isWritten(entry)) return never
    const key = name === undefined ? emission.write(otherNames(names), classOf) : literal(name)
    // Members that the schema does not name are read by what it says about all others.
    return elementExpr(key, nodes, propertyOf(schema, name ?? '\0', parameters))
  }

  function elementExpr(name: Expr, nodes: readonly SchemaNode[], schema: unknown): Expr {
    return sequence(
      marked(open),
      name,
      literal('>'),
      valueExpr(nodes, schema),
      marked(close),
      name,
      literal('>'),
    )
  }

  function valueExpr(nodes: readonly SchemaNode[], schema: unknown): Expr {
    const number = known.get(schema) ?? known.size
    known.set(schema, number)
    return emission.valueIn(`element ${number}`, nodes, (held) => {
      const types = typesOf(schema, parameters)
      const ofTypes = (...type: ValueType[]) => [
        ...held,
        emission.document.derive({ type }, held[0]?.path ?? '#'),
      ]
      const scalars = (['number', 'boolean', 'null'] as const).filter((type) => types.has(type))
      const others = [...types].filter((type) => type !== 'string')
      const isTree = types.has('object') || types.has('array')
      const between = { marks: [close], others, begins: isTree ? [open] : [] }
      return alternatives(
        ...(scalars.length === 0 ? [] : [emission.value(ofTypes(...scalars))]),
        ...(types.has('string') ? [rawText(ofTypes('string'), between, emission)] : []),
        ...(types.has('object') ? [objectExpr(ofTypes('object'), schema, types)] : []),
        ...(types.has('array') ? [listExpr(ofTypes('array'), schema, types)] : []),
      )
    })
  }

  /** Empty content is a text if a text is possible; otherwise an object rather than a list. */
  function objectExpr(nodes: readonly SchemaNode[], schema: unknown, types: ReadonlySet<ValueType>): Expr {
    const empty = types.has('string') ? literal('{}') : emptyText
    return orJson(nodes, emission, () =>
      membersExpr(nodes, schema, empty, ({ name = '' }) => {
        if (isTag(name) && !(name === item && types.has('array'))) return true
        throw new SchemaError('properties', nodes[0]?.path ?? '#', `${name} cannot be a tag here`)
      }),
    )
  }

  function listExpr(nodes: readonly SchemaNode[], schema: unknown, types: ReadonlySet<ValueType>): Expr {
    const empty = types.has('string') || types.has('object') ? literal('[]') : emptyText
    return orJson(nodes, emission, () =>
      plainList(nodes, emission, { ...nothing, empty }, (items) =>
        elementExpr(literal(item), items, itemOf(schema, parameters)),
      ),
    )
  }

  function otherNames(names: Automaton | undefined): Automaton {
    const { texts } = emission
    const tags = texts.both(texts.pattern(tagName, '#'), texts.lengths(1, maxTagLength))
    const keys = texts.without(tags, texts.exactly([item]))
    return names === undefined ? keys : texts.both(names, keys)
  }
}

const tagName = '^[^\\s<>/][^\\s<>]*$'
const tag = new RegExp(tagName, 'u')
const maxTagLength = 128

function isTag(name: string): boolean {
  return tag.test(name) && name.isWellFormed()
}
