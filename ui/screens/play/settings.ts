import { jsonNode, membersOf, sourceOf } from '../../value/json-index.ts'

/** Fields of a request that the user has set, each as the JSON that is sent, so that a seed of 64 bits keeps its digits. */
export type Settings = ReadonlyMap<string, string>

/** The settings in the address; what cannot be parsed is left out. */
export function settingsIn(text: string | null | undefined): Settings {
  if (!text?.startsWith('{') || !isJson(text)) return new Map()
  return new Map([...membersOf(jsonNode(text))].map(({ name, node }) => [name, sourceOf(node)]))
}

export function settingsText(settings: Settings): string {
  if (settings.size === 0) return ''
  return `{${[...settings].map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`
}

/** Longer values are left out of links. */
const longestInLink = 1_500
const longestLink = 5_000

/** The settings that fit into a link, and the names of those that do not. */
export function linkOf(settings: Settings): { text: string; leftOut: string[] } {
  const kept = new Map<string, string>()
  const leftOut: string[] = []
  let length = 0
  for (const [name, value] of settings) {
    const longer = length + name.length + value.length
    if (value.length > longestInLink || longer > longestLink) leftOut.push(name)
    else {
      kept.set(name, value)
      length = longer
    }
  }
  return { text: settingsText(kept), leftOut }
}

export function withSetting(settings: Settings, name: string, value: string | undefined): Settings {
  const next = new Map(settings)
  if (value === undefined) next.delete(name)
  else next.set(name, value)
  return next
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** A number as JSON; undefined where the text is not a number. */
export const numberIn = (text: string): string | undefined =>
  /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text.trim()) ? text.trim() : undefined

/** A list of texts, one per line, or as JSON if a text contains line breaks. */
export function textsIn(text: string): string {
  const trimmed = text.trim()
  if (/^[["]/.test(trimmed) && isJson(trimmed)) return trimmed
  return JSON.stringify(text.split('\n').filter((line) => line !== ''))
}

export function textsShown(json: string): string {
  const value: unknown = JSON.parse(json)
  const isPlain = (one: unknown) => typeof one === 'string' && !/[\n]|^\s*["[]/.test(one)
  return Array.isArray(value) && value.every(isPlain) ? value.join('\n') : json
}
