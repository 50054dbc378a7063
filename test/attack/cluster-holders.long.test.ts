import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { completeOf, project } from '../support/calls.ts'
import { startFakeUpstream, streamWords } from '../support/fake-upstream.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { newFolder, type RunningServer, startOne } from '../support/server.ts'
import { until } from '../support/wait.ts'

let postgres: TestPostgres
before(async () => {
  postgres = await startPostgres()
})
after(() => postgres.stop())

// biome-ignore lint/suspicious/noExplicitAny: an answer is compared, never trusted
async function ok(server: RunningServer, url: string, body: object): Promise<any> {
  const answer = await server.post(url, { project_id: project, ...body })
  const text = await answer.text()
  assert.equal(answer.status, 200, `${url}: ${text}`)
  return JSON.parse(text || 'null')
}

async function client(t: { after(end: () => unknown): void }, url: string): Promise<pg.Client> {
  const connected = new pg.Client({ connectionString: url })
  await connected.connect()
  t.after(() => connected.end())
  return connected
}

/** Servers by the names of their connections in the database. */
async function startNamed(
  t: { after(end: () => unknown): void },
  url: string,
  names: readonly string[],
  settings: (name: string) => Record<string, string> = () => ({}),
): Promise<Map<string, RunningServer>> {
  const servers = names.map(async (name) => {
    const address = `${url}?application_name=${name}`
    const given = { HEDDLE_DATABASE_URL: address, HEDDLE_DATA: await newFolder(t), HEDDLE_MODEL: 'none' }
    return [name, await startOne(t, { ...given, ...settings(name) })] as const
  })
  return new Map(await Promise.all(servers))
}

const trialOf = (evaluation: string, n: number) => ({
  ...completeOf({ trace_id: evaluation, parent_id: evaluation }),
  op_name: 'Evaluation.predict_and_score',
  inputs: { example: { n }, model: 'm' },
  output: { model_output: n, scores: { right: true } },
})

interface Work {
  /** The name of its advisory lock. */
  name: string
  /** A table that only this work writes. */
  table: string
  begin(server: RunningServer): Promise<void>
  /** A query that finds a row once the work is done. */
  done: string
}

const evaluation = randomUUID()
const expired = completeOf({ expire_at: '2026-01-03T00:00:00Z' })

const works: Work[] = [
  {
    name: 'deriving',
    table: 'eval_trials',
    async begin(server) {
      const root = {
        ...completeOf({ id: evaluation }),
        op_name: 'Evaluation.evaluate',
        inputs: { self: 'e', model: 'm' },
      }
      const batch = [root, ...Array.from({ length: 20 }, (_, n) => trialOf(evaluation, n))]
      await ok(server, `/v2/${project}/calls/complete`, { batch })
    },
    // No client reads the results, which would derive them as well.
    done: `SELECT 1 FROM (SELECT count(*) AS derived FROM eval_trials) AS trials
           WHERE derived = 20 AND NOT EXISTS (SELECT 1 FROM eval_owed)`,
  },
  {
    name: 'the sweep of calls',
    table: 'response_details',
    async begin(server) {
      await ok(server, `/v2/${project}/calls/complete`, { batch: [expired] })
    },
    done: 'SELECT 1 FROM calls WHERE swept_at IS NOT NULL',
  },
]

for (const { name: work, table, begin, done } of works) {
  test(`another server continues ${work} when the server that does it is killed`, async (t) => {
    const url = await postgres.createDatabase()
    const servers = await startNamed(t, url, ['one', 'two', 'three'])
    const [database, blocker] = [await client(t, url), await client(t, url)]
    const holder = async () => {
      const { rows } = await database.query<{ name: string }>(
        `SELECT application_name AS name FROM pg_locks JOIN pg_stat_activity USING (pid)
         WHERE locktype = 'advisory' AND granted AND datname = current_database()
           AND (classid::bigint << 32 | objid::bigint) = hashtextextended($1, 1751475308)`,
        [work],
      )
      return rows[0]?.name
    }
    await blocker.query('BEGIN')
    await blocker.query(`LOCK TABLE ${table} IN SHARE MODE`)
    await begin(servers.get('one') as RunningServer)
    let name = ''
    await until('one of them is in the middle of it', async () => {
      name = (await holder()) ?? ''
      return name !== ''
    })
    assert.equal(await servers.get(name)?.end('SIGKILL'), 'SIGKILL')
    servers.delete(name)
    await blocker.query('COMMIT')
    await until('it is done', async () => (await database.query(done)).rowCount === 1)
  })
}

test('when the judging server is killed while the judge answers, another server judges once', async (t) => {
  const url = await postgres.createDatabase()
  const held: { by: string | undefined; say(): void }[] = []
  const upstream = await startFakeUpstream(t, (response, asked) => {
    held.push({
      by: asked.headers.authorization?.replace('Bearer ', ''),
      say: () => streamWords('{"good":', 'true}')(response, asked),
    })
  })
  const servers = await startNamed(t, url, ['one', 'two'], (name) => ({
    HEDDLE_MODEL: upstream.url,
    HEDDLE_UPSTREAM_KEY: name,
  }))
  for (const server of servers.values()) {
    await until('the model is reached', async () => (await server.get('/ready')).status === 200)
  }
  const one = servers.get('one') as RunningServer
  const { scorer } = await ok(one, `/v2/${project}/scorers`, {
    name: 'good',
    judge: {
      prompt: 'Is {output} good?',
      schema: { type: 'object', properties: { good: { type: 'boolean' } }, required: ['good'] },
    },
  })
  const { monitor } = await ok(one, '/monitors', { name: 'watch', scorers: [{ scorer }] })
  const call = completeOf()
  await ok(one, `/v2/${project}/calls/complete`, { batch: [call] })
  await until('a judge is asked', () => held.length > 0)
  const { by: first } = held[0] as { by: string }
  assert.equal(await servers.get(first)?.end('SIGKILL'), 'SIGKILL')
  const survivor = servers.get(first === 'one' ? 'two' : 'one') as RunningServer
  await until('the other asks', () => held.some(({ by }) => by !== first), 120_000)
  for (const { say } of held) say()
  const stats = async () =>
    (await ok(survivor, '/monitors/stats', { monitor_ids: [monitor.id] })).stats[0].judged
  await until('it is judged', async () => (await stats()) === 1)
  const { result } = await ok(survivor, '/feedback/query', {})
  assert.deepEqual(
    result.map(({ svc_ref, payload }: { svc_ref: string; payload: { output: object } }) => [
      svc_ref,
      payload.output,
    ]),
    [[`weave:///${project}/call/${call.id}`, { good: true }]],
  )
})
