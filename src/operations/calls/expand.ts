import { membersOf, Scan } from '../../../packages/json/index.ts'
import { createYieldToLoop, inSteps } from '../../../packages/waiting/index.ts'
import { type Caller, hasAccess } from '../../domain/callers.ts'
import { JsonText } from '../../domain/json/text.ts'
import { parseRef } from '../../domain/refs.ts'
import type { Reader } from '../../storage/transaction.ts'
import { createFollower, type NamedRef } from '../objects/resolve.ts'
import type { ExpandedColumns } from './expanded-columns.ts'

/** Most characters that a call may grow by. References that do not fit stay references. */
const maxAdded = 4 * 1024 * 1024
/** Most characters that are searched for further references, for one batch of calls. */
const maxSearched = 64 * 1024 * 1024

/** A JSON text and its references that may be replaced, in order. */
interface Marked {
  text: string
  spans: readonly RefSpan[]
}

/** What each reference leads to. By column, because what is replaced inside it differs between columns. */
type Expansions = Map<ExpandedColumns, Map<string, Marked>>

/**
 * The calls, with the references in the columns replaced by what they lead to; an object keeps its reference in `_ref`.
 * The references of all calls are read together, then those inside what was read.
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
  const spans = calls.flatMap(({ documents }) => [...documents.values()].flatMap((marked) => marked.spans))
  const expansions = await followRefs(db, caller, spans)
  for (const { record, documents } of calls) {
    const room = { left: maxAdded }
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
    const spans = refsIn(value.text, branch)
    if (spans.length > 0) documents.set(name, { text: value.text, spans })
  }
  return documents
}

async function followRefs(db: Reader, caller: Caller, found: readonly RefSpan[]): Promise<Expansions> {
  const follow = createFollower(db, caller)
  const yieldToLoop = createYieldToLoop()
  const expansions: Expansions = new Map()
  /** By reference; undefined for a reference that is not replaced. */
  const values = new Map<string, string | undefined>()
  let searched = 0
  for (let spans = found; spans.length > 0; ) {
    const fresh = new Map<string, NamedRef>()
    for (const { ref } of spans) {
      if (values.has(ref)) continue
      values.set(ref, undefined)
      const named = parseRef(ref)
      const isNamed = named?.kind === 'object' || named?.kind === 'op'
      if (isNamed && hasAccess(caller, named.project)) fresh.set(ref, named)
    }
    const texts = await follow([...fresh.values()])
    for (const [index, ref] of [...fresh.keys()].entries()) values.set(ref, texts[index])
    const further: RefSpan[] = []
    for (const { ref, branch } of spans) {
      const text = values.get(ref)
      const known = expansions.get(branch) ?? new Map<string, Marked>()
      if (text === undefined || known.has(ref)) continue
      expansions.set(branch, known)
      const isSearched = branch.steps.size > 0 && searched + text.length <= maxSearched
      if (isSearched) searched += text.length
      const inner = { text, spans: isSearched ? refsBelow(text, branch) : [] }
      known.set(ref, inner)
      for (const span of inner.spans) further.push(span)
      const pause = yieldToLoop()
      if (pause) await pause
    }
    spans = further
  }
  return expansions
}

function written({ text, spans }: Marked, expansions: Expansions, room: { left: number }): string {
  let whole = ''
  let done = 0
  for (const { from, to, ref, branch } of spans) {
    const inner = expansions.get(branch)?.get(ref)
    if (inner === undefined || inner.text.length > room.left) continue
    room.left -= inner.text.length
    whole += text.slice(done, from) + withRef(written(inner, expansions, room), text.slice(from, to))
    done = to
  }
  return whole + text.slice(done)
}

/** An object with a member `_ref` keeps its own. */
function withRef(value: string, ref: string): string {
  if (!value.startsWith('{') || (value.includes('"_ref"') && membersOf(value).has('_ref'))) return value
  return `${value.slice(0, -1)}${value === '{}' ? '' : ','}"_ref":${ref}}`
}

/** A string in the text that may be a reference, and its column. */
interface RefSpan {
  from: number
  to: number
  ref: string
  branch: ExpandedColumns
}

/** A longer string cannot be a reference. */
const longest = 4096

/** The references in a document of a call, in order. One walk finds those of all columns. */
function refsIn(text: string, document: ExpandedColumns): RefSpan[] {
  const spans: RefSpan[] = []
  visit(new Scan(text), 0, document, spans)
  return spans
}

/** The references inside what a reference of this column leads to. */
function refsBelow(text: string, column: ExpandedColumns): RefSpan[] {
  const spans: RefSpan[] = []
  if (column.steps.size > 0) visitBelow(new Scan(text), 0, column, spans)
  return spans
}

/** Returns the end of the value. */
function visit(scan: Scan, from: number, branch: ExpandedColumns, spans: RefSpan[]): number {
  if (branch.column === undefined || scan.text[from] !== '"') return visitBelow(scan, from, branch, spans)
  const to = scan.skip(from)
  if (to - from <= longest) {
    const ref = JSON.parse(scan.text.slice(from, to)) as string
    if (ref.includes(':///')) spans.push({ from, to, ref, branch })
  }
  return to
}

function visitBelow(scan: Scan, from: number, branch: ExpandedColumns, spans: RefSpan[]): number {
  const isObject = scan.isObject(from)
  if (branch.steps.size === 0 || !(isObject || scan.isList(from))) return scan.skip(from)
  let index = 0
  let end = 0
  for (let i = scan.enter(from); i !== -1; i = scan.after(end)) {
    const value = isObject ? scan.key(i) : i
    const next = branch.steps.get(isObject ? scan.name : String(index++))
    end = next === undefined ? scan.skip(value) : visit(scan, value, next, spans)
  }
  return scan.end
}
