import { storableText } from '../../domain/expressions/text.ts'
import type { ObjectKind } from '../../storage/objects.ts'

export interface ObjectClasses {
  kind: ObjectKind
  base: string | null
  leaf: string | null
}

/** What kind of thing a value is, by the marks that the clients' serializers leave in it. */
export function classesOf(value: unknown): ObjectClasses {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { kind: 'object', base: null, leaf: null }
  }
  const members = value as Record<string, unknown>
  const type = members.weave_type
  const isOp =
    members._type === 'CustomWeaveType' &&
    typeof type === 'object' &&
    type !== null &&
    (type as Record<string, unknown>).type === 'Op'
  if (isOp) return { kind: 'op', base: null, leaf: null }
  const leaf = textOrNull(members._class_name)
  const bases = Array.isArray(members._bases) ? (members._bases as unknown[]) : []
  const [root, model] = bases.slice(-2)
  if (model !== 'BaseModel' || (root !== 'Object' && root !== 'BaseObject')) {
    return { kind: 'object', base: null, leaf: null }
  }
  return { kind: 'object', base: bases.length > 2 ? textOrNull(bases.at(-3)) : leaf, leaf }
}

function textOrNull(value: unknown): string | null {
  if (typeof value !== 'string' || value === '' || value.length > 256) return null
  return value === storableText(value) ? value : null
}
