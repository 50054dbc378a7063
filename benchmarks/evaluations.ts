import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { FastifyInstance } from 'fastify'
import { uuidv7 } from 'uuidv7'
import { buildApp } from '../src/app.ts'
import { readConfig } from '../src/config.ts'
import type { Caller } from '../src/domain/callers.ts'
import { asText, JsonText } from '../src/domain/json/text.ts'
import { startDeriving } from '../src/operations/evaluations/behind-the-writes.ts'
import { queryResults } from '../src/operations/evaluations/results.ts'
import { ResultsBody } from '../src/operations/evaluations/results-contract.ts'
import type { CallPart } from '../src/storage/calls/parts.ts'
import type { Database } from '../src/storage/database.ts'
import { openSqlite } from '../src/storage/engines/sqlite/open.ts'
import { findUnstored } from '../src/storage/evaluations/columns/gather.ts'
import { storeColumns } from '../src/storage/evaluations/columns/store-columns.ts'
import { readPending } from '../src/storage/evaluations/pending.ts'
import { listOf, sql } from '../src/storage/sql/sql.ts'
import { boundTo } from '../src/storage/transaction.ts'
import { type Aim, aimsTable, boundOf } from './aims.ts'
import { quantile, sorted } from './figures.ts'
import { machineFacts } from './machine.ts'

/**
 * Evaluation results at four sizes. Measures a page, a sort, a filter and the summary, with and without the packed
 * columns, and compares them with the obvious way: reading every call of the evaluations, then grouping and sorting in
 * memory. Also measures the writes of evaluations, including the derivation of their results, compared with the same
 * calls that are not evaluations, and the memory of a process that only queries.
 * Run: node benchmarks/evaluations.ts [--sizes 1000,10000,40000,100000] [--only writes]
 */
const { values: options } = parseArgs({
  options: {
    sizes: { type: 'string', default: '1000,10000,40000,100000' },
    rounds: { type: 'string', default: '7' },
    /** Runs every query once on an existing file and prints the memory that this took. */
    file: { type: 'string' },
    evaluations: { type: 'string', default: '' },
    /** `writes` leaves out the queries and the writes over HTTP. */
    only: { type: 'string' },
  },
})
const evaluationCount = 4
const scorers = ['exact', 'judge', 'tone']
const project = 'bench/evaluations'
const caller: Caller = { name: 'bench', role: 'admin', entities: new Set(['*']) }
const signal = new AbortController().signal
const text = 'The capital of Chad is on the right bank of the Chari where the Logone joins it. '.repeat(25)
const started = Date.UTC(2026, 0, 2) * 1000

const folder = mkdtempSync(join(tmpdir(), 'heddle-bench-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
/** The calls of one trial: its own, the model's and the scorers'. With another op they are not an evaluation. */
function trialParts(evaluation: string, index: number, op: string): CallPart[] {
  const row = Math.floor(index / evaluationCount)
  const trial = uuidv7()
  const at = started + index * 1000
  const random = ((row * 7919 + index * 104_729) % 1000) / 1000
  const scores = Object.fromEntries(
    scorers.map((name, i) => [
      name,
      { passed: random > 0.3 + i / 10, score: random, depth: row % 10, note: 'so', sure: random > 0.5 },
    ]),
  )
  const part = (id: string, parent: string, name: string, inputs: unknown, output: unknown): CallPart => {
    const [given, gave] = [JSON.stringify(inputs), JSON.stringify(output)]
    return {
      project_id: project,
      id,
      display_name: null,
      start: {
        ...{ trace_id: evaluation, parent_id: parent, thread_id: null, turn_id: null, op_name: name },
        ...{ started_at: at, user_id: 'bench', run_id: null, run_step: null, expire_at: null },
        ...{ start_bytes: given.length + 2, attributes: '{}', inputs: given },
      },
      end: {
        ...{ trace_id: null, ended_at: at + 500, exception: null, run_step_end: null },
        ...{ end_bytes: gave.length, output: gave, summary: '{"usage":{"m":{"total_tokens":30}}}' },
      },
    }
  }
  const example = { n: row, question: text, hard: ((row * 7919) % 1000) / 1000 }
  return [
    part(
      trial,
      evaluation,
      op,
      { self: 'E', model: 'M', example },
      { output: text, scores, model_latency: 1 },
    ),
    part(uuidv7(), trial, 'M', { question: text }, text),
    ...scorers.map((name) => part(uuidv7(), trial, `${name}.score`, { output: 'x' }, scores[name])),
  ]
}

const batchSize = 40

/** The calls of a batch of trials. */
function trialsFrom(from: number, all: number, evaluations: readonly string[], op: string): CallPart[] {
  const parts: CallPart[] = []
  for (let i = from; i < Math.min(all, from + batchSize); i++) {
    parts.push(...trialParts(evaluations[i % evaluationCount] as string, i, op))
  }
  return parts
}

/** The cost of writing evaluations, and of the same calls that are not evaluations. */
interface Ingestion {
  seconds: { derived: number; plain: number }
  /** Of all threads, including the derivation after the writes and making up the calls. */
  cpuSeconds: { derived: number; plain: number }
  /** How much more evaluations cost in each pair of turns, in percent. */
  dearer: { seconds: number[]; cpuSeconds: number[] }
  /** The longest time from the last write of a turn until the results of all trials are derived. */
  behindMs: number
}

const sides = [
  ['derived', 'Evaluation.predict_and_score'],
  ['plain', 'other'],
] as const

interface Target {
  into: 'derived' | 'plain'
  op: string
  record: Database
  write(parts: CallPart[]): Promise<void>
}

/** Trials that are written to one record before the other takes its turn. */
const turn = 10_000

/**
 * Writes to both records batch by batch, taking turns, so that other load on the machine affects both alike. Results are
 * derived after the writes, as in the server. A turn ends when nothing is pending, so that neither pays for the other.
 */
async function ingest(
  targets: readonly Target[],
  trials: number,
  evaluations: readonly string[],
): Promise<Ingestion> {
  const ingestion: Ingestion = {
    seconds: { derived: 0, plain: 0 },
    cpuSeconds: { derived: 0, plain: 0 },
    dearer: { seconds: [], cpuSeconds: [] },
    behindMs: 0,
  }
  for (let first = 0; first < trials; first += turn) {
    const last = Math.min(trials, first + turn)
    const before = structuredClone(ingestion)
    for (const { into, op, record, write } of first % (2 * turn) === 0 ? targets : targets.toReversed()) {
      const cpuBefore = process.cpuUsage()
      for (let from = first; from < last; from += batchSize) {
        const parts = trialsFrom(from, last, evaluations, op)
        const sent = performance.now()
        await write(parts)
        ingestion.seconds[into] += (performance.now() - sent) / 1000
      }
      const written = performance.now()
      await untilDerived(record)
      ingestion.behindMs = Math.max(ingestion.behindMs, performance.now() - written)
      const { user, system } = process.cpuUsage(cpuBefore)
      ingestion.cpuSeconds[into] += (user + system) / 1e6
    }
    for (const clock of ['seconds', 'cpuSeconds'] as const) {
      const [one, other] = sides.map(([into]) => ingestion[clock][into] - before[clock][into])
      ingestion.dearer[clock].push(((one ?? Number.NaN) / (other ?? Number.NaN) - 1) * 100)
    }
  }
  return ingestion
}

async function untilDerived(record: Database): Promise<void> {
  while ((await readPending(record, null, 1)).length > 0) await sleep(1)
}

const fail = (error: unknown) => {
  throw error
}

interface Built {
  db: Database
  file: string
  evaluations: string[]
  ingestion: Ingestion
}

async function build(trials: number): Promise<Built> {
  const fileOf = (into: string) => join(folder, `${into}-${trials}.sqlite`)
  const evaluations = Array.from({ length: evaluationCount }, () => uuidv7())
  const targets: Target[] = []
  for (const [into, op] of sides) {
    const record = await openSqlite({ file: fileOf(into) })
    targets.push({ into, op, record, write: (parts) => record.write('upsertCalls', parts) })
  }
  const behind = targets.map(({ record }) => startDeriving(record, fail))
  await warmUp(targets)
  const ingestion = await ingest(targets, trials, evaluations)
  for (const deriving of behind) await deriving.stop()
  for (const { record } of targets) await record.close()
  const file = fileOf('derived')
  return { db: await openSqlite({ file }), file, evaluations, ingestion }
}

/** Lets new threads and servers compile their code, which is not what is measured. */
async function warmUp(targets: readonly Target[]): Promise<void> {
  await ingest(targets, 400, [uuidv7(), uuidv7(), uuidv7(), uuidv7()])
}

/** The same writes as a client sends them, one batch after the other. */
async function ingestOverHttp(trials: number): Promise<Ingestion> {
  const targets: Target[] = []
  const apps: FastifyInstance[] = []
  const authorization = `Basic ${Buffer.from('bench:a-key-for-measuring-only').toString('base64')}`
  const headers = { authorization, 'content-type': 'application/json' }
  for (const [into, op] of sides) {
    const record = await openSqlite({ file: join(folder, `http-${into}-${trials}.sqlite`) })
    const config = readConfig({
      HEDDLE_USERS: 'bench:a-key-for-measuring-only',
      HEDDLE_LOG_LEVEL: 'silent',
      HEDDLE_MAX_LOOP_DELAY: '0',
    })
    const app = await buildApp(config, { database: record })
    const address = await app.listen({ host: '127.0.0.1', port: 0 })
    apps.push(app)
    targets.push({
      ...{ into, op, record },
      async write(parts) {
        const body = JSON.stringify({ batch: parts.map(asSent) })
        const answer = await fetch(`${address}/v2/${project}/calls/complete`, {
          method: 'POST',
          headers,
          body,
        })
        await answer.text()
        if (!answer.ok) throw new Error(`the server answered ${answer.status}`)
      },
    })
  }
  await warmUp(targets)
  const evaluations = Array.from({ length: evaluationCount }, () => uuidv7())
  const ingestion = await ingest(targets, trials, evaluations)
  for (const app of apps) await app.close()
  for (const { record } of targets) await record.close()
  return ingestion
}

/** A call as its client sends it. */
function asSent({ id, start, end }: CallPart): Record<string, unknown> {
  if (start === undefined || end === undefined) throw new Error('only whole calls are sent')
  const time = (micros: number) => new Date(micros / 1000).toISOString()
  return {
    ...{
      project_id: project,
      id,
      trace_id: start.trace_id,
      parent_id: start.parent_id,
      op_name: start.op_name,
    },
    ...{ started_at: time(start.started_at), ended_at: time(end.ended_at) },
    ...{
      attributes: {},
      inputs: JSON.parse(asText(start.inputs)),
      output: JSON.parse(asText(end.output ?? 'null')),
    },
    summary: JSON.parse(asText(end.summary)),
  }
}

interface Cost {
  ms: number
  /** Of all threads: roughly what it would take on an idle machine. */
  cpuMs: number
}

async function timed(work: () => Promise<unknown>, rounds = Number(options.rounds)): Promise<Cost> {
  const times: number[] = []
  const cpuTimes: number[] = []
  for (let i = 0; i < rounds; i++) {
    const before = performance.now()
    const cpuBefore = process.cpuUsage()
    await work()
    times.push(performance.now() - before)
    const { user, system } = process.cpuUsage(cpuBefore)
    cpuTimes.push((user + system) / 1000)
  }
  return { ms: quantile(sorted(times), 0.5), cpuMs: quantile(sorted(cpuTimes), 0.5) }
}

async function ask(db: Database, body: Record<string, unknown>): Promise<void> {
  const { rows } = await queryResults(boundTo(db, signal), caller, project, ResultsBody.parse(body))
  for await (const _ of rows);
}

type Row = { id: string; parent_id: string; inputs: string; output: string; summary: string }

/** The parsed calls below these, with the fields to group and to sort by. */
async function below(db: Database, parents: readonly string[]) {
  const found: { id: string; inputs: unknown; output: unknown; summary: unknown }[] = []
  for (let from = 0; from < parents.length; from += 500) {
    const query = sql`SELECT id, inputs, output, summary FROM calls
      WHERE project_id = ${project} AND parent_id IN (${listOf(parents.slice(from, from + 500))})`
    for await (const chunk of db.stream<Row>(query, { signal })) {
      for (const { id, ...texts } of chunk) {
        const [inputs, output, summary] = [texts.inputs, texts.output, texts.summary].map((text) =>
          JSON.parse(text),
        )
        found.push({ id, inputs, output, summary })
      }
    }
  }
  return found
}

/** Reads, parses, groups and sorts the calls by a mean: with the calls of the model and the scorers, or the trials alone. */
async function obvious(db: Database, evaluations: readonly string[], withChildren: boolean): Promise<void> {
  const trials = await below(db, evaluations)
  if (withChildren) {
    await below(
      db,
      trials.map(({ id }) => id),
    )
  }
  const rows = new Map<string, number[]>()
  for (const { inputs, output } of trials) {
    const key = JSON.stringify((inputs as { example: unknown }).example)
    const { scores } = output as { scores: { judge: { score: number } } }
    rows.set(key, [...(rows.get(key) ?? []), scores.judge.score])
  }
  const mean = (list: number[]) => list.reduce((a, b) => a + b, 0) / list.length
  ;[...rows].sort(([, a], [, b]) => mean(a) - mean(b)).slice(0, 50)
}

const filters = [
  {
    query: new JsonText('{"$expr":{"$gte":[{"$getField":"scores.judge.score"},{"$literal":0.9}]}}'),
  },
]

function questions(evaluations: readonly string[], size: number): Record<string, Record<string, unknown>> {
  const base = { evaluation_call_ids: evaluations, limit: 50 }
  return {
    'first page': base,
    'deep page': { ...base, offset: Math.max(0, Math.floor(size / evaluationCount) - 60) },
    'by score': { ...base, sort_by: [{ field: 'scores.judge.score', direction: 'desc' }] },
    'by input': { ...base, sort_by: [{ field: 'inputs.hard' }] },
    'by difference': { ...base, sort_by: [{ field: 'scores.judge.score', mode: 'difference' }] },
    filtered: { ...base, filters },
    intersection: { ...base, require_intersection: true },
    summary: { ...base, include_rows: false, include_summary: true },
  }
}

/** Runs in a process of its own, because the one that wrote the calls has had all of them in memory. */
function memoryOfAsking(file: string, evaluations: readonly string[]): number {
  const { stdout } = spawnSync(
    process.execPath,
    [...process.execArgv, import.meta.filename, '--file', file, '--evaluations', evaluations.join(',')],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] },
  )
  return Number(stdout.trim())
}

function compared(trials: number, { seconds, cpuSeconds, behindMs }: Ingestion): string {
  const more = ((seconds.derived / seconds.plain - 1) * 100).toFixed(0)
  const cpu = (((cpuSeconds.derived - cpuSeconds.plain) / trials) * 1e6).toFixed(0)
  return [
    `${seconds.plain.toFixed(2)} s without evaluation, ${seconds.derived.toFixed(2)} s with it (${more} % more)`,
    `${cpu} µs more processor time per trial, including the derivation after the writes`,
    `everything is derived at most ${behindMs.toFixed(0)} ms after the last write`,
  ].join('; ')
}

async function questionsAnswered(
  db: Database,
  evaluations: readonly string[],
  size: number,
): Promise<Record<string, Cost>> {
  const figures: Record<string, Cost> = {}
  for (const [name, body] of Object.entries(questions(evaluations, size))) {
    await ask(db, body)
    figures[name] = await timed(() => ask(db, body))
  }
  return figures
}

interface Measured {
  size: number
  ingestion: Ingestion
  figures: Record<string, Cost>
}

async function measure(size: number): Promise<Measured> {
  const { db, file, evaluations, ingestion } = await build(size)
  console.log(`${size} trials, written to the record: ${compared(size, ingestion)}`)
  if (options.only === 'writes') {
    await db.close()
    return { size, ingestion, figures: {} }
  }
  const unkept = await questionsAnswered(db, evaluations, size)
  const kept = await timed(async () => {
    for (const of of await findUnstored(db, evaluationCount)) await storeColumns(boundTo(db, signal), of)
  }, 1)
  const figures: Record<string, Cost> = await questionsAnswered(db, evaluations, size)
  for (const [name, cost] of Object.entries(unkept)) figures[`${name}, without columns`] = cost
  figures['the columns are kept'] = kept
  figures['the obvious way, all calls'] = await timed(() => obvious(db, evaluations, true), 1)
  figures['the obvious way, trials alone'] = await timed(() => obvious(db, evaluations, false), 1)
  for (let from = 0; from < owed; from += batchSize) {
    await db.write('upsertCalls', trialsFrom(from, owed, evaluations, 'Evaluation.predict_and_score'))
  }
  figures[behindOwed] = await timed(() => ask(db, questions(evaluations, size)['first page'] ?? {}), 1)
  await db.close()
  for (const key of ['ms', 'cpuMs'] as const) {
    const rounded = Object.entries(figures).map(([name, cost]) => [name, Number(cost[key].toFixed(1))])
    const unit = key === 'ms' ? 'ms' : 'ms of processors'
    console.log(`${size} trials, ${unit}:`, JSON.stringify(Object.fromEntries(rounded)))
  }
  const sent = Math.min(size, 10_000)
  console.log(`${sent} trials, sent to the server: ${compared(sent, await ingestOverHttp(sent))}`)
  console.log(
    `${size} trials, memory of a process that only queries: at most ${memoryOfAsking(file, evaluations)} MB`,
  )
  return { size, ingestion, figures }
}

const owed = 5000
const behindOwed = `first page, ${owed} trials owed`

/** The aims of each size, and of the largest compared with a tenth of it. */
function aimsOf(all: readonly Measured[]): Aim[] {
  const aims: Aim[] = []
  for (const { size, ingestion, figures } of all) {
    const { seconds, cpuSeconds } = ingestion.dearer
    aims.push(
      boundOf(`${size} trials: written as evaluations, % dearer`, 35, seconds),
      boundOf(`${size} trials: the same by processor time`, 35, cpuSeconds),
    )
    const behind = figures[behindOwed]
    if (behind) aims.push(boundOf(`${size} trials: ${behindOwed}, ms`, 200, [behind.ms]))
  }
  const large = all.at(-1)
  const small = all.find(({ size }) => size * 10 === large?.size)
  if (large === undefined || small === undefined) return aims
  for (const name of Object.keys(questions([], 0))) {
    const [one, other] = [large.figures[name], small.figures[name]]
    if (one === undefined || other === undefined) continue
    aims.push(
      boundOf(`${large.size} trials: ${name}, ms`, 40, [one.ms]),
      boundOf(`${large.size} trials: ${name}, of ${small.size}`, 2, [one.ms / other.ms]),
    )
  }
  return aims
}

if (options.file === undefined) {
  console.log(JSON.stringify(machineFacts(folder)))
  const all: Measured[] = []
  for (const size of options.sizes.split(',').map(Number)) all.push(await measure(size))
  console.log(`\n${aimsTable(aimsOf(all))}`)
} else {
  const db = await openSqlite({ file: options.file })
  for (const body of Object.values(questions(options.evaluations.split(','), 1000))) await ask(db, body)
  await db.close()
  console.log(Math.round(process.resourceUsage().maxRSS / 1024))
}
