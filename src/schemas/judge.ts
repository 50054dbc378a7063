import type { ErrorObject } from 'ajv'
import { createCompiledSchemas } from './compiled.ts'

/** What a schema says about a value. */
export type Judgement =
  | { kind: 'fits' }
  | { kind: 'differs'; path: string[]; given: string; why: string }
  | { kind: 'flawed'; why: string }

/** Both as JSON. Without a value the schema alone is looked at. */
export type Judge = (schema: string, value: string | undefined) => Judgement

export function createJudge(): Judge {
  const schemas = createCompiledSchemas()
  return (schema, value) => {
    try {
      const compiled = schemas(schema)
      if ('flaw' in compiled) return { kind: 'flawed', why: compiled.flaw }
      if (value === undefined) return { kind: 'fits' }
      const given: unknown = JSON.parse(value)
      if (compiled.validate(given)) return { kind: 'fits' }
      return differing(compiled.validate.errors ?? [], given)
    } catch (error) {
      // No value is nested deeply enough for this.
      if (error instanceof RangeError) {
        return { kind: 'flawed', why: 'it refers to itself without end, or has too many branches or members' }
      }
      throw error
    }
  }
}

/** The reasons that are named when branches fail, each with its own. */
const mostReasons = 4

function differing(errors: readonly ErrorObject[], value: unknown): Judgement {
  const [first] = errors
  const path = segmentsOf(first?.instancePath ?? '')
  const reasons = new Set(errors.map((error) => reasonOf(error, path)))
  return {
    kind: 'differs',
    path,
    given: described(valueAt(value, path)),
    why: [...reasons].slice(0, mostReasons).join('; '),
  }
}

function reasonOf({ instancePath, keyword, message = 'does not fit', params }: ErrorObject, path: string[]) {
  const own = segmentsOf(instancePath)
  const inner = own.slice(path.length).join('.')
  const place = inner === '' || !path.every((segment, i) => own[i] === segment) ? '' : `${inner} `
  return `${place}${message}${detailOf(keyword, params)}`
}

function detailOf(keyword: string, params: Record<string, unknown>): string {
  const detail =
    keyword === 'enum'
      ? params.allowedValues
      : keyword === 'const'
        ? params.allowedValue
        : keyword === 'additionalProperties'
          ? params.additionalProperty
          : params.unevaluatedProperty
  if (detail === undefined) return ''
  const text = JSON.stringify(detail)
  return `: ${text.length > 200 ? `${text.slice(0, 200)}…` : text}`
}

/** A JSON Pointer (RFC 6901). */
function segmentsOf(pointer: string): string[] {
  if (pointer === '') return []
  return pointer
    .slice(1)
    .split('/')
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** In words that a message has room for. */
function described(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object' && value !== null) return 'an object'
  const text = JSON.stringify(value)
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  let inner = value
  for (const segment of path) inner = (inner as Record<string, unknown>)[segment]
  return inner
}
