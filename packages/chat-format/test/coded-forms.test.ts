import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { codedForms } from '../coded/coded-forms.ts'

const root = fileURLToPath(new URL('../../..', import.meta.url))

/** Without comments. */
const codeOf = (file: string) =>
  readFileSync(join(root, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')

const files = ['src', 'packages/chat-format'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((file) => join(folder, file))
    .filter((file) => file.endsWith('.ts') && !/\/(test|generated)\//.test(file)),
)

for (const name of Object.keys(codedForms)) {
  test(`all that ${name} is, is in one file`, () => {
    const knowing = files.filter((file) => codeOf(file).toLowerCase().includes(name))
    const folder = 'packages/chat-format/coded'
    assert.deepEqual(knowing.toSorted(), [`${folder}/${name}.ts`, `${folder}/coded-forms.ts`].toSorted())
  })
}
