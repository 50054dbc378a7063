import type { ErrorObject } from 'ajv'
import { described, shortened } from '../domain/described.ts'
import { createTenantCache } from '../threads/tenant-cache.ts'
import { type Compiled, compileSchema } from './compile.ts'

/** A compiled schema takes some ten times the memory of its text, so the limit counts the texts. */
const maxSchemas = 64
const maxCharacters = 1 << 20

/** An LRU cache of compiled schemas by their text, for each tenant. */
export function createCompiledSchemas(): (text: string) => Compiled {
  const cache = createTenantCache<Compiled>({
    max: maxSchemas,
    maxSize: maxCharacters,
    sizeOf: (_compiled, key) => key.length,
  })
  return (text) => cache.memo(text, () => compileSchema(JSON.parse(text)))
}

/** The result of validating a value; `schema_error` when the schema itself is wrong. */
export type Validation =
  | { kind: 'valid' }
  | { kind: 'invalid'; path: string[]; received: string; why: string }
  | { kind: 'schema_error'; why: string }

/** Both are JSON texts. Without a value only the schema is checked. */
type Validator = (schema: string, value: string | undefined) => Validation

export function createValidator(): Validator {
  const schemas = createCompiledSchemas()
  return (schema, value) => {
    try {
      const compiled = schemas(schema)
      if ('error' in compiled) return { kind: 'schema_error', why: compiled.error }
      if (value === undefined) return { kind: 'valid' }
      const data: unknown = JSON.parse(value)
      if (compiled.validate(data)) return { kind: 'valid' }
      return invalid(compiled.validate.errors ?? [], data)
    } catch (error) {
      // No value is nested deeply enough to cause this, so the schema is the reason.
      if (error instanceof RangeError) {
        const why = 'it refers to itself without end, or has too many branches or members'
        return { kind: 'schema_error', why }
      }
      throw error
    }
  }
}

/** When several branches fail, this many of their reasons are named. */
const maxReasons = 4

function invalid(errors: readonly ErrorObject[], value: unknown): Validation {
  const [first] = errors
  const path = segmentsOf(first?.instancePath ?? '')
  const reasons = new Set(errors.map((error) => reasonOf(error, path)))
  return {
    kind: 'invalid',
    path,
    received: described(valueAt(value, path)),
    why: [...reasons].slice(0, maxReasons).join('; '),
  }
}

function reasonOf({ instancePath, keyword, message = 'does not fit', params }: ErrorObject, path: string[]) {
  const own = segmentsOf(instancePath)
  const inner = own.slice(path.length).join('.')
  const where = inner === '' || !path.every((segment, i) => own[i] === segment) ? '' : `${inner} `
  return `${where}${message}${detailOf(keyword, params)}`
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
  return `: ${shortened(JSON.stringify(detail), 200)}`
}

/** A JSON Pointer (RFC 6901). */
function segmentsOf(pointer: string): string[] {
  if (pointer === '') return []
  return pointer
    .slice(1)
    .split('/')
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'))
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  let inner = value
  for (const segment of path) inner = (inner as Record<string, unknown>)[segment]
  return inner
}
