import { type Compiled, compileSchema } from './compile.ts'

/** A compiled schema takes some ten times the memory of its text, so the texts are what is counted. */
const mostSchemas = 64
const mostCharacters = 1 << 20

/** An LRU cache of compiled schemas by their text. */
export function createCompiledSchemas(): (text: string) => Compiled {
  const cached = new Map<string, Compiled>()
  let characters = 0
  return (text) => {
    const known = cached.get(text)
    if (known !== undefined) {
      cached.delete(text)
      cached.set(text, known)
      return known
    }
    const compiled = compileSchema(JSON.parse(text))
    cached.set(text, compiled)
    characters += text.length
    for (const oldest of cached.keys()) {
      if (oldest === text || (cached.size <= mostSchemas && characters <= mostCharacters)) break
      cached.delete(oldest)
      characters -= oldest.length
    }
    return compiled
  }
}
