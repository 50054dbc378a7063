import { itemsOf, membersOf } from '../json/index.ts'

/** A value as its JSON text: members keep the digits that were sent, and what is not looked at costs little. */
export type Json = string

const noMembers: ReadonlyMap<string, Json> = new Map()

export type Members = ReadonlyMap<string, Json>

/** The members of an object; of anything else none. */
export const membersIn = (json: Json | undefined): Members =>
  json?.startsWith('{') ? membersOf(json) : noMembers

/** The items of a list; of anything else none. */
export const itemsIn = (json: Json | undefined): readonly Json[] =>
  json?.startsWith('[') ? itemsOf(json) : []

export const isList = (json: Json | undefined): json is Json => json?.startsWith('[') ?? false
export const isObject = (json: Json | undefined): json is Json => json?.startsWith('{') ?? false
export const isNothing = (json: Json | undefined): boolean => json === undefined || json === 'null'

/** Whether a text that somebody else wrote can be read as JSON. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** The value of a string; undefined for anything else. */
export function textIn(json: Json | undefined): string | undefined {
  if (!json?.startsWith('"')) return undefined
  return json.includes('\\') ? (JSON.parse(json) as string) : json.slice(1, -1)
}

/** The value at the end of a path. */
export function jsonAt(json: Json | undefined, ...path: readonly string[]): Json | undefined {
  let found = json
  for (const name of path) found = membersIn(found).get(name)
  return found
}

/** The first of these members that is there and not null. */
export function memberOf(members: Members, ...names: readonly string[]): Json | undefined {
  for (const name of names) {
    const json = members.get(name)
    if (!isNothing(json)) return json
  }
  return undefined
}

/** The first of these members that is a text, even an empty one. */
export function textOf(members: Members, ...names: readonly string[]): string | undefined {
  for (const name of names) {
    const text = textIn(members.get(name))
    if (text !== undefined) return text
  }
  return undefined
}
