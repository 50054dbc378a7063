import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { until } from './wait.ts'

const program = ['pgbouncer', '/usr/sbin/pgbouncer'].find((path) => spawnSync(path, ['-V']).status === 0)

/** Why a test with PgBouncer is skipped, if it is. */
export const withoutPgBouncer =
  program === undefined && 'PgBouncer is not installed (apt-get install pgbouncer)'

export type PoolMode = 'session' | 'transaction' | 'statement'

interface PoolSettings {
  mode: PoolMode
  /** To each database. */
  connections: number
  /** Further lines of its configuration. */
  more?: string
}

interface TestServer {
  url: string
}

/** In front of every database of a server that tests started. */
export interface TestPgBouncer {
  /** The address of a database of that server, through the pooler. */
  through(url: string): string
  /** Ends it at once, with the connections of its clients. */
  halt(): Promise<void>
  /** On the same port. */
  resume(): Promise<void>
  stop(): Promise<void>
}

export async function startPgBouncer(
  { url }: TestServer,
  { mode, connections, more = '' }: PoolSettings,
): Promise<TestPgBouncer> {
  const { hostname, port, password } = new URL(url)
  const ownPort = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'heddle-pgbouncer-'))
  const users = ['postgres', 'heddle'].map((name) => `"${name}" "${password}"\n`)
  writeFileSync(join(folder, 'users'), users.join(''))
  const config = `[databases]
* = host=${hostname} port=${port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${ownPort}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${join(folder, 'users')}
pool_mode = ${mode}
default_pool_size = ${connections}
${more}
`
  writeFileSync(join(folder, 'config'), config)
  chmodSync(folder, 0o755)
  const remove = () => rmSync(folder, { recursive: true, force: true })
  process.once('exit', remove)
  // It refuses to run as root.
  const asUser = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
  let child: ChildProcessByStdio<Writable, null, null> | undefined

  async function resume(): Promise<void> {
    // It ends when this process does, however that ends, because its input does.
    const command = ['-c', '"$0" "$@" & cat; kill -9 $!; wait', program as string, ...asUser]
    child = spawn('sh', [...command, join(folder, 'config')], { stdio: ['pipe', 'ignore', 'ignore'] })
    child.unref()
    ;(child.stdin as Socket).unref()
    await until('PgBouncer listens', () => listens(ownPort))
  }

  async function halt(): Promise<void> {
    if (child === undefined) return
    const gone = once(child, 'exit')
    child.ref()
    child.stdin.end()
    child = undefined
    await gone
  }

  await resume()
  return {
    through(database) {
      const pooled = new URL(database)
      pooled.port = String(ownPort)
      return pooled.href
    },
    halt,
    resume,
    async stop() {
      await halt()
      remove()
      process.off('exit', remove)
    },
  }
}

const usual = new WeakMap<TestServer, Promise<TestPgBouncer>>()
/** Connections to each database through which tests of other things are repeated; 0 if they go to PostgreSQL itself. */
export const usualConnections = Number(process.env.HEDDLE_TEST_POOLED ?? 0)

/** Of a database of the server: through a PgBouncer in transaction mode while tests are repeated with one. */
export async function usualAddresses(
  server: TestServer,
  databaseUrl: string,
): Promise<{ databaseUrl: string; directUrl?: string }> {
  if (usualConnections === 0) return { databaseUrl }
  let pooler = usual.get(server)
  if (pooler === undefined) {
    // Connections to the databases of tests that are over end soon.
    const more = 'server_idle_timeout = 1'
    pooler = startPgBouncer(server, { mode: 'transaction', connections: usualConnections, more })
    usual.set(server, pooler)
  }
  return { databaseUrl: (await pooler).through(databaseUrl), directUrl: databaseUrl }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  return typeof address === 'object' && address !== null ? address.port : 0
}

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
