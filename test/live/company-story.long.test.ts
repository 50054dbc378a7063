import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { Webhook } from 'standardwebhooks'
import { chatUrl } from '../support/chat.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import type { RunningServer } from '../support/server.ts'
import { until } from '../support/wait.ts'
import { failingCondition, failingScore } from './failing-score.ts'
import {
  askedShortly,
  closeBudgetAtItsSum,
  pricedProject as project_id,
  startPricedServers,
  writeSmallModel,
} from './priced-servers.ts'
import { freePort, issuersFile } from './sign-in/heddle.ts'
import { createBrowser, finishSignIn, signInThere, startProvider } from './sign-in/real-provider.ts'
import { startReceiver } from './webhook-receiver.ts'

let postgres: TestPostgres
before(async () => {
  postgres = await startPostgres()
})
after(() => postgres.stop())

/** crash.long.test.ts has fifty, on one server. */
const kills = 4

/** Somebody who has signed in at the page of the first server, and a program with a key of theirs. */
interface Person {
  atThePage(url: string, body: object): Promise<Response>
  byProgram(server: RunningServer, url: string, body: object): Promise<Response>
}

async function signIn(publicUrl: string, login: string): Promise<Person> {
  const browser = createBrowser()
  const callback = await signInThere(browser, `${publicUrl}/sign-in/acme`, login)
  const { half, user } = await finishSignIn(browser, callback, publicUrl)
  assert.equal(user, login)
  const atThePage = (url: string, body: object) =>
    browser.open(publicUrl + url, {
      method: 'POST',
      headers: { 'x-heddle-page': half, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const { key } = await answered(atThePage('/keys', {}))
  return { atThePage, byProgram: (server, url, body) => server.post(url, body, { key }) }
}

// biome-ignore lint/suspicious/noExplicitAny: an answer is compared, never trusted
async function answered(asked: Promise<Response>): Promise<any> {
  const answer = await asked
  assert.equal(answer.status, 200, await answer.clone().text())
  return answer.json()
}

interface AlertEvent {
  id: string
  data: { feedback_id: string }
  deliveries: { state: string }[]
}

test('a company lets it in: people sign in, review, keep to a budget, and hear of what fails', async (t) => {
  const provider = await startProvider(t)
  const port = await freePort()
  const publicUrl = `http://127.0.0.1:${port}`
  await provider.tell(publicUrl)
  provider.claims.set('anna', { preferred_username: 'anna', groups: ['staff'] })
  provider.claims.set('rita', { preferred_username: 'rita', groups: ['review'] })
  const issuer = {
    ...{ name: 'acme', title: 'Acme', issuer: provider.issuer, client_id: provider.client.id },
    ...{ client_secret: { env: 'SECRET_OF_HEDDLE' }, scopes: ['groups'], sign_up: true },
    grants: ['staff=editor@acme', `review=annotator@${project_id}`],
  }
  const url = await postgres.createDatabase()
  const settings = {
    HEDDLE_OIDC: await issuersFile(t, [issuer]),
    HEDDLE_PUBLIC_URL: publicUrl,
    HEDDLE_WEBHOOK_ALLOW: 'loopback',
    SECRET_OF_HEDDLE: provider.client.secret,
  }
  const own: Parameters<typeof startPricedServers>[2] = [{ HEDDLE_PORT: String(port) }, {}]
  const { servers, restart } = await startPricedServers(
    t,
    { url, model: await writeSmallModel(t), settings },
    own,
  )
  const anna = await signIn(publicUrl, 'anna')
  const rita = await signIn(publicUrl, 'rita')

  // The editor asks the model, and wants the answer reviewed.
  const answer = await anna.byProgram(servers[0], chatUrl, askedShortly())
  assert.equal(answer.status, 200, await answer.clone().text())
  const call = answer.headers.get('x-heddle-call-id') as string
  const val = { name: 'rating', field_schema: { type: 'number' } }
  const obj = { project_id, object_id: 'rating', val, builtin_object_class: 'AnnotationSpec' }
  const { digest } = await answered(anna.atThePage('/obj/create', { obj }))
  const annotation_ref = `weave:///${project_id}/object/rating:${digest}`
  const queue = { project_id, name: 'Answers', scorer_refs: [annotation_ref] }
  const { id: queueId } = await answered(anna.atThePage('/annotation_queues', queue))
  const items = { project_id, call_ids: [call] }
  await until('the answer is recorded, and waits for its review', async () => {
    const added = await anna.atThePage(`/annotation_queues/${queueId}/items`, items)
    return ((await added.json()) as { added_count?: number }).added_count === 1
  })

  // The annotator reviews it, also by the other server, and may do nothing else.
  const { item } = await answered(
    rita.byProgram(servers[1], `/annotation_queues/${queueId}/next`, { project_id }),
  )
  assert.equal(item.call_id, call)
  const rating = {
    ...{ project_id, weave_ref: `weave:///${project_id}/call/${call}` },
    ...{ feedback_type: 'wandb.annotation.rating', annotation_ref, payload: { value: 2 } },
  }
  await answered(rita.byProgram(servers[1], '/feedback/create', rating))
  const progress = `/annotation_queues/${queueId}/items/${item.id}/progress`
  await answered(rita.atThePage(progress, { project_id, annotation_state: 'completed' }))
  for (const [path, body] of [
    [chatUrl, askedShortly()],
    ['/calls/stream_query', { project_id }],
    ['/alert_rules', { project_id, name: 'all', on: 'call' }],
  ] as const) {
    assert.equal((await rita.byProgram(servers[1], path, body)).status, 403, path)
  }
  const { result } = await answered(anna.atThePage('/feedback/query', { project_id }))
  assert.deepEqual(
    result.map(({ creator, wb_user_id, payload }: Record<string, unknown>) => [
      creator ?? wb_user_id,
      payload,
    ]),
    [['rita', { value: 2 }]],
  )

  await closeBudgetAtItsSum(servers, anna.byProgram)

  // While answers are held, nothing counts as delivered: who is killed then dies between a write and its delivery.
  let isHeld = false
  const held: ServerResponse[] = []
  const receiver = await startReceiver(
    t,
    (_, response) => void (isHeld ? held.push(response) : response.end()),
  )
  const endpoint = { project_id, name: 'ops', url: receiver.url }
  const { secret } = await answered(anna.atThePage('/alert_endpoints', endpoint))
  const { rule } = await answered(
    anna.atThePage('/alert_rules', { project_id, name: 'Low', ...failingCondition }),
  )
  const fail = async (server: RunningServer) => {
    const id = randomUUID()
    const score = { project_id, id, ...failingScore(project_id, call) }
    await answered(anna.byProgram(server, '/feedback/create', score))
    return id
  }
  const fired = async (): Promise<AlertEvent[]> =>
    (await answered(anna.byProgram(servers[1], '/alert_events/query', { project_id, rule_id: rule.id })))
      .events
  const states = async () => (await fired()).flatMap(({ deliveries }) => deliveries.map(({ state }) => state))
  await until('the other server knows the rule', async () => {
    await fail(servers[1])
    return (await fired()).length > 0
  })
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  t.after(() => client.end())
  const scores: string[] = []
  for (let kill = 0; kill < kills; kill++) {
    const index = kill % 2 === 0 ? 0 : 1
    await until('nothing waits', async () => (await states()).every((state) => state === 'sent'))
    isHeld = true
    scores.push(await fail(servers[index]))
    await servers[index].end('SIGKILL')
    await restart(index)
    assert.deepEqual(
      (await states()).filter((state) => state !== 'sent'),
      ['pending'],
    )
    isHeld = false
    for (const response of held.splice(0)) response.end()
    // Time passes: what the killed server had taken is free.
    await client.query("UPDATE alert_deliveries SET taken_until = 0 WHERE state = 'pending'")
  }
  await until('nothing waits', async () => (await states()).every((state) => state === 'sent'))

  const messages = receiver.received.map(({ body, headers }) => {
    // Throws unless it was signed with the secret of the endpoint.
    const message = new Webhook(secret).verify(body, headers as Record<string, string>) as AlertEvent
    return { id: headers['webhook-id'] as string, score: message.data.feedback_id }
  })
  // Each score is told under one id, however often it was sent.
  const told = new Map(messages.map(({ id, score }) => [id, score]))
  assert.deepEqual([...told.keys()].sort(), (await fired()).map(({ id }) => id).sort())
  assert.equal(new Set(told.values()).size, told.size)
  for (const score of scores) assert.ok([...told.values()].includes(score))
  for (const server of servers) assert.equal(await server.end('SIGTERM'), 0)
})
