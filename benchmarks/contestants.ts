import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A server in a process of its own, on 127.0.0.1. */
export interface Contestant {
  name: Name
  address: string
  pid: number
  headers: Record<string, string>
  stop(): Promise<void>
}

/** The key of the one user of each server. */
export const measuringKey = 'a-key-for-measuring-only'
const headers = {
  authorization: `Basic ${Buffer.from(`api:${measuringKey}`).toString('base64')}`,
  'content-type': 'application/json',
}

const root = fileURLToPath(new URL('..', import.meta.url))

/** The Node flags and the file of `npm start`. */
const { flags: startFlags, file: startFile } = startCommand()
const server = (name: string) => fileURLToPath(new URL(`./servers/${name}.ts`, import.meta.url))
const scripts = {
  heddle: startFile,
  'one by one': server('one-by-one'),
  inline: server('inline'),
  bare: server('bare'),
  proxy: server('proxy'),
  'fastify proxy': server('fastify-proxy'),
  answering: server('answering'),
}
export type Name = keyof typeof scripts

function startCommand(): { flags: string[]; file: string } {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    scripts: { start: string }
  }
  const [node, ...words] = scripts.start.split(' ')
  const file = words.pop()
  if (node !== 'node' || file === undefined || words.some((word) => !word.startsWith('-')))
    throw new Error(`package.json: "${scripts.start}" is not node, flags and a file`)
  return { flags: words, file: join(root, file) }
}

const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

/** `settings` are added to the environment, and `flags` to those that `npm start` gives to Node, which every server has. */
export async function start(
  name: Name,
  settings: Record<string, string>,
  flags: readonly string[] = [],
): Promise<Contestant> {
  const port = await freePort()
  const inherited = Object.entries(process.env).filter(
    ([variable]) => !/^(HEDDLE_|PORT$|HOST$|NODE_OPTIONS$)/.test(variable),
  )
  const child = spawn(process.execPath, [...startFlags, ...flags, scripts[name]], {
    env: {
      ...Object.fromEntries(inherited),
      HEDDLE_HOST: '127.0.0.1',
      HEDDLE_PORT: String(port),
      HEDDLE_USERS: `bench:${measuringKey}`,
      HEDDLE_LOG_LEVEL: 'warn',
      HEDDLE_DOCS: 'off',
      HEDDLE_MODEL: 'none',
      ...settings,
    },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const stop = endsWithUs(child)
  const address = `http://127.0.0.1:${port}`
  await answering(address, child)
  return { name, address, pid: child.pid ?? 0, headers, stop }
}

/** The child ends with this process, however that ends. Returns a function that stops it earlier. */
export function endsWithUs(child: ChildProcess): () => Promise<void> {
  running.add(child)
  const ended = once(child, 'exit').then(() => running.delete(child))
  return async () => {
    child.kill('SIGTERM')
    const late = setTimeout(() => child.kill('SIGKILL'), 20_000)
    await ended
    clearTimeout(late)
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

export async function answering(address: string, child: ChildProcess, path = '/health'): Promise<void> {
  const deadline = performance.now() + 30_000
  while (child.exitCode === null && child.signalCode === null && performance.now() < deadline) {
    const answer = await fetch(`${address}${path}`, { signal: AbortSignal.timeout(5_000) }).catch(
      () => undefined,
    )
    if (answer?.ok) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`${child.spawnargs.at(-1)} does not answer`)
}
