import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { measureHouse } from '../../scripts/house/rows.ts'

async function measured(t: TestContext, files: Record<string, string>): Promise<Record<string, number>> {
  const root = await mkdtemp(join(tmpdir(), 'house-'))
  t.after(() => rm(root, { recursive: true }))
  for (const [name, text] of Object.entries({ 'README.md': '', ...files })) {
    await mkdir(dirname(join(root, name)), { recursive: true })
    await writeFile(join(root, name), text)
  }
  return Object.fromEntries(measureHouse(root).map(({ name, value }) => [name, value]))
}

test('the house counts lines, fragments and words', async (t) => {
  const rows = await measured(t, {
    'README.md': 'one two  three\n',
    'docs/decisions/1.md': 'word '.repeat(401),
    'docs/decisions/2.md': 'word '.repeat(400),
    'src/a.ts': "import { b } from './b.ts'\nimport type { C } from './c.ts'\n",
    'src/b.ts': "import { c } from './c.ts'\n",
    'src/c.ts': 'export const c = 1\n',
    'src/generated/d.ts': 'export const d = 1\n',
    'packages/p/index.ts': 'export const p = 1\n',
    'ui/e.tsx': '\n\n',
  })
  assert.equal(rows['lines of the server (src)'], 4)
  assert.equal(rows['lines of the server and its packages'], 5)
  assert.equal(rows['lines of the page (ui)'], 2)
  assert.equal(rows['files under 60 lines with one importer'], 1)
  assert.equal(rows['words of README'], 3)
  assert.equal(rows['words of documentation'], 801)
  assert.equal(rows['decisions of more than 400 words'], 1)
})

test('the house finds vague names where they are introduced, and not in prose', async (t) => {
  const rows = await measured(t, {
    'src/a.ts': [
      "const given = 'one'",
      '// the one that was given',
      'function f(part: string, { place }: P) {}',
      'list.map((one) => one.name)',
      'const mostRows = 5',
      'const maxRows = 5',
      '',
    ].join('\n'),
  })
  assert.equal(rows['places that introduce a vague name'], 4)
  assert.equal(rows['bounds named most, least or longest'], 1)
})

test('the house counts the files that the walk of a chat completion names', async (t) => {
  const rows = await measured(t, {
    'docs/architecture.md':
      '# A\n\n## A chat completion\n\n1. `src/a.ts` and `src/b.ts`, then `src/a.ts`\n\nVariations:\n\n- `src/c.ts`\n',
  })
  assert.equal(rows['files that the walk of a chat completion names'], 2)
})
