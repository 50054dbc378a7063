import { membersOf, Scan } from '../../domain/json/scan.ts'
import { type PieceReader, readInPieces } from '../../domain/json/steps.ts'
import { storableText } from '../../domain/text.ts'
import type { YieldToLoop } from '../../domain/yielding.ts'
import type { ObjectKind } from '../../storage/tables/objects.ts'

export interface ObjectClasses {
  kind: ObjectKind
  base: string | null
  leaf: string | null
}

const marks = ['_type', 'weave_type', '_class_name', '_bases']

/** What is longer is none. */
const longestMark = 64 * 1024

/** What kind of thing a value is, by the marks that the clients' serializers leave in it. */
export async function classesOf(text: string, yieldToLoop: YieldToLoop): Promise<ObjectClasses> {
  const given = text.startsWith('{') ? await marksIn(text, yieldToLoop) : {}
  const type = given.weave_type
  const isOp =
    given._type === 'CustomWeaveType' &&
    typeof type === 'object' &&
    type !== null &&
    (type as Record<string, unknown>).type === 'Op'
  if (isOp) return { kind: 'op', base: null, leaf: null }
  const leaf = textOrNull(given._class_name)
  const bases = Array.isArray(given._bases) ? (given._bases as unknown[]) : []
  const [root, model] = bases.slice(-2)
  if (model !== 'BaseModel' || (root !== 'Object' && root !== 'BaseObject')) {
    return { kind: 'object', base: null, leaf: null }
  }
  return { kind: 'object', base: bases.length > 2 ? textOrNull(bases.at(-3)) : leaf, leaf }
}

/** The marks alone: to parse a large value for them would hold up everyone else. */
async function marksIn(text: string, yieldToLoop: YieldToLoop): Promise<Record<string, unknown>> {
  const found = new Map<string, string>()
  let depth = 0
  const look = (object: string) => {
    const members = membersOf(object)
    for (const name of marks) {
      const member = members.get(name)
      if (member === undefined) continue
      if (member.length <= longestMark) found.set(name, member)
      else found.delete(name)
    }
  }
  const reader: PieceReader = {
    value: (piece) => {
      if (depth === 0) look(piece)
    },
    open: () => {
      depth++
    },
    run: (piece) => {
      if (depth === 1) look(`{${piece}}`)
    },
    large: (name) => {
      if (depth === 1) found.delete(name)
    },
    close: () => {
      depth--
    },
  }
  await readInPieces(new Scan(text), 0, 1, reader, yieldToLoop)
  return Object.fromEntries([...found].map(([name, member]) => [name, JSON.parse(member) as unknown]))
}

function textOrNull(value: unknown): string | null {
  if (typeof value !== 'string' || value === '' || value.length > 256) return null
  return value === storableText(value) ? value : null
}
