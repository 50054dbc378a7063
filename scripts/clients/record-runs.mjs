// A reporter of node:test: each file of test/clients that passed whole is noted in test/clients/runs.json, with the date,
// the number of tests, and the versions of what it uses. Only `node test/support/run.mjs --record clients` loads it: an
// ordinary run changes no file of the repository.

import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

const tests = resolve('test')
const folder = join(tests, 'clients')
const runsFile = join(folder, 'runs.json')

const beside = /(?:from|import\() ?'(\.[^']+)'/g
const packaged = /(?:from|import\() ?'((?:@[\w-]+\/)?[\w-]+)(?:\/[^']*)?'/g
const imported = /^(?:from|import) (\w+)/gm
const suite = /new URL\('(\w+\.py)'/g

const namesIn = (text, pattern) => [...text.matchAll(pattern)].map(([, name]) => name)

/** The files of this folder that a test runs: what it imports, and the programs and suites that it starts. */
function filesOf(file, found = new Set()) {
  if (found.has(file) || !file.startsWith(folder)) return found
  found.add(file)
  const [text, own] = [readFileSync(file, 'utf8'), dirname(file)]
  const programs = text.includes('new URL(`programs/') ? globSync('programs/*.ts', { cwd: own }) : []
  for (const path of [...namesIn(text, beside), ...namesIn(text, suite), ...programs]) {
    filesOf(resolve(own, path), found)
  }
  return found
}

/** As Node finds the package from this file. Undefined for one that is not installed for the tests. */
function installedVersion(name, file) {
  for (let at = dirname(file); at.startsWith(tests); at = dirname(at)) {
    const path = join(at, 'node_modules', name, 'package.json')
    if (existsSync(path)) return JSON.parse(readFileSync(path, 'utf8')).version
  }
  return undefined
}

function printedBy(command, ...args) {
  try {
    return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  } catch {
    return undefined
  }
}

/** Undefined for a module of Python itself. */
const pythonVersion = (name) =>
  printedBy('python3', '-c', `import importlib.metadata as m; print(m.version('${name}'))`)?.trim()

function versionsIn(file) {
  const text = readFileSync(file, 'utf8')
  if (file.endsWith('.py')) {
    return namesIn(text, imported).map((name) => [`python's ${name}`, pythonVersion(name)])
  }
  const versions = namesIn(text, packaged).map((name) => [name, installedVersion(name, file)])
  if (!text.includes("run('curl'")) return versions
  return [...versions, ['curl', /^curl ([\d.]+)/.exec(printedBy('curl', '--version'))?.[1]]]
}

function versionsOf(test) {
  const versions = [...filesOf(test)].flatMap(versionsIn).filter(([, version]) => version !== undefined)
  return Object.fromEntries(versions.sort(([a], [b]) => (a < b ? -1 : 1)))
}

export default async function* recordRuns(source) {
  const ended = new Map()
  for await (const { type, data } of source) {
    if ((type !== 'test:pass' && type !== 'test:fail') || !data.file?.startsWith(folder)) continue
    const file = ended.get(data.file) ?? { count: 0, isWhole: true }
    ended.set(data.file, file)
    if (type === 'test:fail' || data.skip !== undefined || data.todo !== undefined) file.isWhole = false
    if (data.details.type !== 'suite') file.count++
  }
  const runs = existsSync(runsFile) ? JSON.parse(readFileSync(runsFile, 'utf8')) : {}
  const date = new Date().toISOString().slice(0, 10)
  for (const [path, { count, isWhole }] of ended) {
    const name = relative(folder, path)
    if (isWhole) runs[name] = { date, tests: count, packages: versionsOf(path) }
    yield `${isWhole ? 'Noted' : 'Not noted, as not every test ran and passed'}: ${name}, ${count} tests\n`
  }
  const sorted = Object.fromEntries(Object.entries(runs).sort(([a], [b]) => (a < b ? -1 : 1)))
  writeFileSync(runsFile, `${JSON.stringify(sorted, null, 2)}\n`)
}
