import { JsonNumber } from '../../json/index.ts'
import type { UniqueItemMatcher, UniqueItemPosition } from '../index.ts'

/**
 * Checks values against a grammar that fixes the order of members: each value is tried in the orders that the grammar
 * allows.
 */
interface MemberOrders {
  accepts(value: unknown): boolean
  /** The text in the order that is accepted. */
  textOf(value: unknown): string | undefined
}

/** Characters that are read for one value before it counts as not accepted. */
const most = 200_000

type Further = (position: UniqueItemPosition, text: string) => boolean

export function createMemberOrders(following: UniqueItemMatcher, schema: unknown): MemberOrders {
  const ranks = new Map<string, number>()
  rank(schema)
  let left = most
  let found: string | undefined

  /** The names of members come in the order in which schemas list them. */
  function rank(node: unknown, isOfMembers = false): void {
    if (typeof node !== 'object' || node === null) return
    for (const [name, inner] of Object.entries(node)) {
      if (isOfMembers && !ranks.has(name)) ranks.set(name, ranks.size)
      rank(inner, !isOfMembers && name === 'properties')
    }
  }

  function read(position: UniqueItemPosition, text: string): UniqueItemPosition | undefined {
    let at: UniqueItemPosition | undefined = position
    for (const character of text) {
      if (left-- < 0) return undefined
      at = following.after(at, character.codePointAt(0) ?? 0)
      if (at === undefined) return undefined
    }
    return at
  }

  function follow(position: UniqueItemPosition, before: string, value: unknown, further: Further): boolean {
    const put = (text: string, next: Further) => {
      const at = read(position, text)
      return at !== undefined && next(at, before + text)
    }
    if (Array.isArray(value)) return put('[', (at, text) => items(at, text, value, 0, further))
    if (typeof value === 'object' && value !== null && !(value instanceof JsonNumber)) {
      const all = Object.entries(value)
      all.sort(([a], [b]) => (ranks.get(a) ?? Infinity) - (ranks.get(b) ?? Infinity) || 0)
      const failed = new Map<UniqueItemPosition, Set<string>>()
      return put('{', (at, text) => members(at, text, all, true, further, failed))
    }
    return put(JSON.stringify(value), further)
  }

  function items(
    position: UniqueItemPosition,
    before: string,
    list: readonly unknown[],
    from: number,
    further: Further,
  ): boolean {
    if (from === list.length) {
      const at = read(position, ']')
      return at !== undefined && further(at, `${before}]`)
    }
    const comma = from === 0 ? '' : ','
    const at = read(position, comma)
    return (
      at !== undefined &&
      follow(at, before + comma, list[from], (next, text) => items(next, text, list, from + 1, further))
    )
  }

  function members(
    position: UniqueItemPosition,
    before: string,
    rest: readonly [string, unknown][],
    isFirst: boolean,
    further: Further,
    failed: Map<UniqueItemPosition, Set<string>>,
  ): boolean {
    if (rest.length === 0) {
      const at = read(position, '}')
      return at !== undefined && further(at, `${before}}`)
    }
    const key = rest.map(([name]) => name).join('\n')
    if (failed.get(position)?.has(key)) return false
    for (const [index, [name, value]] of rest.entries()) {
      const text = `${isFirst ? '' : ','}${JSON.stringify(name)}:`
      const at = read(position, text)
      if (at === undefined) continue
      const others = rest.toSpliced(index, 1)
      const next: Further = (to, read) => members(to, read, others, false, further, failed)
      if (follow(at, before + text, value, next)) return true
    }
    failed.set(position, (failed.get(position) ?? new Set()).add(key))
    return false
  }

  function accepts(value: unknown): boolean {
    left = most
    found = undefined
    return follow(following.start, '', value, (at, text) => {
      if (!at.isComplete) return false
      found = text
      return true
    })
  }

  return { accepts, textOf: (value) => (accepts(value) ? found : undefined) }
}
