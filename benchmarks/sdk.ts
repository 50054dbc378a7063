import { readFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { countCalls } from './answers.ts'
import { project } from './calls.ts'
import { type Contestant, start } from './contestants.ts'
import { quantile, shown, shownSpread, sorted, spreadOf, table } from './figures.ts'
import { post } from './load.ts'
import { type Work, workOf } from './machine.ts'
import { stamper } from './stamps.ts'

/** As many requests as the SDK sends concurrently. */
const clients = 20
/** How long the SDK waits before it sends a batch. */
const batchIntervalMs = 200

const recordedProject = 'acme/weave-sdk'

interface Part {
  mode: 'start' | 'end'
  req: Record<string, { id: string; trace_id?: string }>
}

interface Batch {
  body: Buffer
  parts: number
  ends: number
}

/** The recorded batches of all programs, in order, with new ids each time: all of their calls end. */
function recordedBatches(): () => Batch[] {
  const lines = readFileSync(new URL('./weave-batches.jsonl', import.meta.url), 'utf8')
    .trimEnd()
    .split('\n')
  const texts = lines.map((line) => (JSON.parse(line) as { body: string }).body)
  const shapes = texts.map((text) => {
    const { batch } = JSON.parse(text) as { batch: Part[] }
    return { parts: batch.length, ends: batch.filter(({ mode }) => mode === 'end').length, batch }
  })
  const ids = new Set<string | undefined>()
  for (const { batch } of shapes) {
    for (const { mode, req } of batch) ids.add(req[mode]?.id).add(req[mode]?.trace_id)
  }
  const stamp = stamper(
    texts.map((text) => Buffer.from(text.replaceAll(recordedProject, project))),
    (name) => ids.has(name),
  )
  return () =>
    stamp().bodies.map((body, i) => ({
      body,
      parts: shapes[i]?.parts ?? 0,
      ends: shapes[i]?.ends ?? 0,
    }))
}

export interface SdkPlan {
  rounds: number
  seconds: number
  warmUp: number
}

interface SdkRound {
  callsPerSecond: number
  batchesPerSecond: number
  p50: number
  p99: number
  work: Work | undefined
  busy: number | undefined
}

export interface Sdk {
  perProgramRun: { batches: number; calls: number; bytes: number }
  paces: { pauseMs: number; rounds: SdkRound[] }[]
  acknowledged: number
  stored: number
}

/** Clients that send what the SDK sends: a batch and a pause, as the SDK does, or as fast as the answers come. */
export async function measureSdk(folder: string, plan: SdkPlan): Promise<Sdk> {
  const data = join(folder, 'sdk')
  await mkdir(data)
  const heddle = await start('heddle', { HEDDLE_DATA: data })
  const make = recordedBatches()
  const paces: Sdk['paces'] = [batchIntervalMs, 0].map((pauseMs) => ({ pauseMs, rounds: [] }))
  let acknowledged = 0
  try {
    const turn = async (pauseMs: number, seconds: number) => {
      const { calls, round } = await replay(heddle, make, pauseMs, seconds)
      acknowledged += calls
      return round
    }
    await turn(0, plan.warmUp)
    for (let i = 0; i < plan.rounds; i++) {
      for (const { pauseMs, rounds } of i % 2 === 0 ? paces : paces.toReversed())
        rounds.push(await turn(pauseMs, plan.seconds))
    }
    const stored = await countCalls(heddle)
    const ended = await countCalls(heddle, {
      $not: [{ $eq: [{ $getField: 'ended_at' }, { $literal: null }] }],
    })
    if (stored !== acknowledged || ended !== acknowledged)
      throw new Error(`sdk: ${acknowledged} calls acknowledged, ${stored} stored, ${ended} of them ended`)
    const batches = make()
    const sum = (of: (batch: Batch) => number) => batches.reduce((all, batch) => all + of(batch), 0)
    return {
      perProgramRun: {
        batches: batches.length,
        calls: sum(({ ends }) => ends),
        bytes: sum(({ body }) => body.length),
      },
      paces,
      acknowledged,
      stored,
    }
  } finally {
    await heddle.stop()
  }
}

/**
 * Once the clients are spread over their programs, a fifth of the time passes before anything is counted. At the end each
 * client sends the rest of its programs.
 */
async function replay(server: Contestant, make: () => Batch[], pauseMs: number, seconds: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: clients })
  let counting = false
  let ending = false
  let calls = 0
  let counted = { calls: 0, batches: 0 }
  const batchesOfPrograms = make().length
  const times: number[] = []
  const arrivals = Array.from({ length: clients }, () => Promise.withResolvers<void>())

  async function client(index: number): Promise<void> {
    await sleep((index / clients) * pauseMs)
    // Each client is at a different position of its programs when the pauses begin.
    let atOnce = index % batchesOfPrograms
    while (!ending) {
      for (const { body, parts, ends } of make()) {
        const before = performance.now()
        const { status, text } = await post(server, '/call/upsert_batch', body, agent)
        const took = performance.now() - before
        const { res } = JSON.parse(text) as { res?: unknown[] }
        if (status !== 200 || res?.length !== parts) throw new Error(`a batch of ${parts}: ${status} ${text}`)
        calls += ends
        if (counting) {
          times.push(took)
          counted = { calls: counted.calls + ends, batches: counted.batches + 1 }
        }
        if (atOnce-- > 0) continue
        arrivals[index]?.resolve()
        if (pauseMs > 0 && !ending) await sleep(pauseMs)
      }
    }
  }

  const all = Promise.all(Array.from({ length: clients }, (_, index) => client(index)))
  const measured = async () => {
    await Promise.all(arrivals.map(({ promise }) => promise))
    await sleep(seconds * 200)
    const before = { at: performance.now(), work: workOf(server.pid) }
    counting = true
    await sleep(seconds * 800)
    counting = false
    ending = true
    return { before, at: performance.now(), work: workOf(server.pid) }
  }
  const [{ before, at, work }] = await Promise.all([measured(), all])
  agent.destroy()
  const elapsed = at - before.at
  const ascending = sorted(times)
  const main = before.work && work && work.main - before.work.main
  const everything = before.work && work && work.all - before.work.all
  const round: SdkRound = {
    callsPerSecond: (counted.calls / elapsed) * 1000,
    batchesPerSecond: (counted.batches / elapsed) * 1000,
    p50: quantile(ascending, 0.5),
    p99: quantile(ascending, 0.99),
    work:
      main === undefined || everything === undefined
        ? undefined
        : { main: main / counted.calls, all: everything / counted.calls },
    busy: main === undefined ? undefined : main / 1000 / elapsed,
  }
  return { calls, round }
}

export function sdkTable({ paces }: Sdk): string {
  return table(
    [
      'pause',
      'clients',
      'calls/s',
      'batches/s',
      'p50 ms',
      'p99 ms',
      'main us/call',
      'all us/call',
      'main busy %',
    ],
    paces.map(({ pauseMs, rounds }) => {
      const spread = (pick: (round: SdkRound) => number | undefined) =>
        spreadOf(rounds.map((round) => pick(round) ?? Number.NaN))
      return [
        pauseMs === 0 ? 'none' : `${pauseMs} ms`,
        String(clients),
        shownSpread(spread(({ callsPerSecond }) => callsPerSecond)),
        shown(spread(({ batchesPerSecond }) => batchesPerSecond).median),
        shown(spread(({ p50 }) => p50).median),
        shown(spread(({ p99 }) => p99).median),
        shownSpread(spread(({ work }) => work?.main)),
        shown(spread(({ work }) => work?.all).median),
        shown(spread(({ busy }) => (busy ?? Number.NaN) * 100).median),
      ]
    }),
  )
}
