import { type Budget, BudgetExceededError } from '../grammar/budget.ts'
import { SchemaError } from '../grammar/errors.ts'
import { flawOf, isRecord, keywords } from './keywords.ts'

/** A schema somewhere in the document, or one that was derived from it. The same object is the same node. */
export interface SchemaNode {
  readonly id: number
  readonly path: string
  /** Empty for `true`; and see `never`. */
  readonly schema: Readonly<Record<string, unknown>>
  /** The schema `false`. */
  readonly never: boolean
  /** Made by negation, instead of written in the document. */
  readonly derived: boolean
}

export interface SchemaDocument {
  readonly root: SchemaNode
  /** A schema that the document contains, checked when it is first seen. */
  node(schema: unknown, path: string): SchemaNode
  /** A schema of the compiler's own, which may use the keywords of `derived`. */
  derive(schema: Readonly<Record<string, unknown>>, path: string): SchemaNode
  /** What a node's `$ref` names. */
  resolve(node: SchemaNode): SchemaNode
}

/** Keywords that schemas derived by negation use, beside those of JSON Schema. */
export const derived = {
  notPattern: '!pattern',
  notFormat: '!format',
  notEnum: '!enum',
  notInteger: '!integer',
} as const

/** No schema that a person writes is nested so deeply. */
const deepest = 128

export function createSchemaDocument(schema: unknown, budget: Budget): SchemaDocument {
  const nodes = new Map<object, SchemaNode>()
  const constants = new Map<boolean, SchemaNode>()
  let anchors: Map<string, { schema: unknown; path: string }> | undefined
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
    check(value, path)
    const fresh = make(path, value, false)
    nodes.set(value, fresh)
    return fresh
  }

  const derive = (value: Readonly<Record<string, unknown>>, path: string): SchemaNode => {
    const fresh = make(path, value, false, true)
    nodes.set(value, fresh)
    return fresh
  }

  const named = (name: string) => {
    anchors ??= anchorsOf(schema, budget)
    return anchors.get(name)
  }

  const resolve = ({ schema: own, path }: SchemaNode): SchemaNode => {
    const reference = String(own.$ref)
    const id = isRecord(schema) && typeof schema.$id === 'string' ? schema.$id.replace(/#$/, '') : ''
    const local = id !== '' && reference.startsWith(id) ? reference.slice(id.length) : reference
    if (local === '' || local === '#') return node(schema, '#')
    if (!local.startsWith('#')) {
      throw new SchemaError('$ref', path, `${shown(reference)} is outside of the schema`)
    }
    const target = local.startsWith('#/') ? pointed(schema, local, path) : named(local.slice(1))
    if (target === undefined) {
      throw new SchemaError('$ref', path, `there is nothing at ${shown(reference)}`, 'invalid')
    }
    return node(target.schema, target.path)
  }

  return { root: node(schema, '#'), node, derive, resolve }
}

function pointed(
  schema: unknown,
  reference: string,
  path: string,
): { schema: unknown; path: string } | undefined {
  let at = schema
  for (const part of reference.slice(2).split('/')) {
    let key: string
    try {
      key = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')
    } catch {
      throw new SchemaError('$ref', path, `${shown(reference)} is no JSON Pointer`, 'invalid')
    }
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined
    at = (at as Record<string, unknown>)[key]
  }
  return { schema: at, path: reference }
}

function anchorsOf(schema: unknown, budget: Budget): Map<string, { schema: unknown; path: string }> {
  const found = new Map<string, { schema: unknown; path: string }>()
  const pending = [{ schema, path: '#' }]
  for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
    budget.spend(1)
    if (typeof at.schema !== 'object' || at.schema === null) continue
    if (isRecord(at.schema) && typeof at.schema.$anchor === 'string') found.set(at.schema.$anchor, at)
    for (const [key, value] of Object.entries(at.schema)) {
      pending.push({ schema: value, path: stepped(at.path, key) })
    }
  }
  return found
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

/** The values that a schema rules out one by one. */
export function excludedBy({ schema }: SchemaNode): readonly unknown[] {
  return (schema[derived.notEnum] as unknown[] | undefined) ?? []
}

export function requiredBy({ schema }: SchemaNode): readonly string[] {
  return (schema.required as string[] | undefined) ?? []
}

/** One step further down, as a JSON Pointer says it. */
export function stepped(path: string, ...keys: (string | number)[]): string {
  return [path, ...keys.map((key) => String(key).replaceAll('~', '~0').replaceAll('/', '~1'))].join('/')
}

function check(schema: Record<string, unknown>, path: string): void {
  for (const [name, value] of Object.entries(schema)) {
    const keyword = Object.hasOwn(keywords, name) ? keywords[name] : undefined
    if (keyword === undefined) {
      if (name.startsWith('x-')) continue
      throw new SchemaError(shown(name), path, 'it is not a keyword that this server knows')
    }
    if (keyword.standing === 'refused') throw new SchemaError(name, path, keyword.why)
    if (keyword.standing === 'annotation') continue
    const flaw = flawOf(keyword.takes, value)
    if (flaw !== undefined) throw new SchemaError(name, path, flaw, 'invalid')
  }
  if (schema.$id !== undefined && path !== '#')
    throw new SchemaError('$id', path, 'it may stand at the root only')
  if (typeof schema.$schema === 'string' && /draft-0[0-5]\b/.test(schema.$schema)) {
    throw new SchemaError('$schema', path, 'the schema must be of draft 6 or later')
  }
}

function shown(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}
