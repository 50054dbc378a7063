#!/usr/bin/env -S node --max-semi-space-size=4 --v8-pool-size=2
// More than this for what is young keeps memory that an idle server does not need, and made no request cheaper. Two threads
// that clean up behind it, in place of four, keep 4 MB less.
// An older Node would crash without a word in a native addon, so nothing is imported before this check.
const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 19)) {
  console.error(`Heddle needs Node 22.19 or newer; this is ${process.version}. \`npm start\` brings its own.`)
  process.exit(2)
}

// Later starts are faster, and need no TypeScript stripper in memory. Threads learn of it by the environment. Where the
// folder cannot be written, Node goes on without.
const { enableCompileCache } = await import('node:module')
const { existsSync } = await import('node:fs')
const { fileURLToPath } = await import('node:url')
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../node_modules/.cache/heddle', import.meta.url))
enableCompileCache(process.env.NODE_COMPILE_CACHE)

const source = new URL('../src/main.ts', import.meta.url)
await import(existsSync(source) ? source.href : new URL('../dist/src/main.js', import.meta.url).href)
