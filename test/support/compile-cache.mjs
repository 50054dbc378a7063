// Loaded before the tests by the scripts of package.json. Every test file is a process of its own and loads the whole
// app: what the first of them compiles is cached for the others, and for the next run.

import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

enableCompileCache(fileURLToPath(new URL('../../node_modules/.cache/compiled', import.meta.url)))
