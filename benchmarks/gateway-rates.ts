import { spawn } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Aim, boundOf } from './aims.ts'
import { answering, endsWithUs, freePort, measuringKey, start } from './contestants.ts'
import { quantile, shown, shownSpread, spreadOf, table } from './figures.ts'
import type { Kind } from './gateway-asker.ts'
import { workOf } from './machine.ts'
import { type Answered, askAtRate, type Rate } from './open-loop.ts'
import type { Report } from './report.ts'

interface RateSettings {
  rates: readonly number[]
  seconds: number
  rounds: number
  /** The folder in which `@portkey-ai/gateway` is installed; left out if absent. */
  portkey?: string
  /** Where a profile of Heddle's processor time goes. */
  profiles?: string
}

/** A way to the server that answers. */
interface Way {
  name: string
  address: string
  pid: number
  headers: Record<string, string>
  stop(): Promise<void>
}

interface Cell extends Answered {
  /** Microseconds of processor time for a request. */
  work: number
}

const shares = [0.5, 0.95, 0.99]
const warmingSeconds = 5
/** What a rate has left to do is not to burden the next. */
const settlingMs = 500
const aimAt = 300
const aimMs = 1

/** Answers at a constant rate by each way in turns: what a way adds is its percentile less the direct one of its round. */
export async function measureRates(
  report: Report,
  folder: string,
  { rates, seconds, rounds, portkey, profiles }: RateSettings,
): Promise<Aim[]> {
  const { ways, heddle } = await startWays(folder, portkey, profiles)
  const aims: Aim[] = []
  const rows: string[][] = []
  const failures: string[] = []
  let answered = 0
  try {
    for (const way of ways) {
      for (const kind of ['whole', 'stream'] as const) {
        const { end } = await askAtRate(way, { kind, perSecond: Math.min(...rates), seconds: warmingSeconds })
        if (way === heddle) answered += end.length
      }
    }
    for (const perSecond of rates) {
      for (const kind of ['whole', 'stream'] as const) {
        const cells = new Map(ways.map((way): [Way, Cell[]] => [way, []]))
        for (let round = 0; round < rounds; round++) {
          // Each way is first, last and after each other in turn.
          for (const way of turned(ways, round)) {
            const cell = await cellOf(way, { kind, perSecond, seconds })
            if (way === heddle) answered += cell.end.length
            for (const [why, count] of cell.failures)
              failures.push(`${way.name}, ${kind}, ${perSecond}/s: ${count} times ${why}`)
            cells.get(way)?.push(cell)
          }
        }
        rows.push(...rowsOf(ways, cells, kind, perSecond))
        if (perSecond === aimAt) {
          const added = addedOf(cells, ways[0] as Way, heddle, kind, 0.99)
          aims.push(boundOf(`${kind}, ${aimAt} a second: added ms at the 99th percentile`, aimMs, added))
        }
        if (perSecond === 1_000) {
          const failed = (cells.get(heddle) ?? []).map((cell) => failedOf(cell))
          aims.push(boundOf(`${kind}, 1,000 a second: requests that failed`, 0, failed))
        }
      }
    }
    // Below zero where the client has given up on answers that were recorded all the same.
    const recorded = await recordedBy(heddle)
    aims.push(boundOf('answers that were not recorded', 0, [answered - recorded]))
  } finally {
    for (const way of ways.toReversed()) await way.stop()
  }
  report.say('### At constant rates')
  report.say(
    `Requests are sent at a constant rate, however long the answers take, ${seconds} seconds by each way in each of ${rounds} rounds, the ways in turns. Milliseconds until a whole answer has ended and until the first content of a streamed one; added is the percentile less that of the direct way in the same round.`,
  )
  report.say(
    table(
      [
        'answer',
        'a second',
        'way',
        'p50',
        'p95',
        'p99',
        'added p50',
        'p95 ',
        'p99 ',
        'failed',
        'us',
        'sent late',
      ],
      rows,
    ),
  )
  if (failures.length > 0) report.say(failures.join('\n'))
  return aims
}

const turned = (ways: readonly Way[], round: number): readonly Way[] => {
  const from = Math.floor(round / 2) % ways.length
  const order = [...ways.slice(from), ...ways.slice(0, from)]
  return round % 2 === 0 ? order : order.toReversed()
}

const timesOf = (cell: Cell, kind: Kind) => (kind === 'whole' ? cell.end : cell.first)
const failedOf = ({ failures }: Cell) => [...failures.values()].reduce((a, b) => a + b, 0)

function addedOf(cells: Map<Way, Cell[]>, direct: Way, way: Way, kind: Kind, share: number): number[] {
  const base = cells.get(direct) as Cell[]
  return (cells.get(way) as Cell[]).map(
    (cell, round) =>
      quantile(timesOf(cell, kind), share) - quantile(timesOf(base[round] as Cell, kind), share),
  )
}

function rowsOf(ways: readonly Way[], cells: Map<Way, Cell[]>, kind: Kind, perSecond: number): string[][] {
  const direct = ways[0] as Way
  return ways.map((way) => {
    const own = cells.get(way) as Cell[]
    const median = (values: number[]) => shown(spreadOf(values).median)
    return [
      kind,
      String(perSecond),
      way.name,
      ...shares.map((share) => median(own.map((cell) => quantile(timesOf(cell, kind), share)))),
      ...shares.map((share) =>
        way === direct ? '' : shownSpread(spreadOf(addedOf(cells, direct, way, kind, share))),
      ),
      String(own.reduce((sum, cell) => sum + failedOf(cell), 0)),
      median(own.map(({ work }) => work)),
      median(own.map(({ lateness }) => lateness)),
    ]
  })
}

async function cellOf(way: Way, rate: Rate): Promise<Cell> {
  const before = workOf(way.pid)?.all ?? Number.NaN
  const answered = await askAtRate(way, rate)
  await sleep(settlingMs)
  const work = ((workOf(way.pid)?.all ?? Number.NaN) - before) / answered.end.length
  return { ...answered, work }
}

async function startWays(
  folder: string,
  portkey: string | undefined,
  profiles: string | undefined,
): Promise<{ ways: Way[]; heddle: Way }> {
  await mkdir(folder, { recursive: true })
  const behind = await start('answering', {})
  const fastify = await start('fastify proxy', { PROXIED: behind.address })
  const flags = profiles === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profiles}`]
  const settings = {
    HEDDLE_DATA: join(folder, 'data'),
    HEDDLE_MODEL: `${behind.address}/v1`,
    HEDDLE_UPSTREAM_KEY: measuringKey,
    HEDDLE_UPSTREAM_KIND: 'openai',
  }
  const heddle: Way = { ...(await start('heddle', settings, flags)), name: 'Heddle' }
  const ways: Way[] = [{ ...behind, name: 'direct' }, { ...fastify, name: 'a bare Fastify proxy' }, heddle]
  if (portkey !== undefined) ways.push(await startPortkey(portkey, behind.address))
  await ready(heddle)
  return { ways, heddle }
}

async function ready({ address }: Way): Promise<void> {
  while (!(await fetch(`${address}/ready`)).ok) await sleep(50)
}

/** Its own way to be started, and the headers that name the server behind it. */
async function startPortkey(folder: string, behind: string): Promise<Way> {
  const port = await freePort()
  const file = join(folder, 'node_modules/@portkey-ai/gateway/build/start-server.js')
  const child = spawn(process.execPath, [file, `--port=${port}`, '--headless'], {
    env: { ...process.env, NODE_ENV: 'production' },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const stop = endsWithUs(child)
  const address = `http://127.0.0.1:${port}`
  await answering(address, child, '/')
  const headers = {
    authorization: `Bearer ${measuringKey}`,
    'content-type': 'application/json',
    'x-portkey-provider': 'openai',
    'x-portkey-custom-host': `${behind}/v1`,
  }
  return { name: 'Portkey', address, pid: child.pid ?? 0, headers, stop }
}

/** How many answers are in the record. */
async function recordedBy({ address, headers }: Way): Promise<number> {
  const body = JSON.stringify({ project_id: 'main/default' })
  const answer = await fetch(`${address}/calls/query_stats`, { method: 'POST', headers, body })
  const { count } = (await answer.json()) as { count?: number }
  if (count === undefined) throw new Error(`${address}: ${answer.status} without a count of calls`)
  return count
}
