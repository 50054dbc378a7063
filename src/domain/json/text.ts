/**
 * A JSON value that is kept as text, because a double would change its digits (P9): the tokens as they were sent, in
 * their order, without the space between them.
 */
export class JsonText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  /** The value as JavaScript reads it. Not cached: most are never needed, and they are large. */
  get value(): unknown {
    return JSON.parse(this.text)
  }
}

/** JSON.stringify that writes a JsonText as its text. */
export function writeJson(value: unknown): string {
  if (value instanceof JsonText) return value.text
  if (Array.isArray(value)) {
    let text = '['
    for (let i = 0; i < value.length; i++) text += (i > 0 ? ',' : '') + writeJson(value[i])
    return `${text}]`
  }
  if (typeof value === 'object' && value !== null) {
    let text = '{'
    for (const key in value) {
      const member = (value as Record<string, unknown>)[key]
      if (member === undefined) continue
      text += `${text.length > 1 ? ',' : ''}${JSON.stringify(key)}:${writeJson(member)}`
    }
    return `${text}}`
  }
  return JSON.stringify(value) ?? 'null'
}
