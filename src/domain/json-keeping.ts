import type { Breathe } from './breathing.ts'
import { compactJson, Scan } from './json-scan.ts'
import { onePiece, type PieceReader, readInPieces } from './json-steps.ts'
import { JsonText } from './json-text.ts'

/** Where in a body the values stand that are kept as text. */
export type KeepPlan = 'keep' | KeepBranch
export interface KeepBranch {
  fields?: ReadonlyMap<string, KeepPlan>
  items?: KeepPlan
}

/**
 * A piece of the text that is taken out before the rest is parsed, and its value, which is put back afterwards. Each piece
 * is parsed on its own too, so nothing that is not JSON passes.
 */
interface Cut {
  from: number
  to: number
  value: unknown
}

/** Parses a body and puts the text itself in the places that the plan names. Throws SyntaxError or TooDeep. */
export function parseKeeping(text: string, plan: KeepPlan, deepest: number): unknown {
  const scan = new Scan(text, deepest)
  try {
    const { value, end } = parseAt(scan, scan.space(0), plan, 1)
    nothingAfter(scan, end)
    return value
  } catch (error) {
    // The places in its message are those of a text with pieces taken out.
    if (error instanceof SyntaxError) JSON.parse(text)
    throw error
  }
}

/** The same for a body whose bulk is one long list or one large value: piece by piece, so that other requests go on meanwhile. */
export async function parseKeepingInSteps(
  text: string,
  plan: KeepPlan,
  deepest: number,
  breathe: Breathe,
): Promise<unknown> {
  const scan = new Scan(text, deepest)
  const { value, end } = await parseInSteps(scan, scan.space(0), plan, 1, breathe)
  nothingAfter(scan, end)
  return value
}

interface Parsed {
  value: unknown
  end: number
}

function parseAt(scan: Scan, at: number, plan: KeepPlan, depth: number): Parsed {
  const cuts: Cut[] = []
  const end = cutAt(scan, at, plan, depth, cuts)
  return { value: parseRest(scan.text, at, end, plan, cuts), end }
}

async function parseInSteps(
  scan: Scan,
  at: number,
  plan: KeepPlan,
  depth: number,
  breathe: Breathe,
): Promise<Parsed> {
  const long = longListOf(plan)
  const cuts: Cut[] = []
  const end =
    long === undefined
      ? await cutInSteps(scan, at, plan, depth, cuts, breathe)
      : await cutLongList(scan, at, plan, depth, cuts, long, breathe)
  return { value: parseRest(scan.text, at, end, plan, cuts, long?.list), end }
}

/** Collects the pieces to keep of the value that begins here, and answers where it ends. */
function cutAt(scan: Scan, at: number, plan: KeepPlan | undefined, depth: number, cuts: Cut[]): number {
  if (plan === undefined) return scan.skip(at, depth)
  if (plan === 'keep') {
    scan.spaced = false
    const to = scan.skip(at, depth)
    // null says "not given" in every contract, so it stays what it is.
    if (scan.text[at] !== 'n') cuts.push({ from: at, to, value: kept(scan, at, to) })
    return to
  }
  let end = 0
  if (plan.fields && scan.isObject(at)) {
    for (let i = scan.enter(at, depth); i !== -1; i = scan.after(end)) {
      const from = scan.key(i)
      end = cutAt(scan, from, plan.fields.get(scan.name), depth + 1, cuts)
    }
    return scan.end
  }
  if (plan.items && scan.isList(at)) {
    for (let i = scan.enter(at, depth); i !== -1; i = scan.after(end)) {
      end = cutAt(scan, i, plan.items, depth + 1, cuts)
    }
    return scan.end
  }
  return scan.skip(at, depth)
}

function kept(scan: Scan, from: number, to: number): JsonText {
  const slice = scan.text.slice(from, to)
  JSON.parse(slice)
  return new JsonText(scan.spaced ? compactJson(slice) : slice)
}

/** The same as `cutAt`, with large pieces to keep read in smaller ones. */
async function cutInSteps(
  scan: Scan,
  at: number,
  plan: KeepPlan | undefined,
  depth: number,
  cuts: Cut[],
  breathe: Breathe,
): Promise<number> {
  if (plan === 'keep' && scan.text[at] !== 'n') {
    scan.spaced = false
    const pieces = createKeptPieces(scan)
    const to = await readInPieces(scan, at, depth, pieces.reader, breathe)
    cuts.push({ from: at, to, value: new JsonText(pieces.text(at, to)) })
    return to
  }
  if (plan === undefined || plan === 'keep' || plan.fields === undefined || !scan.isObject(at)) {
    return cutAt(scan, at, plan, depth, cuts)
  }
  let end = 0
  for (let i = scan.enter(at, depth); i !== -1; i = scan.after(end)) {
    const from = scan.key(i)
    end = await cutInSteps(scan, from, plan.fields.get(scan.name), depth + 1, cuts, breathe)
  }
  return scan.end
}

/** Checks the pieces, and puts them together without the space between tokens. */
function createKeptPieces(scan: Scan): { reader: PieceReader; text(from: number, to: number): string } {
  const pieces: string[] = []
  const holders: { isObject: boolean; isEmpty: boolean }[] = []
  const add = (text: string) => pieces.push(scan.spaced ? compactJson(text) : text)
  const separate = () => {
    const holder = holders.at(-1)
    if (holder === undefined) return
    if (!holder.isEmpty) pieces.push(',')
    holder.isEmpty = false
  }
  return {
    reader: {
      value(text) {
        JSON.parse(text)
        add(text)
      },
      open(isObject) {
        holders.push({ isObject, isEmpty: true })
        pieces.push(isObject ? '{' : '[')
      },
      run(text) {
        JSON.parse(holders.at(-1)?.isObject ? `{${text}}` : `[${text}]`)
        separate()
        add(text)
      },
      large(_name, before) {
        separate()
        add(before)
      },
      close() {
        pieces.push(holders.pop()?.isObject ? '}' : ']')
      },
    },
    text: (from, to) => (scan.spaced ? pieces.join('') : scan.text.slice(from, to)),
  }
}

interface LongList {
  path: readonly string[]
  /** The place of the list in the plan. */
  list: KeepBranch
  items: KeepPlan
}

/** The first list of a plan that has places inside its items, and the way to it. */
function longListOf(plan: KeepPlan): LongList | undefined {
  if (plan === 'keep') return undefined
  if (plan.items) return { path: [], list: plan, items: plan.items }
  for (const [name, member] of plan.fields ?? []) {
    const long = longListOf(member)
    if (long) return { ...long, path: [name, ...long.path] }
  }
  return undefined
}

/** The same, with what stands at the end of the path taken out as a whole: a list, parsed item by item. */
async function cutLongList(
  scan: Scan,
  at: number,
  plan: KeepPlan | undefined,
  depth: number,
  cuts: Cut[],
  long: LongList,
  breathe: Breathe,
): Promise<number> {
  const [name, ...path] = long.path
  if (name === undefined) {
    const { value, end } = await parseItems(scan, at, depth, long.items, breathe)
    cuts.push({ from: at, to: end, value })
    return end
  }
  if (plan === undefined || plan === 'keep' || plan.fields === undefined || !scan.isObject(at)) {
    return cutInSteps(scan, at, plan, depth, cuts, breathe)
  }
  let end = 0
  for (let i = scan.enter(at, depth); i !== -1; i = scan.after(end)) {
    const from = scan.key(i)
    const inner = plan.fields.get(scan.name)
    end =
      scan.name === name
        ? await cutLongList(scan, from, inner, depth + 1, cuts, { ...long, path }, breathe)
        : await cutInSteps(scan, from, inner, depth + 1, cuts, breathe)
  }
  return scan.end
}

async function parseItems(
  scan: Scan,
  at: number,
  depth: number,
  items: KeepPlan,
  breathe: Breathe,
): Promise<Parsed> {
  if (!scan.isList(at)) {
    const end = scan.skip(at, depth)
    return { value: JSON.parse(scan.text.slice(at, end)), end }
  }
  const value: unknown[] = []
  let end = 0
  for (let i = scan.enter(at, depth); i !== -1; i = scan.after(end)) {
    const item =
      scan.skip(i, depth + 1, onePiece) === -1
        ? await parseInSteps(scan, i, items, depth + 1, breathe)
        : parseAt(scan, i, items, depth + 1)
    value.push(item.value)
    end = item.end
    const pause = breathe()
    if (pause) await pause
  }
  if (scan.text[scan.end - 1] !== ']') throw new SyntaxError(`Expected ']' at position ${scan.end - 1}`)
  return { value, end: scan.end }
}

/**
 * Parses what is left, with a number in the place of each piece, and puts the pieces back. Whatever is not null at a place
 * of the plan is a piece, so a number there is always ours.
 */
function parseRest(
  text: string,
  from: number,
  to: number,
  plan: KeepPlan,
  cuts: readonly Cut[],
  list?: KeepBranch,
): unknown {
  let rest = ''
  let at = from
  for (const [index, cut] of cuts.entries()) {
    rest += text.slice(at, cut.from) + index
    at = cut.to
  }
  return putBack(JSON.parse(rest + text.slice(at, to)), plan, cuts, list)
}

function putBack(
  value: unknown,
  plan: KeepPlan,
  cuts: readonly Cut[],
  list: KeepBranch | undefined,
): unknown {
  if (plan === 'keep' || plan === list) return typeof value === 'number' ? cuts[value]?.value : value
  if (Array.isArray(value)) {
    const { items } = plan
    return items ? value.map((item) => putBack(item, items, cuts, list)) : value
  }
  if (typeof value !== 'object' || value === null) return value
  const object = value as Record<string, unknown>
  for (const [name, inner] of plan.fields ?? []) {
    if (Object.hasOwn(object, name)) object[name] = putBack(object[name], inner, cuts, list)
  }
  return object
}

function nothingAfter(scan: Scan, end: number): void {
  const at = scan.space(end)
  if (at < scan.text.length) throw new SyntaxError(`Unexpected text after JSON at position ${at}`)
}
