import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import manifest from '../../package.json' with { type: 'json' }

interface Locked {
  dev?: boolean
  optional?: boolean
  version: string
  integrity?: string
  hasInstallScript?: boolean
  link?: boolean
  os?: string[]
}

const read = (path: string) => JSON.parse(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8'))

const lockedIn = (folder: string) =>
  Object.entries<Locked>(read(`${folder}package-lock.json`).packages)
    .filter(([path, { link }]) => path !== '' && !link)
    .map(([path, entry]) => ({ ...entry, name: path.slice(path.lastIndexOf('node_modules/') + 13) }))

test('the package contains all of its dependencies, so what is installed is what was tested', () => {
  assert.deepEqual(manifest.bundleDependencies, Object.keys(manifest.dependencies).toSorted())
})

test('the builds of the engine have exactly the version of the engine, and none is for a GPU', () => {
  const engine = manifest.devDependencies['node-llama-cpp']
  for (const [name, version] of Object.entries(manifest.optionalDependencies)) {
    assert.equal(version, engine, name)
    assert.doesNotMatch(name, /cuda|vulkan/)
  }
})

test('the Node of the lock has checksums', () => {
  const { version } = read('package-lock.json').packages['node_modules/node']
  assert.match(read('scripts/node-checksums.json')[version]?.['linux-x64'], /^[0-9a-f]{64}$/)
})

test('serving needs at most 129 packages', () => {
  const { packages } = read('package-lock.json') as { packages: Record<string, Locked> }
  const needed = Object.entries(packages).filter(
    ([path, { dev, optional }]) => path !== '' && !dev && !optional,
  )
  // One build of the engine, and one of koffi.
  assert.ok(needed.length + 2 <= 129, `${needed.length + 2}`)
})

/** Builds for systems other than that of the registry's users, which it does not serve. */
const withoutChecksum = /^@node-llama-cpp\/(mac|win)-|^@node-llama-cpp\/linux-(riscv64|armv7l|x64-)/

for (const folder of ['', 'test/', 'test/clients/', 'benchmarks/']) {
  test(`the lock of ./${folder} has a checksum for every package`, () => {
    const wrong = lockedIn(folder).filter(({ name, integrity }) => !integrity && !withoutChecksum.test(name))
    assert.deepEqual(wrong, [], '`node scripts/complete-lock.mjs` adds what the registry has')
  })

  test(`allowScripts of ./${folder} decides on every package with an install script`, () => {
    const { allowScripts = {} } = read(`${folder}package.json`)
    const undecided = lockedIn(folder)
      .filter(({ hasInstallScript, name }) => hasInstallScript && !(name in allowScripts))
      .map(({ name }) => name)
    assert.deepEqual(undecided, [])
  })
}
