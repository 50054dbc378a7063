// Runs rings of tests: `node test/support/run.mjs [--long] [--record] [ring …]`, all without a name. `--record clients`
// notes what ran, for the table of docs/clients.md. A process for each file spends most of its time on loading the app. So
// the files of the rings that start nothing outside of their process share one, some at a time, and each of the others has
// its own. The tests of a file run in its order in either case.

import { spawnSync } from 'node:child_process'
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'

const sharing = ['unit', 'packages', 'app', 'attack', 'clients']
const filesOfProcess = 12
/** The comment of a file that measures its process, or changes what other files see of it. */
const ownProcess = '// In a process of its own: '

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { long: { type: 'boolean' }, record: { type: 'boolean' } },
})
const tree = fileURLToPath(new URL('../..', import.meta.url))
const options = [
  '--import=./test/support/compile-cache.mjs',
  '--test',
  '--test-timeout=3600000',
  '--test-concurrency=2',
  '--test-reporter=spec',
  '--test-reporter-destination=stdout',
  '--test-reporter=./test/support/file-times.mjs',
  '--test-reporter-destination=stdout',
]
if (values.record)
  options.push('--test-reporter=./scripts/clients/record-runs.mjs', '--test-reporter-destination=stderr')
const entries = join(tree, 'node_modules/.cache/tests', String(process.pid))
const rings = positionals.length > 0 ? positionals : [...sharing, 'live', 'ui']

/** The files of a ring that are long, or those that are not. */
function filesOf(ring) {
  const folder = ring === 'packages' ? 'packages' : `test/${ring}`
  return globSync(`${folder}/**/*.test.ts`, { cwd: tree, exclude: (path) => path.endsWith('node_modules') })
    .filter((path) => path.endsWith('.long.test.ts') === (values.long ?? false))
    .sort()
}

/** A file that imports these: they run in one process. */
function shared(ring, files, index) {
  const entry = join(entries, `${ring}-${index + 1}.mjs`)
  writeFileSync(
    entry,
    files.map((path) => `await import('${pathToFileURL(resolve(tree, path))}')\n`).join(''),
  )
  return entry
}

function processesOf(ring) {
  const files = filesOf(ring)
  // What ran is noted for each file by itself.
  if (values.long || values.record || !sharing.includes(ring)) return files
  const { own = [], together = [] } = Object.groupBy(files, (path) =>
    readFileSync(join(tree, path), 'utf8').includes(ownProcess) ? 'own' : 'together',
  )
  const count = Math.ceil(together.length / filesOfProcess)
  const entryFiles = Array.from({ length: count }, (_, index) =>
    shared(ring, together.slice(index * filesOfProcess, (index + 1) * filesOfProcess), index),
  )
  return [...entryFiles, ...own]
}

mkdirSync(entries, { recursive: true })
try {
  const processes = rings.flatMap(processesOf)
  if (processes.length === 0) throw new Error(`${rings.join(', ')}: no such ring of tests`)
  const { status } = spawnSync(process.execPath, [...options, ...processes], { cwd: tree, stdio: 'inherit' })
  process.exitCode = status ?? 1
} finally {
  rmSync(entries, { recursive: true, force: true })
}
