import { membersOf } from '../../../packages/json/index.ts'
import type { JsonText } from '../../domain/json/text.ts'

/** What the rules need to know of values that may be large. It is determined while the body is read. */

interface GivenVariables {
  json: JsonText
  /** Names of variables that have another meaning, and whether their value is null. */
  reserved: { name: string; isNull: boolean }[]
}

const reservedNames = ['chat_template', 'tokenize']

export function variablesGiven(json: JsonText): GivenVariables {
  const members = membersOf(json.text)
  const reserved = reservedNames.flatMap((name) => {
    const value = members.get(name)
    return value === undefined ? [] : [{ name, isNull: value === 'null' }]
  })
  return { json, reserved }
}

interface GivenDocument {
  json: JsonText
  /** The first member that is not a text. */
  notText: string | undefined
}

export function documentGiven(json: JsonText): GivenDocument {
  const notText = [...membersOf(json.text)].find(([, value]) => !value.startsWith('"'))
  return { json, notText: notText?.[0] }
}

export interface GivenBias {
  count: number
  /** Empty when there are too many. */
  entries: [id: string, value: unknown][]
}

export const maxBiases = 16_384

export function biasGiven(json: JsonText): GivenBias {
  const entries = Object.entries(json.value as Record<string, unknown>)
  return { count: entries.length, entries: entries.length > maxBiases ? [] : entries }
}
