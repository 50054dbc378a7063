import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, readdir, readFile, rename, symlink, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import manifest from '../../package.json' with { type: 'json' }
import { newFolder } from '../support/server.ts'
import { startRegistry } from './one-package-registry.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const exec = promisify(execFile)

/** Without the settings of the npm that runs these tests and without the Node of this project, as for a user. */
const outside = Object.fromEntries(
  Object.entries(process.env)
    .filter(([name]) => !/^(npm_|HEDDLE_|HF_|NODE_TEST|NODE_ENV$|PORT$|HOST$)/i.test(name))
    .map(([name, value]) => [
      name,
      name === 'PATH'
        ? value
            ?.split(delimiter)
            .filter((entry) => !entry.includes('node_modules'))
            .join(delimiter)
        : value,
    ]),
)

/** A copy of the working tree, because files written by packing would disturb other tests. */
async function copyOfTheTree(folder: string): Promise<string> {
  const copy = join(folder, 'tree')
  await mkdir(join(copy, 'test'), { recursive: true })
  const parts = ['bin', 'docs', 'migrations', 'models', 'packages', 'scripts', 'src', 'ui']
  const files = (await readdir(root, { withFileTypes: true })).filter((entry) => entry.isFile())
  for (const name of [
    ...parts,
    ...files.map(({ name }) => name),
    'test/package.json',
    'test/package-lock.json',
  ]) {
    await cp(join(root, name), join(copy, name), { recursive: true, preserveTimestamps: true })
  }
  for (const name of ['node_modules', 'test/node_modules']) await symlink(join(root, name), join(copy, name))
  return copy
}

test('the package that npm packs installs the tested versions, and serves', async (t) => {
  const folder = await newFolder(t)
  const copy = await copyOfTheTree(folder)
  const npm = (args: string[], cwd: string) => exec('npm', args, { cwd, env: outside, maxBuffer: 1 << 26 })
  // Runs only the named script: the modules belong to the working tree, and nothing may be installed into them.
  const script = (name: string) => npm(['run', name, '--ignore-scripts'], copy)
  await script('prepack')
  const packed = JSON.parse((await npm(['pack', '--json', '--silent', '--ignore-scripts'], copy)).stdout)
  await script('postpack')
  const [{ filename, files }] = Array.isArray(packed) ? packed : Object.values(packed)
  const names = new Set(files.map(({ path }: { path: string }) => path))
  for (const name of [
    'README.md',
    'CHANGELOG.md',
    'LICENSE',
    'docs/models.md',
    'dist/src/main.js',
    'dist/ui/index.html',
  ]) {
    assert.ok(names.has(name), name)
  }
  for (const name of names) assert.doesNotMatch(String(name), /^(src|test|ui|benchmarks|scripts)\//)
  assert.ok(
    !(await readdir(copy)).includes('npm-shrinkwrap.json'),
    'the shrinkwrap file is removed after packing',
  )

  const others = (await npm(['config', 'get', 'registry'], folder)).stdout.trim()
  const registry = await startRegistry(t, { manifest, tarball: await readFile(join(copy, filename)), others })
  const app = join(folder, 'app')
  await mkdir(app)
  await writeFile(join(app, 'package.json'), '{ "name": "app", "private": true }')
  await npm(['install', manifest.name, '--registry', registry, '--prefer-offline', '--ignore-scripts'], app)
  await rename(copy, `${copy}-away`)

  const engines = join(app, 'node_modules', 'heddle', 'node_modules', '@node-llama-cpp')
  assert.deepEqual(
    (await readdir(engines)).filter((name) => /cuda|vulkan|riscv/.test(name)),
    [],
  )
  const { version } = JSON.parse(
    await readFile(join(app, 'node_modules/heddle/node_modules/fastify/package.json'), 'utf8'),
  )
  const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8'))
  assert.equal(version, lock.packages['node_modules/fastify'].version)

  const child = spawn(process.execPath, [join(app, 'node_modules', '.bin', 'heddle')], {
    cwd: app,
    env: { ...outside, HEDDLE_PORT: '0', HEDDLE_USERS: 'alice:a-key-of-the-installed-package' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.after(() => child.kill('SIGKILL'))
  const said: string[] = []
  createInterface({ input: child.stderr }).on('line', (line) => said.push(line))
  const lines = createInterface({ input: child.stdout })
  const until = (msg: string) =>
    new Promise<{ address: string }>((resolve, reject) => {
      lines.on('line', (line) => {
        said.push(line)
        const entry = JSON.parse(line)
        if (entry.msg === msg) resolve(entry)
      })
      lines.once('close', () => reject(new Error(`it ended without "${msg}":\n${said.join('\n')}`)))
    })
  const loaded = until('the model is loaded')
  const { address } = await until('listening')
  const page = await fetch(address, { headers: { accept: 'text/html' } })
  assert.equal(page.status, 200)
  assert.match(await page.text(), /<script type="module"/)
  await loaded
  const answer = await fetch(`${address}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: 'Bearer a-key-of-the-installed-package', 'content-type': 'application/json' },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'Hello' }], max_tokens: 4 }),
  })
  assert.equal(answer.status, 200, await answer.text())
  child.kill('SIGTERM')
  const [code] = await once(child, 'exit')
  assert.equal(code, 0, said.join('\n'))
})
