import { SchemaError } from '../grammar/errors.ts'
import type { Emission } from './emission.ts'
import { isRecord } from './keywords.ts'
import { allowedNames, fewNames } from './names.ts'
import { derived, requiredBy, type SchemaNode, stepped } from './schema-document.ts'

/** What a schema derived by negation demands of an object: at least one member of these names has such a value. */
export interface SomeMember {
  /** A schema of strings. */
  names: SchemaNode
  value: unknown
  path: string
}

/** Schemas of one object, and the demands on members that none of them declares. */
interface Way {
  bases: readonly SchemaNode[]
  open: readonly SomeMember[]
}

const maxAsked = 5
const maxWays = 64

export function someMembers(
  bases: readonly SchemaNode[],
  { document }: Pick<Emission, 'document'>,
): SomeMember[] {
  const known = new Map<string, SomeMember>()
  for (const { schema, path } of bases) {
    const raw = schema[derived.someMember]
    if (!isRecord(raw)) continue
    const asked = { names: document.node(raw.names, path), value: raw.value, path }
    known.set(JSON.stringify([raw.names, raw.value]), asked)
  }
  const asked = [...known.values()]
  if (asked.length > maxAsked) {
    const why = `more than ${maxAsked} keywords about members that are not named are negated together`
    throw new SchemaError('not', asked[0]?.path ?? '#', why)
  }
  return asked
}

/** Each such member is either a declared one or an undeclared one. */
export function waysToHave(bases: readonly SchemaNode[], emission: Emission): Way[] {
  const asked = someMembers(bases, emission)
  let ways: Way[] = [{ bases, open: [] }]
  for (const member of asked) {
    const declared = declaredAmong(member, bases, emission).map((name) =>
      emission.document.derive(
        { type: 'object', required: [name], properties: Object.fromEntries([[name, member.value]]) },
        member.path,
      ),
    )
    emission.budget.spend(ways.length * (1 + declared.length))
    ways = ways.flatMap((way) => [
      ...declared.map((base) => ({ ...way, bases: [...way.bases, base] })),
      { ...way, open: [...way.open, member] },
    ])
    if (ways.length > maxWays) {
      const why = 'what is negated can be any of too many members'
      throw new SchemaError('not', member.path, why)
    }
  }
  return ways
}

/** The declared names that the member may have. */
export function declaredAmong(
  { names }: SomeMember,
  bases: readonly SchemaNode[],
  emission: Emission,
): string[] {
  const declared = bases.flatMap((base) => [
    ...(base.derived ? [] : Object.keys(base.schema.properties ?? {})),
    ...requiredBy(base),
  ])
  declared.push(...fewNames(allowedNames(bases, emission)))
  return [...new Set(declared)].filter((name) => emission.holds(name, names))
}

/** The schema of the value of such a member. */
export function memberValue({ value, path }: SomeMember, { document }: Emission): SchemaNode {
  return document.node(value, stepped(path, 'not'))
}
