import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { clients } from '../../scripts/clients/rows.ts'
import { runOf, runs } from '../../scripts/clients/table.ts'

/** The table of docs/clients.md says what runs of test/clients showed, with what is installed for them. */

const again = 'record it: `node test/support/run.mjs --record clients`, then `npm run docs:generate`'

type Lock = { packages: Record<string, { version?: string }> }

const locks = ['clients/', ''].map((folder): Lock => {
  const file = new URL(`../${folder}package-lock.json`, import.meta.url)
  return JSON.parse(readFileSync(file, 'utf8'))
})

/** Undefined for what is not of npm. */
const lockedVersion = (name: string) =>
  locks.map(({ packages }) => packages[`node_modules/${name}`]?.version).find(Boolean)

test('runs of clients are of the versions that are installed', () => {
  for (const [file, { packages }] of Object.entries(runs)) {
    for (const [name, version] of Object.entries(packages)) {
      if (name === 'curl' || name.startsWith("python's ")) continue
      assert.equal(version, lockedVersion(name), `${file} ran with another version of ${name}: ${again}`)
    }
  }
})

for (const { name, seen } of clients) {
  if (!('files' in seen)) continue
  test(`${name} has the runs that its row counts`, () => {
    const ran = seen.files.map(runOf)
    for (const { date, tests } of ran) {
      assert.match(date, /^\d{4}-\d\d-\d\d$/)
      assert.ok(tests > 0)
    }
    if ('packages' in seen) {
      for (const packageName of seen.packages) {
        const users = ran.filter(({ packages }) => packages[packageName] !== undefined)
        assert.ok(users.length > 0, `${packageName}: ${again}`)
      }
      for (const [index, { packages }] of ran.entries()) {
        const used = seen.packages.some((packageName) => packages[packageName] !== undefined)
        assert.ok(used, `${seen.files[index]} uses nothing of the row`)
      }
    } else if (seen.requestsOf !== undefined) {
      const [file = ''] = seen.files
      const text = readFileSync(new URL(`../clients/${file}.test.ts`, import.meta.url), 'utf8')
      assert.ok(text.includes(seen.requestsOf), `${file} has no request of ${seen.requestsOf}`)
    }
  })
}
