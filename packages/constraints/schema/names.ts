import { type Automaton, isEmpty, wordsOf } from '../automaton/automaton.ts'
import type { Emission } from './emission.ts'
import { type SchemaNode, stepped } from './schema-document.ts'
import { stringAutomaton } from './strings.ts'

const maxWords = 64

/** The names that `propertyNames` allows; undefined if it does not restrict them. */
export function allowedNames(bases: readonly SchemaNode[], emission: Emission): Automaton | undefined {
  const nodes = bases.flatMap((base) => nameNodes(base, emission))
  return nodes.length === 0 ? undefined : namesThat(nodes, emission)
}

/** The names for which these schemas hold. */
export function namesThat(nodes: readonly SchemaNode[], { texts, cases }: Emission): Automaton {
  let allowed = texts.exactly([])
  for (const { bases, values } of cases.of(nodes)) {
    if (values === undefined) {
      const types = bases.flatMap(({ schema }) => (schema.type === undefined ? [] : [schema.type].flat()))
      if (types.length > 0 && !types.includes('string')) continue
    }
    const own =
      values === undefined
        ? (stringAutomaton(bases, texts) ?? texts.lengths(0, Number.POSITIVE_INFINITY))
        : texts.exactly(values.filter((value) => typeof value === 'string'))
    allowed = isEmpty(allowed) ? own : texts.either(allowed, own)
  }
  return allowed
}

/** The allowed names, if there are few. */
export function fewNames(allowed: Automaton | undefined): readonly string[] {
  return allowed === undefined ? [] : (wordsOf(allowed, maxWords) ?? [])
}

export function nameHolds(bases: readonly SchemaNode[], name: string, emission: Emission): boolean {
  return bases.every((base) => nameNodes(base, emission).every((node) => emission.holds(name, node)))
}

function nameNodes({ schema, path }: SchemaNode, { document }: Emission): SchemaNode[] {
  return schema.propertyNames === undefined
    ? []
    : [document.node(schema.propertyNames, stepped(path, 'propertyNames'))]
}
