import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { now } from '../../src/domain/time.ts'
import type { Database } from '../../src/storage/database.ts'
import { loadMigrations } from '../../src/storage/engines/migrations.ts'
import { migratePostgres } from '../../src/storage/engines/postgres/migrate.ts'
import { connect } from '../../src/storage/engines/sqlite/connection.ts'
import { openSqlite } from '../../src/storage/engines/sqlite/open.ts'
import { openRecord, sqliteFile } from '../../src/storage/open.ts'
import type { Engine } from '../../src/storage/sql/dialect.ts'
import { sql } from '../../src/storage/sql/sql.ts'
import { keys, openApp } from '../support/app.ts'
import { partsModel } from '../support/parts-model.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { asking, eventsOf, responseOf, responsesUrl } from '../support/responses.ts'
import { newFolder } from '../support/server.ts'

const day = 86_400_000_000
const started = now()

function beforeCalls(engine: Engine) {
  const all = loadMigrations(engine)
  return all.slice(
    0,
    all.findIndex(({ name }) => name.includes('responses_from_calls')),
  )
}

const itemOf = (id: string, role: string, type: string, text: string) => ({
  id,
  type: 'message',
  role,
  status: 'completed',
  content: [{ type, text, ...(type === 'output_text' && { annotations: [], logprobs: [] }) }],
})

/** As they were stored before answers were calls. */
function older(
  id: string,
  previous: string | null,
  said: { asked: string; answered: string },
  expires: number,
) {
  const name = id.slice('resp_'.length)
  const input = [itemOf(`msg_${name}_in0`, 'user', 'input_text', said.asked)]
  const output = [itemOf(`msg_${name}_0`, 'assistant', 'output_text', said.answered)]
  const usage = {
    input_tokens: 1,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 1,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 2,
  }
  const answer = {
    id,
    object: 'response',
    created_at: 1_780_000_000,
    completed_at: 1_780_000_001,
    status: 'completed',
    background: false,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    max_tool_calls: null,
    model: 'scripted',
    parallel_tool_calls: true,
    previous_response_id: previous,
    prompt_cache_key: null,
    reasoning: { effort: null, summary: null },
    safety_identifier: null,
    service_tier: 'default',
    store: true,
    temperature: 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    text: { format: { type: 'text' }, verbosity: 'medium' },
    tool_choice: 'auto',
    tools: [],
    top_logprobs: 0,
    top_p: 1,
    truncation: 'disabled',
    user: null,
    metadata: {},
    usage,
  }
  const quoted = (value: unknown) => `'${JSON.stringify(value).replaceAll("'", "''")}'`
  return {
    whole: { ...answer, output },
    statements: [
      `INSERT INTO responses (user_name, id, created_at, expire_at, previous_id, bytes)
       VALUES ('alice', '${id}', ${started}, ${expires}, ${previous === null ? 'NULL' : `'${previous}'`}, 100)`,
      `INSERT INTO response_texts (user_name, id, input, output, answer, cuts)
       VALUES ('alice', '${id}', ${quoted(input)}, ${quoted(output)}, ${quoted(answer)}, '[1,${said.answered.length}]')`,
    ],
  }
}

const first = older('resp_one', null, { asked: 'Hi', answered: "It's one \u0000\ud800é" }, started + 2 * day)
const second = older('resp_two', 'resp_one', { asked: 'And?', answered: 'Two' }, started + 2 * day)
const expired = older('resp_three', null, { asked: 'Hi', answered: 'Three' }, started - 1)
const statements = [first, second, expired].flatMap((one) => one.statements)

describe('answers that were stored before answers were calls', () => {
  let server: TestPostgres
  before(async () => {
    server = await startPostgres()
  })
  after(() => server.stop())

  async function inSqlite(t: Parameters<typeof newFolder>[0]): Promise<Database> {
    const folder = await newFolder(t)
    const file = sqliteFile(folder)
    await (await openSqlite({ file, migrations: beforeCalls('sqlite') })).close()
    const { handle, close } = connect(file, 'write')
    for (const statement of statements) handle.exec(statement)
    close()
    return openRecord({ databaseUrl: '', folder, queryTimeoutMs: 60_000 })
  }

  async function inPostgres(): Promise<Database> {
    const databaseUrl = await server.createDatabase()
    await migratePostgres(databaseUrl, beforeCalls('postgres'), {
      connectTimeoutMs: 5_000,
      lockTimeoutMs: 60_000,
    })
    const client = new pg.Client({ connectionString: databaseUrl })
    await client.connect()
    for (const statement of statements) await client.query(statement)
    await client.end()
    return openRecord({ databaseUrl, folder: '', queryTimeoutMs: 60_000 })
  }

  for (const [name, open] of [
    ['SQLite', inSqlite],
    ['PostgreSQL', inPostgres],
  ] as const) {
    test(`are read, continued and deleted as before, in ${name}`, async (t) => {
      const database = await open(t)
      const model = partsModel({ kind: 'content', text: 'Three' })
      const settings = { HEDDLE_RESPONSE_DAYS: '30' }
      const { get, post, send } = await openApp(t, { model, database, settings })
      for (const { whole } of [first, second]) {
        const url = `${responsesUrl}/${whole.id}`
        assert.deepEqual((await get(url)).json, JSON.parse(JSON.stringify(whole)))
        assert.deepEqual(responseOf(eventsOf((await get(`${url}?stream=true`)).text)), whole)
        assert.equal((await get(url, keys.root)).status, 404)
      }
      const items = await get(`${responsesUrl}/resp_one/input_items`)
      assert.equal(items.json.data[0].id, 'msg_one_in0')
      assert.equal((await get(`${responsesUrl}/resp_three`)).status, 404)
      const calls = await post('/calls/query_stats', { project_id: 'acme/default' })
      assert.equal(calls.json.count, 0, 'they are not listed as calls')

      const next = await post(responsesUrl, asking({ input: 'Go on', previous_response_id: 'resp_two' }))
      assert.equal(next.status, 200, next.text)
      const [input] = model.asked.at(-1)?.inputs ?? []
      assert.ok(input && 'conversation' in input)
      assert.deepEqual(
        input.conversation.messages.map(({ content }) => content),
        ['Hi', first.whole.output[0]?.content[0]?.text, 'And?', 'Two', 'Go on'],
      )
      const { least } = (await database.get<{ least: number }>(
        sql`SELECT min(expire_at) AS least FROM responses WHERE id IN (${'resp_one'}, ${'resp_two'})`,
      )) ?? { least: 0 }
      assert.ok(Number(least) > started + 29 * day, 'they are kept as long as the answers that continue them')
      const referring = {
        input: [
          { type: 'item_reference', id: 'msg_two_0' },
          { role: 'user', content: 'x' },
        ],
      }
      assert.equal((await post(responsesUrl, referring)).status, 200)

      assert.equal((await send('DELETE', `${responsesUrl}/resp_one`)).status, 200)
      assert.equal((await get(`${responsesUrl}/resp_one`)).status, 404)
      const broken = await post(responsesUrl, asking({ previous_response_id: next.json.id }))
      assert.equal(broken.json.error.code, 'previous_response_not_found')
    })
  }
})
