import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { startPostgres, type TestPostgres } from './postgres.ts'
import { newFolder, type RunningServer, startOne, type TestScope } from './server.ts'

const servers = 2
/** The server with the model does not know the callers of those in front. */
const modelKey = 'the-key-of-the-servers-in-front'
const ofModel = /^HEDDLE_(MODEL|MODEL_NAME|CONTEXT|THREADS|BATCH|QUEUE|PARALLEL|GPU)$/

let postgres: Promise<TestPostgres> | undefined
/** A server that starts again on a folder finds the record that it had there. */
const databases = new Map<string, string>()

async function databaseOf(folder: string): Promise<string> {
  postgres ??= startPostgres()
  const url = databases.get(folder) ?? (await (await postgres).createDatabase())
  databases.set(folder, url)
  return url
}

/**
 * Two servers on one PostgreSQL, in front of a third that has the model, behind one address that gives each request to
 * the next.
 */
export async function startScaled(t: TestScope, settings: Record<string, string>): Promise<RunningServer> {
  const { HEDDLE_MODEL: model, HEDDLE_DATA: folder = '' } = settings
  const others = Object.fromEntries(Object.entries(settings).filter(([name]) => !ofModel.test(name)))
  const started: RunningServer[] = []
  let upstream: Record<string, string> = {}
  if (model !== undefined && model !== 'none') {
    const behind = await startOne(t, {
      ...settings,
      HEDDLE_DATA: await newFolder(t),
      HEDDLE_USERS: `front:${modelKey}`,
    })
    upstream = { HEDDLE_MODEL: `${behind.address}/v1`, HEDDLE_UPSTREAM_KEY: modelKey }
    started.push(behind)
  }
  const record = { HEDDLE_DATABASE_URL: await databaseOf(folder) }
  for (let n = 0; n < servers; n++) {
    started.push(await startOne(t, { ...others, ...upstream, ...record, HEDDLE_DATA: await newFolder(t) }))
  }
  const fronts = started.slice(-servers)
  const address = await balance(
    t,
    fronts.map((front) => front.address),
  )
  const first = fronts[0] as RunningServer
  return {
    ...first,
    ...asking(address, first),
    async end(signal) {
      const ends = await Promise.all(fronts.map((front) => front.end(signal)))
      for (const other of started) await other.end(signal)
      return ends[0] as number | NodeJS.Signals
    },
  }
}

/** The same ways to send requests, at another address. */
function asking(
  address: string,
  { post, get }: RunningServer,
): Pick<RunningServer, 'address' | 'post' | 'get'> {
  const moved = new URL(address).origin
  return {
    address,
    post: (url, body, init) => post(`${url}`, body, { ...init, at: moved }),
    get: (url, key) => get(url, key, moved),
  }
}

/** Distributes requests in turn, each on a connection of its own to its server; when one side ends, so does the other. */
async function balance(t: TestScope, targets: readonly string[]): Promise<string> {
  let next = 0
  const agent = new Agent({ keepAlive: false })
  // As long as the servers behind it announce, which it passes on.
  const server = createServer({ keepAliveTimeout: 600_000 }, (asked, answer) => {
    const target = targets[next++ % targets.length] as string
    const { method = 'GET', url = '/', headers } = asked
    const passed = request(new URL(url, target), { method, headers, agent }, (answered) => {
      answer.writeHead(answered.statusCode ?? 502, answered.headers)
      answered.pipe(answer)
      answered.on('close', () => void (answered.complete || answer.destroy()))
    })
    passed.on('error', () => answer.destroy())
    answer.on('close', () => passed.destroy())
    asked.pipe(passed)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
