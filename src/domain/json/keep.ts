import { compactJson, Scan } from './scan.ts'
import { JsonText } from './text.ts'

/** The paths of a body whose values are kept as text. */
export type KeepPlan = 'keep' | KeepBranch
export interface KeepBranch {
  fields?: ReadonlyMap<string, KeepPlan>
  items?: KeepPlan
}

/**
 * A piece that is cut out of the text before the rest is parsed, and its value, which is put back afterwards. Each piece is
 * parsed on its own too, so only JSON is accepted.
 */
interface Cut {
  from: number
  to: number
  value: unknown
}

/** Parses a body, but keeps the values that the plan names as text. Throws SyntaxError or DepthError. */
export function parseKeeping(text: string, plan: KeepPlan, deepest: number): unknown {
  const scan = new Scan(text, deepest)
  try {
    const { value, end } = parseAt(scan, scan.space(0), plan, 1)
    nothingAfter(scan, end)
    return value
  } catch (error) {
    // The positions in its message count without the pieces that were cut out.
    if (error instanceof SyntaxError) JSON.parse(text)
    throw error
  }
}

export interface Parsed {
  value: unknown
  end: number
}

/** The same for the value that begins at this position. */
export function parseAt(scan: Scan, at: number, plan: KeepPlan, depth: number): Parsed {
  const cuts: Cut[] = []
  const end = cutAt(scan, at, plan, depth, cuts)
  return { value: parseRest(scan.text, at, end, plan, cuts), end }
}

/** Collects the pieces to keep of the value that begins here, and returns its end. */
function cutAt(scan: Scan, at: number, plan: KeepPlan | undefined, depth: number, cuts: Cut[]): number {
  if (plan === undefined) return scan.skip(at, depth)
  if (plan === 'keep') {
    scan.spaced = false
    const to = scan.skip(at, depth)
    // null means "not given" in every contract, so it is not kept as text.
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

/**
 * Parses the rest, with the index of each piece instead of the piece, and puts the pieces back. Any value at a path of the
 * plan that is not null was cut out, so a number there is always such an index.
 */
function parseRest(text: string, from: number, to: number, plan: KeepPlan, cuts: readonly Cut[]): unknown {
  let rest = ''
  let at = from
  for (const [index, cut] of cuts.entries()) {
    rest += text.slice(at, cut.from) + index
    at = cut.to
  }
  return putBack(JSON.parse(rest + text.slice(at, to)), plan, cuts)
}

function putBack(value: unknown, plan: KeepPlan, cuts: readonly Cut[]): unknown {
  if (plan === 'keep') return typeof value === 'number' ? cuts[value]?.value : value
  if (Array.isArray(value)) {
    const { items } = plan
    return items ? value.map((item) => putBack(item, items, cuts)) : value
  }
  if (typeof value !== 'object' || value === null) return value
  const object = value as Record<string, unknown>
  for (const [name, inner] of plan.fields ?? []) {
    if (Object.hasOwn(object, name)) object[name] = putBack(object[name], inner, cuts)
  }
  return object
}

export function nothingAfter(scan: Scan, end: number): void {
  const at = scan.space(end)
  if (at < scan.text.length) throw new SyntaxError(`Unexpected text after JSON at position ${at}`)
}
