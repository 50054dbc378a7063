import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The folders whose exports are checked, and those whose imports count: also tests, benchmarks and scripts. */
const exporting = ['src', 'packages', 'ui']
const reading = [...exporting, 'test', 'benchmarks', 'scripts', 'bin', 'models']

const files = reading.flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(ts|tsx|js|mjs)$/.test(file))
    .filter((file) => !/(^|\/)(node_modules|generated|fixtures)\//.test(file))
    .map((file) => join(folder, file)),
)
const text = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]))

/** Names that are used by text: a thread imports the file that it is given and calls its `serve`. */
const byText = new Set(['serve'])

const declared = /^export (?:declare )?(?:async )?(?:function\*?|const|let|class|interface|type|enum) (\w+)/gm
const named = /(?:import|export)(?: type)?\s*\{([^}]*)\}\s*from '(\.[^']+)'/g
const whole = /import(?: type)? \* as \w+ from '(\.[^']+)'|\bimport\(\s*'(\.[^']+)'|new URL\(\s*'(\.[^']+)'/g

/** The names that are imported from each file; if a file is imported as a whole, every word of the importer. */
const askedFor = new Map<string, Set<string>>()
const ask = (from: string, path: string, names: readonly string[]) => {
  const file = join(dirname(from), path)
  const known = askedFor.get(file) ?? new Set()
  for (const name of names) known.add(name)
  askedFor.set(file, known)
}
for (const [from, source] of text) {
  for (const [, names = '', path = ''] of source.matchAll(named)) {
    const imported = names.matchAll(/(?:^|,)\s*(?:type )?(\w+)/g)
    ask(
      from,
      path,
      [...imported].map(([, name = '']) => name),
    )
  }
  for (const [, asOne, lazily, byUrl] of source.matchAll(whole)) {
    ask(from, asOne ?? lazily ?? byUrl ?? '', source.match(/\w+/g) ?? [])
  }
}

const exported = files
  .filter(
    (file) =>
      exporting.some((folder) => file.startsWith(`${folder}/`)) && !/^packages\/[\w-]+\/test\//.test(file),
  )
  .flatMap((file) => [...(text.get(file) ?? '').matchAll(declared)].map(([, name = '']) => ({ file, name })))

test('every export is imported by another file', () => {
  assert.ok(exported.length > 3_000, `${exported.length} exports were found`)
  const unused = exported.filter(({ file, name }) => !byText.has(name) && !askedFor.get(file)?.has(name))
  assert.equal(
    unused.map(({ file, name }) => `${file}: ${name}`).join('\n'),
    '',
    'Remove `export` where only the file itself uses the name, and the declaration where nothing does.',
  )
})

test('every import that this test finds leads to a file', () => {
  const lost = [...askedFor.keys()].filter(
    (file) => exporting.some((folder) => file.startsWith(`${folder}/`)) && /\.tsx?$/.test(file),
  )
  assert.deepEqual(
    lost.filter((file) => !existsSync(join(root, file))),
    [],
  )
})
