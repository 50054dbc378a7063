import { type Budget, BudgetExceededError } from '../grammar/budget.ts'
import { SchemaError } from '../grammar/errors.ts'
import { translateSchema } from './drafts.ts'
import { flawOf, isRecord, keywords } from './keywords.ts'
import { createResources } from './resources.ts'

/** The known name that differs from a name by one letter added, removed or replaced, by capitals, or by two swapped letters. */
function closestName(name: string, known: readonly string[]): string | undefined {
  if (name.length < shortest || name.length > longest) return undefined
  return known.find((other) => other.length >= shortest && isMisspelling(name, other))
}

/** Shorter names are too similar to each other. */
const shortest = 4
const longest = 40

function isMisspelling(name: string, other: string): boolean {
  if (name.toLowerCase() === other.toLowerCase()) return true
  if (Math.abs(name.length - other.length) > 1) return false
  let front = 0
  while (front < name.length && name[front] === other[front]) front++
  const [left, right] = [name.slice(front), other.slice(front)]
  const swapped = `${left[1] ?? ''}${left[0] ?? ''}${left.slice(2)}`
  return (
    left.slice(1) === right ||
    left === right.slice(1) ||
    left.slice(1) === right.slice(1) ||
    (left.length > 1 && swapped === right)
  )
}

/** A schema somewhere in the document, or one that was derived from it. The same object is always the same node. */
export interface SchemaNode {
  readonly id: number
  readonly path: string
  /** Empty for `true`; for `false` see `never`. */
  readonly schema: Readonly<Record<string, unknown>>
  /** The schema `false`. */
  readonly never: boolean
  /** Derived by negation instead of written in the document. */
  readonly derived: boolean
}

export interface SchemaDocument {
  readonly root: SchemaNode
  /** A schema that the document contains, checked when it is first used. */
  node(schema: unknown, path: string): SchemaNode
  /** A schema that the compiler derives, which may use the keywords of `derived`. */
  derive(schema: Readonly<Record<string, unknown>>, path: string): SchemaNode
  /** Some schema asks what is evaluated. */
  readonly saysUnevaluated: boolean
  /** The schema that a node's `$ref` names. */
  resolve(node: SchemaNode): SchemaNode
}

/** Keywords that schemas derived by negation use, in addition to those of JSON Schema. */
export const derived = {
  notPattern: '!pattern',
  notFormat: '!format',
  notEnum: '!enum',
  notInteger: '!integer',
  notMultiple: '!multipleOf',
  someMember: '!member',
} as const

/** How names that are not keywords are treated. */
export interface UnknownNames {
  refused: boolean
  /** Receives those that are nearly a known keyword. */
  note(note: string): unknown
}

/** No schema that a person writes is nested this deeply. */
const deepest = 128

export function createSchemaDocument(
  schema: unknown,
  budget: Budget,
  unknownNames: UnknownNames,
): SchemaDocument {
  const nodes = new Map<object, SchemaNode>()
  const constants = new Map<boolean, SchemaNode>()
  const resources = createResources(schema)
  /** The objects that the nodes were written as; derived nodes have none. */
  const written = new Map<SchemaNode, object>()
  const resolved = new Map<SchemaNode, SchemaNode>()
  let count = 0

  const make = (
    path: string,
    keywordsOf: Readonly<Record<string, unknown>>,
    never: boolean,
    isDerived = false,
  ): SchemaNode => {
    budget.spend(1 + Object.keys(keywordsOf).length)
    if (path.split('/').length > 3 * deepest) throw new BudgetExceededError('it is nested too deeply')
    return { id: count++, path, schema: keywordsOf, never, derived: isDerived }
  }

  const node = (value: unknown, path: string): SchemaNode => {
    if (typeof value === 'boolean') {
      const known = constants.get(value) ?? make(path, {}, !value)
      constants.set(value, known)
      return known
    }
    if (!isRecord(value)) throw new SchemaError('$ref', path, 'there is no schema at that place', 'invalid')
    const known = nodes.get(value)
    if (known !== undefined) return known
    const { schema: keywordsOf, moved } = translateSchema(value, resources.of(value).draft)
    check(keywordsOf, path, unknownNames)
    const fresh = make(path, keywordsOf, false)
    nodes.set(value, fresh)
    written.set(fresh, value)
    for (const { schema: inner, steps } of moved) if (isRecord(inner)) node(inner, stepped(path, ...steps))
    return fresh
  }

  const derive = (value: Readonly<Record<string, unknown>>, path: string): SchemaNode => {
    const fresh = make(path, value, false, true)
    nodes.set(value, fresh)
    return fresh
  }

  const resolve = (from: SchemaNode): SchemaNode => {
    const before = resolved.get(from)
    if (before !== undefined) return before
    const own = written.get(from) ?? from.schema
    const keyword = ['$ref', '$dynamicRef', '$recursiveRef'].find((name) => name in own) ?? '$ref'
    const { path } = from
    const target = resources.find(String(from.schema.$ref), resources.of(own), { keyword, path })
    const found = node(target.schema, target.path)
    resolved.set(from, found)
    return found
  }

  let unevaluated: boolean | undefined
  return {
    root: node(schema, '#'),
    node,
    derive,
    get saysUnevaluated() {
      unevaluated ??= JSON.stringify(schema).includes('"unevaluated')
      return unevaluated
    },
    resolve,
  }
}

/** How many characters, items or members these schemas allow together. */
export function countsOf(
  bases: readonly SchemaNode[],
  what: 'Length' | 'Items' | 'Properties',
): { min: number; max: number } {
  return {
    min: Math.max(0, ...bases.map(({ schema }) => Number(schema[`min${what}`] ?? 0))),
    max: Math.min(...bases.map(({ schema }) => Number(schema[`max${what}`] ?? Number.POSITIVE_INFINITY))),
  }
}

/** The values that a schema excludes individually. */
export function excludedBy({ schema }: SchemaNode): readonly unknown[] {
  return (schema[derived.notEnum] as unknown[] | undefined) ?? []
}

export function requiredBy({ schema }: SchemaNode): readonly string[] {
  return (schema.required as string[] | undefined) ?? []
}

/** One step further down, as a JSON Pointer. */
export function stepped(path: string, ...keys: (string | number)[]): string {
  return [path, ...keys.map((key) => String(key).replaceAll('~', '~0').replaceAll('/', '~1'))].join('/')
}

function check(schema: Readonly<Record<string, unknown>>, path: string, unknownNames: UnknownNames): void {
  for (const [name, value] of Object.entries(schema)) {
    const keyword = Object.hasOwn(keywords, name) ? keywords[name] : undefined
    if (keyword === undefined) {
      if (name.startsWith('x-')) continue
      if (unknownNames.refused) {
        throw new SchemaError(shown(name), path, 'it is not a keyword that this server knows')
      }
      const slip = closestName(name, restricting)
      if (slip !== undefined) unknownNames.note(`${path} ${name}: ${slip}?`)
      continue
    }
    if (keyword.standing === 'annotation') continue
    const flaw = flawOf(keyword.takes, value)
    if (flaw !== undefined) throw new SchemaError(name, path, flaw, 'invalid')
  }
}

const restricting = Object.entries(keywords).flatMap(([name, { standing }]) =>
  standing === 'annotation' ? [] : [name],
)

function shown(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}
