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
