import { fork } from 'node:child_process'
import { once } from 'node:events'
import { parseArgs } from 'node:util'
import { keys } from '../test/support/app.ts'
import { completeOf } from '../test/support/calls.ts'
import { startChatServer } from '../test/support/chat-server.ts'
import { type Aim, aimOf, aimsTable, boundOf } from './aims.ts'
import { quantile, shown, shownSpread, sorted, spreadOf, table } from './figures.ts'
import { type HeavyData, lightWays, ways } from './heavy-tenants.ts'
import { loadNow, workOf } from './machine.ts'

/**
 * What a light tenant that sends one request after the other sees while another tenant sends as much as it can, compared
 * with what it sees alone. Exits with 1 if an aim is missed.
 */
const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
  },
})
const seconds = Number(values.seconds)
const rounds = Number(values.rounds)
const only = values.only?.split(',')
const chosen = ways.filter(({ name }) => only === undefined || only.includes(name))
const unknown = only?.filter((name) => !ways.some((way) => way.name === name)) ?? []
if (unknown.length > 0) {
  console.error(`--only: there is no ${unknown[0]}; accepted: ${ways.map(({ name }) => name).join(', ')}`)
  process.exit(2)
}

/** The most that p99 may grow, and the least share of the throughput that must be left. */
const aims = { p99: 3, throughput: 1 / 3 }

/** The heavy tenant runs this long before anything is counted. */
const settlingMs = 1_500

interface Seen {
  p50: number
  p99: number
  perSecond: number
  failed: number
}

interface Round {
  alone: Seen
  beside: Seen
  /** Of the heavy client: the share of a processor that it takes, and its answers per second. */
  client: number
  heavy: number
}

const cleaning: (() => unknown)[] = []
const t = { after: (clean: () => unknown) => void cleaning.push(clean) }

const server = await startChatServer(t, {
  model: { vocabulary: 1_000 },
  settings: { HEDDLE_MAX_LOOP_DELAY: '1000' },
})

/** Sends one request after the other for this long. */
async function look(ask: (n: number) => Promise<boolean>): Promise<Seen> {
  const times: number[] = []
  let failed = 0
  const since = performance.now()
  for (let n = 0; performance.now() - since < seconds * 1000; n++) {
    const began = performance.now()
    const isAnswered = await ask(n).catch(() => false)
    if (isAnswered) times.push(performance.now() - began)
    else failed++
  }
  const ascending = sorted(times)
  const perSecond = (1000 * times.length) / (performance.now() - since)
  return { p50: quantile(ascending, 0.5), p99: quantile(ascending, 0.99), perSecond, failed }
}

interface HeavyTenant {
  pid: number
  /** How many of its requests have been answered so far. */
  answered(): Promise<number>
  stop(): Promise<unknown>
}

/** Runs in a process of its own: the light tenant's clock does not wait for its work, and a signal ends it at any time. */
async function startHeavy(way: string): Promise<HeavyTenant> {
  const data: HeavyData = { address: server.address, way }
  const child = fork(new URL('heavy-tenants.ts', import.meta.url), {
    env: { ...process.env, HEAVY_TENANT: JSON.stringify(data) },
  })
  const exit = once(child, 'exit')
  await new Promise((resolve) => setTimeout(resolve, settlingMs))
  return {
    pid: child.pid as number,
    async answered() {
      const answer = once(child, 'message')
      child.send('answered?', () => undefined)
      const [count] = await Promise.race([answer, exit.then(() => [undefined])])
      if (typeof count !== 'number') throw new Error(`${way}: the heavy tenant has ended`)
      return count
    },
    stop() {
      child.kill('SIGKILL')
      return exit
    },
  }
}

/** The share of one processor that the process takes meanwhile; NaN if the system does not report it. */
async function share<T>(pid: number, during: () => Promise<T>): Promise<[T, number]> {
  const since = performance.now()
  const before = workOf(pid)?.all ?? Number.NaN
  const result = await during()
  return [result, ((workOf(pid)?.all ?? Number.NaN) - before) / 1000 / (performance.now() - since)]
}

try {
  // Data for the ways that read.
  for (let n = 0; n < 60; n++) {
    const batch = [completeOf({ project_id: 'acme/large', inputs: { text: 'x'.repeat(1_000_000) } })]
    const { status } = await server.post('/v2/acme/large/calls/complete', { batch })
    if (status !== 200) throw new Error(`the record for the heavy tenant: ${status}`)
  }
  const rows: string[][] = []
  const found: Aim[] = []
  for (const { name, light } of chosen) {
    const ask = await lightWays[light]((url, body) => server.post(url, body, { key: keys.bob }))
    await ask(-1)
    const seen: Round[] = []
    for (let round = 0; round < rounds; round++) {
      const alone = await look(ask)
      const heavy = await startHeavy(name)
      const before = await heavy.answered()
      const since = performance.now()
      const [beside, client] = await share(heavy.pid, () => look(ask))
      const answered = (await heavy.answered()) - before
      const perSecond = (1000 * answered) / (performance.now() - since)
      await heavy.stop()
      seen.push({ alone, beside, client, heavy: perSecond })
      // Waits for what the heavy tenant left running, such as files of answers that nobody reads.
      await new Promise((resolve) => setTimeout(resolve, settlingMs))
    }
    const median = (pick: (round: Round) => number) => spreadOf(seen.map(pick)).median
    rows.push([
      name,
      light,
      ...(['alone', 'beside'] as const).flatMap((when) =>
        (['p50', 'p99', 'perSecond'] as const).map((figure) => shown(median((one) => one[when][figure]))),
      ),
      String(seen.reduce((sum, { beside }) => sum + beside.failed, 0)),
      median(({ client }) => client).toFixed(2),
      shown(median(({ heavy }) => heavy)),
    ])
    const own = [
      // Compared within a round, because its figures were measured in the same minute.
      boundOf(
        `${name}: p99`,
        aims.p99,
        seen.map(({ alone, beside }) => beside.p99 / alone.p99),
      ),
      aimOf(
        `${name}: throughput`,
        aims.throughput,
        seen.map(({ alone, beside }) => beside.perSecond / alone.perSecond),
      ),
    ]
    found.push(...own)
    console.log(own.map(({ name: ratio, figure }) => `${ratio} ${shownSpread(figure)}`).join(', '))
  }
  const figures = ['p50 ms', 'p99 ms', 'a second']
  const head = [
    'heavy',
    'light',
    ...figures.map((one) => `alone: ${one}`),
    ...figures.map((one) => `beside: ${one}`),
  ]
  console.log(
    `\n${rounds} rounds of ${seconds} s for each, the median round, load ${shown(loadNow())}\n\n${table([...head, 'failed', 'client', 'heavy: a second'], rows)}\n`,
  )
  console.log(aimsTable(found.map((aim) => ({ ...aim, aim: Number(aim.aim.toFixed(2)) }))))
  await server.end('SIGTERM')
  if (found.some(({ reached }) => !reached)) process.exitCode = 1
} finally {
  for (const clean of cleaning.reverse()) await clean()
}
