import { foldCase } from '../text.ts'
import { textOfJson, valueAt } from './json-value.ts'

/** A value inside the JSON of one row. It is computed when it is first read. */
export interface JsonField {
  readonly kind: 'json'
  /** As stored; undefined if there is none. */
  token(): string | undefined
  text(): string
  /** For case-insensitive comparison. */
  folded(): string
  /** When read as a number, true is 1 and false is 0. */
  readonly countsTruth?: boolean
}

/** Characters that the fields of one row may cache together. What does not fit is computed again. */
export interface CacheSpace {
  left: number
}

export function jsonField(
  json: string | null,
  path: readonly string[],
  room: CacheSpace = { left: Number.POSITIVE_INFINITY },
): JsonField {
  const cached = (work: () => string) => {
    let known: string | undefined
    return () => {
      if (known !== undefined) return known
      const value = work()
      if (value.length <= room.left) {
        room.left -= value.length
        known = value
      }
      return value
    }
  }
  // A slice of the stored text, which does not count towards the room.
  let token: { value: string | undefined } | undefined
  const tokenOnce = () => {
    token ??= { value: json === null ? undefined : valueAt(json, path) }
    return token.value
  }
  const text = cached(() => textOfJson(tokenOnce()))
  return { kind: 'json', token: tokenOnce, text, folded: cached(() => foldCase(text())) }
}
