import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, rename, symlink, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
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

/** Each version of npm with each source, and each with an installation in a folder and one for the whole machine. */
const installations = [
  [11, { fromRegistry: true, isGlobal: false }],
  [11, { fromRegistry: false, isGlobal: true }],
  [12, { fromRegistry: true, isGlobal: true }],
  [12, { fromRegistry: false, isGlobal: false }],
] as const

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
  await symlink(join(root, 'test/node_modules'), join(copy, 'test/node_modules'))
  // Packing writes into it. Node itself is left out for its size.
  const node = join(root, 'node_modules', 'node')
  const modules = { recursive: true, filter: (path: string) => path !== node && !path.includes('.cache') }
  await cp(join(root, 'node_modules'), join(copy, 'node_modules'), modules)
  return copy
}

test('the package that npm packs installs the tested versions, and serves', async (t) => {
  const folder = await newFolder(t)
  const copy = await copyOfTheTree(folder)
  const npm = (args: string[], cwd: string) => exec('npm', args, { cwd, env: outside, maxBuffer: 1 << 26 })
  // Runs only the named script: the tools are those of the working tree, and nothing may be installed into them.
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
  const others = (await npm(['config', 'get', 'registry'], folder)).stdout.trim()
  const tarball = join(folder, filename)
  await rename(join(copy, filename), tarball)
  await rename(copy, `${copy}-away`)
  const registry = await startRegistry(t, { manifest, tarball: await readFile(tarball), others })
  const common = ['--registry', registry, '--prefer-offline']
  const installed: string[] = []
  for (const [major, { fromRegistry, isGlobal }] of installations) {
    const tool = join(folder, `npm-${major}`)
    if (!existsSync(tool))
      await npm(['install', '--prefix', tool, `npm@${major}`, '--prefer-offline'], folder)
    const cli = join(tool, 'node_modules', 'npm', 'bin', 'npm-cli.js')
    const app = join(folder, `${fromRegistry ? 'registry' : 'file'}-${major}`)
    await mkdir(app)
    await writeFile(join(app, 'package.json'), '{ "name": "app", "private": true }')
    const target = isGlobal ? ['--global', '--prefix', join(app, 'global')] : []
    const args = [cli, 'install', fromRegistry ? manifest.name : tarball, ...common, ...target]
    await exec(process.execPath, args, { cwd: app, env: outside, maxBuffer: 1 << 26 })
    const modules = join(app, isGlobal ? 'global/lib/node_modules' : 'node_modules')
    await checkInstalled(modules)
    installed.push(join(modules, 'heddle'))
  }
  for (const place of installed) await serves(t, place)
})

/** Every package has the version that was tested, none has an install script, and there is no build for a GPU. */
async function checkInstalled(modules: string): Promise<void> {
  const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8'))
  let compared = 0
  for (const [path, { version, dev, optional }] of Object.entries<Locked>(lock.packages)) {
    if (path === '' || dev) continue
    const file = [join(modules, 'heddle', path), join(modules, '..', path)].find((at) => existsSync(at))
    if (file === undefined) assert.ok(optional, `${path} is missing in ${modules}`)
    else {
      const found = JSON.parse(await readFile(join(file, 'package.json'), 'utf8'))
      assert.equal(found.version, version, file)
      for (const name of ['preinstall', 'install', 'postinstall']) assert.ok(!found.scripts?.[name], file)
      compared++
    }
  }
  assert.ok(compared > 100, `${compared} packages were compared`)
  const all = await readdir(modules, { recursive: true, withFileTypes: true })
  const engines = all.filter(({ parentPath }) => parentPath.endsWith('@node-llama-cpp'))
  assert.ok(engines.length > 0)
  for (const { name } of engines) assert.doesNotMatch(name, /cuda|vulkan|riscv/)
}

interface Locked {
  version: string
  dev?: boolean
  optional?: boolean
}

/** It starts in a folder of its own, shows its page and answers. */
async function serves(t: TestContext, place: string): Promise<void> {
  const app = await newFolder(t)
  const child = spawn(process.execPath, [join(place, 'bin', 'heddle.js')], {
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
}
