// Loaded before the tests by the scripts of package.json. What the first of them compiles is cached for the others, and
// for the next run. Threads, and what a test starts, learn of it by the environment.

import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

process.env.NODE_COMPILE_CACHE ??= fileURLToPath(
  new URL('../../node_modules/.cache/compiled', import.meta.url),
)
enableCompileCache(process.env.NODE_COMPILE_CACHE)
