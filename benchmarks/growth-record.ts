import { hash } from 'node:crypto'
import Sqlite from 'better-sqlite3'
import pg from 'pg'
import { digestOf } from '../src/domain/digests.ts'
import { derivation } from '../src/storage/calls/facts.ts'
import { openRecord, sqliteFile } from '../src/storage/open.ts'

/**
 * A record that `growth.ts` measures: traces of four calls over 55 days, of 20 ops, five models and eight users. It is
 * written by the databases themselves from the number of a call, because a million calls over HTTP take minutes.
 * With threads, a trace is a turn of an agent: of one conversation for each 20 calls, of which 200 go on at a time, and
 * of one of 200 turns over all the time, and words are not indexed.
 */
export const project_id = 'bench/growth'
export const days = 55
const hour = 3_600_000_000
export const begun = Date.UTC(2026, 0, 1) * 1000
export const end = begun + days * 24 * hour
export const idOf = (n: number) => `018f0000-0000-7000-8000-${String(1e12 + n).slice(1)}`

export const longThread = 'thread-long'
export const longTurns = 200

const text = 'The capital of Chad is on the right bank of the Chari where the Logone joins it. '.repeat(12)
const words = text.toLowerCase().replaceAll('.', '').trim().repeat(2)

/** In SQL that both engines accept. Digits are padded without functions that only one of them has. */
const id = (n: string) => `'018f0000-0000-7000-8000-' || substr(CAST(1000000000000 + ${n} AS TEXT), 2)`

interface Dialect {
  numbers: (from: number, to: number) => string
  words: (from: number, to: number) => string[]
}

/** As src/storage/search/entries.ts writes them. */
const word = `${digestOf(project_id).slice(0, 16).toLowerCase()}q`
/** The value that `inputs.customer` has, as src/domain/search/values.ts makes a key of it. */
const named = `'["${project_id}","inputs","customer","' || (n % 5000) || '"]'`
const wordsOf = `'customer ' || (n % 5000) || CASE WHEN n % 3 = 0 THEN ' red river ' ELSE ' river red ' END || '${words}'`

const dialects: Record<'sqlite' | 'postgres', Dialect> = {
  sqlite: {
    numbers: (from, to) =>
      `(WITH RECURSIVE series (n) AS (SELECT ${from} UNION ALL SELECT n + 1 FROM series WHERE n + 1 < ${to}) SELECT n FROM series)`,
    words: (from, to) => [
      `INSERT INTO search_entries (doc, project_id, call_id) SELECT n + 1, '${project_id}', ${id('n')} FROM ${dialects.sqlite.numbers(from, to)}`,
      `INSERT INTO search_words (rowid, project, words) SELECT n + 1, '${word} ' || key_of(${named}), ${wordsOf} FROM ${dialects.sqlite.numbers(from, to)}`,
    ],
  },
  postgres: {
    numbers: (from, to) =>
      `(SELECT n FROM generate_series(${from}::bigint, ${to - 1}) AS series (n)) AS numbers`,
    words: (from, to) => [
      `INSERT INTO search_entries (project_id, call_id, words)
        SELECT '${project_id}', ${id('n')}, to_tsvector('simple', ${wordsOf}) 
          || CAST('''${word}'' ''=' || substr(encode(sha256(convert_to(${named}, 'UTF8')), 'hex'), 1, 12) || '''' AS tsvector)
        FROM ${dialects.postgres.numbers(from, to)}`,
    ],
  },
}

const trace = '(n / 4)'
const agent = `'agent-' || (${trace} % 10)`
const version = `'v' || (${trace} % 3)`

/** The columns of a call that takes part in a conversation. */
const ofThreads = (all: number): Record<string, string> => ({
  thread_id: `CASE WHEN ${trace} % ${Math.floor(all / 4 / longTurns)} = 0 THEN '${longThread}'
    ELSE 'thread-' || (${trace} / 1000 * 200 + ${trace} % 200) END`,
  turn_id: id('n - n % 4'),
  agent: `CASE WHEN n % 4 = 0 THEN ${agent} END`,
  agent_version: `CASE WHEN n % 4 = 0 THEN ${version} END`,
  operation: `CASE WHEN n % 4 = 0 THEN 'invoke_agent' ELSE 'chat' END`,
  attributes: `CASE WHEN n % 4 > 0 THEN '{"gen_ai":{"operation":{"name":"chat"}}}'
    ELSE '{"gen_ai":{"operation":{"name":"invoke_agent"},"agent":{"name":"' || ${agent} || '","version":"' || ${version} || '"}}}' END`,
})

/** Of all models but one, once. */
const prices = `INSERT INTO prices (project_id, id, llm_id, provider_id, effective_date, prompt_token_cost, completion_token_cost,
    cache_read_input_token_cost, cache_creation_input_token_cost, prompt_token_cost_unit, completion_token_cost_unit, created_at, created_by)
  SELECT '${project_id}', 'price-' || n, 'model-' || n, 'default', ${begun}, 0.001 * n, 0.002 * n, 0, 0, 'USD', 'USD', ${begun}, 'user-1'
  FROM (SELECT 1 AS n UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4) AS models`

function statementsFor(
  { numbers, words: indexed }: Dialect,
  { from, to, all, hasThreads }: { from: number; to: number; all: number; hasThreads: boolean },
): string[] {
  const step = Math.floor((end - begun) / all)
  const { attributes = "'{}'", ...threads } = hasThreads ? ofThreads(all) : {}
  const [names, values] = [Object.keys(threads), Object.values(threads)].map((list) =>
    list.map((entry) => `, ${entry}`).join(''),
  )
  const json = `'{"customer":' || (n % 5000) || ',"question":"${text}"}'`
  const usage = `'{"usage":{"model-' || (n % 5) || '":{"prompt_tokens":' || (n % 500) || ',"completion_tokens":10}}}'`
  return [
    `INSERT INTO calls (project_id, id, trace_id, parent_id, op_name, started_at, ended_at, user_id, start_bytes, end_bytes,
        attributes, inputs, output, summary, exception, op, asked_model, model, status, input_tokens, output_tokens, first_token_us, derivation${names})
      SELECT '${project_id}', ${id('n')}, ${id('n - n % 4')}, CASE WHEN n % 4 > 0 THEN ${id('n - n % 4')} END, 'op-' || (n % 20),
        ${begun} + n * ${step}, ${begun} + n * ${step} + 1000 * (1 + (n * 7919) % 30000), 'user-' || ((n / 4) % 8), 1200, 1200, ${attributes},
        ${json}, '"${text}"', ${usage}, CASE WHEN n % 67 = 1 THEN 'it failed' END, 'op-' || (n % 20), 'model-' || (n % 5), 'model-' || (n % 5),
        CASE WHEN n % 67 = 1 THEN 'error' ELSE 'success' END, n % 500, 10, 1000 * ((n * 31) % 900), ${derivation}${values}
      FROM ${numbers(from, to)}`,
    `INSERT INTO feedback (project_id, id, feedback_type, svc_ref, call_id, user_id, created_at, payload)
      SELECT '${project_id}', ${id('n')}, 'wandb.reaction.1', 'weave:///${project_id}/call/' || ${id('n')}, ${id('n')}, 'user-1', ${begun} + n * ${step},
        CASE WHEN n % 100 = 7 THEN '{"emoji":"👎"}' ELSE '{"emoji":"👍"}' END
      FROM ${numbers(from, to)} WHERE n % 20 = 7`,
    ...(from === 0 ? [prices] : []),
    ...indexed(from, to),
  ]
}

/** Written in one transaction, so that a run that was cut off goes on where it stopped. */
const atOnce = 20_000

export interface Target {
  databaseUrl: string
  folder: string
  hasThreads: boolean
}

/** Fills a record up to this many calls. Returns how many of them it wrote. */
export async function fill(target: Target, size: number): Promise<number> {
  const db = await openRecord({ ...target, queryTimeoutMs: 60_000 })
  await db.close()
  const { run, count, finish } =
    target.databaseUrl === '' ? ofSqlite(target.folder) : await ofPostgres(target)
  const there = await count()
  const dialect = dialects[target.databaseUrl === '' ? 'sqlite' : 'postgres']
  for (let from = there; from < size; from += atOnce) {
    const to = Math.min(size, from + atOnce)
    await run(statementsFor(dialect, { from, to, all: size, hasThreads: target.hasThreads }))
  }
  await finish()
  return size - there
}

const counted = `SELECT count(*) AS count FROM calls WHERE project_id = '${project_id}'`

function ofSqlite(folder: string) {
  const db = new Sqlite(sqliteFile(folder))
  db.pragma('synchronous = OFF')
  db.function('key_of', { deterministic: true }, (names) => hash('sha256', String(names), 'hex').slice(0, 12))
  const run = db.transaction((texts: string[]) => {
    for (const text of texts) db.exec(text)
  })
  return {
    run: async (texts: string[]) => run(texts),
    count: async () => db.prepare<[], number>(counted).pluck().get() as number,
    finish: async () => {
      db.pragma('wal_checkpoint(TRUNCATE)')
      db.close()
    },
  }
}

async function ofPostgres({ databaseUrl }: Target) {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  return {
    run: async (texts: string[]) => {
      await client.query(['BEGIN', 'SET LOCAL synchronous_commit = off', ...texts, 'COMMIT'].join(';'))
    },
    count: async () => Number((await client.query<{ count: string }>(counted)).rows[0]?.count),
    finish: async () => {
      await client.query('VACUUM ANALYZE')
      await client.end()
    },
  }
}

/** Bytes of the record on the disk. */
export async function bytesOf(target: Target): Promise<number> {
  const sqlite =
    'SELECT page_count * page_size AS number FROM pragma_page_count() CROSS JOIN pragma_page_size()'
  return numberIn(target, sqlite, 'SELECT pg_database_size(current_database()) AS number')
}

/** Whether hours are left whose sums are not added up. */
export async function hasUnsummedHours(target: Target): Promise<boolean> {
  const left = ['call_sum_marks', 'unsummed_projects'].map((table) => `(SELECT count(*) FROM ${table})`)
  return (await numberIn(target, `SELECT ${left.join(' + ')} AS number`)) > 0
}

async function numberIn({ databaseUrl, folder }: Target, sqlite: string, postgres = sqlite): Promise<number> {
  if (databaseUrl === '') {
    const db = new Sqlite(sqliteFile(folder), { readonly: true })
    const number = db.prepare<[], number>(sqlite).pluck().get()
    db.close()
    return number ?? 0
  }
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const { rows } = await client.query<{ number: string }>(postgres)
  await client.end()
  return Number(rows[0]?.number)
}
