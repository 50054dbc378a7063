// Runs rings of tests: `node test/support/run.mjs [--long] [--record] [ring …]`, all without a name. `--record clients`
// notes what ran, for the table of docs/clients.md. A process for each file spends most of its time on loading the app. So
// the files of the rings that start nothing outside of their process share one, some at a time, and each of the others has
// its own. The tests of a file run in its order in either case. The longest come first, so that none runs alone at last.

import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { finished } from 'node:stream/promises'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import fileTimes from './file-times.mjs'

const sharing = ['unit', 'packages', 'app', 'attack', 'clients']
const filesOfProcess = 12
/** Those that take more than about a minute, by the times that are shown at the end of a run; the longest is first. */
const longest = [
  'test/live/storage/random.long.test.ts',
  'test/live/storage-sums.test.ts',
  'test/live/storage.test.ts',
  'test/live/crash.long.test.ts',
  'test/app/campaigns.long.test.ts',
  'test/live/batches.long.test.ts',
  'test/live/package.long.test.ts',
  'test/live/served-runs.long.test.ts',
  'test/attack/faults.long.test.ts',
  'test/attack/texts.long.test.ts',
  'test/ui/review.long.test.ts',
  'test/live/command-line.long.test.ts',
  'test/live/evaluations.long.test.ts',
  'test/live/many-models.long.test.ts',
  'test/ui/quality.long.test.ts',
  'test/live/transaction-pooling.long.test.ts',
  'test/attack/cluster.long.test.ts',
]
/** The comment of a file that measures its process, or changes what other files see of it. */
const ownProcess = '// In a process of its own: '

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { long: { type: 'boolean' }, record: { type: 'boolean' } },
})
const tree = fileURLToPath(new URL('../..', import.meta.url))
process.chdir(tree)
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

const rankOf = (path) => longest.indexOf(path) + 1 || longest.length + 1

/** Runs them two at a time, and shows what they say. */
async function runAll(files) {
  const tests = run({
    files,
    concurrency: 2,
    // One that hangs is named while there is time for the rest.
    timeout: 900_000,
    execArgv: ['--import=./test/support/compile-cache.mjs'],
  })
  tests.setMaxListeners(20) // Three reporters listen to everything.
  // Until the sum of all files says that they passed.
  process.exitCode = 1
  tests.on('test:summary', ({ file, success }) => {
    if (file === undefined && success) process.exitCode = 0
  })
  const shown = [tests.compose(spec), tests.compose(fileTimes)]
  for (const text of shown) text.pipe(process.stdout)
  if (values.record) {
    const { default: recordRuns } = await import('../../scripts/clients/record-runs.mjs')
    shown.push(tests.compose(recordRuns))
    shown.at(-1).pipe(process.stderr)
  }
  await Promise.all(shown.map((text) => finished(text)))
}

const gone = longest.filter((path) => !existsSync(path))
if (gone.length > 0)
  throw new Error(`${gone.join(', ')}: named as long by ${import.meta.filename}, but not there`)

mkdirSync(entries, { recursive: true })
try {
  const processes = rings.flatMap(processesOf).sort((path, other) => rankOf(path) - rankOf(other))
  if (processes.length === 0) throw new Error(`${rings.join(', ')}: no such ring of tests`)
  await runAll(processes)
} finally {
  rmSync(entries, { recursive: true, force: true })
}
