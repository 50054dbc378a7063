import { isRecord } from './keywords.ts'
import { typeList } from './negation.ts'
import { type SchemaDocument, type SchemaNode, stepped } from './schema-document.ts'

/** What distinguishes kinds of objects at a glance: members that each of them has, with one of a few texts. */
interface Tags {
  /** Only objects fit. */
  readonly isObject: boolean
  readonly texts: ReadonlyMap<string, ReadonlySet<string>>
}

/** Schemas that hold together with one, through references and `allOf`. */
const maxParts = 16

/**
 * Whether two schemas are distinguished by a member that both require, such as a `type` with one text of its own. Unions
 * of many kinds mostly are, and then nothing else in them has to be examined. True is certain, false may be wrong.
 */
export function createDisjointCheck(
  document: SchemaDocument,
): (left: SchemaNode, right: SchemaNode) => boolean {
  const known = new Map<number, Tags>()

  function tagsOf(node: SchemaNode): Tags {
    const before = known.get(node.id)
    if (before !== undefined) return before
    const tags = tagsIn(partsOf(node, document))
    known.set(node.id, tags)
    return tags
  }

  return (left, right) => {
    const [leftTags, rightTags] = [tagsOf(left), tagsOf(right)]
    if (!leftTags.isObject && !rightTags.isObject) return false
    for (const [name, texts] of leftTags.texts) {
      const others = rightTags.texts.get(name)
      if (others !== undefined && !texts.values().some((text) => others.has(text))) return true
    }
    return false
  }
}

function partsOf(node: SchemaNode, document: SchemaDocument): SchemaNode[] {
  const found = [node]
  for (const inner of found) {
    if (found.length >= maxParts) break
    const { schema, path } = inner
    const all = (schema.allOf ?? []) as readonly unknown[]
    for (const [at, branch] of all.entries()) found.push(document.node(branch, stepped(path, 'allOf', at)))
    if (schema.$ref !== undefined) found.push(document.resolve(inner))
  }
  return found
}

function tagsIn(nodes: readonly SchemaNode[]): Tags {
  const texts = new Map<string, ReadonlySet<string>>()
  const required = new Set(nodes.flatMap(({ schema }) => (schema.required ?? []) as string[]))
  for (const { schema } of nodes) {
    const { properties } = schema
    if (!isRecord(properties)) continue
    for (const name of required) {
      const listed = Object.hasOwn(properties, name) ? textsOf(properties[name]) : undefined
      const before = texts.get(name)
      if (listed === undefined) continue
      texts.set(name, new Set(listed.values().filter((text) => before === undefined || before.has(text))))
    }
  }
  const isObject = nodes.some(
    ({ schema }) => schema.type !== undefined && typeList(schema).every((type) => type === 'object'),
  )
  return { isObject, texts }
}

/** The texts that a schema lists, if it lists nothing else. */
function textsOf(schema: unknown): Set<string> | undefined {
  if (!isRecord(schema)) return undefined
  const listed = Object.hasOwn(schema, 'const') ? [schema.const] : schema.enum
  if (!Array.isArray(listed) || !listed.every((value) => typeof value === 'string')) return undefined
  return new Set(listed)
}
