import { SchemaError } from '../grammar/errors.ts'
import { type Draft, guessedDraft, namedDraft } from './drafts.ts'
import { isRecord } from './keywords.ts'
import { publishedSchema } from './published-schemas.ts'

/** A schema with an identifier of its own, and everything in it up to the next one. */
interface Resource {
  readonly uri: string
  readonly schema: unknown
  readonly path: string
  readonly draft: Draft
  /** No schema names its draft. */
  readonly isGuess: boolean
}

interface Place {
  schema: unknown
  path: string
}

interface Resources {
  /** The resource that contains a schema. */
  of(schema: object): Resource
  /** What a reference in a resource refers to. */
  find(reference: string, from: Resource, origin: { keyword: string; path: string }): Place
}

/** The base of schemas without an identifier. */
const nowhere = 'schema:///'
/** Their values are data, which may look like a schema. */
const data = new Set(['const', 'enum', 'default', 'examples', 'example'])
const byName = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
  'dependencies',
])

interface Step {
  value: unknown
  from: Step | undefined
  key: string
  resource: Resource
  isSchema: boolean
}

export function createResources(root: unknown): Resources {
  const owners = new Map<object, Resource>()
  const resources = new Map<string, Resource>()
  const anchors = new Map<string, Place>()
  const dynamic = new Map<string, number>()
  const settled = draftOf(root)
  const main: Resource = { uri: uriOf(root, settled.draft), schema: root, path: '#', ...settled }
  include(main)

  function include(whole: Resource): void {
    resources.set(whole.uri, whole)
    const pending: Step[] = [
      { value: whole.schema, from: undefined, key: whole.path, resource: whole, isSchema: true },
    ]
    for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
      if (typeof at.value !== 'object' || at.value === null) continue
      const resource = at.isSchema && isRecord(at.value) ? entered(at.value, at) : at.resource
      owners.set(at.value, resource)
      for (const [key, value] of Object.entries(at.value)) {
        if (typeof value !== 'object' || value === null) continue
        if (at.isSchema && data.has(key) && !Array.isArray(at.value)) continue
        const isSchema = !at.isSchema || !byName.has(key) || Array.isArray(at.value)
        pending.push({ value, from: at, key, resource, isSchema })
      }
    }
  }

  function entered(schema: Record<string, unknown>, at: Step): Resource {
    let { resource } = at
    // Up to draft 7 the keywords next to a reference are ignored. Most do no harm there, but an identifier would change
    // what the reference refers to.
    const isReference = resource.draft <= 7 && typeof schema.$ref === 'string'
    for (const id of [schema.$id, resource.draft <= 4 ? schema.id : undefined]) {
      if (typeof id !== 'string' || at.from === undefined || isReference) continue
      if (id.startsWith('#')) {
        anchors.set(`${resource.uri}${id}`, { schema, path: pathOf(at) })
        continue
      }
      const uri = joined(id, resource.uri)?.replace(/#.*$/, '')
      if (uri === undefined || uri === resource.uri) continue
      const { draft = resource.draft, isGuess = resource.isGuess } = namedDraftOf(schema) ?? {}
      resource = { uri, schema, path: pathOf(at), draft, isGuess }
      resources.set(uri, resource)
    }
    for (const keyword of ['$anchor', '$dynamicAnchor']) {
      const name = schema[keyword]
      if (typeof name === 'string') anchors.set(`${resource.uri}#${name}`, { schema, path: pathOf(at) })
      if (keyword === '$dynamicAnchor' && typeof name === 'string') {
        dynamic.set(name, (dynamic.get(name) ?? 0) + 1)
      }
    }
    if (schema.$recursiveAnchor === true) dynamic.set('', (dynamic.get('') ?? 0) + 1)
    return resource
  }

  return {
    of: (schema) => owners.get(schema) ?? main,
    find(reference, from, { keyword, path }) {
      const refused = (why: string, fault?: 'invalid') => new SchemaError(keyword, path, why, fault)
      const whole = joined(reference, from.uri)
      if (whole === undefined) throw refused(`${shown(reference)} is not a reference`, 'invalid')
      const [uri = '', ...fragments] = whole.split('#')
      let resource = resources.get(uri)
      if (resource === undefined) {
        const copy = publishedSchema(uri)
        if (copy === undefined) throw refused(`${shown(reference)} is outside the schema`)
        resource = { uri, schema: copy, path: uri, ...draftOf(copy) }
        include(resource)
      }
      const fragment = fragments.join('#')
      if (keyword !== '$ref' && (dynamic.get(fragment) ?? 0) > 1) {
        throw refused(`the meaning of ${shown(reference)} depends on where it is reached from`)
      }
      const within = (resource: Resource) =>
        fragment === '' || fragment.startsWith('/')
          ? pointed(resource, fragment)
          : anchors.get(`${resource.uri}#${fragment}`)
      // What looked like an identifier may be a label.
      const target =
        within(resource) ?? (from.isGuess && reference.startsWith('#') ? within(main) : undefined)
      if (target === undefined) throw refused(`there is nothing at ${shown(reference)}`, 'invalid')
      return target
    },
  }
}

function uriOf(root: unknown, draft: Draft): string {
  if (!isRecord(root)) return nowhere
  const id = root.$id ?? (draft <= 4 ? root.id : undefined)
  return (typeof id === 'string' ? joined(id, nowhere)?.replace(/#.*$/, '') : undefined) ?? nowhere
}

function joined(reference: string, base: string): string | undefined {
  try {
    // A fragment is kept as it was written: a URL would encode it.
    const [before = '', ...fragments] = reference.split('#')
    const { href } = before === '' ? { href: base } : new URL(before, base)
    return fragments.length === 0 ? href : `${href}#${fragments.join('#')}`
  } catch {
    return undefined
  }
}

interface KnownDraft {
  draft: Draft
  isGuess: boolean
}

function draftOf(root: unknown): KnownDraft {
  return namedDraftOf(root) ?? { draft: hinted(root), isGuess: true }
}

function namedDraftOf(schema: unknown): KnownDraft | undefined {
  const draft = isRecord(schema) ? namedDraft(schema.$schema) : undefined
  return draft && { draft, isGuess: false }
}

/** The oldest draft that a part of the schema looks like. */
function hinted(root: unknown): Draft {
  let oldest: Draft = 2020
  const pending: { value: unknown; isSchema: boolean }[] = [{ value: root, isSchema: true }]
  for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
    if (typeof at.value !== 'object' || at.value === null) continue
    if (at.isSchema && isRecord(at.value)) {
      const hint = guessedDraft(at.value)
      if (hint !== undefined && hint < oldest) oldest = hint
    }
    for (const [key, value] of Object.entries(at.value)) {
      if (at.isSchema && data.has(key)) continue
      pending.push({ value, isSchema: !at.isSchema || !byName.has(key) })
    }
  }
  return oldest
}

function pointed(resource: Resource, pointer: string): Place | undefined {
  let at = resource.schema
  for (const step of pointer.split('/').slice(1)) {
    let key: string
    try {
      key = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
    } catch {
      return undefined
    }
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined
    at = (at as Record<string, unknown>)[key]
  }
  return { schema: at, path: `${resource.path}${pointer}` }
}

function pathOf(step: Step): string {
  const keys: string[] = []
  let at: Step | undefined = step
  for (; at.from !== undefined; at = at.from) {
    keys.unshift(at.key.replaceAll('~', '~0').replaceAll('/', '~1'))
  }
  return [at.key, ...keys].join('/')
}

function shown(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}
