// Node has it since 21; TypeScript's library types do not yet.
const { rawJSON: rawJson } = JSON as unknown as { rawJSON: (token: string) => unknown }

/**
 * A number with the digits that were written, where a double has fewer. A schema may have any object of this form in place
 * of a number; its method tells it from a JSON object.
 */
export class ExactNumber {
  readonly token: string

  constructor(token: string) {
    this.token = token
  }

  toJSON(): unknown {
    return rawJson(this.token)
  }
}

export function isExactNumber(value: unknown): value is ExactNumber {
  return (
    typeof value === 'object' &&
    value !== null &&
    'token' in value &&
    'toJSON' in value &&
    typeof value.toJSON === 'function'
  )
}

/** Like `JSON.parse`, but no number loses a digit. */
export function parseExact(text: string): unknown {
  return JSON.parse(text, (_key, value: unknown, context?: { source?: string }) => {
    const isChanged =
      typeof value === 'number' && context?.source !== undefined && String(value) !== context.source
    return isChanged ? new ExactNumber(context.source as string) : value
  })
}
