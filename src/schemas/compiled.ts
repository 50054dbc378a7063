import { LRUCache } from 'lru-cache'
import { type Compiled, compileSchema } from './compile.ts'

/** A compiled schema takes some ten times the memory of its text, so the limit counts the texts. */
const mostSchemas = 64
const mostCharacters = 1 << 20

/** An LRU cache of compiled schemas by their text. */
export function createCompiledSchemas(): (text: string) => Compiled {
  const cache = new LRUCache<string, Compiled>({
    max: mostSchemas,
    maxSize: mostCharacters,
    sizeCalculation: (_compiled, text) => text.length,
    memoMethod: (text) => compileSchema(JSON.parse(text)),
  })
  return (text) => cache.memo(text)
}
