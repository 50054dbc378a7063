import { DepthError, readJson } from '../../domain/json/read.ts'
import { JsonText } from '../../domain/json/text.ts'
import type { Attributes, Value } from './span.ts'

/** The first of the attributes with a number or a text that is not empty. */
export function textOf(attributes: Attributes, ...names: readonly string[]): string | undefined {
  return firstOf(names, (name) => {
    const value = attributes.get(name)
    const text = value instanceof JsonText ? value.text : value
    return typeof text === 'string' && text !== '' ? text : undefined
  })
}

export function firstOf<T>(names: readonly string[], find: (name: string) => T | undefined): T | undefined {
  for (const name of names) {
    const found = find(name)
    if (found !== undefined) return found
  }
  return undefined
}

const listOrObject = /^\s*[[{]/
export const anyJson = /^\s*[[{"]/

/** Most SDKs do not allow objects as attributes, so these contain JSON as a text. */
export function opened(value: Value, first = listOrObject): Value {
  if (typeof value !== 'string' || !first.test(value)) return value
  try {
    return readJson(value, { verbatim: true }, 100) as JsonText
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof DepthError) return value
    throw error
  }
}
