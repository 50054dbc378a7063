import { foldCase } from '../text.ts'
import { textOfJson, valueAt } from './json-value.ts'

/** A value inside the JSON of one row. What it reads as is worked out when it is asked for. */
export interface JsonField {
  readonly kind: 'json'
  /** As it is stored; undefined when there is none. */
  token(): string | undefined
  text(): string
  /** For comparison without regard to case. */
  folded(): string
  /** As a number, true reads as 1 and false as 0. */
  readonly countsTruth?: boolean
}

/** Characters that the fields of one row may keep between them. What finds no room is worked out again. */
export interface Room {
  left: number
}

export function jsonField(
  json: string | null,
  path: readonly string[],
  room: Room = { left: Number.POSITIVE_INFINITY },
): JsonField {
  const kept = (work: () => string) => {
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
  // A slice of the text itself, which takes no room of its own.
  let token: { value: string | undefined } | undefined
  const tokenOnce = () => {
    token ??= { value: json === null ? undefined : valueAt(json, path) }
    return token.value
  }
  const text = kept(() => textOfJson(tokenOnce()))
  return { kind: 'json', token: tokenOnce, text, folded: kept(() => foldCase(text())) }
}
