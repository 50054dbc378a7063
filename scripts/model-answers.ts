/** What an answer must be. Each conversation that measures the built-in model has one. */
export interface Expectation {
  /** Exactly one of these texts. */
  any?: string[]
  /** At least one text of each list occurs, ignoring case. */
  has?: string[][]
  /** A call of this tool with these arguments, and nothing else. */
  call?: { name: string; arguments: unknown }
  /** This JSON value; one of these; an object with these keys. */
  json?: unknown
  jsonAny?: unknown[]
  jsonKeys?: string[]
  /** A complete story that contains these words. */
  story?: true
  contains?: string[]
  /** The answer is preceded by a block of thoughts. */
  think?: true
}

const thoughts = /^<think>\n[^<]+\n<\/think>\n\n/

/** Whether an answer, without its end token, meets the expectation. */
export function isRight(answer: string, expectation: Expectation): boolean {
  const thinks = thoughts.test(answer)
  if (thinks !== (expectation.think ?? false)) return false
  return holds(answer.replace(thoughts, ''), expectation)
}

function holds(said: string, { any, has, call, story, contains = [], ...json }: Expectation): boolean {
  if (any) return any.includes(said)
  if (has) {
    return has.every((some) => some.some((text) => said.toLowerCase().includes(text.toLowerCase())))
  }
  if (call) {
    const inside = /^<tool_call>\n(?<json>.*)\n<\/tool_call>$/s.exec(said)?.groups?.json
    return inside !== undefined && same(parsed(inside), call)
  }
  if (story) {
    const whole = said.startsWith('Once upon a time') && said.endsWith('The end.')
    return whole && contains.every((text) => said.includes(text))
  }
  return jsonHolds(parsed(said), json)
}

function jsonHolds(value: unknown, { json, jsonAny, jsonKeys }: Expectation): boolean {
  if (json !== undefined) return same(value, json)
  if (jsonAny) return jsonAny.some((one) => same(value, one))
  return typeof value === 'object' && value !== null && same(Object.keys(value), jsonKeys)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
