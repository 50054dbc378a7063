#!/usr/bin/env node
// An older Node would crash without a word in a native addon, so nothing is imported before this check.
const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 19)) {
  console.error(`heddle needs Node 22.19 or newer, and this is Node ${process.versions.node}.`)
  process.exit(1)
}

const { existsSync } = await import('node:fs')
const source = new URL('../src/main.ts', import.meta.url)
await import(existsSync(source) ? source.href : new URL('../dist/main.js', import.meta.url).href)
