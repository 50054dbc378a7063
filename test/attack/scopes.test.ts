import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type Right, type Scope, scopes } from '../../src/domain/roles.ts'
import { basic, keys } from '../support/app.ts'
import { startOf } from '../support/calls.ts'
import { fileForm, formOf, sendForm } from '../support/forms.ts'
import { secret, storeOneOfEach } from '../support/one-of-each.ts'
import { exportOf, spanOf } from '../support/otlp.ts'
import { dumpOf } from '../support/record-dump.ts'
import { addressOf, openAppWithRoutes, type Route } from '../support/routes.ts'
import { sampleBodies } from '../support/sample-bodies.ts'
import { scriptedBackend, scriptOf } from '../support/scripted-backend.ts'

const project = 'acme/qa'
const backend = scriptedBackend(scriptOf(secret))
const opened = await openAppWithRoutes({ after }, { backend })
const { app, database, post, routes } = opened
const walked = routes.filter(
  ({ isPublic, method, staysOpen }) => !isPublic && method !== 'HEAD' && !staysOpen,
)

const walker = { name: 'walker', grants: [{ scope: '*', role: 'admin' }] }
const whole = (await post('/users', walker, keys.root)).json.key.key as string
const keyOf = new Map<Scope, string>()
for (const scope of scopes) keyOf.set(scope, (await post('/keys', { scopes: [scope] }, whole)).json.key)

/** What is stored of each kind, by the names that paths and bodies have for it. */
async function storeAll(): Promise<Record<string, string>> {
  const things = await storeOneOfEach(opened, project, whole)
  const made = async (url: string, body: object): Promise<Record<string, string>> => {
    const { status, json, text } = await post(url, body, whole)
    assert.equal(status, 200, text)
    return json
  }
  const object = `weave:///${project}/object/${things.object}:v0`
  const run = await made(`/v2/${project}/evaluation_runs`, { evaluation: object, model: object })
  const { evaluation_run_id = '' } = run
  const predicted = { model: object, inputs: { secret }, output: secret, evaluation_run_id }
  const { prediction_id = '' } = await made(`/v2/${project}/predictions`, predicted)
  const scored = { prediction_id, scorer: object, value: 1, evaluation_run_id }
  const { score_id = '' } = await made(`/v2/${project}/scores`, scored)
  const headers = { authorization: basic(whole), 'x-heddle-project': project }
  const asked = await app.inject({
    method: 'POST',
    url: '/v1/chat/completions',
    headers,
    payload: { messages: [{ role: 'user', content: 'Hi' }] },
  })
  const completion_id = asked.json().id
  // It is recorded after the answer; reading it waits for that.
  const url = `/v1/chat/completions/${completion_id}`
  assert.ok((await app.inject({ url, headers })).body.includes(secret))
  return {
    ...{ queue_id: things.queue, item_id: things.item, rule_id: things.rule, object_id: things.object },
    ...{ digest: things.digest, alias: things.alias, monitor_id: things.monitor, id: things.call },
    ...{ endpoint_id: things.alertEndpoint, alert_rule_id: things.alertRule, call_id: things.call },
    ...{ trace_id: things.trace, table: things.table, file: things.file, completion_id },
    ...{ evaluation_run_id, prediction_id, score_id, source_evaluation_run_id: evaluation_run_id },
    evaluation_call_id: evaluation_run_id,
  }
}

const known = await storeAll()
// From here on, what is secret comes from the record only.
backend.script = scriptOf('Hello')

/** A body with what is stored in the place of the names of the samples, and without what would select less. */
function withKnown(value: unknown, url: string): unknown {
  if (Array.isArray(value)) return value.map((item) => withKnown(item, url))
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).flatMap(([name, inner]): [string, unknown][] => {
    if (/^(filters?|query|sort_by|user|columns|offset|after)$/.test(name)) return []
    const kind = /\/(table|file)/.exec(url)?.[1]
    const thing = known[name === 'digest' && kind !== undefined ? kind : name.replace(/ids$/, 'id')]
    if (thing === undefined || inner === null) return [[name, withKnown(inner, url)]]
    return [[name, name.endsWith('ids') ? [thing] : thing]]
  })
  return Object.fromEntries(members)
}

function targetOf({ method, url }: Route): string {
  const named = url.startsWith('/alert_rules') ? { rule_id: known.alert_rule_id } : {}
  const thingOf: Record<string, string | undefined> = { ...known, ...named }
  const path = url.replace(/:(\w+)/g, (whole, name) => encodeURIComponent(thingOf[name] ?? whole))
  const address = addressOf({ url: path.replaceAll('%3A', ':') })
  const ids = /\/(evaluation_run|prediction|score)s$/.exec(url)?.[1]
  if (method === 'DELETE' && ids !== undefined) return `${address}?${ids}_ids=${known[`${ids}_id`]}`
  const isNamed = method === 'POST' || method === 'PUT' || url.includes(':entity') || url.startsWith('/v1/')
  return isNamed || /^\/(usage|projects)$/.test(url) ? address : `${address}?project_id=acme%2Fqa`
}

async function ask(route: Route, scope: Scope): Promise<{ status: number; text: string }> {
  const authorization = basic(keyOf.get(scope) as string)
  if (/^\/files?\/create$/.test(route.url))
    return sendForm(opened, fileForm(project, 'text'), { authorization })
  const body = withKnown(sampleBodies[route.url]?.(project) ?? {}, route.url)
  const answer = await app.inject({
    method: route.method as 'GET',
    url: targetOf(route),
    headers: { authorization, 'x-heddle-project': project },
    ...(route.takesBody && { payload: body as object }),
  })
  assert.ok(answer.statusCode < 500, `${route.method} ${route.url}: ${answer.body}`)
  return { status: answer.statusCode, text: answer.body }
}

/** docs/roles.md: what else a scope includes. */
const included: Partial<Record<Scope, readonly Right[]>> = {
  ...{ read: ['read_queues'], review: ['read_queues'], write: ['write_calls'], operate: ['scrape'] },
}
const isOpen = (scope: Scope, { right }: Route) =>
  right === 'own' || right === scope || (included[scope]?.includes(right as Right) ?? false)

const place = (scope: Scope, { method, url }: Route) => `${method} ${url} with ${scope}`

/** When a key was used last; what answers about evaluations are made of, which is made when they are read. */
const noted = ['api_keys', 'usage_days', 'eval_trials', 'eval_row_sets', 'eval_owed']
const stored = () => dumpOf(database, () => false, noted)

test('P5: a key with one scope is refused by name on every route of another, before anything happens', async () => {
  const before = await stored()
  const asked = backend.asked.length
  for (const scope of scopes) {
    for (const route of walked) {
      if (isOpen(scope, route)) continue
      const { status, text } = await ask(route, scope)
      assert.equal(status, 403, `${place(scope, route)}: ${text}`)
      assert.ok(
        text.includes(`the scope ${route.right}; yours has ${scope}.`),
        `${place(scope, route)}: ${text}`,
      )
    }
  }
  assert.deepEqual(await stored(), before)
  assert.equal(backend.asked.length, asked)
})

test('P5: a key that only reads, or only exports, changes nothing on any route', async () => {
  const before = await stored()
  let [answered, seen] = [0, 0]
  for (const scope of ['read', 'export'] as const) {
    for (const route of walked) {
      // A reader's own choice of how its queue is shown; its own session of the page.
      if (!isOpen(scope, route) || /\/(preferences|session)$/.test(route.url)) continue
      const { status, text } = await ask(route, scope)
      if (status === 200) answered++
      if (text.includes(secret)) seen++
    }
  }
  assert.deepEqual(await stored(), before)
  assert.ok(answered > 90 && seen > 15, `${answered} answered, ${seen} with what is stored`)
})

test('P6: a request that names a project of another tenant anywhere stores nothing, not even what came before', async () => {
  const foreign = 'globex/qa'
  const start = (project_id: string) => ({ mode: 'start', req: { start: { ...startOf(), project_id } } })
  const said = (project_id: string) => ({
    project_id,
    svc_ref: `weave:///${project_id}/call/${known.call_id}`,
    ...{ feedback_type: 'thumbs', payload: {} },
  })
  const spans = (entity: string) =>
    exportOf([spanOf()], { 'wandb.entity': entity, 'wandb.project': 'qa' }).resourceSpans
  const before = await stored()
  for (const [url, body] of [
    ['/call/upsert_batch', { batch: [start(project), start(foreign)] }],
    ['/feedback/batch/create', { batch: [said(project), said(foreign)] }],
    ['/otel/v1/traces', { resourceSpans: ['acme', 'globex'].flatMap(spans) }],
  ] as const) {
    const { status, text } = await post(url, body)
    assert.equal(status, 403, `${url}: ${text}`)
  }
  const file = { name: 'file', value: 'a file that comes first', filename: 'blob' }
  const form = formOf([file, { name: 'project_id', value: foreign }])
  assert.equal((await sendForm(opened, form, { authorization: basic(keys.alice) })).status, 403)
  assert.deepEqual(await stored(), before)
})

/** What is set of a project, which the answers to its changes repeat. */
const isSetting = /^\/(alert_(rules|endpoints)|monitors|annotation_queues)\b/
const removes = ({ method, url }: Route) => method === 'DELETE' || /delete|purge|remove|erasures/.test(url)

/** The last of these tests: what it asks models is recorded after the answers. */
test('P5: a key without the scope read is told nothing of what is stored', async () => {
  let answered = 0
  for (const scope of ['infer', 'write_calls', 'write', 'keys', 'administer', 'scrape', 'operate'] as const) {
    for (const route of walked) {
      if (!isOpen(scope, route) || removes(route) || isSetting.test(route.url)) continue
      const { status, text } = await ask(route, scope)
      if (status === 200) answered++
      assert.ok(!text.includes(secret), `${place(scope, route)}: ${text}`)
    }
  }
  assert.ok(answered > 100, `only ${answered} were answered`)
})
