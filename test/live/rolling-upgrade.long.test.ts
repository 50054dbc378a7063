import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import Sqlite from 'better-sqlite3'
import pg from 'pg'
import { sqliteFile } from '../../src/storage/open.ts'
import { completeOf, endOf, startOf } from '../support/calls.ts'
import { runCommand } from '../support/commands.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { newFolder, type RunningServer, startOne, type TestScope } from '../support/server.ts'
import { until } from '../support/wait.ts'

/**
 * Servers are upgraded one after the other, as docker/kubernetes/heddle.yaml does it: the new version migrates the record
 * while the old one still writes. The old server here is the released one. Its source is a fixture, because a clone of CI
 * has no earlier commits.
 */

const fixtures = new URL('../fixtures/', import.meta.url)
const releases = readdirSync(fixtures).flatMap(
  (name) => /^release-(.+)\.source\.tar\.gz$/.exec(name)?.[1] ?? [],
)

let postgres: TestPostgres
before(async () => {
  postgres = await startPostgres()
})
after(() => postgres.stop())

async function startRelease(t: TestScope, release: string, settings: Record<string, string>) {
  const folder = await newFolder(t)
  const archive = fileURLToPath(new URL(`release-${release}.source.tar.gz`, fixtures))
  execFileSync('tar', ['xzf', archive, '-C', folder])
  symlinkSync(fileURLToPath(new URL('../../node_modules', import.meta.url)), join(folder, 'node_modules'))
  return startOne(t, settings, [], pathToFileURL(`${folder}/`))
}

const project_id = 'acme/upgrade'

async function send(server: RunningServer, url: string, body: object): Promise<unknown> {
  const answer = await server.post(url, body)
  const text = await answer.text()
  assert.equal(answer.status, 200, `${url}: ${text}`)
  return text === '' ? undefined : JSON.parse(text)
}

const complete = (server: RunningServer, ...batch: object[]) =>
  send(server, `/v2/${project_id}/calls/complete`, { batch })

interface Expected {
  id: string
  status: 'success' | 'error'
  /** Found by these words alone. */
  words: string[]
}

const summary = { usage: { small: { prompt_tokens: 3, completion_tokens: 4 } } }

/** One call, whose parts, name or notes come through either server. */
type Way = (id: string, word: string, old: RunningServer, next: RunningServer) => Promise<Partial<Expected>>

function ways(): Record<string, Way> {
  const inputs = (word: string) => ({ project_id, inputs: { model: 'small', question: word } })
  const whole = (id: string, word: string, more = {}) => completeOf({ id, ...inputs(word), summary, ...more })
  const failed = { exception: 'it broke' }
  const end = (server: RunningServer, id: string, more = {}) =>
    send(server, '/call/end', { end: endOf(id, { project_id, summary, ...more }) })
  const start = (server: RunningServer, id: string, word: string) =>
    send(server, '/call/start', { start: startOf({ id, ...inputs(word) }) })
  return {
    'whole by the old server': async (id, word, old) => {
      await complete(old, whole(id, word))
      return {}
    },
    'failed at the old server': async (id, word, old) => {
      await complete(old, whole(id, word, failed))
      return { status: 'error' }
    },
    'whole by the new server': async (id, word, _, next) => {
      await complete(next, whole(id, word))
      return {}
    },
    'started by the old server': async (id, word, old, next) => {
      await start(old, id, word)
      await end(next, id)
      return {}
    },
    'ended by the old server': async (id, word, old, next) => {
      await start(next, id, word)
      await end(old, id, failed)
      return { status: 'error' }
    },
    'sent again to the old server': async (id, word, old, next) => {
      await complete(next, whole(id, `before${word}`, failed))
      await complete(old, whole(id, word))
      return {}
    },
    'ended again by the old server': async (id, word, old, next) => {
      await complete(next, whole(id, word))
      await end(old, id, failed)
      return { status: 'error' }
    },
    'renamed by the old server': async (id, word, old, next) => {
      await complete(next, whole(id, word))
      await send(old, '/call/update', { project_id, call_id: id, display_name: `name${word}` })
      return { words: [word, `name${word}`] }
    },
    'noted by the old server': async (id, word, old, next) => {
      await complete(next, whole(id, word))
      const svc_ref = `weave:///${project_id}/call/${id}`
      const payload = { note: `note${word}` }
      await send(old, '/feedback/create', { project_id, svc_ref, feedback_type: 'wandb.note.1', payload })
      return { words: [word, `note${word}`] }
    },
  }
}

/** An evaluation whose trials come through both servers, and are corrected through the other one. */
async function evaluate(old: RunningServer, next: RunningServer): Promise<void> {
  const run = randomUUID()
  const part = (fields: object) => completeOf({ project_id, trace_id: run, ...fields })
  await complete(old, part({ id: run, op_name: 'Evaluation.evaluate', inputs: { self: 'quiz', model: 'm' } }))
  for (let n = 0; n < 12; n++) {
    const id = randomUUID()
    const [first, other] = n % 2 ? [old, next] : [next, old]
    const trial = (right: boolean) =>
      part({
        id,
        parent_id: run,
        op_name: 'Evaluation.predict_and_score',
        inputs: { example: { n }, model: 'm' },
        output: { output: n, scores: { right, near: n / 10 } },
      })
    await complete(first, trial(false))
    if (n % 3) await complete(other, trial(true))
    if (n === 6) await send(old, '/calls/delete', { project_id, call_ids: [id] })
  }
  await send(next, `/v2/${project_id}/eval_results/query`, { evaluation_call_ids: [run] })
}

interface Listed {
  calls: { id: string; status: string; model: string | null; input_tokens: number | null }[]
  is_deriving: boolean
}

const listed = (server: RunningServer) =>
  send(server, '/views/calls', { project_id, limit: 1_000 }) as Promise<Listed>

async function found(server: RunningServer, text: string): Promise<string[]> {
  const answer = await send(server, '/views/search', { project_id, text })
  return (answer as { found: { call: { id: string } }[] }).found.map(({ call }) => call.id)
}

test('there are released servers', () => assert.ok(releases.includes('0.1.0')))

/** Two versions share the record. `ask` runs a statement of the test in it. */
interface SharedRecord {
  settings: Record<string, string>
  ask(text: string): Promise<unknown[]>
}

const engines: Record<string, (t: TestScope) => Promise<SharedRecord>> = {
  async PostgreSQL(t) {
    const url = await postgres.createDatabase()
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    t.after(() => client.end())
    const settings = { HEDDLE_DATABASE_URL: url, HEDDLE_DATA: await newFolder(t) }
    return { settings, ask: async (text) => (await client.query(text)).rows }
  },
  async SQLite(t) {
    const folder = await newFolder(t)
    const ask = async (text: string) => {
      const file = new Sqlite(sqliteFile(folder))
      try {
        const statement = file.prepare(text)
        return statement.reader ? statement.all() : [statement.run()]
      } finally {
        file.close()
      }
    }
    return { settings: { HEDDLE_DATA: folder }, ask }
  },
}

/** Calls of each way. */
const rounds = 4
/** Fewer than a list shows at once. */
const mostLoaded = 300

for (const [engine, share] of Object.entries(engines)) {
  for (const release of releases) {
    test(`what ${release} writes after this version has migrated is derived later, on ${engine}`, async (t) => {
      const { settings, ask } = await share(t)
      const old = await startRelease(t, release, settings)
      const expected: Expected[] = []
      let isStarting = true
      const write = async (name: string, next: RunningServer) => {
        const id = randomUUID()
        const word = `word${id.replaceAll('-', '')}`
        const differs = await (ways()[name] as Way)(id, word, old, next)
        expected.push({ id, status: 'success', words: [word], ...differs })
      }
      // Load while the record is migrated.
      const loads = Array.from({ length: 2 }, async () => {
        while (isStarting && expected.length < mostLoaded) await write('whole by the old server', old)
      })
      const next = await startOne(t, settings).finally(() => {
        isStarting = false
      })
      await Promise.all(loads)
      const names = Object.keys(ways())
      await Promise.all([
        evaluate(old, next),
        ...names.map(async (name) => {
          for (let n = 0; n < rounds; n++) await write(name, next)
        }),
      ])
      await old.end('SIGTERM')

      await until('the calls are derived', async () => !(await listed(next)).is_deriving)
      const shown = new Map((await listed(next)).calls.map((call) => [call.id, call]))
      for (const { id, status } of expected) {
        const { status: now, model, input_tokens } = shown.get(id) ?? {}
        assert.deepEqual([now, model, input_tokens], [status, 'small', 3], id)
      }
      const marks = 'SELECT call_ids FROM search_marks UNION ALL SELECT trial_id FROM eval_owed'
      await until('the words are read', async () => (await ask(marks)).length === 0)
      for (const { id, words } of expected.slice(-rounds * names.length)) {
        for (const word of words) assert.deepEqual(await found(next, word), [id], word)
      }
      const check = (...options: string[]) => runCommand(['db', 'check', ...options], settings)
      assert.deepEqual((await check()).err, '')

      // What an earlier upgrade of this kind has lost is found and mended, too.
      await next.end('SIGTERM')
      const lost = expected.at(-1)?.id ?? ''
      await ask(`UPDATE calls SET op = NULL, status = NULL, model = NULL WHERE id = '${lost}'`)
      await ask(`DELETE FROM search_entries WHERE call_id = '${lost}'`)
      const damaged = await check()
      assert.deepEqual(
        [damaged.code, damaged.err.split('\n')[0]],
        [1, `op, status, model, words of call ${lost} in ${project_id} does not match the call`],
      )
      assert.match((await check('--rebuild')).out, /^Derived 1 calls again\.$/m)
      assert.deepEqual((await check()).err, '')
      assert.deepEqual(await ask(`SELECT op, model FROM calls WHERE id = '${lost}'`), [
        { op: 'answer', model: 'small' },
      ])
    })
  }
}
