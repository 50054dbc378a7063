// What the record costs: single reads and writes, batches, and how far these are from servers that do less. See
// docs/benchmarks/record.md.

import { rmSync } from 'node:fs'
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { aimOf, aimsTable } from './aims.ts'
import { bulkTable, measureBulk } from './bulk.ts'
import { type Contestant, start } from './contestants.ts'
import { shown, shownSpread, spreadOf, table } from './figures.ts'
import { loadNow, type Machine, machineFacts } from './machine.ts'
import { Report, refuseWithoutPlace } from './report.ts'
import { alternate, ratios, tableOf, workRatios } from './rounds.ts'
import { measureSdk, sdkTable } from './sdk.ts'
import { startSingles } from './singles.ts'
import { slowDisk } from './slow-disk.ts'
import { measureWrites, type Written, writeKinds } from './writes.ts'

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    'slow-fsync': { type: 'string', default: '2' },
    json: { type: 'string' },
    markdown: { type: 'string' },
    folder: { type: 'string', default: tmpdir() },
  },
})
const connections = [1, 16, 64]
const plan = options.quick
  ? {
      singles: { rounds: 2, seconds: 0.25, warmUp: 0.2, connections },
      slow: { rounds: 1, seconds: 0.3, warmUp: 0.2, connections: [1, 64] },
      bulk: { rounds: 1, bytes: 10e6, warmUpBytes: 10e6 },
      sdk: { rounds: 2, seconds: 0.7, warmUp: 0.3 },
    }
  : {
      singles: { rounds: 5, seconds: 0.65, warmUp: 0.9, connections },
      slow: { rounds: 3, seconds: 0.6, warmUp: 0.6, connections },
      bulk: { rounds: 4, bytes: 40e6, warmUpBytes: 10e6 },
      sdk: { rounds: 3, seconds: 2, warmUp: 1 },
    }
const slowMs = Number(options['slow-fsync'])
if (!(slowMs >= 0 && slowMs <= 1000))
  throw new Error(`--slow-fsync ${options['slow-fsync']}: milliseconds from 0, which leaves it out, to 1000`)
if (options.markdown) refuseWithoutPlace(options.markdown, 'record')

const longest = 10 * 60_000
setTimeout(() => {
  console.error('record: took too long, stopped')
  process.exit(1)
}, longest).unref()

const folder = await mkdtemp(join(options.folder, 'heddle-benchmark-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
await measure()

async function measure(): Promise<void> {
  const report = new Report('record')
  const machine = machineFacts(folder)
  const began = performance.now()
  report.say(
    `${machine.date}, commit ${machine.commit}, Node ${machine.node} on ${machine.system}; ${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB; fsync of a page p50 ${shown(machine.fsyncMs.p50)} ms, p99 ${shown(machine.fsyncMs.p99)} ms; load before the run ${machine.load.toFixed(1)}${options.quick ? '; rounds as short as in `record:quick`' : ''}.`,
  )
  const { reads, writes } = await measureSingles(report)
  const slow = await measureSlow(report)
  const bulk = await measureBulk(folder, plan.bulk)
  report.say('### Bulk')
  report.say('POST /call/upsert_batch, a start and an end for each call, beside the same rows inserted raw.')
  report.say(bulkTable(bulk))
  const sdk = await measureSdk(folder, plan.sdk)
  report.say("### The weave SDK's own batches")
  const { batches, calls, bytes } = sdk.perProgramRun
  report.say(
    `POST /call/upsert_batch as recorded: ${batches} batches with ${calls} calls, ${shown(bytes / batches / 1000)} kB each on average.`,
  )
  report.say(sdkTable(sdk))

  const aims = [
    aimOf('call/read of bare, 64 connections', 0.7, ratios(reads, 64, 'heddle', 'bare')),
    ...aimsOfWrites(writes, machine.fsyncMs.p50),
    ...(slow === undefined ? [] : aimsOfWrites(slow.writes, slow.fsyncMs.p50)),
    ...bulk.cells.map((cell) =>
      aimOf(
        `bulk of the raw insert, ${cell.megabytes} MB, ${cell.connections} connections`,
        0.5,
        cell.rounds.map(({ raw, http }) => raw.seconds / http.seconds),
        machine.fsyncMs.p50,
      ),
    ),
  ]
  report.say('### Aims')
  report.say(aimsTable(aims))
  const byWork = [
    { name: 'call/read', beside: 'bare', ratio: spreadOf(workRatios(reads, 64, 'bare', 'heddle')) },
    ...writes.map(({ kind, series }) => ({
      name: kind,
      beside: 'one by one',
      ratio: spreadOf(workRatios(series, 64, 'one by one', 'heddle')),
    })),
  ]
  report.say('By processor time of the main thread, 64 connections:')
  report.say(
    table(
      ['requests', 'beside', 'ratio'],
      byWork.map(({ name, beside, ratio }) => [name, beside, shownSpread(ratio)]),
    ),
  )
  const all = [...writes, ...(slow?.writes ?? [])].flatMap(({ checks }) => checks)
  const single = all.reduce((sum, { stored }) => sum + stored, 0)
  const minutes = (performance.now() - began) / 60_000
  report.say(
    `Every answer was 2xx. ${count(single)} single writes and ${count(bulk.stored + sdk.stored)} calls in batches were acknowledged, and as many are stored. The run took ${minutes.toFixed(1)} minutes, and the load after it was ${loadNow().toFixed(1)}.`,
  )
  if (options.markdown) report.write(options.markdown)
  if (options.json)
    await writeFile(
      options.json,
      `${JSON.stringify({ machine, plan, reads, writes, slow, bulk, sdk, aims, byWork }, null, 2)}\n`,
    )
}

function count(value: number): string {
  return value.toLocaleString('en')
}

function aimsOfWrites(writes: readonly Written[], fsyncMs: number) {
  return writes.map(({ kind, series }) =>
    aimOf(`${kind} of one by one, 64 connections`, 8, ratios(series, 64, 'heddle', 'one by one'), fsyncMs),
  )
}

async function measureSingles(report: Report) {
  const singles = await startSingles(join(folder, 'singles'))
  try {
    const lanes = singles.servers
      .filter(({ name }) => name === 'heddle' || name === 'bare')
      .map((contestant) => ({ contestant, requests: singles.reads }))
    const reads = await alternate(lanes, plan.singles)
    report.say('### Reads')
    report.say(`POST /call/read, ${singles.reads[0]?.body.length} bytes in, ${singles.readBytes} bytes out.`)
    report.say(tableOf(reads, 'bare'))
    report.say('### Durable writes')
    return { reads, writes: await measureKinds(singles.servers, plan.singles, report) }
  } finally {
    await singles.stop()
  }
}

async function measureKinds(
  servers: readonly Contestant[],
  rounds: typeof plan.singles,
  report: Report,
): Promise<Written[]> {
  const writes: Written[] = []
  for (const kind of writeKinds) {
    const written = await measureWrites(kind, servers, rounds)
    writes.push(written)
    report.say(`${written.route}; ${written.bytes} bytes in:`)
    report.say(tableOf(written.series, 'one by one'))
  }
  return writes
}

/** Measures the durable writes again with a slower fsync. */
async function measureSlow(
  report: Report,
): Promise<{ fsyncMs: Machine['fsyncMs']; writes: Written[] } | undefined> {
  if (slowMs === 0) return undefined
  report.say('### Durable writes on a slower disk')
  const disk = await slowDisk(folder, slowMs)
  if (disk.skipped !== undefined) {
    report.say(`Skipped: ${disk.skipped}.`)
    return undefined
  }
  const servers: Contestant[] = []
  try {
    for (const name of ['heddle', 'one by one', 'inline'] as const) {
      const data = join(folder, 'slow', name.replaceAll(' ', '-'))
      await mkdir(data, { recursive: true })
      servers.push(await start(name, { HEDDLE_DATA: data, ...disk.environment }))
    }
    report.say(
      `The same with ${slowMs} ms added to every fsync: p50 ${shown(disk.fsyncMs.p50)} ms, p99 ${shown(disk.fsyncMs.p99)} ms.`,
    )
    return { fsyncMs: disk.fsyncMs, writes: await measureKinds(servers, plan.slow, report) }
  } finally {
    await Promise.all(servers.map((server) => server.stop()))
  }
}
