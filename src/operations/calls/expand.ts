import { type Caller, hasAccess } from '../../domain/callers.ts'
import { membersOf } from '../../domain/json/scan.ts'
import { JsonText } from '../../domain/json/text.ts'
import { parseRef } from '../../domain/refs.ts'
import { createYieldToLoop, inSteps } from '../../domain/yielding.ts'
import type { Reader } from '../../storage/transaction.ts'
import { createFollower, type NamedRef } from '../objects/resolve.ts'
import type { ExpandedColumns } from './expanded-columns.ts'
import { type Place, placesBelow, placesIn } from './references-in.ts'

/** By so much a call may grow, in characters. What does not fit stays a reference. */
const mostAdded = 4 * 1024 * 1024
/** What is looked through for further references, for one chunk of calls. */
const mostSearched = 64 * 1024 * 1024

/** A JSON text, and in it the references that may be replaced, in their order. */
interface Marked {
  text: string
  places: readonly Place[]
}

/** What a reference leads to, for each column by itself: what is to be replaced in it differs. */
type Expansions = Map<ExpandedColumns, Map<string, Marked>>

/**
 * The same calls with the references at the columns replaced by what they lead to; an object says its reference under
 * `_ref`. The references of all these calls are read together, and again those that lie in what was read.
 */
export async function* expandCalls(
  db: Reader,
  caller: Caller,
  expanded: ExpandedColumns,
  records: Iterable<Record<string, unknown>>,
): AsyncGenerator<Record<string, unknown>> {
  const calls: { record: Record<string, unknown>; documents: Map<string, Marked> }[] = []
  const yieldToLoop = createYieldToLoop()
  const add = (record: Record<string, unknown>) =>
    void calls.push({ record, documents: markedDocuments(record, expanded) })
  await inSteps(records, add, yieldToLoop)
  const places = calls.flatMap(({ documents }) => [...documents.values()].flatMap((one) => one.places))
  const expansions = await followPlaces(db, caller, places)
  for (const { record, documents } of calls) {
    const room = { left: mostAdded }
    for (const [name, document] of documents) record[name] = new JsonText(written(document, expansions, room))
    yield record
    const pause = yieldToLoop()
    if (pause) await pause
  }
}

function markedDocuments(record: Record<string, unknown>, { steps }: ExpandedColumns): Map<string, Marked> {
  const documents = new Map<string, Marked>()
  for (const [name, branch] of steps) {
    const value = record[name]
    if (!(value instanceof JsonText)) continue
    const places = placesIn(value.text, branch)
    if (places.length > 0) documents.set(name, { text: value.text, places })
  }
  return documents
}

async function followPlaces(db: Reader, caller: Caller, found: readonly Place[]): Promise<Expansions> {
  const follow = createFollower(db, caller)
  const yieldToLoop = createYieldToLoop()
  const expansions: Expansions = new Map()
  /** By the reference; undefined is what stays one. */
  const values = new Map<string, string | undefined>()
  let searched = 0
  for (let places = found; places.length > 0; ) {
    const fresh = new Map<string, NamedRef>()
    for (const { ref } of places) {
      if (values.has(ref)) continue
      values.set(ref, undefined)
      const named = parseRef(ref)
      const isNamed = named?.kind === 'object' || named?.kind === 'op'
      if (isNamed && hasAccess(caller, named.project)) fresh.set(ref, named)
    }
    const texts = await follow([...fresh.values()])
    for (const [index, ref] of [...fresh.keys()].entries()) values.set(ref, texts[index])
    const further: Place[] = []
    for (const { ref, branch } of places) {
      const text = values.get(ref)
      const known = expansions.get(branch) ?? new Map<string, Marked>()
      if (text === undefined || known.has(ref)) continue
      expansions.set(branch, known)
      const isSearched = branch.steps.size > 0 && searched + text.length <= mostSearched
      if (isSearched) searched += text.length
      const inner = { text, places: isSearched ? placesBelow(text, branch) : [] }
      known.set(ref, inner)
      for (const place of inner.places) further.push(place)
      const pause = yieldToLoop()
      if (pause) await pause
    }
    places = further
  }
  return expansions
}

function written({ text, places }: Marked, expansions: Expansions, room: { left: number }): string {
  let whole = ''
  let done = 0
  for (const { from, to, ref, branch } of places) {
    const inner = expansions.get(branch)?.get(ref)
    if (inner === undefined || inner.text.length > room.left) continue
    room.left -= inner.text.length
    whole += text.slice(done, from) + withRef(written(inner, expansions, room), text.slice(from, to))
    done = to
  }
  return whole + text.slice(done)
}

/** An object that says `_ref` itself keeps its own. */
function withRef(value: string, ref: string): string {
  if (!value.startsWith('{') || (value.includes('"_ref"') && membersOf(value).has('_ref'))) return value
  return `${value.slice(0, -1)}${value === '{}' ? '' : ','}"_ref":${ref}}`
}
