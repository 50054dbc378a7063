import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { basic, keys } from '../support/app.ts'
import { openAppWithoutShedding } from '../support/app-without-shedding.ts'
import { storeOneOfEach, type Things } from '../support/one-of-each.ts'
import { documentOf } from '../support/openapi.ts'
import { dumpOf } from '../support/record-dump.ts'
import { withTimeout } from '../support/wait.ts'
import { checkedBackend } from './campaign/checked-backend.ts'
import { assertAnswers } from './campaign/invariants.ts'
import { markPlace } from './campaign/json-texts.ts'
import { createKnownNames } from './campaign/known-names.ts'
import { campaign } from './campaign/length.ts'
import { type Attempt, attemptsOn, bytesOf, shown, targetsOf } from './campaign/requests.ts'

const opened = await openAppWithoutShedding(
  { after: (close) => after(close) },
  { backend: checkedBackend(), settings: { HEDDLE_DOCS: 'on' } },
)
const { app, database, get } = opened
/** The answers of /mcp are those of its protocol: see test/app/mcp. */
const targets = targetsOf(await documentOf(opened)).filter(({ path }) => path !== '/mcp')
const known = createKnownNames()
const refused = new Map<string, string>()
let sent = 0

/** Sends the attempt, and checks what must be true of every answer. */
async function attack(attempt: Attempt): Promise<void> {
  const mark = `mark${++sent}x`
  const marked = (text: string) =>
    text.replaceAll(markPlace, mark).replaceAll(encodeURIComponent(markPlace), mark)
  const url = marked(known.filled(decodePlaces(attempt.url), encodeURIComponent))
  const body = attempt.body && marked(known.filled(attempt.body, (name) => JSON.stringify(name).slice(1, -1)))
  const payload = body === undefined ? undefined : bytesOf(body, attempt.damage)
  const answer = await withTimeout(
    'an answer',
    app.inject({
      method: attempt.target.method as 'GET',
      url,
      headers: {
        authorization: basic(keys.alice),
        ...(attempt.type !== undefined && { 'content-type': attempt.type }),
      },
      ...(payload && { payload }),
    }),
  )
  const { statusCode: status, headers, body: text } = answer
  if (status !== 200) refused.set(mark, shown(attempt))
  const type = String(headers['content-type'])
  const json = attempt.type === 'application/json' ? payload : undefined
  try {
    known.learn(assertAnswers(attempt.target, { status, type, id: headers['x-request-id'], text }, json))
  } catch (error) {
    const bytes = payload === undefined ? '' : JSON.stringify(payload.subarray(0, 2_000).toString())
    throw new Error(`${attempt.target.method} ${url} ${bytes}: ${(error as Error).message}`)
  }
}

/** In a URL the characters of a placeholder are encoded. */
const decodePlaces = (url: string) => url.replace(/%40known%3A(\w+)%3A(\d+)%40/g, '@known:$1:$2@')

async function assertNothingRefusedIsStored(): Promise<void> {
  const tables = await dumpOf(database, () => false)
  for (const [table, rows] of Object.entries(tables)) {
    for (const [mark] of rows.join('\n').matchAll(/mark\d+x/g)) {
      assert.equal(refused.get(mark), undefined, `${table} contains what was refused`)
    }
  }
}

let last: Things | undefined

async function prove(attempts: fc.Arbitrary<Attempt[]>, numRuns: number): Promise<void> {
  // Deleting a queue deletes its rules, of which a project may have only so many.
  if (last !== undefined) await opened.send('DELETE', `/annotation_queues/${last.queue}?project_id=acme%2Fqa`)
  last = await storeOneOfEach(opened, 'acme/qa', keys.alice)
  known.learn(last)
  const property = fc.asyncProperty(attempts, async (all) => {
    for (const attempt of all) await attack(attempt)
  })
  await fc.assert(property, { seed: campaign.seed, numRuns: Math.ceil(numRuns) })
  await assertNothingRefusedIsStored()
  assert.equal((await get('/ready')).status, 200)
}

const perRoute = Math.ceil((campaign.bodies * 0.7) / targets.length)

for (const target of targets) {
  test(`${target.method} ${target.path} answers whatever is sent (seed ${campaign.seed})`, () =>
    prove(fc.tuple(attemptsOn(target)), perRoute))
}

test(`every request of a sequence is answered (seed ${campaign.seed})`, async () => {
  const writing = targets.filter(({ method }) => method !== 'GET')
  const one = fc.oneof(...[...targets, ...writing].map(attemptsOn))
  await prove(fc.array(one, { minLength: 2, maxLength: 12, size: 'max' }), (campaign.bodies * 0.3) / 7)
})
