// Loaded before the tests by the scripts of package.json. Every test file is a process of its own and loads the whole
// app: what the first of them compiles is cached for the others, and for the next run. Threads, and the processes that a
// test starts, learn of it by the environment: opening a record costs a third of what it costs without.

import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

process.env.NODE_COMPILE_CACHE ??= fileURLToPath(
  new URL('../../node_modules/.cache/compiled', import.meta.url),
)
enableCompileCache(process.env.NODE_COMPILE_CACHE)
