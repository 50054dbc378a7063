import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newId } from '../src/domain/ids.ts'
import { now } from '../src/domain/time.ts'
import type { CallPart } from '../src/storage/calls/parts.ts'
import type { Database } from '../src/storage/database.ts'
import { openRecord } from '../src/storage/open.ts'

/**
 * What 1,000 alert rules cost the writes of calls: the time for the same writes without and with them, in turns, on one
 * record, and the median of what each pair of rounds differs. `node benchmarks/alerts.ts [calls per write] [projects] [rules]`
 */
const [perWrite = 1, projects = 10, rules = 1_000] = process.argv.slice(2).map(Number)
const perRound = 1_500
/** Pairs of rounds: of fewer, the median is that of the machine. */
const rounds = 40
/** Clients that write at the same time. */
const writers = 32

const ops = Array.from({ length: 20 }, (_, index) => `op-${index}`)
const of = (name: string) => ({ $getField: name })

/** What people alert on: failures of an op, slow calls, many tokens, and both together. */
function condition(index: number): string {
  const op = ops[index % ops.length] as string
  const kinds = [
    { filter: { op_names: [op] }, query: { $eq: [of('summary.weave.status'), { $literal: 'error' }] } },
    { query: { $gt: [of('summary.weave.latency_ms'), { $literal: 60_000 + index }] } },
    { filter: { op_names: [op] }, query: { $gt: [of('output_tokens'), { $literal: 100_000 }] } },
    {
      query: {
        $and: [
          { $eq: [of('summary.weave.status'), { $literal: 'error' }] },
          { $contains: { input: of('exception'), substr: { $literal: 'quota' } } },
        ],
      },
    },
  ]
  const { filter, query } = kinds[index % kinds.length] as (typeof kinds)[number]
  return JSON.stringify({ ...(filter && { filter }), query: { $expr: query } })
}

async function addRules(db: Database, prefix: string): Promise<void> {
  for (let index = 0; index < rules; index++) {
    const time = now()
    await db.write('addAlertRule', {
      project_id: `${prefix}/${index % projects}`,
      id: newId(),
      name: `rule ${index}`,
      watches: 'call',
      condition: condition(index),
      severity: 'error',
      cooldown: 0,
      endpoints: null,
      active: 1,
      fired_at: null,
      suppressed: 0,
      firing: 0,
      checked_at: time,
      taken_until: 0,
      created_at: time,
      created_by: 'benchmark',
      updated_at: time,
    })
  }
}

const text = 'The capital of Chad is N’Djamena. '.repeat(30)

function callOf(project_id: string, index: number): CallPart {
  const id = newId()
  const time = now()
  const inputs = JSON.stringify({ model: 'small', messages: [{ role: 'user', content: text }] })
  return {
    project_id,
    id,
    display_name: null,
    start: {
      user_id: 'benchmark',
      op_name: ops[index % ops.length] as string,
      trace_id: id,
      started_at: time - 800_000,
      attributes: '{}',
      inputs,
      start_bytes: inputs.length,
    },
    end: {
      ended_at: time,
      output: JSON.stringify({ choices: [{ message: { content: text } }] }),
      summary: '{"usage":{"small":{"prompt_tokens":300,"completion_tokens":200,"requests":1}}}',
      end_bytes: text.length,
    },
  }
}

/** Microseconds of processor time, of all threads, for each call of a round: other work of the machine is not in it. */
async function round(db: Database, prefix: string): Promise<number> {
  let left = perRound
  const before = process.cpuUsage()
  const writer = async () => {
    while (left > 0) {
      const count = Math.min(perWrite, left)
      left -= count
      const project = `${prefix}/${left % projects}`
      await db.write(
        'upsertCalls',
        Array.from({ length: count }, (_, index) => callOf(project, left + index)),
      )
    }
  }
  await Promise.all(Array.from({ length: writers }, writer))
  const { user, system } = process.cpuUsage(before)
  return (user + system) / perRound
}

const quantile = (values: readonly number[], share: number) =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length * share)] as number
const median = (values: readonly number[]) => quantile(values, 0.5)

const folder = await mkdtemp(join(tmpdir(), 'heddle-alerts-'))
const db = await openRecord({ databaseUrl: '', folder, queryTimeoutMs: 60_000 })
try {
  await addRules(db, 'with')
  await round(db, 'without')
  await round(db, 'with')
  const times: Record<'without' | 'with', number[]> = { without: [], with: [] }
  for (let turn = 0; turn < rounds; turn++) {
    for (const prefix of turn % 2 === 0 ? (['without', 'with'] as const) : (['with', 'without'] as const)) {
      times[prefix].push(await round(db, prefix))
    }
  }
  const ratios = times.with.map((time, turn) => time / (times.without[turn] as number))
  const shown = {
    calls_per_write: perWrite,
    projects,
    rules,
    processor_us_per_call: {
      without: Math.round(median(times.without)),
      with: Math.round(median(times.with)),
    },
    more_in_the_median_pair: `${((median(ratios) - 1) * 100).toFixed(1)} %`,
    quarters: [0.25, 0.75].map((share) => `${((quantile(ratios, share) - 1) * 100).toFixed(1)} %`),
  }
  process.stdout.write(`${JSON.stringify(shown)}\n`)
} finally {
  await db.close()
  await rm(folder, { recursive: true, force: true })
}
