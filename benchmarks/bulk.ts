import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { countCalls } from './answers.ts'
import { batchMaker } from './calls.ts'
import { type Contestant, start } from './contestants.ts'
import { shown, shownSpread, spreadOf, table } from './figures.ts'
import { type BulkRound, sendAll } from './load.ts'
import { openRows } from './rows.ts'

export interface BulkPlan {
  rounds: number
  /** Of one round, and of the warm-up before the first. */
  bytes: number
  warmUpBytes: number
}

export interface BulkCell {
  megabytes: number
  connections: number
  calls: number
  rounds: { raw: { seconds: number }; http: BulkRound & { megabytes: number; longestDelayMs: number } }[]
}

export interface Bulk {
  cells: BulkCell[]
  acknowledged: number
  stored: number
}

/** Sends the same calls to the server and inserts them straight into a table, alternately. */
export async function measureBulk(folder: string, plan: BulkPlan): Promise<Bulk> {
  const newFolder = async (name: string) => {
    const path = join(folder, name)
    await mkdir(path)
    return path
  }
  const heddle = await start('heddle', { HEDDLE_DATA: await newFolder('bulk') })
  const raw = openRows(await newFolder('raw'))
  const perMegabyte = Math.floor(1e6 / (batchMaker(1000)().body.length / 1000))
  let sent = 0
  try {
    const cells: BulkCell[] = []
    for (const megabytes of [1, 10]) {
      for (const connections of [1, 4]) cells.push({ megabytes, connections, calls: 0, rounds: [] })
    }
    const makers = new Map([1, 10].map((megabytes) => [megabytes, batchMaker(perMegabyte * megabytes)]))
    const turn = async (cell: BulkCell, bytes: number) => {
      const make = makers.get(cell.megabytes)
      if (make === undefined) throw new Error('no batches of this size')
      const batches = Array.from({ length: Math.max(1, Math.round(bytes / (cell.megabytes * 1e6))) }, make)
      const calls = batches.reduce((sum, { rows }) => sum + rows.length, 0)
      const rawBefore = performance.now()
      for (const { rows } of batches) raw.insert(rows)
      const seconds = (performance.now() - rawBefore) / 1000
      await longestDelay(heddle)
      const http = await sendAll(
        heddle,
        '/call/upsert_batch',
        batches.map(({ body }) => body),
        cell.connections,
      )
      const longestDelayMs = await longestDelay(heddle)
      if (http.failed > 0) throw new Error(`${http.failed} batches were not answered with 200`)
      sent += calls
      const size = batches.reduce((sum, { body }) => sum + body.length, 0) / 1e6
      return { calls, raw: { seconds }, http: { ...http, megabytes: size, longestDelayMs } }
    }
    for (const cell of cells) await turn(cell, plan.warmUpBytes)
    for (let i = 0; i < plan.rounds; i++) {
      for (const cell of i % 2 === 0 ? cells : cells.toReversed()) {
        const { calls, ...round } = await turn(cell, plan.bytes)
        cell.calls = calls
        cell.rounds.push(round)
      }
    }
    const stored = await countCalls(heddle)
    if (stored !== sent || raw.count() !== sent)
      throw new Error(`bulk: ${sent} calls sent, ${stored} stored, ${raw.count()} raw`)

    return { cells, acknowledged: sent, stored }
  } finally {
    raw.close()
    await heddle.stop()
  }
}

export function bulkTable({ cells }: Bulk): string {
  return table(
    [
      'batch',
      'conn.',
      'calls/s',
      'MB/s',
      'raw calls/s',
      'of raw',
      'main us/call',
      'all us/call',
      'longest delay ms',
    ],
    cells.map(({ megabytes, connections, calls, rounds }) => [
      `${megabytes} MB`,
      String(connections),
      shownSpread(spreadOf(rounds.map(({ http }) => calls / http.seconds))),
      shown(spreadOf(rounds.map(({ http }) => http.megabytes / http.seconds)).median),
      shownSpread(spreadOf(rounds.map(({ raw }) => calls / raw.seconds))),
      shownSpread(spreadOf(rounds.map(({ raw, http }) => raw.seconds / http.seconds))),
      shown(spreadOf(rounds.map(({ http }) => (http.work?.main ?? Number.NaN) / calls)).median),
      shown(spreadOf(rounds.map(({ http }) => (http.work?.all ?? Number.NaN) / calls)).median),
      shownSpread(spreadOf(rounds.map(({ http }) => http.longestDelayMs))),
    ]),
  )
}

/** The longest event loop delay since the last call of this function. */
async function longestDelay(server: Contestant): Promise<number> {
  const answer = await fetch(`${server.address}/metrics`, {
    headers: { authorization: server.headers.authorization ?? '' },
  })
  const text = await answer.text()
  const seconds = /^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(text)?.[1]
  return Number(seconds ?? Number.NaN) * 1000
}
