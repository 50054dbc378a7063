import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'

const packages = new URL('../../packages/', import.meta.url)

for (const name of readdirSync(packages)) {
  test(`the example of the README of ${name} writes what it says`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'readme-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const readme = readFileSync(new URL(`${name}/README.md`, packages), 'utf8')
    const [, code = ''] = /```ts\n(.*?)```/s.exec(readme) ?? []
    const [, expected] = /export \{ text \} \/\/ (.+)/.exec(code) ?? []
    const door = new URL(`${name}/index.ts`, packages)
    assert.ok(expected !== undefined && existsSync(door))
    const file = join(folder, 'example.ts')
    writeFileSync(file, code.replace('./index.ts', door.href))
    const { text } = (await import(pathToFileURL(file).href)) as { text: string }
    assert.equal(text, expected)
  })
}
