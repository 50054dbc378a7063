// Installs Heddle as a user does, starts it several times and asks it, and prints what that took. Linux only.
//
//   node scripts/measure-start.mjs clone|global|local [TARBALL of npm pack]
//
// Node and npm are those of the PATH. npm's cache is empty, or the one of npm_config_cache.

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const [form, file] = process.argv.slice(2)
if (!['clone', 'global', 'local'].includes(form) || (form === 'clone') !== (file === undefined)) {
  throw new Error(`given ${process.argv.slice(2).join(' ')}, expected clone, global TARBALL or local TARBALL`)
}
const key = 'a-key-for-measuring-the-start'
const work = mkdtempSync(join(tmpdir(), 'heddle measured ü '))
const cache = process.env.npm_config_cache ?? join(work, 'cache')
const root = fileURLToPath(new URL('..', import.meta.url))
const path = process.env.PATH.split(delimiter).filter((entry) => !entry.startsWith(root))
const others = Object.entries(process.env).filter(([name]) => !/^(npm_|HEDDLE_)/i.test(name))
const env = { ...Object.fromEntries(others), PATH: path.join(delimiter), npm_config_cache: cache }

function run(command, args, cwd = work) {
  return execFileSync(command, args, { cwd, env, encoding: 'utf8', maxBuffer: 1e9 }).trim()
}

/** Megabytes of all files of these places, each counted once. */
function sizeOf(...places) {
  const [total] = run('du', ['-sc', '--apparent-size', '--block-size=1', ...places]).match(/\d+(?=\ttotal$)/)
  return total / 1e6
}

/** What starts the server, and where it is installed. */
function install() {
  if (form === 'clone') {
    const cwd = join(work, 'heddle')
    run('git', ['clone', '--quiet', root, cwd])
    return { command: ['npm', 'start', '--silent'], cwd }
  }
  const cwd = join(work, 'app')
  mkdirSync(cwd)
  const target = form === 'global' ? ['--global', '--prefix', cwd] : ['--prefix', cwd]
  run('npm', ['install', '--silent', ...target, resolve(file)], cwd)
  return { command: [join(cwd, form === 'global' ? 'bin' : 'node_modules/.bin', 'heddle')], cwd }
}

/** Megabytes of a process and of those that it started; a shared page is divided among them. */
function memoryOf(pid) {
  const own = Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))[1])
  const tasks = readdirSync(`/proc/${pid}/task`)
  const children = tasks.map(
    (task) => readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').match(/\d+/g) ?? [],
  )
  return children.flat().reduce((sum, child) => sum + memoryOf(child), own / 1000)
}

/** Starts the server, asks it if it has a model, and stops it. */
async function start({ command: [command, ...args], cwd }, model, began = performance.now()) {
  const settings = {
    HEDDLE_DATA: join(work, 'data'),
    HEDDLE_PORT: '0',
    HEDDLE_USERS: `me:${key}`,
    HEDDLE_MODEL: model,
  }
  const stdio = ['ignore', 'ignore', 'pipe']
  const server = spawn(command, args, { cwd, env: { ...env, ...settings }, detached: true, stdio })
  const exited = once(server, 'exit')
  let said = ''
  let measured
  for await (const line of createInterface({ input: server.stderr })) {
    said += `${line}\n`
    const address = /^Heddle is ready: (http:\/\/[^/]+)/.exec(line)?.[1]
    if (address === undefined || measured) continue
    const seconds = (performance.now() - began) / 1000
    try {
      if (model !== 'none') await ask(address)
      measured = { seconds, memory: memoryOf(server.pid) }
    } finally {
      process.kill(-server.pid, 'SIGINT')
    }
  }
  await exited
  if (measured === undefined) throw new Error(`It did not start:\n${said}`)
  return measured
}

/** Asks a question and reads its call back. */
async function ask(address) {
  const answer = await post(`${address}/v1/chat/completions`, {
    messages: [{ role: 'user', content: 'Hello' }],
  })
  const id = answer.headers.get('x-heddle-call-id')
  const read = await post(`${address}/call/read`, { project_id: 'main/default', id })
  if ((await read.json()).call?.id !== id) throw new Error(`The call ${id} was not recorded`)
}

async function post(url, body) {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(`${url} answers ${answer.status}: ${await answer.text()}`)
  return answer
}

try {
  const began = performance.now()
  const installed = install()
  const first = await start(installed, 'builtin', began)
  // Of three, because others may use the machine.
  const later = []
  for (let i = 0; i < 3; i++) later.push(await start(installed, 'builtin'))
  const second = later.reduce((best, one) => (one.seconds < best.seconds ? one : best))
  const alone = await start(installed, 'none')
  const manifests = run('find', [installed.cwd, '-path', '*/node_modules/*', '-name', 'package.json']).split(
    '\n',
  )
  const packages = manifests.filter((at) =>
    /.*node_modules\/(@[^/]+\/)?[^/@]+\/package\.json$/.test(at),
  ).length
  console.log(`
| ${form}, Node ${run('node', ['--version'])}, npm ${run('npm', ['--version'])} | |
|---|---|
| download, the tarball included | ${sizeOf(join(cache, '_cacache', 'content-v2')).toFixed(0)} MB |
| disk, packages | ${sizeOf(installed.cwd).toFixed(0)} MB, ${packages} |
| first start, with the installation | ${first.seconds.toFixed(1)} s |
| later starts, the shortest of three | ${second.seconds.toFixed(1)} s |
| memory, without a model | ${second.memory.toFixed(0)} MB, ${alone.memory.toFixed(0)} MB |`)
} finally {
  rmSync(work, { recursive: true, force: true, maxRetries: 5 })
}
