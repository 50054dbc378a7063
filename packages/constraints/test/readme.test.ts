import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'

test('the example of the README writes what it says', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'constraints-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
  const [, code = ''] = /```ts\n(.*?)```/s.exec(readme) ?? []
  const [, expected] = /export \{ text \} \/\/ (.+)/.exec(code) ?? []
  const file = join(folder, 'example.ts')
  writeFileSync(file, code.replace('./index.ts', new URL('../index.ts', import.meta.url).href))
  const { text } = (await import(pathToFileURL(file).href)) as { text: string }
  assert.equal(text, expected)
})
