import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Database } from '../../src/storage/database.ts'
import { type Answer, keys, type TestApp } from '../support/app.ts'
import { openAppWithoutShedding } from '../support/app-without-shedding.ts'
import { completeOf, project } from '../support/calls.ts'
import { hostileTexts, textsIn, withText } from '../support/hostile-texts.ts'
import { secret, storeOneOfEach, type Things } from '../support/one-of-each.ts'
import { dumpOf } from '../support/record-dump.ts'
import { addressOf } from '../support/routes.ts'
import { methodOf, sampleBodies } from '../support/sample-bodies.ts'

/** Also alice's, and not the project that is attacked. */
const quiet = 'acme/quiet'

const compared = (left: unknown) => ({ $expr: { $eq: [left, { $literal: 'x' }] } })

/** In addition to the samples of the routes: every path of an expression, and the fields that the samples leave empty. */
const queries: [url: string, body: Record<string, unknown>][] = [
  '/calls/stream_query',
  '/calls/query_stats',
].flatMap((url): [string, Record<string, unknown>][] => [
  [url, { query: compared({ $getField: 'inputs.a.b' }) }],
  [url, { query: compared({ $getField: 'feedback.[thumbs].payload.up' }) }],
  [url, { query: compared({ $getField: 'annotation_queue_items.queue_id' }) }],
  [url, { query: { $expr: { $in: [{ $getField: 'op_name' }, [{ $literal: 'x' }]] } } }],
  [
    url,
    {
      query: {
        $expr: {
          $contains: {
            input: { $convert: { input: { $getField: 'output' }, to: 'string' } },
            substr: { $literal: 'x' },
            case_insensitive: true,
          },
        },
      },
    },
  ],
  [url, { expand_columns: ['inputs.model'] }],
])
queries.push(
  ['/calls/stream_query', { sort_by: [{ field: 'inputs.a', direction: 'asc' }], columns: ['inputs.a'] }],
  ['/calls/stream_query', { sort_by: [{ field: 'feedback.[a].payload.b', direction: 'asc' }] }],
  ['/feedback/query', { query: compared({ $getField: 'payload.a' }), fields: ['payload.a'] }],
  ['/feedback/query', { sort_by: [{ field: 'payload.a', direction: 'asc' }] }],
  ['/feedback/purge', { query: { $expr: { $in: [{ $getField: 'id' }, [{ $literal: 'x' }]] } } }],
  ['/cost/query', { query: compared({ $getField: 'llm_id' }) }],
  ['/refs/read_batch', { refs: ['weave:///acme/qa/object/a:v0/attr/b/key/c'] }],
)

interface Attack {
  method: ReturnType<typeof methodOf>
  url: string
  body?: unknown
}

/** Which of the hostile texts are sent to the place with this index. */
export type TextsOfPlace = (index: number) => readonly string[]

/**
 * Every fourth text, beginning with another one at each place: `npm test` sends these, and `npm run test:long` the
 * others. Each engine begins elsewhere, so that together they try half of the texts at a place.
 */
export const aQuarterFrom =
  (from: number): TextsOfPlace =>
  (index) =>
    hostileTexts.filter((_, at) => at % 4 === (from + index) % 4)

export const theOthersFrom =
  (from: number): TextsOfPlace =>
  (index) =>
    hostileTexts.filter((_, at) => at % 4 !== (from + index) % 4)

/** Texts, one after the other, wherever a route accepts text: bodies, paths and queries. */
function* attacks(routes: readonly string[], textsOf: TextsOfPlace): Generator<Attack> {
  let places = 0
  for (const [url, sampleOf] of Object.entries(sampleBodies)) {
    const sample = sampleOf(project)
    for (const path of textsIn(sample)) {
      for (const text of textsOf(places++)) {
        yield { method: methodOf(url), url: addressOf({ url }), body: withText(sample, path, text) }
      }
    }
  }
  for (const [url, fields] of queries) {
    const body = { project_id: project, ...fields }
    for (const path of textsIn(body)) {
      for (const text of textsOf(places++)) yield { method: 'POST', url, body: withText(body, path, text) }
    }
  }
  for (const route of routes) {
    const [method, url] = route.split(' ') as [Attack['method'], string]
    for (const parameter of url.match(/:\w+|=/g) ?? []) {
      for (const text of textsOf(places++)) {
        const value = encodeURIComponent(text.toWellFormed())
        const put = parameter === '=' ? url.replace(/=[^&]*/, `=${value}`) : url.replace(parameter, value)
        const address = addressOf({ url: put })
        const sample = sampleBodies[url]
        yield { method, url: address, ...(sample && { body: sample(project) }) }
      }
    }
  }
}

/** Routes without a body that accept text in their path or their query. */
const bodiless = [
  'GET /annotation_queues/:queue_id?project_id=acme%2Fqa',
  'DELETE /annotation_queues/:queue_id?project_id=acme%2Fqa',
  'GET /annotation_queues/:queue_id/rules?project_id=acme%2Fqa',
  'DELETE /annotation_queues/:queue_id/rules/:rule_id?project_id=acme%2Fqa',
  ...['ops', 'datasets', 'scorers', 'evaluations', 'models'].flatMap((kind) => [
    `GET /v2/:entity/:project/${kind}?limit=1`,
    `GET /v2/:entity/:project/${kind}/:object_id/versions/:digest`,
    `DELETE /v2/:entity/:project/${kind}/:object_id?digests=v0`,
  ]),
]

/** How many requests run concurrently. */
const atOnce = 16

export interface HostileTestApp extends TestApp {
  /** Things of another tenant, and of another project of the same one. */
  theirs: Things
  quiet: Things
  /** Sends what is expected to change only the project that is attacked. */
  unharmed(work: () => Promise<void>): Promise<void>
}

export async function openHostileTestApp(t: TestContext, database?: Database): Promise<HostileTestApp> {
  const opened = await openAppWithoutShedding(t, { ...(database && { database }) })
  const theirs = await storeOneOfEach(opened, 'globex/qa', keys.bob)
  const still = await storeOneOfEach(opened, quiet, keys.alice)
  const isAttacked = (name: string) => name.startsWith('acme/') && name !== quiet
  return {
    ...opened,
    theirs,
    quiet: still,
    async unharmed(work) {
      const before = await dumpOf(opened.database, isAttacked)
      assert.ok(Object.values(before).flat().join().includes(secret))
      await work()
      assert.deepEqual(await dumpOf(opened.database, isAttacked), before)
    },
  }
}

type Open = (t: TestContext) => Promise<Database | undefined>

/** Whatever a text contains, it is treated as text: no request fails, and no other tenant's rows change. */
export function placesTakeTexts(open: Open, textsOf: TextsOfPlace): void {
  test('SQL, patterns and paths in every text of every route are texts', async (t) => {
    const attacked = await openHostileTestApp(t, await open(t))
    const routes = Object.keys(sampleBodies).map((url) => `${methodOf(url)} ${url}`)
    await attacked.unharmed(async () => {
      const all = attacks([...routes, ...bodiless], textsOf)
      const worker = async () => {
        for (let next = all.next(); !next.done; next = all.next()) {
          const { method, url, body } = next.value
          const answer = await attacked.send(method, url, body)
          assertHarmless(answer, `${method} ${url} ${JSON.stringify(body)}`)
        }
      }
      await Promise.all(Array.from({ length: atOnce }, worker))
    })
  })
}

/** What a text contains does not matter to what is stored and found. */
export function textsAreTexts(open: Open): void {
  test('a text is stored as it is, and a query for it finds it alone', async (t) => {
    const { post, unharmed } = await openHostileTestApp(t, await open(t))
    const texts = hostileTexts.filter((text) => !text.includes('\0') && text.isWellFormed())
    const calls = texts.map((text) =>
      completeOf({ op_name: text, display_name: text, thread_id: text, inputs: { [text]: text, text } }),
    )
    await unharmed(async () => {
      assert.equal((await post('/v2/acme/qa/calls/complete', { batch: calls })).status, 200)
      for (const [index, text] of texts.entries()) {
        const id = calls[index]?.id as string
        const { call } = (await post('/call/read', { project_id: project, id })).json
        assert.deepEqual(
          [call.op_name, call.display_name, call.thread_id, call.inputs],
          [text, text, text, { [text]: text, text }],
        )
        const literal = { $literal: text }
        // A dot separates the steps of a path.
        const inside = `inputs.${text.replaceAll('.', '\\.')}`
        for (const body of [
          { filter: { op_names: [text] } },
          { filter: { thread_ids: [text] } },
          { query: { $expr: { $eq: [{ $getField: 'display_name' }, literal] } } },
          { query: { $expr: { $eq: [{ $getField: 'inputs.text' }, literal] } } },
          { query: { $expr: { $in: [{ $getField: 'op_name' }, [literal]] } } },
          { query: { $expr: { $eq: [{ $getField: inside }, literal] } } },
        ]) {
          const found = await post('/calls/stream_query', { project_id: project, columns: ['id'], ...body })
          assert.equal(found.status, 200, found.text)
          const ids = found.text.split('\n').slice(0, -1)
          assert.deepEqual(
            ids.map((line) => JSON.parse(line).id),
            [id],
            JSON.stringify(body),
          )
        }
        const part = { input: { $getField: 'display_name' }, substr: literal }
        const containing = await post('/calls/query_stats', {
          project_id: project,
          query: { $expr: { $contains: part } },
        })
        assert.equal(containing.json.count, texts.filter((other) => other.includes(text)).length, text)
      }
    })
  })
}

/** Texts that some storage engine cannot store are refused alike by all of them, with the name of the field. */
export function textsAreBounded(open: Open): void {
  test('U+0000 in a filter or an id is refused by its place', async (t) => {
    const { post } = await openHostileTestApp(t, await open(t))
    const lists = ['op_names', 'input_refs', 'output_refs', 'parent_ids', 'trace_ids', 'call_ids']
    const filters = [...lists, 'thread_ids', 'turn_ids', 'svc_user_ids', 'svc_run_ids']
    const bad = ['x', 'a\0b']
    for (const [url, place, body] of [
      ['/call/read', 'id', { id: 'a\0b' }],
      ['/calls/delete', 'call_ids.1', { call_ids: bad }],
      ['/refs/read_batch', 'refs.1', { refs: bad }],
      ...filters.map(
        (name) => ['/calls/stream_query', `filter.${name}.1`, { filter: { [name]: bad } }] as const,
      ),
      ...filters.map(
        (name) => ['/calls/query_stats', `filter.${name}.1`, { filter: { [name]: bad } }] as const,
      ),
    ] as const) {
      const { status, json } = await post(url, { project_id: project, ...body })
      assert.equal(status, 422, url)
      assert.ok(
        json.reason.startsWith(`The body does not fit the schema: ${place}: expected text without U+0000`),
        json.reason,
      )
    }
  })
}

function assertHarmless({ status, text }: Answer, request: string): void {
  assert.ok(status < 500, `${request}: ${status} ${text}`)
  assert.ok(!text.includes(secret), `${request}: ${text}`)
}
