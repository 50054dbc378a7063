import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { type TestContext, test } from 'node:test'

/** A project with nothing installed, whose npm prints its arguments and then runs these lines of shell. */
function openProject(t: TestContext, ...lines: string[]) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-test-')))
  const name = createHash('sha256').update(root).digest('hex').slice(0, 16)
  const claim = join(tmpdir(), `heddle-install-${name}`)
  t.after(() => {
    rmSync(root, { recursive: true, force: true })
    rmSync(claim, { force: true })
  })
  for (const folder of ['scripts', 'bin']) mkdirSync(join(root, folder))
  const script = join(root, 'scripts', 'ensure-installed.mjs')
  for (const name of ['ensure-installed.mjs', 'node-checksums.json'])
    copyFileSync(new URL(`../../scripts/${name}`, import.meta.url), join(root, 'scripts', name))
  writeFileSync(join(root, 'bin', 'npm'), ['#!/bin/sh', 'echo "npm $*"', ...lines, ''].join('\n'))
  chmodSync(join(root, 'bin', 'npm'), 0o755)
  return {
    root,
    claim,
    async install(...args: string[]) {
      const path = `${join(root, 'bin')}${delimiter}${process.env.PATH}`
      const child = spawn(process.execPath, [script, ...args], { env: { ...process.env, PATH: path } })
      let said = ''
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (said += data))
      const [code] = await once(child, 'close')
      return { code, said }
    },
  }
}

test('an install waits for another one, names its process and fails after the limit', async (t) => {
  const { claim, install } = openProject(t)
  writeFileSync(claim, String(process.pid))
  const { code, said } = await install('--wait=1')
  assert.equal(code, 1)
  assert.match(said, new RegExp(`^heddle: process ${process.pid} installs here, waiting for it$`, 'm'))
  assert.match(
    said,
    new RegExp(`^heddle: process ${process.pid} installs here, for more than 1 s. .*${claim}$`, 'm'),
  )
  assert.doesNotMatch(said, /npm ci/)
  assert.ok(existsSync(claim), 'the claim of another process is left alone')
})

test('the claim of a process that has ended is taken over', async (t) => {
  const { claim, install } = openProject(t)
  const { pid } = spawnSync(process.execPath, ['--version'])
  writeFileSync(claim, String(pid))
  const { code, said } = await install('--wait=30')
  assert.equal(code, 0, said)
  assert.match(said, /^npm ci --include=dev /m)
  assert.ok(!existsSync(claim), 'the claim is removed afterwards')
})

test('without a network it installs from the cache of npm', async (t) => {
  const { install } = openProject(t, '[ $1 = ci ] || { echo npm error code ENOTFOUND >&2; exit 1; }')
  const { code, said } = await install()
  assert.equal(code, 0, said)
  assert.match(said, /^npm ci --include=dev --offline /m)
})

test('without a network and a cache it fails with one sentence', async (t) => {
  const lines = [
    'echo npm notice PING https://registry.example/ >&2',
    'echo npm error code EAI_AGAIN >&2',
    'exit 1',
  ]
  const { code, said } = await openProject(t, ...lines).install()
  assert.equal(code, 1)
  assert.match(
    said,
    /^heddle: the registry https:\/\/registry\.example\/ does not answer \(EAI_AGAIN\), and npm's cache .*$/m,
  )
  assert.doesNotMatch(said, /npm error/)
})

test('a registry that answers a ping with an error is asked for the packages', async (t) => {
  const { install } = openProject(t, '[ $1 = ci ] || { echo npm error code E404 >&2; exit 1; }')
  const { code, said } = await install()
  assert.equal(code, 0, said)
  assert.match(said, /^npm ci --include=dev --loglevel=error$/m)
})

test('a fetched Node with another checksum is removed before it runs', async (t) => {
  const sums = { '1.2.3': { [`${process.platform}-${process.arch}`]: '0'.repeat(64) } }
  const { root, install } = openProject(t)
  writeFileSync(join(root, 'scripts', 'node-checksums.json'), JSON.stringify(sums))
  const program = join(root, 'node_modules', 'node', 'bin', 'node')
  mkdirSync(join(root, 'node_modules', 'node', 'bin'), { recursive: true })
  writeFileSync(join(root, 'node_modules', 'node', 'package.json'), '{ "version": "1.2.3" }')
  writeFileSync(program, 'another')
  const { code, said } = await install()
  assert.equal(code, 1)
  assert.match(
    said,
    /^heddle: the Node 1\.2\.3 that was fetched has the SHA-256 [0-9a-f]{64}, expected 0{64}\./m,
  )
  assert.ok(!existsSync(program))

  writeFileSync(join(root, 'scripts', 'node-checksums.json'), '{}')
  writeFileSync(program, 'another')
  assert.equal((await install()).code, 0)
})
