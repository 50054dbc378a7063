import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

export interface Running {
  address: string
  stop(): Promise<unknown>
}

const key = 'a-key-of-the-benchmark'

export function heddle(args: readonly string[], settings: Record<string, string>) {
  return spawn(process.execPath, ['--max-semi-space-size=4', '--v8-pool-size=2', 'bin/heddle.js', ...args], {
    cwd: new URL('..', import.meta.url),
    env: {
      PATH: process.env.PATH,
      HEDDLE_PORT: '0',
      HEDDLE_MODEL: 'none',
      HEDDLE_LOG_LEVEL: 'info',
      HEDDLE_MAX_LOOP_DELAY: '0',
      HEDDLE_USERS: `bench:${key}`,
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

export async function serve(settings: Record<string, string>): Promise<Running> {
  const child = heddle(['serve'], settings)
  const exited = once(child, 'exit')
  const address = await new Promise<string>((resolve, reject) => {
    void exited.then(([code]) => reject(new Error(`a server ended with ${code}`)))
    createInterface({ input: child.stdout }).on('line', (line) => {
      const said = JSON.parse(line) as { msg?: string; address?: string }
      if (said.msg === 'listening' && said.address) resolve(said.address)
    })
  })
  return {
    address,
    stop() {
      child.kill('SIGTERM')
      return exited
    },
  }
}

export async function post(address: string, url: string, body: object): Promise<string> {
  const answer = await fetch(`${address}${url}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const said = await answer.text()
  if (answer.status !== 200) throw new Error(`${url}: ${answer.status} ${said.slice(0, 300)}`)
  return said
}
