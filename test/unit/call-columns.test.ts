import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { namesOf } from '../../src/storage/calls/columns.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (file: string) => readFileSync(join(root, file), 'utf8')

const filesIn = (folder: string) =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(?:ts|tsx|md|sql)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length))

test('the recipe for a column of calls lists exactly the files that name one, and they are few', () => {
  const [, rest = ''] = read('CONTRIBUTING.md').split('\n### A column of calls\n')
  const [recipe = ''] = rest.split('\n### ')
  const named = [...recipe.matchAll(/`([\w/.-]+\.(?:ts|md|sql))`/g)].map(([, file = '']) => file)
  for (const file of named) assert.ok(existsSync(join(root, file)), file)
  assert.ok(namesOf('run_step_end').includes('svc_run_step_end'))
  const naming = ['src', 'ui', 'docs', 'scripts', 'migrations']
    .flatMap(filesIn)
    .filter((file) => /\b(?:svc_|wb_)?run_step_end\b/.test(read(file)))
  assert.deepEqual(named.toSorted(), naming.toSorted())
  assert.ok(naming.length <= 8, `${naming.length} files`)
})
