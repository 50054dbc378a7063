import { JsonText } from './json/text.ts'

const maxShownLength = 80

/** A value as a message shows it; a long text is truncated. */
export function described(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (value instanceof JsonText) return describedJson(value.text)
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'an object'
  // 1e400 is read as this. JSON cannot express it and would write null.
  if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY) return 'a number beyond 1e308'
  return shortened(JSON.stringify(typeof value === 'string' ? value.slice(0, maxShownLength + 1) : value))
}

function describedJson(text: string): string {
  if (text.startsWith('[')) return 'a list'
  return text.startsWith('{') ? 'an object' : shortened(text)
}

export function shortened(text: string, most = maxShownLength): string {
  return text.length > most ? `${text.slice(0, most)}…` : text
}
