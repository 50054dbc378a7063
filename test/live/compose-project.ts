import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { basic } from '../support/app.ts'
import type { TestScope } from '../support/server.ts'
import { until } from '../support/wait.ts'

const run = promisify(execFile)
const tree = new URL('../..', import.meta.url)
const maxBuffer = 64 << 20

export const key = randomBytes(24).toString('hex')

async function succeeds(command: string, args: readonly string[]): Promise<boolean> {
  return run(command, [...args]).then(
    () => true,
    () => false,
  )
}

const baseImages = ['node:24-bookworm-slim', 'postgres:18', 'haproxy:3.2-alpine']

/** Why no container can be run here, if so. The images must be here already: nothing is downloaded by a test. */
export async function noContainers(): Promise<string | false> {
  if (!(await succeeds('docker', ['info']))) return 'no container engine answers'
  if (!(await succeeds('docker-compose', ['version']))) return 'there is no docker-compose'
  for (const image of baseImages)
    if (!(await succeeds('docker', ['image', 'inspect', image])))
      return `${image} is not here: pull it, or run scripts/container-bases.sh`
  return false
}

export const docker = async (...args: string[]) => (await run('docker', args, { maxBuffer })).stdout.trim()

export interface ComposeProject {
  compose(...args: string[]): Promise<string>
  /** The ids of the containers of a service, in the order of their numbers. */
  containers(service: string): Promise<string[]>
  post(url: string, body: unknown, signal?: AbortSignal): Promise<Response>
  get(url: string): Promise<Response>
  /** Waits until the model answers through the published port. */
  ready(): Promise<void>
}

/** The services of compose files under a name of their own, on a free port. They and their volumes go with the test. */
export function composeProject(
  t: TestScope,
  name: string,
  files: readonly string[],
  { port, ...variables }: Record<string, string>,
): ComposeProject {
  const address = `http://127.0.0.1:${port}`
  const env = {
    ...process.env,
    HEDDLE_PUBLISH: `127.0.0.1:${port}`,
    HEDDLE_USERS: `me:${key}`,
    // Two cores serve the containers and whatever else runs.
    HEDDLE_MAX_LOOP_DELAY: '0',
    ...variables,
  }
  const fileArgs = files.flatMap((file) => ['-f', file])
  const compose = async (...args: string[]) => {
    const command = ['-p', `${name}-${process.pid}`, ...fileArgs, ...args]
    return (await run('docker-compose', command, { cwd: tree, env, maxBuffer })).stdout.trim()
  }
  t.after(() => compose('down', '--volumes', '--timeout', '1'))
  const headers = { authorization: basic(key), 'content-type': 'application/json' }
  return {
    compose,
    containers: async (service) => (await compose('ps', '-q', service)).split('\n').filter(Boolean),
    post: (url, body, signal) =>
      fetch(address + url, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
        ...(signal && { signal }),
      }),
    get: (url) => fetch(address + url, { headers }),
    ready: () =>
      until('the server is ready', () =>
        fetch(`${address}/ready`).then(
          ({ status }) => status === 200,
          () => false,
        ),
      ),
  }
}

/** The JSON of an answer that must be a 200. */
export async function accepted(answer: Promise<Response>) {
  const response = await answer
  const text = await response.text()
  assert.equal(response.status, 200, text)
  // biome-ignore lint/suspicious/noExplicitAny: the tests read answers as a client would
  return JSON.parse(text) as any
}
