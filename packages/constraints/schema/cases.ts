import { type Budget, BudgetExceededError } from '../grammar/budget.ts'
import { SchemaError } from '../grammar/errors.ts'
import { createDisjointCheck } from './disjoint-schemas.ts'
import { negations, typeList } from './negation.ts'
import { excludedBy, type SchemaDocument, type SchemaNode, stepped } from './schema-document.ts'

/** Schemas that hold together, with all branches chosen. `values`, if present, are the only values that can fit. */
export interface Case {
  readonly bases: readonly SchemaNode[]
  readonly values?: readonly unknown[]
}

export interface Cases {
  /** All cases in which these schemas hold together; a value may fit several. */
  of(nodes: readonly SchemaNode[]): readonly Case[]
}

/** Branches of an `anyOf` that are tried in every combination. */
const maxCombined = 4
/** More than a document has, so each pair of node ids fits in one exact number. */
const maxNodes = 2 ** 26
/** References followed in a row; a cycle is reported by the code that resolves them. */
const maxSteps = 16
/** More would be a grammar that nobody intended. */
const maxCases = 256

/** Which nodes led to a node, to detect a schema that is only a reference to itself. */
type Ancestry = { readonly id: number; readonly parent: Ancestry } | undefined

interface Option {
  nodes: readonly SchemaNode[]
  ancestry: Ancestry
}

type Choice = () => readonly Option[]

interface Open {
  bases: SchemaNode[]
  seen: Set<number>
  choices: Choice[]
}

export function createCases(
  document: SchemaDocument,
  budget: Budget,
  holds: (value: unknown, node: SchemaNode) => boolean,
  possible: (nodes: readonly SchemaNode[]) => boolean,
): Cases {
  const known = new Map<string, readonly Case[]>()
  const negated = new Map<number, SchemaNode[]>()
  const exclusive = new Map<number, readonly (readonly SchemaNode[])[]>()
  /** By the ids of both nodes, combined in one number. */
  const overlaps = new Map<number, boolean>()
  const areDisjoint = createDisjointCheck(document)

  /** What a reference that has no other keywords stands for, so that unions of the same schemas are compared once. */
  const named = (node: SchemaNode): SchemaNode => {
    let target = node
    for (let steps = 0; steps < maxSteps && isReference(target); steps++) target = document.resolve(target)
    return target
  }

  const overlapping = (first: SchemaNode, second: SchemaNode): boolean => {
    const [left, right] = [named(first), named(second)]
    const key = left.id * maxNodes + right.id
    const before = overlaps.get(key)
    if (before !== undefined) return before
    // Until the result is known, a recursive schema counts as overlapping, which is always safe.
    overlaps.set(key, true)
    const found = !areDisjoint(left, right) && possible([left, right])
    overlaps.set(key, found)
    return found
  }

  const notOf = (node: SchemaNode): SchemaNode[] => {
    let ways = negated.get(node.id)
    if (ways === undefined) {
      const inner = (schema: unknown) => document.node(schema, node.path)
      ways = negations(node, document, (left, right) => overlapping(inner(left), inner(right)))
      negated.set(node.id, ways)
    }
    return ways
  }

  const branches = (node: SchemaNode, keyword: string): SchemaNode[] =>
    (node.schema[keyword] as unknown[]).map((raw, i) => document.node(raw, stepped(node.path, keyword, i)))

  /** Several branches together can evaluate more than each does alone. */
  const anyOf = (node: SchemaNode): readonly (readonly SchemaNode[])[] => {
    const all = branches(node, 'anyOf')
    if (node.schema.unevaluatedProperties === undefined || all.length > maxCombined) {
      return all.map((branch) => [branch])
    }
    let sets: SchemaNode[][] = [[]]
    for (const branch of all) sets = sets.flatMap((set) => [set, [...set, branch]])
    return sets.filter((set) => set.length > 0)
  }

  /** Each branch combined with the negations of those that could hold at the same time. */
  const oneOf = (node: SchemaNode): readonly (readonly SchemaNode[])[] => {
    const before = exclusive.get(node.id)
    if (before !== undefined) return before
    const all = branches(node, 'oneOf')
    const beside = all.map((): number[] => [])
    for (const [i, left] of all.entries()) {
      for (const [j, right] of all.entries().drop(i + 1)) {
        budget.spend(1)
        if (!overlapping(left, right)) continue
        beside[i]?.push(j)
        beside[j]?.push(i)
      }
    }
    const ways = all.flatMap((branch, i) => {
      let options: SchemaNode[][] = [[branch]]
      for (const j of beside[i] ?? []) {
        let without: SchemaNode[]
        try {
          without = notOf(all[j] ?? branch)
        } catch (error) {
          if (!(error instanceof SchemaError)) throw error
          const [first, second] = [Math.min(i, j), Math.max(i, j)]
          throw new SchemaError(
            'oneOf',
            node.path,
            `its branches ${first} and ${second} can both hold, and to separate them ${error.keyword} at ${error.path} would have to be negated: ${error.why}`,
          )
        }
        options = options.flatMap((option) => without.map((way) => [...option, way]))
        if (options.length > maxCases)
          throw new BudgetExceededError('a oneOf has too many branches that can hold at the same time')
      }
      return options
    })
    exclusive.set(node.id, ways)
    return ways
  }

  const take = (nodes: readonly SchemaNode[], ancestry: Ancestry, open: Open): boolean => {
    const pending = nodes.map((node) => ({ node, ancestry })).reverse()
    for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
      const { node } = at
      budget.spend(1)
      if (node.never) return false
      for (let up = at.ancestry; up !== undefined; up = up.parent) {
        if (up.id === node.id) {
          throw new SchemaError(
            '$ref',
            node.path,
            'it refers back to itself without anything in between',
            'invalid',
          )
        }
      }
      if (open.seen.has(node.id)) continue
      open.seen.add(node.id)
      open.bases.push(node)
      const own: Ancestry = { id: node.id, parent: at.ancestry }
      const { schema, path } = node
      const next: SchemaNode[] = []
      if (schema.$ref !== undefined) next.push(document.resolve(node))
      if (schema.allOf !== undefined) next.push(...branches(node, 'allOf'))
      pending.push(...next.map((each) => ({ node: each, ancestry: own })).reverse())
      const choose = (options: () => readonly (readonly SchemaNode[])[]) =>
        open.choices.push(() => options().map((option) => ({ nodes: option, ancestry: own })))
      const inner = (keyword: string) => document.node(schema[keyword], stepped(path, keyword))
      if (schema.anyOf !== undefined) choose(() => anyOf(node))
      if (schema.oneOf !== undefined) choose(() => oneOf(node))
      if (schema.not !== undefined) choose(() => notOf(inner('not')).map((way) => [way]))
      if (schema.if !== undefined && (schema.then !== undefined || schema.else !== undefined)) {
        choose(() => [
          [inner('if'), ...(schema.then === undefined ? [] : [inner('then')])],
          ...notOf(inner('if')).map((way) => [way, ...(schema.else === undefined ? [] : [inner('else')])]),
        ])
      }
      for (const keyword of ['dependentRequired', 'dependentSchemas', 'dependencies']) {
        for (const [name, then] of Object.entries(schema[keyword] ?? {})) {
          choose(() => {
            const thenPath = stepped(path, keyword, name)
            const present = document.derive(
              { type: 'object', required: [name, ...(Array.isArray(then) ? then : [])] },
              thenPath,
            )
            return [
              [document.derive({ properties: Object.fromEntries([[name, false]]) }, thenPath)],
              [present, ...(Array.isArray(then) ? [] : [document.node(then, thenPath)])],
            ]
          })
        }
      }
    }
    return true
  }

  const expand = (open: Open, found: Case[]): void => {
    budget.spend(1 + open.bases.length)
    const values = enumerated(open.bases)
    if (values !== undefined) {
      const fitting = values.filter((value) => open.bases.every((base) => holds(value, base)))
      budget.spend(values.length)
      if (fitting.length > 0) found.push({ bases: open.bases, values: fitting })
    } else if (typesOf(open.bases).size > 0) {
      const [choice, ...choices] = open.choices
      if (choice === undefined) {
        found.push({ bases: open.bases })
      } else {
        for (const { nodes, ancestry } of choice()) {
          const copy = { bases: [...open.bases], seen: new Set(open.seen), choices: [...choices] }
          if (take(nodes, ancestry, copy)) expand(copy, found)
        }
      }
    }
    if (found.length > maxCases) throw new BudgetExceededError('its branches combine in too many ways')
  }

  return {
    of(nodes) {
      const key = nodes
        .map(({ id }) => id)
        .sort((a, b) => a - b)
        .join()
      const before = known.get(key)
      if (before !== undefined) return before
      const open: Open = { bases: [], seen: new Set(), choices: [] }
      const found: Case[] = []
      if (take(nodes, undefined, open)) expand(open, found)
      known.set(key, found)
      return found
    },
  }
}

export function isReference({ schema }: SchemaNode): boolean {
  return schema.$ref !== undefined && Object.keys(schema).length === 1
}

/** The values of the shortest list that one of the schemas gives. */
function enumerated(bases: readonly SchemaNode[]): readonly unknown[] | undefined {
  let shortest: readonly unknown[] | undefined
  for (const { schema } of bases) {
    const list = Object.hasOwn(schema, 'const') ? [schema.const] : (schema.enum as unknown[] | undefined)
    if (list !== undefined && (shortest === undefined || list.length < shortest.length)) shortest = list
  }
  return shortest
}

export type TypeName = 'null' | 'boolean' | 'integer' | 'number' | 'string' | 'array' | 'object'

/** The types that a value can have if all of the schemas hold; `integer` only if no other number fits. */
export function typesOf(bases: readonly SchemaNode[]): Set<TypeName> {
  let types = new Set<TypeName>(['null', 'boolean', 'number', 'string', 'array', 'object'])
  for (const { schema } of bases) {
    if (schema.type === undefined) continue
    const allowed = typeList(schema)
    const whole = allowed.includes('integer') && !allowed.includes('number')
    types = new Set(
      [...types].flatMap((type): TypeName[] => {
        if (type === 'number' && whole) return ['integer']
        if (type === 'integer') return whole || allowed.includes('number') ? [type] : []
        return allowed.includes(type) ? [type] : []
      }),
    )
  }
  return types
}

/** All values of a type that has few. */
export function constants(bases: readonly SchemaNode[], type: TypeName): unknown[] {
  const all = type === 'null' ? [null] : type === 'boolean' ? [true, false] : []
  return all.filter((value) => bases.every((base) => !excludedBy(base).includes(value)))
}

/** All values of a case, if there are few. */
export function valuesOf({ bases, values }: Case): readonly unknown[] | undefined {
  if (values !== undefined) return values
  const types = [...typesOf(bases)]
  return types.every((type) => type === 'null' || type === 'boolean')
    ? types.flatMap((type) => constants(bases, type))
    : undefined
}
