import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { uuidv7 } from 'uuidv7'
import type { Caller } from '../src/domain/callers.ts'
import { JsonText } from '../src/domain/json-text.ts'
import { queryResults } from '../src/operations/evaluations/results.ts'
import { ResultsBody } from '../src/operations/evaluations/results-contract.ts'
import type { CallPart } from '../src/storage/calls.ts'
import type { Database } from '../src/storage/database.ts'
import { sql } from '../src/storage/sql.ts'
import { openSqlite } from '../src/storage/sqlite/open.ts'
import { quantile, sorted } from './figures.ts'
import { machineFacts } from './machine.ts'

/**
 * Evaluation results at three sizes: what a page, a sort, a filter and the summary cost, beside the obvious way, which
 * reads every call of the evaluations, groups and sorts in memory; and what deriving them costs while calls are written.
 * Run: node benchmarks/evaluations.ts [--sizes 1000,10000,100000]
 */
const { values: options } = parseArgs({
  options: {
    sizes: { type: 'string', default: '1000,10000,100000' },
    rounds: { type: 'string', default: '7' },
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
console.log(JSON.stringify(machineFacts(folder)))

/** The calls of one trial: itself, the model's and the scorers'. With another op they are no evaluation. */
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
  const example = { n: row, question: text, hard: random }
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

interface Built {
  db: Database
  evaluations: string[]
  seconds: number
}

async function build(trials: number, op: string, name: string): Promise<Built> {
  const db = await openSqlite({ file: join(folder, `${name}-${trials}.sqlite`) })
  const evaluations = Array.from({ length: evaluationCount }, () => uuidv7())
  let seconds = 0
  for (let from = 0; from < trials; from += 40) {
    const parts: CallPart[] = []
    for (let i = from; i < Math.min(trials, from + 40); i++) {
      parts.push(...trialParts(evaluations[i % evaluationCount] as string, i, op))
    }
    const before = performance.now()
    await db.write('upsertCalls', parts)
    seconds += (performance.now() - before) / 1000
  }
  return { db, evaluations, seconds }
}

async function timed(work: () => Promise<unknown>, rounds = Number(options.rounds)): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < rounds; i++) {
    const before = performance.now()
    await work()
    times.push(performance.now() - before)
  }
  return quantile(sorted(times), 0.5)
}

async function ask(db: Database, body: Record<string, unknown>): Promise<void> {
  const { rows } = await queryResults(db, caller, project, ResultsBody.parse(body), signal)
  for await (const _ of rows);
}

/** All calls of the trials, parsed, grouped and sorted by a mean. */
async function obvious(db: Database, evaluations: readonly string[]): Promise<void> {
  const rows = new Map<string, number[]>()
  for (const evaluation of evaluations) {
    const query = sql`SELECT inputs, output FROM calls WHERE project_id = ${project} AND parent_id = ${evaluation}`
    for await (const chunk of db.stream<{ inputs: string; output: string }>(query, { signal })) {
      for (const { inputs, output } of chunk) {
        const { example } = JSON.parse(inputs) as { example: unknown }
        const { scores } = JSON.parse(output) as { scores: { judge: { score: number } } }
        const key = JSON.stringify(example)
        rows.set(key, [...(rows.get(key) ?? []), scores.judge.score])
      }
    }
  }
  const mean = (list: number[]) => list.reduce((a, b) => a + b, 0) / list.length
  ;[...rows].sort(([, a], [, b]) => mean(a) - mean(b)).slice(0, 50)
}

const filters = [
  {
    query: new JsonText('{"$expr":{"$gte":[{"$getField":"scores.judge.score"},{"$literal":0.9}]}}'),
  },
]

for (const size of (options.sizes ?? '').split(',').map(Number)) {
  const plain = await build(size, 'other', 'plain')
  await plain.db.close()
  const { db, evaluations, seconds } = await build(size, 'Evaluation.predict_and_score', 'derived')
  const base = { evaluation_call_ids: evaluations, limit: 50 }
  const deep = Math.max(0, Math.floor(size / evaluationCount) - 60)
  const figures: Record<string, number> = {}
  for (const [name, body] of Object.entries({
    'first page': base,
    'deep page': { ...base, offset: deep },
    'by score': { ...base, sort_by: [{ field: 'scores.judge.score', direction: 'desc' }] },
    'by input': { ...base, sort_by: [{ field: 'inputs.hard' }] },
    'by difference': { ...base, sort_by: [{ field: 'scores.judge.score', mode: 'difference' }] },
    filtered: { ...base, filters },
    intersection: { ...base, require_intersection: true },
    summary: { ...base, include_rows: false, include_summary: true },
  })) {
    await ask(db, body)
    figures[name] = await timed(() => ask(db, body))
  }
  figures['the obvious way'] = await timed(() => obvious(db, evaluations), 1)
  const rounded = Object.fromEntries(
    Object.entries(figures).map(([name, ms]) => [name, Number(ms.toFixed(2))]),
  )
  console.log(`${size} trials, ms:`, JSON.stringify(rounded))
  console.log(
    `${size} trials, ingestion: ${plain.seconds.toFixed(2)} s without, ${seconds.toFixed(2)} s with derivation (${((seconds / plain.seconds - 1) * 100).toFixed(0)} % more); memory ${Math.round(process.memoryUsage().rss / 2 ** 20)} MB`,
  )
  await db.close()
}
