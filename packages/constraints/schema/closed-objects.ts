import type { Emission } from './emission.ts'
import { requiredBy, type SchemaNode, stepped } from './schema-document.ts'
import { declaredAmong, someMembers } from './some-member.ts'

/** A schema with one of these keywords has considered other members. */
const ofOthers = ['additionalProperties', 'patternProperties', 'unevaluatedProperties', 'propertyNames']

/** How deep a member is searched for a reason why it is impossible. */
const lookahead = 2

/** Whether these schemas, which hold together, implicitly close an object that needs `least` members. */
export function hasNoOthers(bases: readonly SchemaNode[], least: number, emission: Emission): boolean {
  const says = (keyword: string) => bases.some(({ schema }) => schema[keyword] !== undefined)
  // Schemas derived by negation name members to rule them out, or to restrict their values.
  const written = bases.filter(({ derived }) => !derived)
  switch (emission.closing) {
    case 'told':
      return false
    case 'listing':
      return (
        written.some(({ schema }) => (schema.properties ?? schema.patternProperties) !== undefined) &&
        !says('additionalProperties') &&
        !says('unevaluatedProperties')
      )
    case 'silent':
      return (
        written.some(({ schema }) => Object.keys(schema.properties ?? {}).length > 0) &&
        !ofOthers.some(says) &&
        someMembers(bases, emission).every((member) => declaredAmong(member, bases, emission).length > 0) &&
        hasRoom(bases, least, emission)
      )
  }
}

/** Whether the named members suffice for the required number. */
function hasRoom(bases: readonly SchemaNode[], least: number, emission: Emission): boolean {
  if (least === 0) return true
  const names = new Set(
    bases.flatMap((base) => [
      ...requiredBy(base),
      ...(base.derived ? [] : Object.keys(base.schema.properties ?? {})),
    ]),
  )
  if (names.size < least) return false
  let possible = 0
  for (const name of names) {
    emission.budget.spend(bases.length)
    const nodes = bases.flatMap(({ schema, path }) => {
      const properties = (schema.properties ?? {}) as Record<string, unknown>
      return Object.hasOwn(properties, name)
        ? [emission.document.node(properties[name], stepped(path, 'properties', name))]
        : []
    })
    if (!nodes.some((node) => node.never) && emission.possible(nodes, lookahead)) possible++
    if (possible >= least) return true
  }
  return false
}
