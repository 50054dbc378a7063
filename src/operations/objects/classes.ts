import { Scan } from '../../../packages/json/index.ts'
import { digestOfJson } from '../../domain/digests.ts'
import type { JsonText } from '../../domain/json/text.ts'
import { storableText } from '../../domain/text.ts'
import type { ObjectKind } from '../../storage/objects/objects.ts'

interface ObjectClasses {
  kind: ObjectKind
  base: string | null
  leaf: string | null
}

const marks = new Set(['_type', 'weave_type', '_class_name', '_bases'])

/** A longer name is not a class. */
const maxMarkLength = 64 * 1024

/** A value to store, and what is found out about it while the body is read, because it may be large. */
export interface GivenValue extends ObjectClasses {
  val: JsonText
  digest: string
}

export function givenValue(val: JsonText): GivenValue {
  const { text } = val
  return { val, digest: digestOfJson(text), ...classesOf(text) }
}

/** The columns of a version that describe its value. */
export function columnsOf({ val, digest, kind, base, leaf }: GivenValue) {
  return {
    digest,
    kind,
    base_object_class: base,
    leaf_object_class: leaf,
    val: val.stored,
    size: val.bytes,
  }
}

/** The kind of thing that a value is, by the marks that the clients' serializers leave in it. */
export function classesOf(text: string): ObjectClasses {
  const marks = text.startsWith('{') ? marksIn(text) : {}
  const type = marks.weave_type
  const isOp =
    marks._type === 'CustomWeaveType' &&
    typeof type === 'object' &&
    type !== null &&
    (type as Record<string, unknown>).type === 'Op'
  if (isOp) return { kind: 'op', base: null, leaf: null }
  const leaf = textOrNull(marks._class_name)
  const bases = Array.isArray(marks._bases) ? (marks._bases as unknown[]) : []
  const [root, model] = bases.slice(-2)
  if (model !== 'BaseModel' || (root !== 'Object' && root !== 'BaseObject')) {
    return { kind: 'object', base: null, leaf: null }
  }
  return { kind: 'object', base: bases.length > 2 ? textOrNull(bases.at(-3)) : leaf, leaf }
}

/** Reads only the marks, because a value may have any number of other members. */
function marksIn(text: string): Record<string, unknown> {
  const found = new Map<string, string>()
  const scan = new Scan(text)
  let end = 0
  for (let i = scan.enter(0); i !== -1; i = scan.after(end)) {
    const from = scan.key(i)
    end = scan.skip(from)
    if (!marks.has(scan.name)) continue
    if (end - from <= maxMarkLength) found.set(scan.name, text.slice(from, end))
    else found.delete(scan.name)
  }
  return Object.fromEntries([...found].map(([name, member]) => [name, JSON.parse(member) as unknown]))
}

function textOrNull(value: unknown): string | null {
  if (typeof value !== 'string' || value === '' || value.length > 256) return null
  return value === storableText(value) ? value : null
}
