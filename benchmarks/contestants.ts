import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'

/** A server in a process of its own, on 127.0.0.1. */
export interface Contestant {
  name: string
  address: string
  pid: number
  headers: Record<string, string>
  stop(): Promise<void>
}

const key = 'a-key-for-measuring-only'
const headers = {
  authorization: `Basic ${Buffer.from(`api:${key}`).toString('base64')}`,
  'content-type': 'application/json',
}

const scripts = {
  heddle: '../src/main.ts',
  'one by one': './servers/one-by-one.ts',
  inline: './servers/inline.ts',
  bare: './servers/bare.ts',
}
export type Name = keyof typeof scripts

const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

/** `settings` are added to the environment, `flags` are Node's. */
export async function start(
  name: Name,
  settings: Record<string, string>,
  flags: readonly string[] = [],
): Promise<Contestant> {
  const port = await freePort()
  const inherited = Object.entries(process.env).filter(
    ([variable]) => !/^(HEDDLE_|PORT$|HOST$|NODE_OPTIONS$)/.test(variable),
  )
  const child = spawn(process.execPath, [...flags, fileURLToPath(new URL(scripts[name], import.meta.url))], {
    env: {
      ...Object.fromEntries(inherited),
      HEDDLE_HOST: '127.0.0.1',
      HEDDLE_PORT: String(port),
      HEDDLE_USERS: `bench:${key}`,
      HEDDLE_LOG_LEVEL: 'warn',
      HEDDLE_DOCS: 'off',
      ...settings,
    },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  running.add(child)
  const ended = once(child, 'exit').then(() => running.delete(child))
  const address = `http://127.0.0.1:${port}`
  await answering(address, child)
  return {
    name,
    address,
    pid: child.pid ?? 0,
    headers,
    async stop() {
      child.kill('SIGTERM')
      const late = setTimeout(() => child.kill('SIGKILL'), 20_000)
      await ended
      clearTimeout(late)
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

async function answering(address: string, child: ChildProcess): Promise<void> {
  const deadline = performance.now() + 30_000
  while (child.exitCode === null && child.signalCode === null && performance.now() < deadline) {
    const answer = await fetch(`${address}/health`).catch(() => undefined)
    if (answer?.ok) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`${child.spawnargs.at(-1)} does not answer`)
}
