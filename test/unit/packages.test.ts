import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

const files = ['src', 'packages', 'test', 'benchmarks', 'scripts'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((file) => join(folder, file))
    .filter((file) => /\.(ts|mjs)$/.test(file) && !/(^|\/)(node_modules|generated|ui)\//.test(file)),
)

interface Import {
  from: string
  to: string
  isType: boolean
  isLazy: boolean
}

const statement =
  /(?:^|\n)(?:import|export)(?<type> type)?\b[^;'"=]*?['"](?<path>\.[^'"]+)['"]|\bimport\(\s*['"](?<lazy>\.[^'"]+)['"]/g

const imports: Import[] = files.flatMap((from) =>
  [...readFileSync(join(root, from), 'utf8').matchAll(statement)].map(({ groups = {} }) => ({
    from,
    to: normalize(join(dirname(from), groups.path ?? groups.lazy ?? '')),
    isType: groups.type !== undefined,
    isLazy: groups.lazy !== undefined,
  })),
)

/** `packages/constraints`, for a file of that package. */
const packageOf = (file: string) => /^packages\/[\w-]+(?=\/)/.exec(file)?.[0]
const isTest = (file: string) => /^packages\/[\w-]+\/(test|benchmark)\//.test(file)
const listed = (broken: readonly Import[]) => broken.map(({ from, to }) => `${from} imports ${to}`).join('\n')

test('a package is entered by its door', () => {
  const entered = imports.filter(({ from, to }) => packageOf(to) && packageOf(to) !== packageOf(from))
  assert.ok(entered.length > 50, `${entered.length} imports of packages were found`)
  const broken = entered.filter(({ to }) => to !== `${packageOf(to)}/index.ts`)
  assert.equal(listed(broken), '', 'Export it from index.ts, or test it beside the package.')
})

test('a package imports nothing of the server', () => {
  const broken = imports.filter(({ from, to }) => packageOf(from) && !packageOf(to) && !isTest(from))
  assert.equal(listed(broken), '', 'Pass it as an argument.')
  const ofTests = imports.filter(({ from, to }) => isTest(from) && to.startsWith('src/'))
  assert.equal(listed(ofTests), '', 'A test that needs the server lies in test/.')
})

test('the process that answers requests does not load the compiler of constraints', () => {
  const loaded = new Set<string>()
  const load = (file: string): void => {
    if (loaded.has(file)) return
    loaded.add(file)
    for (const { from, to, isType, isLazy } of imports) {
      // What a package loads when it is asked to is asked for by the processes that need it.
      if (from === file && !isType && !(isLazy && packageOf(from))) load(to)
    }
  }
  load('src/main.ts')
  assert.ok(loaded.size > 300, `${loaded.size} files are loaded`)
  assert.ok(!loaded.has('packages/constraints/index.ts'), 'It takes about 10 MB. Import its types only.')
  assert.ok(
    !loaded.has('packages/chat-format/template/rendering.ts'),
    'Templates have processes of their own.',
  )
})
