import type { ValidateFunction } from 'ajv'
import { compileSchema } from '../domain/json-schemas.ts'

/** A compiled schema takes some ten times the memory of its text, so the texts are what is counted. */
const mostSchemas = 64
const mostCharacters = 1 << 20

export type Compiled = { validate: ValidateFunction } | { flaw: string }

/** Schemas by their text, each compiled once as long as it is used. */
export function createCompiledSchemas(): (text: string) => Compiled {
  const kept = new Map<string, Compiled>()
  let characters = 0
  return (text) => {
    const known = kept.get(text)
    if (known !== undefined) {
      kept.delete(text)
      kept.set(text, known)
      return known
    }
    const compiled = compileSchema(JSON.parse(text))
    kept.set(text, compiled)
    characters += text.length
    for (const oldest of kept.keys()) {
      if (oldest === text || (kept.size <= mostSchemas && characters <= mostCharacters)) break
      kept.delete(oldest)
      characters -= oldest.length
    }
    return compiled
  }
}
